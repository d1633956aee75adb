"""Statements run straight at SQLite's driver: the same rows and errors as by SQLAlchemy."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Connection, MetaData, Table, bindparam, create_engine, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError, OperationalError

from assay.storage.repositories.base import Listed, among, mine
from assay.storage.repositories.prepared import driver_of, prepare_insert, prepare_query, run_sql
from assay.storage.rows import Json, Moment, TextType, WholeType, YesNo

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
things = Table(
    "things",
    MetaData(),
    Column("number", WholeType, primary_key=True),
    Column("tenant", TextType),
    Column("at", Moment),
    Column("tags", Json),
    Column("open", YesNo),
)
ADD = things.insert()
BY_NUMBER = (
    select(things)
    .where(mine(things), among(things.c.number, "numbers"))
    .order_by(things.c.number)
    .limit(bindparam("n"))
)
OPEN = select(things.c.number, things.c.at).where(mine(things), things.c.open == True)  # noqa: E712 - SQL, not Python
ROWS: list[dict[str, Any]] = [
    {"number": 1, "tenant": "a", "at": NOW, "tags": ["x", "y"], "open": True},
    {"number": 2, "tenant": "a", "at": None, "tags": [], "open": False},
    {"number": 3, "tenant": "b", "at": NOW, "tags": ["z"], "open": True},
]


@pytest.fixture
def connection() -> Any:
    with create_engine("sqlite://").connect() as opened:
        things.create(opened)
        yield opened


def driver(connection: Connection) -> sqlite3.Connection:
    found = driver_of(connection)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("statement", "given"),
    [
        (BY_NUMBER, {"tenant": "a", "numbers": [1, 2, 3], "n": 10}),
        (BY_NUMBER, {"tenant": "a", "numbers": [1, 2, 3], "n": 1}),
        (OPEN, {"tenant": "b"}),
    ],
)
def test_rows_are_those_of_sqlalchemy(connection: Connection, statement: Any, given: dict[str, Any]) -> None:
    prepare_insert(ADD, tuple(ROWS[0])).run(driver(connection), ROWS)
    expected = connection.execute(statement, given).all()
    found = prepare_query(statement).run(driver(connection), given)
    assert [tuple(row) for row in found] == [tuple(row) for row in expected]
    assert [row._asdict() for row in found] == [dict(row._mapping) for row in expected]
    assert expected


def test_a_refused_row_is_the_error_that_sqlalchemy_raises(connection: Connection) -> None:
    insert = prepare_insert(ADD, tuple(ROWS[0]))
    insert.run(driver(connection), ROWS[:1])
    with pytest.raises(IntegrityError, match="UNIQUE"):
        insert.run(driver(connection), ROWS[:1])


def test_wrong_sql_is_the_error_that_sqlalchemy_raises(connection: Connection) -> None:
    with pytest.raises(OperationalError, match="no such table"):
        run_sql(connection, driver(connection), "SELECT * FROM nowhere WHERE a = ?", (1,))


def test_a_list_inside_a_statement_is_refused(connection: Connection) -> None:
    with pytest.raises(ValueError, match="use `among`"):
        prepare_query(select(things).where(things.c.number.in_([1, 2]))).run(driver(connection), {})


def test_a_parameter_that_is_not_given_is_an_error(connection: Connection) -> None:
    with pytest.raises(KeyError, match="tenant"):
        prepare_query(OPEN).run(driver(connection), {})


@given(st.lists(st.text()), st.lists(st.integers()))
def test_lists_are_given_to_sqlite_as_json(texts: list[str], numbers: list[int]) -> None:
    dialect = sqlite.dialect()
    assert Listed(whole=False).process_bind_param(texts, dialect) == json.dumps(texts)
    assert Listed(whole=True).process_bind_param(numbers, dialect) == json.dumps(numbers)
