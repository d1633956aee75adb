"""Reading connections of a SQLite file: kept open, shared by threads, closed after an error."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from assay.storage.sqlite import Readers, connect


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[Readers]:
    path = tmp_path / "some.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE notes (body TEXT)")
        made.execute("INSERT INTO notes VALUES ('one')")
    made.close()
    kept = Readers(create_engine("sqlite://", creator=lambda: connect(path, read_only=True), poolclass=NullPool), 2)
    yield kept
    kept.close()


def test_the_connection_used_last_is_taken_first(readers: Readers) -> None:
    first, second = readers.take(), readers.take()
    for reader in (first, second):
        reader.begin()
    readers.put_back(second)
    readers.put_back(first)
    assert readers.take() is first


def test_a_snapshot_ends_when_the_connection_is_put_back(readers: Readers) -> None:
    reader = readers.take()
    reader.begin()
    assert reader.connection.execute(text("SELECT body FROM notes")).scalar_one() == "one"
    readers.put_back(reader)
    assert not reader.connection.in_transaction()
    driver = reader.connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    assert not driver.in_transaction


def test_a_dropped_connection_is_closed_and_another_one_can_be_taken(readers: Readers) -> None:
    kept, dropped = readers.take(), readers.take()
    readers.drop(dropped)
    assert dropped.connection.closed
    another = readers.take()
    assert another is not dropped
    another.begin()
    readers.put_back(another)
    readers.put_back(kept)


def test_connections_in_use_are_closed_when_they_come_back(readers: Readers) -> None:
    used, free = readers.take(), readers.take()
    readers.put_back(free)
    readers.close()
    assert free.connection.closed
    readers.put_back(used)
    assert used.connection.closed
