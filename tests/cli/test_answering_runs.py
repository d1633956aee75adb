"""`assay run`, `assay gate` and `assay report` over systems that answer."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.evaluation.answering import questions

from assay.formats.golden import write_golden

STUB = """
def decline(query, k, case):
    return {"results": ["d" + str(int(case.id[1:]))], "answer": {"text": "I do not know.", "abstained": True}}

def answer(query, k, case):
    number = int(case.id[1:])
    said = {"text": f"It has {number + 100} seats.", "abstained": False} if case.answerable else None
    declined = {"text": "I do not know.", "abstained": True}
    return {"results": [f"d{number}"], "answer": said or declined}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "answering_stub.py").write_text(STUB.lstrip(), encoding="utf-8")
    write_golden(tmp_path / "questions.json", questions())
    return runner(capsys)


def test_a_stub_that_declines_everything_fails_on_every_surface(run: Run, tmp_path: Path) -> None:
    told = run("run", "questions.json", "--system", "python:answering_stub:decline")
    assert told.code == 0
    line = next(line for line in told.out.splitlines() if line.startswith("over_abstention_rate"))
    assert line.split()[1] == "1.000"
    assert "20 of 20" in line
    gate = run("gate", "--no-baseline", "--junit", "gate.xml", "--json")
    assert (gate.code, gate.json["status"]) == (1, "fail")
    failed = [rule["sentence"] for rule in gate.json["rules"] if rule["status"] == "fail"]
    assert any(one.startswith("20 of 20 answerable questions were declined") for one in failed)
    written = ET.parse(tmp_path / "gate.xml")
    assert any("20 of 20 answerable" in str(one.get("message")) for one in written.iter("failure"))
    report = run("report", "--no-baseline")
    assert report.out.startswith("FAIL")
    metrics = json.loads((tmp_path / "reports" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["metrics"]["over_abstention_rate"]["value"] == 1.0
    assert {"metric": "over_abstention_rate", "counted": 20, "status": "FAIL"}.items() <= next(
        line for line in metrics["summary"] if line["metric"] == "over_abstention_rate"
    ).items()


def test_a_stub_that_answers_passes(run: Run) -> None:
    told = run("run", "questions.json", "--system", "python:answering_stub:answer", "--json")
    shown = told.json["runs"][0]["metrics"]
    assert (shown["over_abstention_rate"]["value"], shown["reference_match(over=answerable)"]["value"]) == (0.0, 1.0)
    gate = run("gate", "--no-baseline")
    assert (gate.code, "0 of 20 answerable questions were declined" in gate.out) == (0, True)


def test_assay_answers_from_the_command_line(run: Run) -> None:
    told = run("run", "questions.json", "--system", "assay:answer,embedder.kind=none", "--json", "--max-cases", "6")
    assert told.code == 0
    found = told.json["runs"][0]
    assert found["latency"].keys() >= {"total", "retrieval", "generation", "evaluation"}
    assert found["metrics"]["answer_rate"]["scored"] >= 1
    assert "p50(stage=generation)" in found["run_metrics"]
