"""Asking from the command line: answers, abstentions, the record as files, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.telling import Run

from assay import Scope, Settings
from assay.records import Draft
from assay.wiring import open_engine

QUESTION = "How long does the session cookie live?"


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    with open_engine(Settings(db="notes.db", embedder="none"), run_once=True) as engine:
        engine.saver.save(Scope(), Draft(title="Cookie", body="The session cookie lives for twelve hours."))


def test_an_answer_comes_with_its_references_and_scores(run: Run) -> None:
    told = run("ask", QUESTION, "--details")
    assert told.code == 0
    assert "The session cookie lives for twelve hours. [1]" in told.out
    assert "[1]" in told.out
    assert "score" in told.out
    assert "intent_alignment" in told.out


def test_machines_get_one_document(run: Run) -> None:
    told = run("ask", QUESTION, "--json")
    found = json.loads(told.out)
    session = found["session"]
    assert session["status"] == "answered"
    assert found["synthesis"]["citations"][0]["title"] == "Cookie"
    assert 0.0 < session["overall_score"] <= 1.0
    assert session["iterations"] == 1
    again = json.loads(run("ask", session["log_id"], "--retry", "--json").out)
    assert again["session"]["retry_of"] == session["log_id"]


def test_what_is_not_known_is_said_and_is_no_failure(run: Run) -> None:
    told = run("ask", "Who was the first king of Poland?")
    assert told.code == 0
    assert "does not answer" in told.out or "Nothing was found" in told.out
    assert "note" in told.out


def test_the_record_is_exported(run: Run) -> None:
    told = run("ask", QUESTION, "--export", "out")
    assert told.code == 0
    (folder,) = Path("out/evaluations").iterdir()
    assert {str(file.relative_to(folder)) for file in folder.rglob("*.json")} == {
        "evaluation.json",
        "evaluator_responses/builtin_check.json",
        "plan_attempts/attempt_1.json",
    }


def test_without_evaluation_there_are_no_scores(run: Run) -> None:
    found = json.loads(run("ask", QUESTION, "--no-evaluation", "--json").out)
    assert found["session"]["status"] == "answered"
    assert found["session"]["overall_score"] is None
    assert found["session"]["evaluated_by"] == "nobody"


def test_a_blocked_answer_is_withheld_with_its_own_code(run: Run) -> None:
    Path("assay.toml").write_text('[research.retrieval]\nfail_action = "block"\n', encoding="utf-8")
    told = run("ask", "Who was the first king of Poland?")
    assert told.code == 1
    assert "withheld" in told.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("",), "question: string should have at least 1"),
        (("x" * 20_001,), "at most 20000"),
        (("r_none", "--retry"), "r_none"),
    ],
)
def test_wrong_use_is_named_with_a_remedy(run: Run, arguments: tuple[str, ...], said: str) -> None:
    told = run("ask", *arguments)
    assert told.code == 3
    assert said in told.err
    assert "try" in told.err


def test_an_answer_can_be_rated_by_its_log_id(run: Run) -> None:
    log_id = json.loads(run("ask", QUESTION, "--json").out)["session"]["log_id"]
    told = run("rate", log_id, "--not-useful")
    assert told.code == 0
    assert "confidence 0.50 -> 0.45" in told.out
    again = json.loads(run("rate", log_id, "--not-useful", "--json").out)
    assert (again["log_id"], again["was_useful"]) == (log_id, False)
    assert again["memories"][0]["repeated"] is True


def test_rating_what_is_not_there_names_it(run: Run) -> None:
    told = run("rate", "r_none")
    assert told.code == 3
    assert "r_none" in told.err
