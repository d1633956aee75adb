"""A migration killed at a random moment.

A future schema is made from a copy of the present migrations and one step more: a table, a column, and a value worked
out for each of thousands of rows. A process opens an old store with it and is killed somewhere in between. The file
must then have the old schema or the new one, with every row, and the next opening must finish the work.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from assay.storage import Saved
from assay.storage.schema import CURRENT, Schema
from reliability import ledger, load
from reliability.crew import Crew, all_exist, wait_until
from reliability.outcome import Check, at_least, none_of

FUTURE = "9999"
STEP = '''"""Count the words of every memory."""

from alembic import op
from sqlalchemy import Column, Integer, text

revision = "{future}"
down_revision = "{present}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table and a column, and fill both row by row."""
    op.create_table("word_counts", Column("memory_id", Integer, primary_key=True), Column("words", Integer))
    op.add_column("memories", Column("words", Integer))
    connection = op.get_bind()
    for number, row in enumerate(connection.execute(text("SELECT tenant, id, body FROM memories")).all()):
        words = {{"words": len(row.body.split()), "number": number, "tenant": row.tenant, "id": row.id}}
        connection.execute(text("UPDATE memories SET words = :words WHERE tenant = :tenant AND id = :id"), words)
        connection.execute(text("INSERT INTO word_counts VALUES (:number, :words)"), words)
'''
OPENING_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MigrationOutcome:
    """What was seen over all kills."""

    kills: int
    rows: int
    found_old: int
    found_new: int
    between: tuple[str, ...]
    lost: tuple[str, ...]
    not_completed: tuple[str, ...]
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.kills} kills of a migration over {self.rows} rows: {self.found_old} left the old schema, "
            f"{self.found_new} the new one; {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("schemas in between", self.between),
            none_of("rows lost or changed", self.lost),
            none_of("next openings that did not finish", self.not_completed),
            at_least("kills that met the old schema", self.found_old, self.kills // 5),
        )


@dataclass
class _Seen:
    old: int = 0
    new: int = 0
    between: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    not_completed: list[str] = field(default_factory=list)


def run(*, folder: Path, times: int, rows: int = 3000, seed: int = 1) -> MigrationOutcome:
    """Kill that many migrations."""
    began = time.monotonic()
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    future = future_schema(folder / "migrations")
    old = folder / "old.db"
    fill(old, rows)
    whole = load.look(old)
    takes_s = _seconds_of_one(folder / "timed", old, future)
    seen = _Seen()
    for kill in range(times):
        place = folder / f"kill-{kill}"
        path = _open_and_kill(place, old, future, rng.uniform(0, takes_s * 1.2))
        _look_after(path, future, whole, seen)
        shutil.rmtree(place)
    return MigrationOutcome(
        kills=times,
        rows=rows,
        found_old=seen.old,
        found_new=seen.new,
        between=tuple(seen.between),
        lost=tuple(seen.lost),
        not_completed=tuple(seen.not_completed),
        seconds=time.monotonic() - began,
    )


def future_schema(scripts: Path) -> Schema:
    """The present migrations with one step more."""
    shutil.copytree(CURRENT.scripts, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    step = STEP.format(future=FUTURE, present=CURRENT.newest)
    (scripts / "versions" / f"{FUTURE}_words.py").write_text(step, encoding="utf-8")
    return Schema(scripts=scripts, newest=FUTURE)


def fill(path: Path, rows: int) -> None:
    """An old store with that many memories."""
    load.prepare(path)
    with load.opened(path) as store, store.writing(load.SCOPE) as work:
        work.memories.add_many(
            Saved(load.memory_of(one, 1), load.chunks_of(one, 1)) for one in (f"m_{number}" for number in range(rows))
        )


def open_with(path: Path, lines: Path, schema: Schema) -> None:
    """What the process does that is killed."""
    with ledger.Ledger(lines) as told:
        told.note("begin")
        load.opened(path, schema=schema).close()
        told.note("end")


def _seconds_of_one(place: Path, old: Path, future: Schema) -> float:
    with Crew() as crew:
        place.mkdir()
        path = Path(shutil.copy(old, place))
        crew.start(open_with, path, place / "lines", future)
        wait_until(lambda: all_exist([place / "lines"]), OPENING_S, "the opening to begin")
        began = time.monotonic()
        crew.wait(OPENING_S)
    return time.monotonic() - began


def _open_and_kill(place: Path, old: Path, future: Schema, after_s: float) -> Path:
    place.mkdir()
    path = Path(shutil.copy(old, place))
    with Crew() as crew:
        member = crew.start(open_with, path, place / "lines", future)
        wait_until(lambda: all_exist([place / "lines"]), OPENING_S, "the opening to begin")
        time.sleep(after_s)
        crew.kill(member)
    return path


def _look_after(path: Path, future: Schema, whole: dict[str, load.Row], seen: _Seen) -> None:
    state = schema_of(path)
    seen.old += state == "old"
    seen.new += state == "new"
    seen.between += [state] if state not in ("old", "new") else []
    seen.lost += load.damage(path) + ([] if load.look(path) == whole else [f"{path.parent.name} has other rows"])
    with load.opened(path, schema=future) as store:
        seen.lost += store.problems()
    if schema_of(path) != "new" or load.look(path) != whole:
        seen.not_completed.append(path.parent.name)


def schema_of(path: Path) -> str:
    """`old`, `new`, or what is odd about it."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        file.execute("BEGIN")
        version = file.execute("SELECT version_num FROM schema_version").fetchone()[0]
        tables = file.execute("SELECT count(*) FROM sqlite_master WHERE name = 'word_counts'").fetchone()[0]
        columns = [row[1] for row in file.execute("PRAGMA table_info(memories)")]
        if (version, tables, "words" in columns) == (CURRENT.newest, 0, False):
            return "old"
        if (version, tables, "words" in columns) != (FUTURE, 1, True):
            return f"{path.parent.name}: version {version}, {tables} new tables, columns {columns}"
        empty = file.execute("SELECT count(*) FROM memories WHERE words IS NULL").fetchone()[0]
        missing = file.execute("SELECT (SELECT count(*) FROM memories) - (SELECT count(*) FROM word_counts)").fetchone()
        return "new" if (empty, missing[0]) == (0, 0) else f"{path.parent.name}: {empty} rows without their value"
