"""The query log's buffer: it costs an append, loses nothing in silence, and never stops a search."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest
from tests.storage import samples
from tests.storage.homes import BOUND_S
from tests.storage.waiting import until

from assay.errors import AssayError, BadValue, StoreBusy, StoreFull
from assay.records import LoggedQuery, Scope
from assay.storage import LogStatus
from assay.storage.query_log import BATCH, QueryLog

ACME = Scope(tenant="acme")
OTHER = Scope(tenant="other")
NEVER_S = 3_600.0
SOON_S = 0.005


class Disk:
    """Takes what is written, and refuses as often as it is told to."""

    def __init__(self, *refusals: AssayError) -> None:
        self.batches: list[tuple[str, list[str]]] = []
        self.refusals = list(refusals)
        self.poison: set[str] = set()
        self.before: Callable[[], object] = lambda: None

    def write(self, scope: Scope, queries: Sequence[LoggedQuery]) -> None:
        self.before()
        if self.refusals:
            raise self.refusals.pop(0)
        if any(query.query_id in self.poison for query in queries):
            raise BadValue("a row is poison", remedy="None.")
        self.batches.append((scope.tenant, [query.query_id for query in queries]))

    @property
    def rows(self) -> list[str]:
        return [row for _, batch in self.batches for row in batch]


def log_on(disk: Disk, *, interval_s: float = NEVER_S, capacity: int = 100_000) -> QueryLog:
    return QueryLog(disk.write, flush_interval_s=interval_s, capacity=capacity)


def append(log: QueryLog, *ids: str, scope: Scope = ACME) -> list[bool]:
    return [log.append(scope, samples.query(id)) for id in ids]  # noqa: A001 - the record's own word


def full() -> StoreFull:
    return StoreFull("no space on /disk", remedy="Free some.")


def test_appending_writes_nothing_by_itself() -> None:
    disk = Disk()
    log = log_on(disk)
    assert append(log, "q_1", "q_2") == [True, True]
    assert disk.rows == []
    assert log.status() == LogStatus(waiting=2, written=0, dropped=0, last_problem=None)
    log.close()


def test_a_flush_writes_what_waits_in_order_and_once() -> None:
    disk = Disk()
    log = log_on(disk)
    append(log, "q_3", "q_1", "q_2")
    log.flush()
    log.flush()
    assert disk.batches == [("acme", ["q_3", "q_1", "q_2"])]
    assert log.status() == LogStatus(waiting=0, written=3, dropped=0, last_problem=None)
    log.close()


def test_a_waiting_query_is_found_in_its_scope_until_it_is_written() -> None:
    disk = Disk()
    log = log_on(disk)
    append(log, "q_1", "q_2")
    assert log.find_waiting(ACME, "q_1") == samples.query("q_1")
    assert log.find_waiting(OTHER, "q_1") is None
    assert log.find_waiting(ACME, "q_3") is None
    assert disk.rows == []
    log.flush()
    assert log.find_waiting(ACME, "q_1") is None
    log.close()


def test_what_was_appended_is_written_by_itself_soon() -> None:
    disk = Disk()
    log = log_on(disk, interval_s=SOON_S)
    append(log, "q_1")
    until(lambda: disk.rows == ["q_1"])
    append(log, "q_2")
    until(lambda: disk.rows == ["q_1", "q_2"])
    log.close()


def test_each_scope_is_a_commit_of_its_own_and_order_is_kept() -> None:
    disk = Disk()
    log = log_on(disk)
    append(log, "q_1", "q_2")
    append(log, "q_3", scope=OTHER)
    append(log, "q_4")
    log.flush()
    assert disk.batches == [("acme", ["q_1", "q_2"]), ("other", ["q_3"]), ("acme", ["q_4"])]
    log.close()


def test_a_commit_holds_so_many_rows_and_no_more() -> None:
    disk = Disk()
    log = log_on(disk)
    ids = [f"q_{number}" for number in range(2 * BATCH + 1)]
    append(log, *ids)
    log.flush()
    assert [len(batch) for _, batch in disk.batches] == [BATCH, BATCH, 1]
    assert disk.rows == ids
    log.close()


def test_a_full_buffer_drops_the_newest_and_counts_it() -> None:
    disk = Disk()
    log = log_on(disk, capacity=2)
    assert append(log, "q_1", "q_2", "q_3") == [True, True, False]
    assert log.status() == LogStatus(waiting=2, written=0, dropped=1, last_problem=None)
    log.flush()
    assert append(log, "q_4") == [True]
    log.close()
    assert disk.rows == ["q_1", "q_2", "q_4"]
    assert log.status().dropped == 1


def test_rows_a_disk_refuses_wait_in_order_and_are_written_when_it_recovers() -> None:
    disk = Disk(full())
    log = log_on(disk)
    append(log, "q_1", "q_2")
    with pytest.raises(StoreFull):
        log.flush()
    append(log, "q_3")
    refused = log.status()
    assert (refused.waiting, refused.written, refused.dropped) == (3, 0, 0)
    assert refused.last_problem is not None
    assert "no space on /disk" in refused.last_problem
    log.flush()
    assert disk.rows == ["q_1", "q_2", "q_3"]
    assert log.status() == LogStatus(waiting=0, written=3, dropped=0, last_problem=None)
    log.close()


def test_the_thread_tries_again_by_itself_after_a_refusal() -> None:
    disk = Disk(full(), full(), StoreBusy("busy", remedy="Wait."))
    log = log_on(disk, interval_s=SOON_S)
    append(log, "q_1")
    until(lambda: disk.rows == ["q_1"])
    until(lambda: log.status().written == 1)
    assert disk.refusals == []
    log.close()


def test_a_row_the_schema_refuses_holds_up_nobody_and_takes_no_other_with_it() -> None:
    disk = Disk()
    disk.poison = {"q_2"}
    log = log_on(disk)
    append(log, "q_1", "q_2")
    append(log, "q_3", scope=OTHER)
    append(log, "q_4", "q_5")
    log.flush()
    assert disk.batches == [("acme", ["q_1"]), ("other", ["q_3"]), ("acme", ["q_4", "q_5"])]
    assert log.status() == LogStatus(waiting=0, written=4, dropped=1, last_problem=None)
    log.close()


def test_the_last_problem_names_the_row_that_was_dropped() -> None:
    disk = Disk()
    disk.poison = {"q_2"}
    log = log_on(disk)
    append(log, "q_1", "q_2")
    log.flush()
    assert log.status() == LogStatus(waiting=0, written=1, dropped=1, last_problem="a row is poison. None.")
    log.close()


def test_rows_wait_on_when_the_disk_fails_while_a_refused_row_is_looked_for() -> None:
    disk = Disk()
    disk.poison = {"q_3"}
    log = log_on(disk)
    append(log, "q_1", "q_2", "q_3", "q_4")
    writes = iter([None, None, full()])

    def fail_third() -> None:
        if (problem := next(writes, None)) is not None:
            raise problem

    disk.before = fail_third
    with pytest.raises(StoreFull):
        log.flush()
    assert disk.rows == ["q_1"]
    log.flush()
    assert disk.rows == ["q_1", "q_2", "q_4"]
    assert log.status()[:3] == (0, 3, 1)
    log.close()


def test_make_sure_of_writes_the_log_only_if_the_query_waits() -> None:
    disk = Disk()
    log = log_on(disk)
    append(log, "q_1", "q_2")
    log.make_sure_of("q_unknown")
    assert disk.rows == []
    log.make_sure_of("q_2")
    assert disk.rows == ["q_1", "q_2"]
    log.close()


def test_make_sure_of_waits_for_a_batch_that_is_on_its_way() -> None:
    disk = Disk()
    arrived, go_on = threading.Event(), threading.Event()

    def stop_over() -> None:
        arrived.set()
        assert go_on.wait(BOUND_S)

    disk.before = stop_over
    log = log_on(disk, interval_s=SOON_S)
    append(log, "q_1")
    assert arrived.wait(BOUND_S)
    sure = threading.Thread(target=log.make_sure_of, args=("q_1",))
    sure.start()
    sure.join(0.02)
    assert sure.is_alive()
    go_on.set()
    sure.join(BOUND_S)
    assert disk.rows == ["q_1"]
    log.close()


def test_closing_writes_what_waits_and_takes_no_more() -> None:
    disk = Disk()
    log = log_on(disk)
    append(log, "q_1")
    log.close()
    log.close()
    assert disk.rows == ["q_1"]
    assert append(log, "q_2") == [False]
    assert log.status() == LogStatus(waiting=0, written=1, dropped=1, last_problem=None)


def test_closing_a_log_that_was_never_used_writes_nothing() -> None:
    disk = Disk()
    log_on(disk).close()
    assert disk.batches == []


def test_what_a_disk_refuses_at_the_close_is_counted_as_dropped_and_told() -> None:
    disk = Disk(*[full()] * 10)
    log = log_on(disk)
    append(log, "q_1", "q_2")
    with pytest.raises(StoreFull, match="no space on /disk"):
        log.close()
    assert log.status()[:3] == (0, 0, 2)


def test_threads_that_append_at_once_lose_nothing() -> None:
    disk = Disk()
    log = log_on(disk, interval_s=SOON_S)
    threads = [
        threading.Thread(target=append, args=(log, *(f"q_{thread}_{number}" for number in range(200))))
        for thread in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)
    log.close()
    assert log.status() == LogStatus(waiting=0, written=800, dropped=0, last_problem=None)
    assert len(set(disk.rows)) == 800
    for number in range(4):
        own = [row for row in disk.rows if row.startswith(f"q_{number}_")]
        assert own == [f"q_{number}_{row}" for row in range(200)]
