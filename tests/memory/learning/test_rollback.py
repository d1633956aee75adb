"""Taking back: by memory, by moment, by writer; and what is left is byte for byte what was there before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from tests.memory.learning.desk import Desk
from tests.storage.homes import raw

from assay.errors import InputError, RecordNotFound
from assay.memory.learning import Which
from assay.records import Tier


def row(desk: Desk, memory_id: str = "m_1") -> tuple[object, ...]:
    """A memory's row as the database has it."""
    with raw(desk.store) as connection:
        found = connection.execute(text("SELECT * FROM memories WHERE id = :id"), {"id": memory_id}).one()
    return tuple(found)


def test_a_memory_is_byte_for_byte_what_it_was(desk: Desk) -> None:
    desk.vote(useful=False)
    before = row(desk)
    desk.clock.advance(seconds=1)
    moment = desk.clock.now()
    desk.open_the_gate()
    for number in range(10):
        desk.vote_on(f"question {number // 2}", principal=("ada", "bob")[number % 2])
    assert row(desk) != before
    assert desk.memory().tier is Tier.CRITICAL
    done = desk.learning.roll_back(desk.scope, Which(memory_id="m_1", since=moment))
    assert row(desk) == before
    assert (done.memories, done.votes, done.promotions, done.terms) == (("m_1",), 10, 2, 2)
    assert desk.terms("withdrawn") == ["habitat", "quagga"]
    assert desk.audit("learning.rollback")[0].detail["memory"] == "m_1"
    assert desk.learning.roll_back(desk.scope, Which(memory_id="m_1", since=moment)).memories == ()


def test_a_whole_memory_goes_back_to_the_beginning(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    before = row(desk)
    desk.vote()
    desk.open_the_gate()
    desk.learning.roll_back(desk.scope, Which(memory_id="m_1"))
    assert row(desk) == before


def test_what_one_writer_did_goes_and_what_others_did_stays(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.vote("m_1")
    desk.vote("m_1", principal="eve")
    desk.vote("m_1", principal="bob")
    assert desk.memory().confidence == 0.8
    done = desk.learning.roll_back(desk.scope, Which(writer="eve"))
    assert (done.votes, desk.memory().confidence, desk.memory().validation_count) == (1, 0.7, 2)


def test_a_term_falls_with_the_evidence_of_its_writer(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    for number in range(6):
        desk.chosen("quagga", session=f"s_{number}", principal="bob" if number else "eve")
        desk.chosen("okapi", "m_d", session=f"t_{number}", principal="bob" if number else "ada")
    desk.learning.catch_up(desk.scope)
    assert desk.terms("shadow") == ["okapi", "quagga"]
    assert desk.learning.roll_back(desk.scope, Which(writer="eve")).terms == 1
    assert desk.terms("shadow") == ["okapi"]


def test_a_term_that_was_taken_back_needs_new_evidence(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga")
    desk.learning.roll_back(desk.scope, Which(memory_id="m_1"))
    desk.clock.advance(hours=8)
    desk.learn("quagga", sessions=tuple(f"late_{number}" for number in range(5)))
    assert desk.terms("shadow") == []
    desk.learn("quagga", sessions=("late_5",))
    assert desk.terms("shadow") == ["quagga"]


def test_a_promotion_alone_is_reversible_by_its_moment(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    for number in range(4):
        desk.vote_on(f"question {number}")
    desk.clock.advance(hours=1)
    assert desk.vote().promoted
    desk.learning.roll_back(desk.scope, Which(since=desk.clock.now() - timedelta(minutes=1)))
    assert (desk.memory().tier, desk.memory().validation_count) == (Tier.NORMAL, 4)
    assert desk.vote().promoted


def test_what_is_to_be_taken_back_has_to_be_said(sqlite_desk: Desk) -> None:
    with pytest.raises(InputError, match="nothing says"):
        Which()
    with pytest.raises(RecordNotFound, match="m_never"):
        sqlite_desk.learning.roll_back(sqlite_desk.scope, Which(memory_id="m_never"))


VOTES = st.lists(st.tuples(st.sampled_from(["ada", "bob", "eve"]), st.booleans()), max_size=8)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(votes=VOTES)
def test_taking_everybodys_votes_back_leaves_the_row_as_it_was(
    sqlite_desk: Desk, votes: list[tuple[str, bool]]
) -> None:
    before = row(sqlite_desk)
    for principal, useful in votes:
        sqlite_desk.vote(useful=useful, principal=principal)
    for writer in ("eve", "ada", "bob"):
        sqlite_desk.learning.roll_back(sqlite_desk.scope, Which(writer=writer))
    assert row(sqlite_desk) == before
