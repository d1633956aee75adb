"""Old rows leave for an archive and come back, whatever happens in between; on both back ends."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.storage import samples
from tests.storage.homes import Home

from assay.errors import InputError, MalformedFile, StoreBusy
from assay.memory import retention
from assay.memory.retention import RetentionPolicy, ScheduledRetention, lease_of
from assay.records import Operation, RowKind, Scope
from assay.records.maintenance import RetentionReport
from assay.storage import HeldLease, Store, Work, archives
from assay.storage.repositories.history import ChangedRow
from assay.testing import FixedClock, note

POLICY = RetentionPolicy(rows_in_archive=2)


def fill(store: Store, scope: Scope, clock: FixedClock) -> None:
    """Five searches: one in a corpus, one judged, three without value as evidence; an event and a comparison each."""
    now = clock.now()
    with store.writing(scope) as work:
        work.queries.add_many(
            [
                samples.query(
                    f"q_{number}",
                    created_at=now,
                    is_eval_corpus=number == 0,
                    candidates=samples.full_query().candidates,
                    tokens_saved=number,
                )
                for number in range(5)
            ]
        )
        work.judgments.put_many([samples.judgment("q_1", "m_1")])
        work.feedback.record([samples.event(f"e_{place}", query_id=f"q_{place}", created_at=now) for place in range(5)])
        work.feedback.record([samples.event("e_alone", query_id=None, created_at=now)])
        work.shadow_runs.add_many([samples.shadow_run("q_1", created_at=now)])


def run(store: Store, scope: Scope, folder: Path, clock: FixedClock) -> RetentionReport:
    return retention.run(store, scope, folder, POLICY, clock)


def rows(work: Work) -> dict[str, Any]:
    logged = {one.query_id: work.queries.get(one.query_id) for one in work.queries.recent()}
    return {"queries": logged, "order": list(logged), "events": work.sessions.events(samples.event().session_id)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archives"


def test_nothing_goes_before_its_time(store: Store, scope: Scope, folder: Path, clock: FixedClock) -> None:
    fill(store, scope, clock)
    clock.advance(days=29.9)
    report = run(store, scope, folder, clock)
    assert (report.queries, report.events, report.shadow_runs, report.archives) == (0, 0, 0, ())
    clock.advance(days=0.2)
    assert run(store, scope, folder, clock).shadow_runs == 1
    clock.advance(days=59.8)
    assert run(store, scope, folder, clock).queries == 0
    clock.advance(days=0.2)
    assert run(store, scope, folder, clock).queries == 3


def test_evidence_stays_and_the_rest_is_archived(store: Store, scope: Scope, folder: Path, clock: FixedClock) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    planned = retention.plan(store, scope, POLICY, clock)
    report = run(store, scope, folder, clock)

    assert (planned.queries, planned.events, planned.exempt_queries, planned.shadow_runs) == (3, 4, 2, 1)
    assert (report.queries, report.events, report.exempt_queries, report.shadow_runs) == (3, 4, 2, 1)
    with store.reading(scope) as work:
        assert {one.query_id for one in work.queries.recent()} == {"q_0", "q_1"}
        assert work.feedback.count() == 2
        assert {one.path for one in work.files.every()} == set(report.archives)
    assert sum(archives.verify(Path(path)).rows for path in report.archives) == 7
    assert run(store, scope, folder, clock).archives == ()
    assert store.problems() == []


def test_what_was_archived_comes_back_as_it_was(store: Store, scope: Scope, folder: Path, clock: FixedClock) -> None:
    fill(store, scope, clock)
    with store.reading(scope) as work:
        before = rows(work)
    clock.advance(days=91)
    report = run(store, scope, folder, clock)

    back = [retention.bring_back(store, scope, Path(path)) for path in report.archives]
    again = [retention.bring_back(store, scope, Path(path)) for path in report.archives]

    assert sum(one.new for one in back) == 7
    assert sum(one.new for one in again) == 0
    with store.reading(scope) as work:
        assert rows(work) == before
    assert store.problems() == []


def test_a_number_that_was_taken_since_is_no_hindrance(
    store: Store, scope: Scope, folder: Path, clock: FixedClock
) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    report = run(store, scope, folder, clock)
    path = Path(report.archives[0])
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()][1:-1]
    with store.writing(Scope(tenant="rival")) as work:
        work.queries.add_many([samples.query("q_theirs")])
        theirs = work.queries.of_session("s", limit=1)
    kept = [{**line, "id": 1} for line in lines]
    archives.write(path, scope.tenant, kept)
    assert retention.bring_back(store, scope, path).new == len(lines)
    assert theirs == []


def test_an_archive_cut_in_half_brings_nothing_back(
    store: Store, scope: Scope, folder: Path, clock: FixedClock
) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    path = Path(run(store, scope, folder, clock).archives[0])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MalformedFile, match=r"line \d"):
        retention.bring_back(store, scope, path)
    with store.reading(scope) as work:
        assert work.queries.count() == 2


@pytest.mark.parametrize(
    "row",
    [
        {"table": "eval_queries", "id": 9, "row": {"query_id": "q_9"}},
        {"table": "eval_queries", "id": "x", "row": {}},
        {"id": 9},
        {"table": "eval_feedback", "id": 9, "row": {"event_key": "e", "event_type": "dance", "created_at": "now"}},
    ],
)
def test_a_row_that_is_none_of_ours_brings_nothing_back(
    store: Store, scope: Scope, folder: Path, clock: FixedClock, row: dict[str, Any]
) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    path = Path(run(store, scope, folder, clock).archives[0])
    good = list(archives.read(path))
    archives.write(path, scope.tenant, [*good, row])
    with pytest.raises(MalformedFile, match="none of this store"):
        retention.bring_back(store, scope, path)
    with store.reading(scope) as work:
        assert work.queries.count() == 2


def test_an_archive_of_another_tenant_is_refused(store: Store, scope: Scope, folder: Path, clock: FixedClock) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    path = Path(run(store, scope, folder, clock).archives[0])
    with pytest.raises(InputError, match="'acme'"):
        retention.bring_back(store, Scope(tenant="rival"), path)
    assert retention.run(store, Scope(tenant="rival"), folder, POLICY, clock).queries == 0


def test_a_kill_between_archive_and_deletion_loses_and_doubles_nothing(
    home: Home, scope: Scope, folder: Path, clock: FixedClock
) -> None:
    """The archive is there, the rows too: the next run archives them again, and they come back once."""
    store = home.open()
    fill(store, scope, clock)
    clock.advance(days=91)
    with store.reading(scope) as work:
        before = clock.now()
        orphan = work.retention.old_queries(before, after=0, limit=10)
    left = archives.write(folder / "queries-left.jsonl.gz", scope.tenant, (one.row for one in orphan))

    report = run(store, scope, folder, clock)

    assert report.queries == 3
    paths = [left.path, *map(Path, report.archives)]
    assert sum(retention.bring_back(store, scope, path).new for path in paths) == 7


def test_a_search_that_is_judged_while_it_is_archived_stays(
    store: Store, scope: Scope, folder: Path, clock: FixedClock
) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    with store.reading(scope) as work:
        old = work.retention.old_queries(clock.now(), after=0, limit=10)
    with store.writing(scope) as work:
        work.judgments.put_many([samples.judgment("q_3", "m_1")])
        assert work.retention.remove_queries([one.number for one in old]) == len(old) - 1
        assert work.queries.get("q_3").query_id == "q_3"
    assert run(store, scope, folder, clock).exempt_queries == 3


def test_old_lines_of_the_change_log_go_and_followers_are_told(
    store: Store, scope: Scope, folder: Path, clock: FixedClock
) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"))
        number = work.memories.numbers_of(["m_1"])["m_1"]
        work.changes.append(Operation.UPDATE, [ChangedRow(RowKind.MEMORY, "m_1", number)] * 10_004)
    with store.reading(scope) as work:
        start = work.changes.follow(None).position._replace(seq=1)
    clock.advance(days=31)
    assert run(store, scope, folder, clock).log_lines == 5
    with store.reading(scope) as work:
        assert work.changes.follow(start).must_rebuild
    assert store.problems() == []


def test_a_thousand_years_are_for_ever(store: Store, scope: Scope, folder: Path, clock: FixedClock) -> None:
    fill(store, scope, clock)
    clock.advance(days=400)
    never = RetentionPolicy(query_days=1e12, shadow_days=1e12, change_days=1e12)
    report = retention.run(store, scope, folder, never, clock)
    assert (report.queries, report.shadow_runs, report.log_lines) == (0, 0, 0)


# --- One process at a time, and every so many hours in servers ---


def schedule(store: Store, folder: Path, clock: FixedClock) -> ScheduledRetention:
    def run_held(scope: Scope, lease: HeldLease) -> RetentionReport:
        return retention.run_held(store, scope, folder, POLICY, clock, lease=lease)

    return ScheduledRetention(store, run_held, every=timedelta(hours=6), clock=clock)


def test_only_one_process_archives_at_a_time(store: Store, scope: Scope, folder: Path, clock: FixedClock) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    with store.coordinating(scope) as work:
        other = work.leases.take(lease_of(scope), "another machine", timedelta(minutes=1))
    assert other is not None
    with pytest.raises(StoreBusy, match="another process archives old rows of the tenant acme"):
        run(store, scope, folder, clock)
    assert scope.tenant not in schedule(store, folder, clock).look()
    with store.coordinating(scope) as work:
        work.leases.give_back(other)
    assert run(store, scope, folder, clock).queries == 3


def test_who_was_replaced_in_the_middle_removes_nothing_more(
    store: Store, scope: Scope, folder: Path, clock: FixedClock
) -> None:
    fill(store, scope, clock)
    clock.advance(days=91)
    with store.coordinating(scope) as work:
        paused = work.leases.take(lease_of(scope), "paused", timedelta(0))
        assert paused is not None
        work.leases.take(lease_of(scope), "heir", timedelta(0))
    with pytest.raises(StoreBusy, match="was taken over by heir"):
        retention.run_held(store, scope, folder, POLICY, clock, lease=HeldLease(paused, clock, 15.0))
    with store.reading(scope) as work:
        assert len(rows(work)["order"]) == 5
    # The heir archives the same rows again; they come back once.
    report = run(store, scope, folder, clock)
    brought = [retention.bring_back(store, scope, path).new for path in sorted(folder.rglob(f"*{archives.SUFFIX}"))]
    with store.reading(scope) as work:
        assert len(rows(work)["order"]) == 5
    assert (report.queries, sum(brought), 0 in brought) == (3, report.queries + report.events, True)


def test_servers_archive_every_tenant_when_it_is_due(
    store: Store, scope: Scope, folder: Path, clock: FixedClock
) -> None:
    for number in ("alpha", "beta"):
        with store.writing(Scope(tenant=number, principal="ada")) as work:
            work.audit.append("token.create", "t_1", {})
    fill(store, Scope(tenant="alpha", principal="ada"), clock)
    clock.advance(days=91)
    first, second = schedule(store, folder, clock), schedule(store, folder, clock)
    done = first.look()
    assert {"alpha", "beta"} <= set(done)
    assert second.look() == []
    with store.reading(Scope(tenant="alpha", principal="ada")) as work:
        assert work.queries.count() == 2
    clock.advance(hours=6)
    assert second.look() == done
    first.close()
