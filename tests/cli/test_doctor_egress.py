"""`assay doctor --egress` tells what may be contacted, why, and which setting says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import Run


def findings(run: Run, *more: str, code: int = 0) -> dict[str, dict[str, Any]]:
    told = run("doctor", "--egress", "--json", *more)
    assert told.code == code, told.err
    return {one["subject"]: one for one in told.json}


def test_by_itself_nothing_is_contacted(run: Run) -> None:
    found = findings(run)
    for subject in ("Model", "Embedder", "OTLP collector", "Webhook of alerts", "Store", "Everything else"):
        assert found[subject]["seen"].startswith("none"), subject
    assert {one["state"] for one in found.values()} == {"ok"}


def test_each_address_is_shown_with_its_origin_and_key_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_MODEL_URL", "https://models.example/v1")
    monkeypatch.setenv("ASSAY_MODEL_KEY_VARIABLE", "MODEL_KEY")
    file = Path("assay.toml")
    file.write_text(
        '[embedder]\nkind = "remote"\nmodel = "e1"\nurl = "http://127.0.0.1:8080/v1"\n[otel]\nexporter = "otlp"\n',
        encoding="utf-8",
    )
    found = findings(run)
    assert found["Model"]["state"] == "note"
    assert (
        found["Model"]["seen"]
        == "https://models.example:443, with the key in MODEL_KEY (model.url, environment ASSAY_MODEL_URL)"
    )
    assert found["Embedder"]["seen"] == f"http://127.0.0.1:8080 (embedder.url, file {file.absolute()})"
    assert found["OTLP collector"]["seen"] == "http://127.0.0.1:4318 (otel.endpoint, default)"


def test_a_password_of_the_store_is_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DB", "postgresql://me:hunter2@db.example/notes")
    seen = findings(run)["Store"]["seen"]
    assert "db.example" in seen
    assert "hunter2" not in seen


def test_offline_and_what_it_allows_are_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_OFFLINE", "1")
    monkeypatch.setenv("ASSAY_NETWORK_ALLOW", "https://search.example")
    found = findings(run)
    assert found["Offline"]["seen"].startswith("on (network.offline, environment ASSAY_OFFLINE)")
    assert found["Allowed"]["seen"] == "https://search.example:443 (network.allow, environment ASSAY_NETWORK_ALLOW)"


@pytest.mark.parametrize("variable", ["ASSAY_MODEL_URL", "ASSAY_NETWORK_ALLOW"])
def test_an_address_that_cannot_be_read_is_a_problem(run: Run, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("ASSAY_OFFLINE", "1")
    monkeypatch.setenv(variable, "models.example")
    found = findings(run, code=4)
    assert [one["seen"] for one in found.values() if one["state"] == "problem"]


def test_a_file_that_is_not_approved_is_named(run: Run) -> None:
    Path("assay.toml").write_text('[model]\nurl = "https://attacker.example/v1"\n', encoding="utf-8")
    found = findings(run)
    assert found["Model"]["seen"].startswith("none")
    assert found["Settings file"]["state"] == "note"
    assert "model.url" in found["Settings file"]["meaning"]
    assert run("trust", "--yes").code == 0
    assert findings(run)["Settings file"]["seen"].endswith("approved")


def test_the_switches_of_dependencies_and_what_others_left_behind_are_shown(run: Run, tmp_path: Path) -> None:
    found = findings(run)
    assert found["Telemetry of onnxruntime"]["state"] == "ok"
    assert "ORT_DISABLE_TELEMETRY=1" in found["Telemetry of onnxruntime"]["seen"]
    assert "Waiting telemetry" not in found
    (tmp_path / "home" / "cache" / "Microsoft" / "DeveloperTools" / ".onnxruntime").mkdir(parents=True)
    assert findings(run)["Waiting telemetry"]["state"] == "note"


def test_the_table_is_for_people(run: Run) -> None:
    told = run("doctor", "--egress")
    assert told.code == 0
    assert "Everything else" in told.out
