"""The doubles that tests are handed, and the real clock they stand in for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from assay import testing
from assay.clock import Clock, SystemClock
from assay.errors import BadValue
from assay.records import MemoryRecord, Tier
from assay.testing import NOTES, FixedClock, note
from assay.testing.clock import START


def test_a_fixed_clock_stands_still_until_it_is_moved() -> None:
    clock = FixedClock()
    assert clock.now() == clock.now() == START
    assert clock.monotonic() == clock.monotonic() == 0.0
    clock.advance(days=1, hours=2, seconds=0.5)
    assert clock.now() == START + timedelta(days=1, hours=2, seconds=0.5)
    assert clock.monotonic() == 93_600.5


def test_a_jump_moves_the_calendar_alone() -> None:
    clock = FixedClock()
    clock.advance(seconds=5)
    clock.jump(datetime(1999, 12, 31, tzinfo=UTC))
    assert clock.now() == datetime(1999, 12, 31, tzinfo=UTC)
    assert clock.monotonic() == 5.0


def test_a_clock_without_a_zone_is_refused() -> None:
    naive = datetime(2026, 1, 5)  # noqa: DTZ001 - naive on purpose
    with pytest.raises(BadValue, match="start"):
        FixedClock(naive)
    with pytest.raises(BadValue, match="to"):
        FixedClock().jump(naive)


def test_the_system_clock_reads_utc_and_a_stopwatch() -> None:
    clock: Clock = SystemClock()
    before, started = datetime.now(UTC), clock.monotonic()
    assert before <= clock.now() <= datetime.now(UTC)
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() >= started


def test_a_note_is_complete_and_takes_what_the_test_is_about() -> None:
    assert note() == note("m_1")
    assert note("m_2", tier=Tier.CRITICAL, body="x") == MemoryRecord(
        id="m_2",
        title="Note m_2",
        body="x",
        created_at=START,
        updated_at=START,
        valid_from=START,
        tier=Tier.CRITICAL,
    )
    with pytest.raises(TypeError, match="colour"):
        note(colour="red")


def test_the_collection_has_ids_of_its_own_and_something_to_find() -> None:
    assert len({memory.id for memory in NOTES}) == len(NOTES) >= 3
    assert any("PKCE" in memory.body for memory in NOTES)


def test_the_public_doubles_are_the_listed_ones() -> None:
    assert testing.__all__ == ["NOTES", "FixedClock", "HashedEmbedder", "ScriptedModel", "note"]
    assert all(hasattr(testing, name) for name in testing.__all__)
