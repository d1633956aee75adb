"""`assay validate`, `observe`, `learn` and `simulate` as somebody types them."""

from __future__ import annotations

import pytest
from tests.cli.telling import Run


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


def test_a_short_simulation_says_what_became_of_every_number(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    told = run("simulate", "feedback", "hotel", "--rounds", "5", "--searches", "4", "--repeats", "2", "--json")
    assert told.code == 0
    assert [one["name"] for one in told.json["drifts"]] == ["gini", "entrenchment", "stale_served", "ndcg@10 lost"]
    assert (told.json["grown"], told.json["unclear"], told.json["unsafe"]) == ([], [], False)
    assert [(one["seed"], len(one["rounds"])) for one in told.json["simulations"]] == [(1, 5), (2, 5)]
    again = run("simulate", "feedback", "hotel", "--rounds", "5", "--searches", "4", "--repeats", "2", "--json")
    assert again.json == told.json
