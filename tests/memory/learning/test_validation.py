"""Votes: what one does, what many do, and what a flood does not."""

from __future__ import annotations

import pytest
from tests.memory.learning.desk import Desk

from assay.errors import BadValue, InputError, RecordNotFound
from assay.memory.learning import Vote
from assay.memory.learning.votes import raise_tier
from assay.memory.searching.boosts import confidence_factor
from assay.records import EventType, Origin, Scope, SearchRequest, Tier


def test_a_vote_moves_the_confidence_and_is_tied_to_the_newest_query_that_returned_the_memory(desk: Desk) -> None:
    desk.asked("older", ("m_1",))
    newest = desk.asked("newer", ("m_a", "m_1"))
    desk.asked("elsewhere", ("m_a",))
    done = desk.vote(session_id="s_1", note="it named the file")
    assert (done.confidence_before, done.confidence, done.validation_count) == (0.5, 0.6, 1)
    assert (done.query_id, done.rank, done.counted, done.repeated) == (newest, 2, 1, False)
    assert desk.memory().confidence == 0.6
    [event] = desk.events(newest)
    assert event.event_type is EventType.VALIDATE_USEFUL
    assert event.metadata == {"principal": "ada", "note": "it named the file"}
    [line] = desk.audit("learning.validate")
    assert (line.target, line.actor, line.detail["after"]) == ("m_1", "ada", 0.6)


def test_a_vote_against_takes_half_as_much(sqlite_desk: Desk) -> None:
    done = sqlite_desk.vote(useful=False)
    assert done.confidence == pytest.approx(0.45)
    assert confidence_factor(done.confidence) == pytest.approx(0.93)


def test_the_confidence_ends_at_0_and_at_1(sqlite_desk: Desk) -> None:
    for number in range(12):
        up = sqlite_desk.vote_on(f"question {number}", "m_a")
        down = sqlite_desk.vote_on(f"question {number}", "m_b", useful=False)
    assert (up.confidence, down.confidence) == (1.0, 0.0)
    assert confidence_factor(down.confidence) == 0.3


def test_the_same_event_three_times_counts_once(desk: Desk) -> None:
    desk.asked("query", ("m_1",))
    done = [desk.vote(session_id="s_1", event_key="e_1") for _ in range(3)]
    assert [one.repeated for one in done] == [False, True, True]
    assert {one.confidence for one in done} == {0.6}
    assert desk.memory().validation_count == 1


def test_a_session_has_one_ballot_for_a_query_whatever_the_event_is_called(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.asked("query", ("m_1",))
    for number in range(1_000):
        done = desk.vote(session_id="s_1", event_key=f"flood_{number}")
    assert desk.memory().confidence == 0.6
    assert done.reason == "you have said so of this question before"
    assert desk.memory().tier is Tier.NORMAL


def test_the_only_principal_is_not_told_of_others_when_their_votes_move_no_further(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_own", written_by="ada")
    for number in range(30):
        last = sqlite_desk.vote_on(f"question {number}", memory_id="m_own", principal="ada")
    assert last.counted == 0
    assert last.reason == "one principal's votes alone move a memory no further"


def test_one_of_several_principals_moves_a_memory_one_step_and_no_further(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.put("m_bob", written_by="bob")
    desk.put("m_eve", written_by="eve")
    for number in range(100):
        last = desk.vote_on(f"question {number}", principal="eve")
    assert desk.memory().confidence == 0.6
    assert last.reason == "one principal's votes alone move a memory no further"
    assert desk.vote(principal="bob").counted == 2
    assert desk.memory().confidence == 0.8


def test_votes_outside_a_session_count_once_however_often_they_are_cast(desk: Desk) -> None:
    done = [desk.vote() for _ in range(15)]
    assert [one.counted for one in done] == [1] + [0] * 14
    assert done[-1].reason.startswith("you have said so before, outside any question")
    assert (desk.memory().confidence, desk.memory().tier) == (0.6, Tier.NORMAL)


def test_one_principal_in_two_hundred_sessions_counts_once_for_a_question(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    for number in range(200):
        desk.asked(("Where is it?", "where  IS it?")[number % 2], ("m_1",), session=f"s_{number}")
        desk.vote(session_id=f"s_{number}")
    for number in range(200):
        desk.vote(session_id=f"empty_{number}")
    # Once for the question, and once for all sessions in which it was not asked.
    assert (desk.memory().validation_count, desk.memory().tier) == (2, Tier.NORMAL)


def test_one_principal_alone_makes_a_memory_important_and_never_critical(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    done = [desk.vote_on(f"question {number}") for number in range(200)]
    assert (desk.memory().confidence, desk.memory().tier) == (1.0, Tier.IMPORTANT)
    assert [one.counted for one in done] == [1] * 5 + [0] * 195
    assert done[-1].reason == "one principal's votes alone move a memory no further"
    for number in range(5):
        desk.vote_on(f"question {number}", principal="bob")
    assert desk.memory().tier is Tier.CRITICAL


def test_among_several_a_writers_own_votes_raise_nothing_and_carry_nobody(desk: Desk) -> None:
    desk.put("m_bob", written_by="bob")
    desk.put("m_eve", written_by="eve")
    assert desk.vote("m_eve", principal="eve").reason.startswith("where others work too")
    assert desk.memory("m_eve").confidence == 0.5
    assert desk.vote("m_eve", principal="bob").counted == 1
    assert desk.vote("m_eve", principal="bob").counted == 0
    assert desk.vote("m_eve", useful=False, principal="eve").confidence == pytest.approx(0.55)


def test_alone_in_a_tenant_a_writers_votes_count(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_own", written_by="ada")
    assert sqlite_desk.vote("m_own").confidence == 0.6


def test_one_voice_alone_moves_twenty_memories_in_thirty_days_and_a_second_voice_opens_the_rest(desk: Desk) -> None:
    names = [f"m_many{number}" for number in range(22)]
    desk.put(*names, written_by="bob")
    done = [desk.vote(one, useful=False, principal="eve") for one in names]
    assert [one.counted for one in done] == [1] * 20 + [0] * 2
    assert done[-1].reason == "the votes of one principal alone move a limited number of memories"
    assert desk.vote(names[-1], useful=False, principal="bob").counted == 1
    assert desk.vote(names[-1], useful=False, principal="eve").counted == 1
    desk.clock.advance(days=31)
    assert desk.vote(names[-2], useful=False, principal="eve").counted == 1


def test_five_votes_make_it_important_and_ten_critical_but_nothing_makes_it_law(desk: Desk) -> None:
    tiers = [desk.vote_on(f"question {at // 2}", principal=("ada", "bob")[at % 2]).tier for at in range(20)]
    assert tiers == [Tier.NORMAL] * 4 + [Tier.IMPORTANT] * 5 + [Tier.CRITICAL] * 11
    assert [(one.detail["before"], one.detail["after"]) for one in desk.audit("learning.promote")] == [
        ("important", "critical"),
        ("normal", "important"),
    ]


@pytest.mark.parametrize(
    ("tier", "positive", "confidence", "votes", "rises"),
    [
        (Tier.NORMAL, 4, 0.9, 4, None),
        (Tier.NORMAL, 5, 0.5, 5, Tier.IMPORTANT),
        (Tier.NORMAL, 4, 0.9, 5, Tier.IMPORTANT),
        (Tier.NORMAL, 4, 0.89, 5, None),
        (Tier.IMPORTANT, 9, 1.0, 9, None),
        (Tier.IMPORTANT, 10, 0.5, 20, Tier.CRITICAL),
        (Tier.CRITICAL, 1_000, 1.0, 1_000, None),
        (Tier.TEMPORARY, 1_000, 1.0, 1_000, None),
        (Tier.DEPRECATED, 1_000, 1.0, 1_000, None),
    ],
)
def test_promotions_by_hand(tier: Tier, positive: int, confidence: float, votes: int, rises: Tier | None) -> None:
    assert raise_tier(tier, positive=positive, confidence=confidence, votes=votes) is rises


def test_feedback_for_what_is_unknown_deleted_or_foreign_is_refused(desk: Desk) -> None:
    with desk.store.writing(desk.scope) as work:
        work.memories.remove("m_d")
    for memory_id in ("m_never", "m_d"):
        with pytest.raises(RecordNotFound, match=memory_id):
            desk.vote(memory_id)
    foreign = Scope(tenant="other", principal="ada")
    with pytest.raises(RecordNotFound, match="m_1"):
        desk.learning.validate(foreign, Vote(memory_id="m_1", useful=True))
    with pytest.raises(RecordNotFound, match="eq_never"):
        desk.vote(query_id="eq_never")
    assert desk.memory().confidence == 0.5


def test_a_query_of_an_evaluation_is_no_use(sqlite_desk: Desk) -> None:
    query = sqlite_desk.asked("query", ("m_1",), origin=Origin.EVALUATION)
    with pytest.raises(InputError, match="asked by an evaluation"):
        sqlite_desk.vote(query_id=query)


@pytest.mark.parametrize("bad", [{"memory_id": "../x"}, {"useful": "yes"}, {"event_key": "a b"}, {"note": "x" * 1_001}])
def test_a_vote_that_cannot_be_kept_is_refused(sqlite_desk: Desk, bad: dict[str, object]) -> None:
    with pytest.raises(BadValue):
        sqlite_desk.vote(**bad)  # type: ignore[arg-type] # the wrong kind is the point


def test_a_query_that_still_waits_in_the_log_is_written_first(desk: Desk) -> None:
    found = desk.shelf.search("Note m_1", session_id="s_live")
    done = desk.vote(found.ids[0], session_id="s_live")
    assert (done.query_id, done.rank) == (found.query_id, 1)
    assert desk.kinds(found.query_id) == [EventType.VALIDATE_USEFUL]


def test_a_clock_that_goes_backwards_loses_no_vote(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.vote()
    desk.clock.jump(desk.clock.now().replace(year=2020))
    assert desk.vote_on("another question").confidence == 0.7


def test_what_was_found_useless_is_lowered_in_results(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    for number in range(10):
        desk.vote_on(f"question {number}", useful=False)
    asked = SearchRequest(query="What m_1 says", mode="focused", explain=True)  # type: ignore[arg-type] # a word will do
    [hit] = [one for one in desk.shelf.searcher.search(desk.scope, asked) if one.memory_id == "m_1"]
    assert hit.explanation is not None
    assert [one.factor for one in hit.explanation.boosts if one.name == "confidence"] == [pytest.approx(0.3)]
