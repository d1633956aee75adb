"""A useful vote raises its memory for questions like its own, and for no others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.learning.desk import Desk

from assay.memory.learning.rollback import Which
from assay.memory.learning.votes import Praise, bearing, raise_for_question, subject
from assay.memory.searching.boosts import confidence_factor
from assay.records import Boost

ALPHA = "How long is the session cookie valid?"
SUBJECTS = st.frozensets(st.sampled_from("abcdef"))


def test_the_same_question_in_other_order_and_endings_bears_in_full() -> None:
    assert subject(ALPHA) == subject("the cookies of a session: valid how long")
    assert bearing(subject(ALPHA), subject(ALPHA)) == 1.0


def test_words_of_any_question_make_nothing_alike() -> None:
    assert raise_for_question("How is the memory used?", [Praise("How is the work done?", 5)]) == 0.0


def test_votes_raise_by_a_step_each_as_far_as_their_question_bears() -> None:
    praises = [Praise("session cookie", 1), Praise("session token lifetime", 2), Praise("release branch", 5)]
    # All of the first, one word of four of the second, none of the third.
    assert raise_for_question("cookie session", praises) == pytest.approx(0.1 * (1 + 2 / 4))


@given(one=SUBJECTS, other=SUBJECTS)
def test_bearing_is_a_share_and_mutual(one: frozenset[str], other: frozenset[str]) -> None:
    assert 0.0 <= bearing(one, other) == bearing(other, one) <= 1.0
    assert (bearing(one, other) == 1.0) == (one == other != frozenset())


def confidence(desk: Desk, query: str, memory_id: str = "m_1") -> Boost | None:
    """What confidence does to a memory in the answer to a query."""
    found = desk.shelf.search(query, explain=True, k=20)
    [hit] = [one for one in found.hits if one.memory_id == memory_id]
    assert hit.explanation is not None
    return next((one for one in hit.explanation.boosts if one.name == "confidence"), None)


def praised(desk: Desk, times: int = 1, query: str = "harbour lights") -> None:
    """A desk with a memory that was found useful for a question by so many principals."""
    for number in range(times):
        desk.asked(query, ("m_p",), session=f"s_{number}")
        desk.vote("m_p", session_id=f"s_{number}", principal=f"p_{number}")


def test_a_vote_raises_for_its_question_and_not_for_another(desk: Desk) -> None:
    desk.put("m_p", body="harbour lights and tower walls")
    praised(desk)
    same = confidence(desk, "the lights of the harbour", "m_p")
    assert same is not None
    assert (same.factor, same.reason) == (confidence_factor(0.6), "confidence 0.60")
    third = confidence(desk, "harbour walls", "m_p")
    assert third is not None
    assert third.factor == pytest.approx(1 + 0.04 / 3)
    assert third.reason == "confidence 0.60, 0.53 for questions like this one"
    assert confidence(desk, "tower walls", "m_p") is None


def test_enough_votes_on_one_question_raise_as_far_as_confidence_goes(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_p", body="harbour lights and tower walls")
    praised(sqlite_desk, 6)
    most = confidence(sqlite_desk, "harbour lights", "m_p")
    assert most == Boost(name="confidence", factor=1.2, reason="confidence 1.00")
    assert confidence(sqlite_desk, "tower walls", "m_p") is None


def test_a_vote_on_no_question_raises_nothing(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_p", body="harbour lights")
    assert sqlite_desk.vote("m_p").confidence == 0.6
    assert confidence(sqlite_desk, "harbour lights", "m_p") is None


def test_votes_raise_only_what_stands_high_without_them(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_first", body="harbour lights harbour lights")
    sqlite_desk.put("m_p", body="harbour lights and tower walls")
    praised(sqlite_desk)
    searcher = sqlite_desk.shelf.searcher
    sqlite_desk.shelf.searcher = searcher.with_options(replace(searcher.options, praised_depth=1))
    assert confidence(sqlite_desk, "harbour lights", "m_p") is None
    assert confidence(sqlite_desk, "harbour lights tower walls", "m_p") is not None


def test_without_the_rule_a_vote_raises_for_every_question(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_p", body="harbour lights and tower walls")
    praised(sqlite_desk)
    searcher = sqlite_desk.shelf.searcher
    sqlite_desk.shelf.searcher = searcher.with_options(replace(searcher.options, general_votes=True))
    everywhere = confidence(sqlite_desk, "tower walls", "m_p")
    assert everywhere is not None
    assert everywhere.factor == confidence_factor(0.6)


def test_what_is_found_useless_is_lowered_for_every_question(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_p", body="harbour lights and tower walls")
    sqlite_desk.asked("harbour lights", ("m_p",))
    sqlite_desk.vote("m_p", useful=False, session_id="s_1")
    lowered = confidence(sqlite_desk, "tower walls", "m_p")
    assert lowered is not None
    assert lowered.factor == pytest.approx(0.93)


def test_a_vote_that_was_taken_back_raises_nothing(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_p", body="harbour lights")
    praised(sqlite_desk, 1)
    sqlite_desk.vote("m_p")
    sqlite_desk.learning.roll_back(sqlite_desk.scope, Which(memory_id="m_p"))
    sqlite_desk.vote("m_p")
    assert sqlite_desk.memory("m_p").confidence == 0.6
    assert confidence(sqlite_desk, "harbour lights", "m_p") is None


def test_only_the_newest_votes_are_looked_at(desk: Desk) -> None:
    desk.put("m_p", body="harbour lights and tower walls")
    praised(desk, 2, "harbour lights")
    desk.asked("tower walls", ("m_p",), session="s_late")
    desk.vote("m_p", session_id="s_late")
    with desk.store.reading(desk.scope) as work:
        every = work.learning.useful_votes(["m_p", "m_1"])
        newest = work.learning.useful_votes(["m_p", "m_1"], newest=1)
    assert every == [("m_p", "tower walls", 1)] + [("m_p", "harbour lights", 1)] * 2
    assert newest == [("m_p", "tower walls", 1)]


def test_another_tenants_votes_are_not_seen(desk: Desk) -> None:
    desk.put("m_p", body="harbour lights")
    praised(desk)
    with desk.store.reading(desk.by("ada")) as own, desk.store.reading(type(desk.scope)(tenant="other")) as other:
        assert len(own.learning.useful_votes(["m_p"])) == 1
        assert other.learning.useful_votes(["m_p"]) == []
