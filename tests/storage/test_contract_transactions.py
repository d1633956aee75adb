"""A unit of work: durable when its block ends, absent when it raises, one snapshot while it reads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from sqlalchemy import text
from tests.storage import samples
from tests.storage.homes import BOUND_S, Home
from tests.storage.waiting import until_nobody_waits_at_a_door

from assay.errors import RecordExists, StoreBusy, StoreClosed, StoreReadOnly
from assay.records import AbTestStatus, Scope
from assay.storage import Store, Work
from assay.testing import note


class Interrupted(BaseException):
    """Not an Exception, as KeyboardInterrupt is not."""


def write_everything(work: Work, problem: type[BaseException] | None = None) -> None:
    work.memories.add(note("m_new"), samples.chunks("m_new", 2))
    work.memories.update(note("m_1", title="Changed"), samples.chunks("m_1", 1))
    work.edges.put(samples.edge("m_1", "m_new"))
    work.audit.append("test.done", "m_1")
    work.meta.put("fact", "new")
    work.queries.add_many([samples.full_query()])
    work.judgments.put_many([samples.judgment()])
    work.results.add(samples.result())
    work.feedback.record([samples.event()])
    work.ab_tests.put(samples.ab_test())
    work.shadow_runs.add_many([samples.shadow_run()])
    if problem is not None:
        raise problem


def everything(store: Store, scope: Scope) -> list[object]:
    with store.reading(scope) as work:
        return [
            work.memories.page(),
            work.memories.count_chunks(),
            work.edges.count(),
            work.changes.position(),
            work.audit.entries(),
            work.meta.get("fact"),
            work.queries.recent(),
            work.judgments.of("q_1"),
            work.results.latest(),
            work.feedback.count(),
            work.ab_tests.in_state(AbTestStatus.RUNNING),
            work.shadow_runs.of("rerank"),
        ]


def keep(store: Store, scope: Scope, *ids: str) -> None:
    with store.writing(scope) as work:
        for one in ids:
            work.memories.add(note(one))


@pytest.mark.parametrize("problem", [ZeroDivisionError, Interrupted])
def test_a_body_that_raises_leaves_nothing_behind(store: Store, scope: Scope, problem: type[BaseException]) -> None:
    keep(store, scope, "m_1")
    before = everything(store, scope)
    with pytest.raises(problem), store.writing(scope) as work:
        write_everything(work, problem)
    assert everything(store, scope) == before
    assert store.problems() == []
    keep(store, scope, "m_2")


def test_a_body_that_ends_is_there_for_every_reader_and_after_reopening(home: Home, scope: Scope) -> None:
    first, second = home.open(), home.open()
    keep(first, scope, "m_1")
    with first.writing(scope) as work:
        write_everything(work)
    kept = everything(first, scope)
    assert everything(second, scope) == kept
    home.close()
    assert everything(home.open(), scope) == kept


def test_a_write_is_not_seen_before_it_is_committed(home: Home, scope: Scope) -> None:
    first, second = home.open(), home.open()
    with first.writing(scope) as work:
        work.memories.add(note("m_1"))
        assert work.memories.count() == 1
        for store in (first, second):
            with store.reading(scope) as other:
                assert other.memories.count() == 0
    with second.reading(scope) as other:
        assert other.memories.count() == 1


def test_a_reader_sees_one_snapshot_from_its_first_question_on(home: Home, scope: Scope) -> None:
    first, second = home.open(), home.open()
    keep(first, scope, "m_1")
    with second.reading(scope) as reader:
        before = (reader.memories.page(), reader.changes.position())
        keep(first, scope, "m_2")
        with first.writing(scope) as work:
            work.memories.remove("m_1")
        assert (reader.memories.page(), reader.changes.position()) == before
    with second.reading(scope) as reader:
        assert reader.memories.page() == [note("m_2")]


def test_a_reader_cannot_write(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")
    before = everything(store, scope)
    with pytest.raises(StoreReadOnly) as refused, store.reading(scope) as work:
        work.memories.remove("m_1")
    assert refused.value.remedy
    with pytest.raises(StoreReadOnly), store.reading(scope) as work:
        work.audit.append("test.done", "m_1")
    assert everything(store, scope) == before


def test_a_reader_cannot_change_the_schema(store: Store) -> None:
    with pytest.raises(StoreReadOnly), store._backend.reading() as connection:
        connection.execute(text("DROP TABLE memories"))
    assert store.problems() == []


def test_readers_read_while_a_writer_writes(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")

    def look() -> int:
        with store.reading(scope) as work:
            return work.memories.count()

    with ThreadPoolExecutor(4) as threads, store.writing(scope) as work:
        work.memories.add(note("m_2"))
        asked = [threads.submit(look) for _ in range(8)]
        assert [one.result(BOUND_S) for one in asked] == [1] * 8


def test_threads_that_write_at_once_lose_nothing(store: Store, scope: Scope) -> None:
    def write(thread: int) -> None:
        for number in range(5):
            with store.writing(scope) as work:
                work.memories.add(note(f"m_{thread}_{number}"))

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(write, thread) for thread in range(4)]:
            done.result(BOUND_S)
    with store.reading(scope) as work:
        assert work.memories.count() == 20
    assert store.problems() == []


def test_a_write_waits_no_longer_than_it_is_told_to(home: Home, scope: Scope) -> None:
    patient, hasty = home.open(), home.open(lock_timeout_s=0.01)
    with patient.writing(scope) as work:
        work.memories.add(note("m_1"))
        with pytest.raises(StoreBusy) as refused, hasty.writing(scope):
            pass
    assert refused.value.remedy
    until_nobody_waits_at_a_door()
    keep(hasty, scope, "m_2")


def test_a_write_inside_a_write_is_refused_and_the_outer_one_goes_on(home: Home, scope: Scope) -> None:
    store = home.open(lock_timeout_s=0.01)
    with store.writing(scope) as outer:
        outer.memories.add(note("m_1"))
        with pytest.raises(StoreBusy), store.writing(scope):
            pass
        outer.memories.add(note("m_2"))
    with store.reading(scope) as work:
        assert work.memories.count() == 2


def test_a_reading_inside_a_writing_sees_the_state_before(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")
    with store.writing(scope) as work:
        work.memories.remove("m_1")
        with store.reading(scope) as other:
            assert other.memories.count() == 1


def test_a_closed_store_is_used_no_more_and_closing_twice_is_fine(store: Store, scope: Scope) -> None:
    place = store.place
    store.close()
    store.close()
    for use in (store.reading, store.writing):
        with pytest.raises(StoreClosed) as refused, use(scope):
            pass
        assert place in refused.value.message
        assert refused.value.remedy
    with pytest.raises(StoreClosed):
        store.problems()


def test_a_store_says_where_it_is_and_what_it_runs_on(store: Store, home: Home) -> None:
    assert store.backend_name == home.backend
    expected = home.address if home.backend == "sqlite" else home.options.postgres_schema
    assert expected in store.place


def test_a_thread_that_fails_in_mid_write_does_not_hold_up_the_next(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")

    def fail() -> None:
        with suppress(RecordExists), store.writing(scope) as work:
            work.memories.add(note("m_1"))

    failing = threading.Thread(target=fail)
    failing.start()
    failing.join(BOUND_S)
    assert not failing.is_alive()
    keep(store, scope, "m_2")
