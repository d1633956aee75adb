"""Why a write takes its tenant's lock first: without it, a follower passes a row that commits later and loses it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.storage.homes import BOUND_S, Home, PostgresServer
from tests.storage.waiting import until

from assay.records import LogPosition, Scope
from assay.storage import Store
from assay.testing import FixedClock, note

INSERT = b"""
    INSERT INTO changes (tenant, kind, row_id, operation, at)
    VALUES ('acme', 'memory', %s, 'insert', '2026-01-05T09:00:00.000000Z')"""
WAITING = b"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
def server_home(postgres: PostgresServer, clock: FixedClock, tmp_path: Path) -> Iterator[Home]:
    postgres.run("DROP SCHEMA IF EXISTS change_order CASCADE")
    home = Home(postgres.address, clock, postgres_schema="change_order")
    yield home
    home.close()


def connect(home: Home) -> psycopg.Connection:
    return psycopg.connect(home.address, options=f"-csearch_path={home.options.postgres_schema}")


def follow(store: Store, scope: Scope, known: LogPosition) -> tuple[list[str], LogPosition]:
    with store.reading(scope) as work:
        followed = work.changes.follow(known)
    assert not followed.must_rebuild
    return [change.row_id for change in followed.changes], followed.position


def test_without_the_lock_a_follower_loses_what_commits_later(server_home: Home, scope: Scope) -> None:
    store = server_home.open()
    with store.reading(scope) as work:
        start = work.changes.position()
    with connect(server_home) as slow, connect(server_home) as quick:
        slow.execute(INSERT, ["m_slow"])
        quick.execute(INSERT, ["m_quick"])
        quick.commit()
        seen, position = follow(store, scope, start)
        slow.commit()
    later, _ = follow(store, scope, position)
    assert (seen, later) == (["m_quick"], [])
    assert follow(store, scope, start)[0] == ["m_slow", "m_quick"]


def test_through_the_store_the_second_writer_waits_and_nothing_is_lost(server_home: Home, scope: Scope) -> None:
    store, other = server_home.open(), server_home.open()
    with store.reading(scope) as work:
        start = work.changes.position()

    def write_quickly() -> None:
        with other.writing(scope) as quick:
            quick.memories.add(note("m_quick"))

    with connect(server_home) as look:
        look.autocommit = True

        def is_waiting() -> bool:
            row = look.execute(WAITING).fetchone()
            return row is not None and row[0] == 1

        with store.writing(scope) as slow:
            slow.memories.add(note("m_slow"))
            writer = threading.Thread(target=write_quickly)
            writer.start()
            until(is_waiting)
            seen, position = follow(store, scope, start)
            assert seen == []
    writer.join(BOUND_S)
    assert not writer.is_alive()
    assert follow(store, scope, position)[0] == ["m_slow", "m_quick"]


def test_writers_of_different_tenants_do_not_wait_for_each_other(server_home: Home, scope: Scope) -> None:
    store, other = server_home.open(), server_home.open(lock_timeout_s=0.01)
    with store.writing(scope) as work:
        work.memories.add(note("m_1"))
        with other.writing(Scope(tenant="another")) as unhindered:
            unhindered.memories.add(note("m_1"))
    for tenant in (scope, Scope(tenant="another")):
        with store.reading(tenant) as work:
            assert work.memories.count() == 1
