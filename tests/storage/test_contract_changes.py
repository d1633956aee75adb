"""The change log: what it says, in which order, and when a follower must begin anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event
from tests.storage import samples
from tests.storage.homes import Home

from assay.errors import RecordExists
from assay.records import Change, LogPosition, Operation, RowKind, Scope
from assay.storage import Followed, Saved, Store
from assay.storage.repositories.history import Standing
from assay.testing import FixedClock, note

BEGINNING = 0


def follow(store: Store, scope: Scope, seq: int = BEGINNING) -> list[Change]:
    with store.reading(scope) as work:
        epoch = work.changes.position().epoch
        followed = work.changes.follow(LogPosition(epoch, seq))
    assert not followed.must_rebuild
    return followed.changes


def said(changes: list[Change]) -> list[str]:
    return [f"{change.operation} {change.kind} {change.row_id}" for change in changes]


def keep(store: Store, scope: Scope, *ids: str) -> None:
    with store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in samples.notes(*ids))


def test_adding_tells_of_the_memories_then_of_their_chunks(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add_many(
            [Saved(note("m_2"), samples.chunks("m_2", 1)), Saved(note("m_1"), samples.chunks("m_1", 2))]
        )
    assert said(follow(store, scope)) == [
        "insert memory m_2",
        "insert memory m_1",
        "insert chunk m_2#0",
        "insert chunk m_1#0",
        "insert chunk m_1#1",
    ]


def test_an_update_tells_of_the_memory_and_of_chunks_only_when_they_change(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 2))
        before = work.changes.position().seq
        work.memories.update(note("m_1", folder="elsewhere", learned_triggers=("learned",)))
        work.memories.update(note("m_1"), samples.chunks("m_1", 1))
    assert said(follow(store, scope, before)) == [
        "update memory m_1",
        "update memory m_1",
        "delete chunk m_1#0",
        "delete chunk m_1#1",
        "insert chunk m_1#0",
    ]


@pytest.mark.parametrize("changed", [{"title": "New"}, {"triggers": ("new",)}])
def test_a_title_or_trigger_is_part_of_every_passage(store: Store, scope: Scope, changed: dict[str, Any]) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 2))
        before = work.changes.position().seq
        work.memories.update(note("m_1", **changed))
    assert said(follow(store, scope, before)) == ["update memory m_1", "update chunk m_1#0", "update chunk m_1#1"]


def test_a_line_carries_the_number_of_its_row_also_when_the_row_is_gone(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 2))
        work.memories.add(note("m_2"), samples.chunks("m_2", 1))
        work.memories.remove("m_1")
    told = [(change.kind, change.number) for change in follow(store, scope)]
    memory, chunk = RowKind.MEMORY, RowKind.CHUNK
    assert told == [
        (memory, 1), (chunk, 1), (chunk, 2), (memory, 2), (chunk, 3), (chunk, 1), (chunk, 2), (memory, 1)
    ]  # fmt: skip


def test_trimming_by_age_keeps_the_last_lines(store: Store, scope: Scope, clock: FixedClock) -> None:
    keep(store, scope, "m_1", "m_2", "m_3")
    clock.advance(days=40)
    keep(store, scope, "m_4")
    with store.writing(scope) as work:
        assert work.changes.trim_before(clock.now(), keep=2) == 2
        assert work.changes.trim_before(clock.now(), keep=2) == 0
        assert work.changes.trim_before(clock.now(), keep=0) == 1
    assert [change.row_id for change in follow(store, scope, 3)] == ["m_4"]


def test_removing_tells_of_the_chunks_then_of_the_memory(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 2))
        before = work.changes.position().seq
        work.memories.remove("m_1")
    assert said(follow(store, scope, before)) == ["delete chunk m_1#0", "delete chunk m_1#1", "delete memory m_1"]


def test_a_change_carries_the_moment_it_was_made(store: Store, scope: Scope, clock: FixedClock) -> None:
    clock.advance(days=1, seconds=0.25)
    keep(store, scope, "m_1")
    (change,) = follow(store, scope)
    assert change == Change(
        seq=change.seq, kind=RowKind.MEMORY, row_id="m_1", operation=Operation.INSERT, at=clock.now(), number=1
    )


def test_seq_only_grows_also_after_rows_are_gone(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1", "m_2")
    with store.writing(scope) as work:
        end = work.changes.position().seq
        work.changes.trim(end)
        work.memories.remove("m_1")
    (removed,) = follow(store, scope, end)
    assert removed.seq > end


def test_what_was_rolled_back_is_not_told(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")
    with pytest.raises(RecordExists):
        keep(store, scope, "m_2", "m_1")
    keep(store, scope, "m_3")
    assert said(follow(store, scope)) == ["insert memory m_1", "insert memory m_3"]


def test_a_follower_reads_on_from_where_it_was(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1", "m_2", "m_3")
    with store.reading(scope) as work:
        known = LogPosition(work.changes.position().epoch, BEGINNING)
        first = work.changes.follow(known, limit=2)
        second = work.changes.follow(first.position, limit=2)
        third = work.changes.follow(second.position, limit=2)
        end = work.changes.position()
    assert [said(part.changes) for part in (first, second, third)] == [
        ["insert memory m_1", "insert memory m_2"],
        ["insert memory m_3"],
        [],
    ]
    assert second.position == third.position == end
    keep(store, scope, "m_4")
    assert said(follow(store, scope, end.seq)) == ["insert memory m_4"]


def test_an_empty_log_has_a_position_to_follow_from(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        position = work.changes.position()
    assert position.seq == 0
    assert position.epoch.startswith("ep_")
    keep(store, scope, "m_1")
    assert said(follow(store, scope, position.seq)) == ["insert memory m_1"]


@pytest.mark.parametrize("known", [None, LogPosition("ep_another", 0), LogPosition("", 10**9)])
def test_a_follower_of_no_epoch_or_another_must_rebuild(store: Store, scope: Scope, known: LogPosition | None) -> None:
    keep(store, scope, "m_1")
    with store.reading(scope) as work:
        followed = work.changes.follow(known)
        assert followed.must_rebuild
        assert followed.changes == []
        assert followed.position == work.changes.position()


def test_a_follower_behind_the_trimmed_part_must_rebuild_and_one_at_its_end_goes_on(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1", "m_2", "m_3")
    first, second, third = follow(store, scope)
    with store.writing(scope) as work:
        epoch = work.changes.position().epoch
        assert work.changes.trim(second.seq) == 2
    with store.reading(scope) as work:
        behind = work.changes.follow(LogPosition(epoch, first.seq))
        level = work.changes.follow(LogPosition(epoch, second.seq))
    assert (behind.must_rebuild, behind.changes) == (True, [])
    assert behind.position == LogPosition(epoch, third.seq)
    assert (level.must_rebuild, level.changes) == (False, [third])


def test_trimming_beyond_the_end_or_twice_takes_no_more_than_there_is(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1", "m_2")
    with store.writing(scope) as work:
        end = work.changes.position()
        assert work.changes.trim(end.seq + 1_000) == 2
        assert work.changes.trim(1) == 0
        assert work.changes.position() == end
    keep(store, scope, "m_3")
    assert said(follow(store, scope, end.seq)) == ["insert memory m_3"]
    assert store.problems() == []


def test_a_long_log_is_followed_in_batches(store: Store, scope: Scope) -> None:
    keep(store, scope, *(f"m_{number:03}" for number in range(250)))
    with store.reading(scope) as work:
        position = LogPosition(work.changes.position().epoch, BEGINNING)
        seen: list[str] = []
        while (part := work.changes.follow(position, limit=100)).changes:
            seen += [change.row_id for change in part.changes]
            position = part.position
    assert seen == [f"m_{number:03}" for number in range(250)]


def test_the_epoch_outlives_closing_and_opening(home: Home, scope: Scope) -> None:
    with home.open() as store, store.reading(scope) as work:
        before = work.changes.position()
    with home.open().reading(scope) as work:
        assert work.changes.position() == before


@contextmanager
def statements_of(connection: Connection) -> Iterator[list[str]]:
    """Every statement that the database is sent meanwhile."""
    asked: list[str] = []
    driver: Any = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        driver.set_trace_callback(asked.append)
        yield asked
        driver.set_trace_callback(None)
        return

    def record(_: Connection, __: object, statement: str, *___: object) -> None:
        asked.append(statement)

    event.listen(connection, "before_cursor_execute", record)
    yield asked
    event.remove(connection, "before_cursor_execute", record)


def test_where_a_tenant_stands_is_one_question(store: Store, scope: Scope) -> None:
    with store.writing(Scope(tenant="other")) as work:
        work.memories.add(note("m_1"))
        work.vectors.activate("theirs")
    keep(store, scope, "m_1", "m_2")
    with store.writing(scope) as work:
        before = work.changes.standing()
        work.vectors.activate("ours")
        work.changes.trim(before.position.seq)
        with statements_of(work._bound.connection) as asked:
            after = work.changes.standing()
            assert work.changes.follow(after.position) == Followed([], after.position, must_rebuild=False)
    assert len(asked) == 2
    assert (before.trimmed_to, before.model) == (0, None)
    assert after == Standing(before.position, before.position.seq, "ours", unlogged_writes=0)
