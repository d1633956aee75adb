"""Audit, repair and import of other tools' stores from the command line: tables, files and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.store_audit.stores import PASSWORD, TEXTS, make_store

from assay.records.store_audits import StoreKind

NOW = ("--as-of", "2026-11-01")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    return str(make_store(StoreKind.JSONL, tmp_path / "made"))


def test_an_audit_counts_faults_with_examples_and_makes_no_store(run: Run, store: str, tmp_path: Path) -> None:
    told = run("audit", store, *NOW)
    assert told.code == 0
    assert f"jsonl store, {len(TEXTS)} memories: 9 with a fault" in told.out
    assert "injected-order   1" in told.out
    assert "Ignore all previous instructions" in told.out
    assert "1 more are worth a look" in told.out
    assert PASSWORD not in told.out
    assert not (tmp_path / "notes.db").exists()
    document = run("audit", store, *NOW, "--json").json
    assert document["counts"]["duplicate"] == 2
    assert "imported" not in document
    assert PASSWORD not in json.dumps(document)


def test_the_exit_code_follows_the_faults_that_are_named(run: Run, store: str) -> None:
    assert run("audit", store, "--fail-on", "secret").code == 1
    assert run("audit", store, "--fail-on", "any").code == 1
    clean = Path(store).with_name("clean.jsonl")
    clean.write_text('{"id": "1", "text": "The relay stores its queue on disk."}\n', encoding="utf-8")
    assert run("audit", str(clean), "--fail-on", "any").code == 0
    refused = run("audit", store, "--fail-on", "typos")
    assert refused.code == 3
    assert "self-feeding" in refused.err
    assert run("audit", store, "--dry-run").code == 3
    assert run("audit", store, "--kind", "chroma").code == 3


def test_plan_and_report_are_written_and_the_plan_repairs_a_copy(run: Run, store: str, tmp_path: Path) -> None:
    told = run("audit", store, *NOW, "--plan", "plan.json", "--report", "report.html")
    assert "Wrote plan.json" in told.out
    assert "Audit of memories.jsonl" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert run("audit", store, "--report", "report.md").code == 0
    assert run("audit", store, "--report", "report.txt").code == 3
    done = run("repair", "plan.json", "--to", "copy.jsonl")
    assert done.code == 0
    assert "no fault is left that the plan does not explain" in done.out
    assert "left for a person: 1 contradiction" in done.out
    assert run("repair", "plan.json", "--to", "copy.jsonl").code == 3
    again = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    for step in again["steps"]:
        step.update(action="keep", text=None, faults=[])
    (tmp_path / "plan.json").write_text(json.dumps(again), encoding="utf-8")
    assert run("repair", "plan.json", "--to", "other.jsonl").code == 1


def test_an_import_saves_the_good_memories_and_counts_the_rest(run: Run, store: str) -> None:
    planned = run("audit", store, *NOW, "--import", "--dry-run", "--json").json["imported"]
    assert planned["report"]["dry_run"]
    assert run("list").out.startswith("0 memories")
    done = run("audit", store, *NOW, "--import", "--json").json["imported"]
    assert sum(done["left_out"].values()) + sum(done["report"]["counts"].values()) == len(TEXTS)
    assert done["left_out"]["injected-order"] == 1
    listed = run("list", "--limit", "100").out
    assert "export job" in listed
    assert "Ignore all previous" not in listed
    assert "import:" in run("audit", store, *NOW, "--import").out


def test_the_first_example_of_the_guide_prints_what_the_guide_says(run: Run) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "audit.md").read_text(encoding="utf-8")
    memories, printed = re.findall(r"```(?:json|console)[^\n]*\n(.*?)```", guide, re.DOTALL)[:2]
    Path("memories.jsonl").write_text(memories, encoding="utf-8")
    command, _, shown = printed.partition("\n")
    assert run(*command.split()[2:]).out.split() == shown.split()
