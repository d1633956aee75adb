"""The months of the query log on PostgreSQL: made, filled from what came before, copied, and dropped as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text
from tests.storage import samples
from tests.storage.homes import TEMPLATE_SCHEMA, Home, PostgresServer, copied_database, raw

from assay.memory import retention
from assay.memory.retention import RetentionPolicy
from assay.records import IdFactory, Scope
from assay.records.scope import first_id, moment_of_id
from assay.storage import Store, open_store, schema
from assay.storage.repositories.month_partitions import MONTHLY, Month, list_months
from assay.storage.schema import Schema
from assay.testing import FixedClock
from assay.testing.clock import START

POLICY = RetentionPolicy(rows_in_archive=3)


@pytest.fixture
def home(postgres: PostgresServer, postgres_template: str, tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    """A new store on PostgreSQL."""
    with copied_database(postgres, postgres_template) as address:
        home = Home(
            address,
            clock,
            postgres_schema=TEMPLATE_SCHEMA,
            postgres_programs=postgres.programs,
            checkpoint_folder=tmp_path / "checkpoints",
        )
        yield home
        home.close()


def log(store: Store, scope: Scope, clock: FixedClock, count: int) -> list[str]:
    """Log searches of this moment, with candidates and a comparison each; return their ids."""
    ids = [IdFactory(clock).new("eq") for _ in range(count)]
    now, candidates = clock.now(), samples.full_query().candidates
    with store.writing(scope) as work:
        work.queries.add_many([samples.query(one, created_at=now, candidates=candidates) for one in ids])
        work.shadow_runs.add_many([samples.shadow_run(one, created_at=now) for one in ids])
    return ids


def counts(store: Store, scope: Scope) -> dict[str, int]:
    """Rows of a tenant in each table that has months."""
    with raw(store) as connection:
        statements = {table: f"SELECT count(*) FROM {table} WHERE tenant = '{scope.tenant}'" for table in MONTHLY}
        return {table: connection.exec_driver_sql(counted).scalar_one() for table, counted in statements.items()}


def months(store: Store, table: str = MONTHLY[0]) -> list[Month]:
    with raw(store) as connection:
        return list_months(connection, table)


def in_other(store: Store) -> int:
    with raw(store) as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM eval_queries_other").scalar_one())


def test_an_id_tells_when_it_was_made() -> None:
    clock = FixedClock()
    made = IdFactory(clock).new("eq")
    assert moment_of_id(made) == START.replace(microsecond=START.microsecond // 1000 * 1000)
    assert first_id("eq", START) <= made < first_id("eq", START + timedelta(milliseconds=1))
    assert moment_of_id("q_1") is None
    assert moment_of_id("eq_8ZZZZZZZZZZZZZZZZZZZZZZZZZ") is None
    assert Month(2026, 12).next == Month(2027, 1)
    assert Month.of(datetime(2026, 3, 31, 23, 59, tzinfo=UTC)).next.begin == datetime(2026, 4, 1, tzinfo=UTC)


def test_this_month_and_the_next_are_made_with_what_was_logged_before(
    store: Store, scope: Scope, clock: FixedClock
) -> None:
    ids = log(store, scope, clock, 3)
    before = counts(store, scope)
    assert in_other(store) == 3
    month = Month.of(clock.now())
    assert store.file_log() == [month.table("eval_queries"), month.next.table("eval_queries")]
    assert store.file_log() == []
    assert (months(store), in_other(store)) == ([month, month.next], 0)
    assert counts(store, scope) == before
    log(store, scope, clock, 2)
    assert in_other(store) == 0
    with store.reading(scope) as work:
        assert len(work.queries.get(ids[0]).candidates) == len(samples.full_query().candidates)
    assert store.problems() == []


@pytest.mark.slow
def test_a_checkpoint_holds_every_month(store: Store, scope: Scope, clock: FixedClock) -> None:
    store.file_log()
    log(store, scope, clock, 3)
    expected = counts(store, scope)
    checkpoint = store.checkpoints.create("before")
    log(store, scope, clock, 2)
    store.checkpoints.restore(checkpoint.id, scope)
    assert counts(store, scope) == expected
    assert store.problems() == []
    # Restored rows belong to no month until the months are made again.
    assert in_other(store) == 3
    store.file_log()
    assert (in_other(store), counts(store, scope)) == (0, expected)


def test_an_old_month_is_archived_and_dropped_as_a_whole(
    store: Store, scope: Scope, clock: FixedClock, tmp_path: Path
) -> None:
    store.file_log()
    ids = log(store, scope, clock, 20)
    with store.writing(scope) as work:
        work.judgments.put_many([samples.judgment(ids[4], "m_1")])
    other = Scope(tenant="globex")
    foreign = log(store, other, clock, 1)
    old = Month.of(clock.now())
    clock.advance(days=130)
    report = retention.run(store, scope, tmp_path / "archives", POLICY, clock)
    assert (report.queries, report.exempt_queries, report.shadow_runs) == (19, 1, 20)
    assert len(report.archives) == 7
    assert old not in months(store)
    # What is evidence stays, and so does what belongs to others, with all their candidates.
    kinds = len(samples.full_query().candidates)
    assert counts(store, scope) == {"eval_queries": 1, "eval_candidates": kinds, "eval_shadow_runs": 0}
    assert counts(store, other) == {"eval_queries": 1, "eval_candidates": kinds, "eval_shadow_runs": 1}
    with store.reading(other) as work:
        assert work.queries.get(foreign[0]).query_id == foreign[0]
    with store.reading(scope) as work:
        assert dict(work.audit.entries(limit=1)[0].detail)["months"] == 1
    assert store.problems() == []
    for archive in report.archives:
        retention.bring_back(store, scope, Path(archive))
    assert counts(store, scope)["eval_queries"] == 20
    assert store.problems() == []


@pytest.mark.slow
def test_a_month_that_many_tenants_share_is_emptied_row_by_row(
    store: Store, scope: Scope, clock: FixedClock, tmp_path: Path
) -> None:
    store.file_log()
    log(store, scope, clock, 3)
    log(store, Scope(tenant="globex"), clock, 3)
    month = Month.of(clock.now())
    clock.advance(days=130)
    assert retention.run(store, scope, tmp_path / "archives", POLICY, clock).queries == 3
    assert month in months(store)
    assert retention.run(store, Scope(tenant="globex"), tmp_path / "archives", POLICY, clock).queries == 3
    # The last one leaves nothing behind.
    assert month not in months(store)
    assert month not in months(store, "eval_shadow_runs")


def test_a_row_that_came_after_the_archive_keeps_the_month(store: Store, scope: Scope, clock: FixedClock) -> None:
    store.file_log()
    log(store, scope, clock, 3)
    month = Month.of(clock.now())
    with store.writing(scope) as work:
        assert not work.retention.drop_month(month, clock.now() + timedelta(days=100), archived=2)
    assert counts(store, scope)["eval_queries"] == 3


@pytest.mark.slow
def test_an_older_store_gets_the_months_of_its_rows(postgres: PostgresServer, scope: Scope, clock: FixedClock) -> None:
    home = Home(postgres.address, clock, postgres_schema=f"p_{uuid4().hex[:12]}")
    before = Schema(scripts=schema.CURRENT.scripts, newest="0022")
    old = open_store(home.address, clock=clock, options=home.options, schema=before)
    # Rows are written by the code of today, which knows a later column.
    with raw(old) as connection:
        connection.execute(text("ALTER TABLE eval_queries ADD COLUMN previous_query text"))
    for _ in range(3):
        log(old, scope, clock, 2)
        clock.advance(days=31)
    with old.writing(scope) as work:
        work.queries.add_many([samples.query("q_by_another", created_at=clock.now())])
    expected = counts(old, scope)
    with raw(old) as connection:
        connection.execute(text("ALTER TABLE eval_queries DROP COLUMN previous_query"))
    old.close()
    store = home.open()
    assert counts(store, scope) == expected
    assert (len(months(store)), in_other(store)) == (3, 1)
    ids = log(store, scope, clock, 1)
    with store.reading(scope) as work:
        newest = work.queries.recent(limit=1)[0]
    assert newest.query_id == ids[0]
    assert store.problems() == []
    home.close()
