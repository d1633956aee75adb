"""`assay validate`, `observe`, `learn` and `simulate` as somebody types them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.systems.sample import dataset

from assay import wiring
from assay.evaluation.datasets import export_dataset
from assay.records import Draft
from assay.settings import load_settings


@pytest.fixture
def memory_id(run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    saved = run("save", "--title", "Session cookies", "--text", "The cookie lives for twelve hours.", "--json")
    assert saved.code == 0
    return str(saved.json["memory_id"])


def searched(run: Run, session: str) -> str:
    found = run("search", "cookie", "--session", session, "--json")
    return str(found.json["query_id"])


def test_a_vote_moves_the_confidence_and_says_for_which_query(run: Run, memory_id: str) -> None:
    query = searched(run, "s_1")
    told = run("validate", memory_id, "--session", "s_1")
    assert told.code == 0
    assert "confidence 0.50 -> 0.60 after 1 validation" in told.out
    assert f"for the query {query}, at rank 1" in told.out
    again = run("validate", memory_id, "--session", "s_1")
    assert "nothing changed, it was recorded before" in again.out
    against = run("validate", memory_id, "--not-useful", "--json").json
    assert against["confidence"] == pytest.approx(0.55)


def test_fifteen_votes_of_one_caller_outside_a_session_count_once(run: Run, memory_id: str) -> None:
    told = [run("validate", memory_id, "--json").json for _ in range(15)]
    assert [one["counted"] for one in told] == [1] + [0] * 14
    assert (told[-1]["tier"], told[-1]["validation_count"]) == ("normal", 1)
    assert "nothing changed, you have said so before" in run("validate", memory_id).out


def test_an_unknown_memory_is_named(run: Run, memory_id: str) -> None:
    told = run("validate", "m_never")
    assert told.code == 3
    assert "m_never" in told.err
    assert memory_id not in told.err


def test_what_was_read_is_recorded(run: Run, memory_id: str) -> None:
    query = searched(run, "s_1")
    told = run("observe", "--session", "s_1", "--memory", memory_id)
    assert (told.code, "1 new" in told.out, query in told.out) == (0, True, True)
    assert "nothing recorded" in run("observe", "--session", "s_2", "--memory", memory_id).out
    assert run("observe", "--session", "s_1").code == 3


def test_learning_stands_where_it_says_and_is_not_approved_too_early(run: Run, memory_id: str) -> None:
    assert "learned triggers are off" in run("learn", "status").out
    run("flag", "on", "learn_from_selection")
    status = run("learn", "status").out
    assert "in the shadow" in status
    assert "missing (gate): 0 of 2 evaluation cycles are complete" in status
    assert "0 of 100 distinct questions of this memory" in status
    refused = run("learn", "approve")
    assert refused.code == 2
    assert "cannot be approved yet" in refused.err
    assert "0 events read" in run("learn", "run").out
    assert run("learn", "terms").out.strip() == "nothing was learned"
    assert memory_id not in status


def test_a_vote_is_taken_back(run: Run, memory_id: str) -> None:
    run("validate", memory_id)
    assert "vote" in run("learn", "changes").out
    assert "taken back: 1 votes" in run("learn", "rollback", "--memory", memory_id).out
    assert run("show", memory_id, "--json").json["memory"]["confidence"] == 0.5
    assert "nothing to take back" in run("learn", "rollback", "--writer", "local").out
    assert "(taken back)" in run("learn", "changes").out


@pytest.mark.parametrize(
    "wrong",
    [
        ("learn", "rollback"),
        ("learn", "rollback", "--since", "yesterday"),
        ("learn", "rollback", "--memory", "m_never"),
        ("simulate", "feedback", "no-such-dataset"),
        ("simulate", "feedback", "agent-memory", "--rounds", "1"),
    ],
)
def test_wrong_use_is_told(run: Run, memory_id: str, wrong: tuple[str, ...]) -> None:
    told = run(*wrong)
    assert told.code == 3
    assert "try" in told.err
    assert memory_id not in told.err


SHORT = ("simulate", "feedback", "hotel", "--rounds", "5", "--searches", "4", "--repeats", "2")


@pytest.mark.slow
def test_a_short_simulation_says_what_became_of_every_number(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    told = run(*SHORT, "--votes", "0.5", "--json")
    assert told.code == {"held": 0, "grown": 1, "unclear": 2}[told.json["verdict"]]
    assert [one["name"] for one in told.json["drifts"]] == ["gini", "entrenchment", "stale_served", "ndcg@10 lost"]
    named = [*told.json["held"], *told.json["grown"], *told.json["unclear"]]
    assert sorted(named) == sorted(one["name"] for one in told.json["drifts"])
    assert told.json["unsafe"] is False
    assert [(one["seed"], len(one["rounds"])) for one in told.json["simulations"]] == [(1, 5), (2, 5)]
    assert all(one["counted"] > 0 for one in told.json["simulations"])
    assert run(*SHORT, "--votes", "0.5", "--json").json == told.json


@pytest.mark.slow
def test_a_simulation_in_which_nothing_was_learned_holds_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    told = run(*SHORT, "--votes", "0", "--json")
    assert told.code == 2
    assert (told.json["held"], told.json["verdict"]) == ([], "unclear")
    assert (told.json["changed"], told.json["searches"]) == (0, 8)
    shown = run(*SHORT, "--votes", "0")
    assert "Nothing was learned that could move a result" in shown.out
    assert "held" not in shown.out
    # Without safeguards the same users teach it words from what they read.
    unsafe = run(*SHORT, "--votes", "0", "--unsafe", "--json")
    assert (unsafe.code, unsafe.json["verdict"]) == (1, "grown")
    assert unsafe.json["changed"] > 0


def test_runs_count_for_cycles_when_they_measure_documents_of_this_memory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    house = dataset()
    place = str(export_dataset(house, tmp_path / "house.json"))
    settings = load_settings().settings
    with wiring.open_engine(settings) as engine:
        engine.saver.save(wiring.scope_of(settings), Draft(title="Other", body="Nothing of the house."), gated=False)
    run("run", place)
    assert run("learn", "status", "--json").json["questions"] == 0
    with wiring.open_engine(settings) as engine:
        for document in house.documents:
            draft = Draft(title=document.title or document.id, body=document.text, source_id=document.id)
            engine.saver.save(wiring.scope_of(settings), draft, gated=False)
    run("run", place)
    run("run", place)
    asked = {case.query for case in house.cases}
    assert run("learn", "status", "--json").json["questions"] == len(asked)
