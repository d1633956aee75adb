"""A further new store of a process is made from kept statements, and is the same as one that took every step."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, text
from tests.storage.homes import PostgresServer

from assay.storage import schema
from assay.storage.schema import CURRENT, Schema, upgrade

CONSTRAINTS = """
SELECT rel.relname, con.conname, pg_get_constraintdef(con.oid) FROM pg_constraint con
JOIN pg_class rel ON rel.oid = con.conrelid JOIN pg_namespace ns ON ns.oid = rel.relnamespace
WHERE ns.nspname = :name ORDER BY 1, 2
"""
COLUMNS = """
SELECT table_name, column_name, udt_name, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = :name ORDER BY 1, ordinal_position
"""
INDEXES = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = :name ORDER BY 1, 2"


def own_history(folder: Path) -> Schema:
    """The steps of this program under another path, of which no statement is kept yet."""
    shutil.copytree(CURRENT.scripts, folder / "migrations")
    return replace(CURRENT, scripts=folder / "migrations")


def filled(address: str, history: Schema, within: str | None = None) -> tuple[list[str], Any]:
    """The steps that a new database takes, and what it holds afterwards."""
    options = {} if within is None else {"options": f"-csearch_path={within},public"}
    engine = create_engine(address, connect_args=options)
    with engine.begin() as connection:
        if within is not None:
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public"))
            connection.execute(text(f"CREATE SCHEMA {within}"))
        steps = upgrade(connection, address, history, within=within)
        found = described_postgres(connection, within) if within else described_file(connection)
        assert schema.revision(connection, within=within) == CURRENT.newest
    engine.dispose()
    return steps, found


def described_file(connection: Connection) -> Any:
    """Every table, index and trigger of a file, and what its planner knows."""
    made = connection.execute(text("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2")).all()
    return made, connection.execute(text("SELECT * FROM sqlite_stat1 ORDER BY 1, 2")).all()


def described_postgres(connection: Connection, within: str) -> list[list[tuple[str, ...]]]:
    """Columns, indexes and constraints of a schema."""
    return [
        [
            tuple(str(part).replace(f"{within}.", "") for part in row)
            for row in connection.execute(text(question), {"name": within})
        ]
        for question in (COLUMNS, INDEXES, CONSTRAINTS)
    ]


def test_a_further_file_is_the_same_as_the_first(tmp_path: Path) -> None:
    history = own_history(tmp_path)
    first = filled(f"sqlite:///{tmp_path / 'first.db'}", history)
    further = filled(f"sqlite:///{tmp_path / 'further.db'}", history)
    assert first == further
    assert first[0][-1] == CURRENT.newest
    assert len(first[1][0]) > 50


def test_a_further_schema_is_the_same_as_the_first(tmp_path: Path, postgres: PostgresServer) -> None:
    history = own_history(tmp_path)
    address = postgres.address.replace("postgresql://", "postgresql+psycopg://")
    first = filled(address, history, "further_one")
    further = filled(address, history, "further_two")
    assert first == further
    assert min(map(len, first[1])) > 20
