"""What runs do beyond being the same on every surface: one at a time, fixed samples, no paths told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.serving import reaching, services_at

import assay
from assay.errors import BadValue
from assay.verbs.runs import ONE_RUN, START
from assay.verbs.table import VERBS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    return tmp_path


def test_a_second_run_is_refused_while_one_is_running(folder: Path) -> None:
    asked = {"dataset": "hotel", "max_cases": 2, "metrics": ["mrr"]}
    with services_at(folder) as services, reaching(services) as client:
        with ONE_RUN:
            refused = client.post("/api/runs", json=asked)
        accepted = client.post("/api/runs", json=asked)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_busy")
    assert accepted.status_code == 200


def test_a_run_that_is_refused_lets_the_next_one_begin(folder: Path) -> None:
    with services_at(folder) as services, reaching(services) as client:
        for _ in range(2):
            assert client.post("/api/runs", json={"dataset": "no-such"}).status_code == 404
    assert not ONE_RUN.locked()


def test_no_result_over_http_names_a_folder_of_the_machine(folder: Path) -> None:
    with services_at(folder) as services, reaching(services) as client:
        made = client.post("/api/runs", json={"dataset": "hotel", "max_cases": 2, "metrics": ["mrr"]})
        listed = client.get("/api/datasets")
    assert made.status_code == listed.status_code == 200
    assert str(folder) not in made.text + listed.text


def test_a_run_of_answers_over_http_is_the_one_of_the_command_line(folder: Path) -> None:
    asked = {"dataset": "hotel", "max_cases": 2, "metrics": ["mrr"], "answer": True, "mode": "quick"}
    with services_at(folder) as services, reaching(services) as client:
        made = client.post("/api/runs", json=asked).json()
    assert made["manifest"]["system"] == "assay:answer,mode=quick"
    scored = [made["metrics"][name]["scored"] for name in ("over_abstention_rate", "abstention_accuracy")]
    assert sum(scored) == 2
    assert made["latency"].keys() >= {"retrieval", "generation", "evaluation"}


def test_an_agent_is_given_the_hash_of_the_instrument_and_not_every_case_id() -> None:
    assert START.tool is not None
    assert START.tool.masked == {"breakdowns", "manifest"}
    assert "instrument_hash" in VERBS["run.start"].adapter.json_schema()["properties"]


def test_a_sample_and_a_number_of_cases_are_not_given_together() -> None:
    hotel = assay.Dataset.load("hotel")

    def search(query: str, k: int) -> list[str]:
        return [document.id for document in hotel.documents if query != document.id][:k]

    with pytest.raises(BadValue, match=r"both a sample of 0\.5 and at most 3 cases"):
        assay.evaluate("hotel", search, metrics="mrr", sample=0.5, max_cases=3)
    with pytest.raises(BadValue, match="max_cases 0 is below 1"):
        assay.evaluate("hotel", search, metrics="mrr", max_cases=0)
    assert len(assay.evaluate(hotel, search, metrics="mrr", max_cases=3).manifest.case_ids) == 3
