"""Erase without a trace: marks of what must go, unused pages, full-text segments and logs.

- Marks: how rows that must be erased are recognised.
- Bytes that a DELETE leaves behind.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from assay.clock import Clock
from assay.errors import StoreBusy, StoreFault
from assay.storage import byte_search
from assay.storage.backend import Backend
from assay.storage.postgres import PostgresBackend
from assay.storage.sqlite import BUSY_TIMEOUT_MS, SqliteBackend
from assay.text.terms import normalise_phrase

# --- Marks: how rows that must be erased are recognised ---
#
# Pieces of text are found anywhere; ids and names only as whole words, so that erasing Ann spares the annual report. In
# texts, case, width and runs of white space do not matter.

ERASED = "(erased)"
"""Replaces an erased text in a row that is kept."""
LEAST_WORD = 3
"""Fewest letters of a part of a name that counts as a name by itself."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*[A-Za-z0-9]")


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What must be erased: ids, pieces of text, and names."""

    ids: frozenset[str] = frozenset()
    """Of memories and queries."""
    pieces: tuple[str, ...] = ()
    """Of their texts."""
    names: tuple[str, ...] = ()
    """Of a person."""

    def and_ids(self, more: Sequence[str]) -> Marks:
        """Return the marks with further ids."""
        return replace(self, ids=self.ids | frozenset(more))

    def word_by_word(self) -> Marks:
        """Return the marks with every part of a name, of some length, as a further name."""
        single = [word for name in self.names for word in normalise_phrase(name).split() if len(word) >= LEAST_WORD]
        return replace(self, names=(*self.names, *single))

    def in_value(self, value: Any) -> bool:
        """Whether a text, or a text inside a JSON value, holds a mark."""
        return any(self._in_text(leaf) or self._names_id(leaf) for leaf in _leaves(value))

    def strike(self, value: Any) -> Any:
        """Return the value with `(erased)` in place of every text that holds a piece or a name, or mentions an id.

        A text that is just an id stays. In an object with an erased id, all other texts are replaced as well: they
        describe what was erased.
        """
        if isinstance(value, str):
            holds_mark = self._in_text(value) or (value not in self.ids and self._names_id(value))
            return ERASED if holds_mark else value
        if isinstance(value, Mapping):
            if any(isinstance(inner, str) and inner in self.ids for inner in value.values()):
                return {key: _blank(inner, self.ids) for key, inner in value.items()}
            return {self.strike(key): self.strike(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.strike(inner) for inner in value]
        return value

    def as_bytes(self) -> list[bytes]:
        """Return every text, without ids, as the bytes it may have in a file, with ASCII letters in lower case."""
        spelt = [
            spelling
            for text in (*self.pieces, *self.names)
            for spelling in (text, text.lower(), text.upper(), text.casefold(), normalise_phrase(text))
        ]
        escaped = [json.dumps(spelling, ensure_ascii=False)[1:-1] for spelling in spelt]
        return [spelling.encode().lower() for spelling in dict.fromkeys([*spelt, *escaped]) if spelling.strip()]

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(filter(None, map(fold, self.pieces)))

    @cached_property
    def _named(self) -> re.Pattern[str] | None:
        folded = [re.escape(name) for name in map(fold, self.names) if name]
        return re.compile(rf"(?<!\w)(?:{'|'.join(folded)})(?!\w)") if folded else None

    def _names_id(self, text: str) -> bool:
        """Whether a text contains an id; a text that is just an id, or the id of a passage, takes the fast path."""
        return text.split("#", 1)[0] in self.ids or any(word in self.ids for word in _ID.findall(text))

    def _in_text(self, text: str) -> bool:
        folded = fold(text)
        return any(spelling in folded for spelling in self._folded) or (
            self._named is not None and self._named.search(folded) is not None
        )


def fold(text: str) -> str:
    """Normalise case, width and white space of a text."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.casefold().split())


def _blank(value: Any, ids: frozenset[str]) -> Any:
    if isinstance(value, str):
        return value if value in ids else ERASED
    if isinstance(value, Mapping):
        return {key: _blank(inner, ids) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_blank(inner, ids) for inner in value]
    return value


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(key)
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)


# --- Bytes that a DELETE leaves behind ---
#
# `Erasing.scrub` removes them. On SQLite the full-text table is rebuilt (a deleted word stays in its segments until
# they merge), the file is rewritten and the log is truncated, all under the write lock, while others read. On
# PostgreSQL every table is rewritten, after waiting for transactions that began before the deletion: rewriting would
# keep the rows they can still see. `search` looks for bytes in files. Copies are the checkpoints, and the earlier
# states that restores kept.

PATIENCE_S = 30.0
"""Seconds to wait for readers that still use the old state of a file."""
_DENIED = "42501"
_NEXT_TRANSACTION = text("SELECT (pg_snapshot_xmax(pg_current_snapshot())::text::bigint % 4294967296)::text")
"""The number that the next transaction gets, without its epoch, as `backend_xmin` has it."""
_OLDER_SNAPSHOTS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND age(backend_xmin) > age(CAST(:now AS text)::xid)"
)
_PAUSE = text("SELECT pg_sleep(0.02)")


class ByteSearch(NamedTuple):
    """The result of a search for bytes in files."""

    files: tuple[str, ...]
    """Files that were searched."""
    found: dict[str, list[int]]
    """For each file, the positions of the needles that it contains."""


class Aside(NamedTuple):
    """An earlier state of the store that a restore kept, other than a checkpoint."""

    name: str
    path: Path | None
    """None: a schema of the server."""


class Erasing:
    """Erases deleted data from the files of the database."""

    def __init__(self, backend: Backend, clock: Clock, *, patience_s: float = PATIENCE_S) -> None:
        self._backend = backend
        self._clock = clock
        self._patience_s = patience_s

    def scrub(self) -> None:
        """Rewrite the database, so that deleted data is no longer in its files."""
        if isinstance(self._backend, SqliteBackend):
            self._scrub_file(self._backend)
        elif isinstance(self._backend, PostgresBackend):
            with self._backend.alone() as connection:
                self._scrub_schema(connection, self._backend)

    def scrub_table(self, table: str) -> None:
        """Rewrite one table of a PostgreSQL schema; a SQLite file is rewritten as a whole, see `scrub`."""
        if isinstance(self._backend, PostgresBackend):
            with self._backend.alone() as connection:
                connection.execute(text(f"SET lock_timeout = {self._backend.lock_timeout_ms}"))
                self._outlive_snapshots(connection, self._backend)
                connection.execute(text(f'VACUUM (FULL, ANALYZE) "{self._backend.schema}"."{table}"'))
                connection.execute(text("RESET lock_timeout"))

    def files(self) -> list[Path]:
        """Return the files of the database; none for PostgreSQL, whose files are on the server."""
        if not isinstance(self._backend, SqliteBackend):
            return []
        path = self._backend.path
        return [path.with_name(path.name + ending) for ending in ("", "-wal", "-journal")]

    def list_aside(self) -> list[Aside]:
        """Return the earlier states that restores kept: moved files, renamed schemas."""
        if isinstance(self._backend, SqliteBackend):
            path = self._backend.path
            return [Aside(str(file), file) for file in sorted(path.parent.glob(f"{path.name}.damaged-*"))]
        if isinstance(self._backend, PostgresBackend):
            listed = text("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, :begin) ORDER BY nspname")
            with self._backend.reading() as connection:
                names = connection.execute(listed, {"begin": f"{self._backend.schema}_before_"}).scalars()
                return [Aside(str(name), None) for name in names]
        return []

    def remove_aside(self, aside: Aside) -> None:
        """Delete one of these earlier states."""
        if aside.path is not None:
            aside.path.unlink(missing_ok=True)
        elif isinstance(self._backend, PostgresBackend):
            with self._backend.alone() as connection:
                connection.execute(text(f'DROP SCHEMA "{aside.name}" CASCADE'))

    def _scrub_schema(self, connection: Connection, backend: PostgresBackend) -> None:
        connection.execute(text(f"SET lock_timeout = {backend.lock_timeout_ms}"))
        self._outlive_snapshots(connection, backend)
        # Tables of months hold nothing themselves: their months are listed.
        listed = text(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = :ours AND c.relkind = 'r' ORDER BY c.relname"
        )
        for table in connection.execute(listed, {"ours": backend.schema}).scalars().all():
            connection.execute(text(f'VACUUM (FULL, ANALYZE) "{backend.schema}"."{table}"'))
        # Statistics keep samples of columns. Without the right to rewrite them the server only warns.
        self._outlive_snapshots(connection, backend)
        connection.execute(text("VACUUM FULL pg_catalog.pg_statistic"))
        try:
            connection.execute(text("CHECKPOINT"))
        except DBAPIError as problem:
            if getattr(problem.orig, "sqlstate", "") != _DENIED:
                raise
        connection.execute(text("RESET lock_timeout"))

    def _outlive_snapshots(self, connection: Connection, backend: PostgresBackend) -> None:
        """Wait until no transaction of this database has a snapshot from before now."""
        now = connection.execute(_NEXT_TRANSACTION).scalar_one()
        deadline = self._clock.monotonic() + self._patience_s
        while connection.execute(_OLDER_SNAPSHOTS, {"now": now}).scalar_one():
            if self._clock.monotonic() >= deadline:
                raise StoreBusy(
                    f"a transaction at {backend.place} is older than the erasure, so what it sees cannot be removed",
                    remedy="The rows are gone. End the programs that read it, then run `assay forget --finish`.",
                )
            connection.execute(_PAUSE)

    def _scrub_file(self, backend: SqliteBackend) -> None:
        with backend.writer_file() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('rebuild')")
            connection.execute("VACUUM")
            deadline = self._clock.monotonic() + self._patience_s
            # Each try waits this long for readers.
            connection.execute(f"PRAGMA busy_timeout = {min(BUSY_TIMEOUT_MS, round(self._patience_s * 1000))}")
            while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if self._clock.monotonic() >= deadline:
                    raise StoreBusy(
                        f"{backend.place} is being read without a pause, so its log cannot be emptied",
                        remedy="The rows are gone. Close the programs that read it, then run `assay forget --finish`.",
                    )


def search(files: Sequence[Path], needles: Sequence[bytes]) -> ByteSearch:
    """Look for bytes in files, in a process of its own."""
    there = [str(file) for file in files if file.is_file()]
    request = json.dumps({"files": there, "needles": [needle.hex() for needle in needles]})
    done = subprocess.run(  # noqa: S603 - our own program, no user input on its command line
        [sys.executable, "-I", byte_search.__file__], input=request, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise StoreFault(f"the search for what is left failed: {last}", remedy="Mend the cause and forget it again.")
    found: dict[str, list[int]] = json.loads(done.stdout)
    return ByteSearch(tuple(found), {name: places for name, places in found.items() if places})
