"""The folder of checkpoints: manifests, complete copies only, and what a restore leaves as it is.

- The manifest: a small JSON file beside each copy.
- The folder of checkpoints.
- Whether a copy holds rows that must be erased.
- Tables that a restore does not take back: access and audit.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection, text

from assay.errors import BadValue, CheckpointFailed, CheckpointNotFound, StoreFull, StoreReadOnly
from assay.hashing import HASH_PREFIX
from assay.private_files import make_private_folder
from assay.records import values
from assay.records.fields import require
from assay.storage.erasing import Marks
from assay.storage.rows import read_moment, write_moment

# --- The manifest: a small JSON file beside each copy ---

_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """One copy of the store."""

    id: str
    name: str
    created_at: datetime
    backend: str
    place: str
    """The store it is a copy of."""
    schema: str
    epoch: str
    memories: int
    size_bytes: int
    content: str
    """The tagged hash of the copy."""
    audit_heads: Mapping[str, str] = field(default_factory=dict)
    """Where the audit log of each tenant ended: place and hash, by a mark of the tenant. Empty in older manifests."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "id")
        require(self, values.label, "name", "backend", "place", "schema", "content")
        require(self, values.optional_label, "epoch")
        require(self, values.moment, "created_at")
        require(self, values.count, "memories", "size_bytes")
        require(self, values.json_object, "audit_heads")

    def as_json(self) -> dict[str, Any]:
        """Return the content of the manifest."""
        return {**asdict(self), "created_at": write_moment(self.created_at)}


class Restored(NamedTuple):
    """The result of a restore."""

    checkpoint: Checkpoint
    kept_aside: str
    """Where the earlier state is kept: a checkpoint, a file or a schema."""
    note: str = ""
    """Something the user must know; usually empty."""


def read(path: Path) -> Checkpoint:
    """Read a checkpoint from its manifest file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        found["created_at"] = read_moment(found["created_at"])
        return Checkpoint(**found)
    except (OSError, ValueError, TypeError, KeyError, RecursionError, BadValue) as problem:
        raise CheckpointFailed(
            f"the description {path} cannot be read: {problem}",
            remedy="Put the description back or delete that file; other checkpoints can be restored by their id.",
        ) from problem


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a manifest atomically."""
    beside = path.with_suffix(".tmp")
    with open(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - the mode matters
        json.dump(checkpoint.as_json(), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def hash_of(path: Path) -> str:
    """Return the tagged hash of a file. Never call it on a live database: closing the file drops SQLite's locks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return HASH_PREFIX + digest.hexdigest()


# --- The folder of checkpoints ---


class CheckpointFolder:
    """The checkpoints of one store."""

    def __init__(self, path: Path, *, suffix: str, older: Sequence[str] = ()) -> None:
        """`older`: suffixes of copies that earlier versions made."""
        self.path = path
        self._suffix = suffix
        self._older = tuple(older)

    def list(self) -> list[Checkpoint]:
        """Return every complete checkpoint, oldest first."""
        found = (self._read(file) for file in self._descriptions())
        return [checkpoint for checkpoint in found if checkpoint is not None]

    def find(self, wanted: str) -> Checkpoint:
        """Find a checkpoint by id, or by a name that only one has."""
        by_id = [file for file in self._descriptions() if file.stem == wanted]
        # Looked up by id, a checkpoint is found even if the manifest of another one is damaged.
        found = [read(file) for file in by_id] or [
            checkpoint for checkpoint in self.list() if checkpoint.name == wanted
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise CheckpointNotFound(
                f"{len(found)} checkpoints are named {wanted!r}",
                remedy=f"Use an id: {', '.join(checkpoint.id for checkpoint in found)}.",
            )
        raise CheckpointNotFound(
            f"there is no checkpoint {wanted!r} in {self.path}", remedy="See `assay checkpoint list`."
        )

    def _read(self, description: Path) -> Checkpoint | None:
        """Read a manifest; return None if the checkpoint was deleted since the folder was listed."""
        try:
            return read(description)
        except CheckpointFailed:
            if description.exists():
                raise
            return None

    def _descriptions(self) -> Sequence[Path]:
        return sorted(self.path.glob("*.json"))

    def copy_of(self, checkpoint: Checkpoint) -> Path:
        """Return the file that holds the copy."""
        there = [self.path / f"{checkpoint.id}{suffix}" for suffix in (self._suffix, *self._older)]
        return next((file for file in there if file.exists()), there[0])

    def verify_content(self, checkpoint: Checkpoint) -> Path:
        """Return the file of the copy; refuse it unless its hash is that of the manifest."""
        copy = self.copy_of(checkpoint)
        try:
            found = hash_of(copy)
        except OSError as problem:
            raise CheckpointFailed(
                f"the copy {copy} cannot be read: {problem.strerror}", remedy="Choose another checkpoint."
            ) from problem
        if found != checkpoint.content:
            raise CheckpointFailed(
                f"checkpoint {checkpoint.id} is damaged: its content is {found}, not {checkpoint.content}",
                remedy="Choose another checkpoint; nothing was replaced.",
            )
        return copy

    @contextmanager
    def adding(self, checkpoint_id: str) -> Iterator[Path]:
        """Yield a path to write a new copy to; the file is deleted if the block raises."""
        copy = self.path / f"{checkpoint_id}{self._suffix}"
        with _file_problems(self.path):
            make_private_folder(self.path)
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            try:
                yield copy
            except BaseException:
                copy.unlink(missing_ok=True)
                raise

    def complete(self, checkpoint: Checkpoint) -> None:
        """Write the manifest of a complete copy, which lists it."""
        with _file_problems(self.path):
            write(self.path / f"{checkpoint.id}.json", checkpoint)

    def delete(self, checkpoint: Checkpoint) -> None:
        """Delete a copy, its manifest first, so that a killed process leaves no incomplete checkpoint in the list."""
        with _file_problems(self.path):
            (self.path / f"{checkpoint.id}.json").unlink(missing_ok=True)
            self.copy_of(checkpoint).unlink(missing_ok=True)


class KeptInFolder(ABC):
    """Checkpoints of either back end: lists and deletes them in their folder."""

    @property
    @abstractmethod
    def _folder(self) -> CheckpointFolder: ...

    def list(self) -> list[Checkpoint]:
        """Every checkpoint, oldest first."""
        return self._folder.list()

    def delete(self, wanted: str) -> Checkpoint:
        """Delete one by id or name."""
        found = self._folder.find(wanted)
        self._folder.delete(found)
        return found


@contextmanager
def _file_problems(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in (28, 122):
            raise StoreFull(
                f"no space for a checkpoint in {folder}", remedy="Free some space, or set `checkpoints.folder`."
            ) from problem
        if problem.errno in (1, 13, 30):
            raise StoreReadOnly(
                f"cannot write in {folder}: {problem.strerror}", remedy="Set `checkpoints.folder` to a writable folder."
            ) from problem
        raise CheckpointFailed(f"{folder}: {problem}", remedy="Check the folder, then try again.") from problem


# --- Whether a copy holds rows that must be erased ---

_TABLES = (
    "SELECT DISTINCT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'tenant'"
    " WHERE m.type = 'table' AND m.name NOT LIKE 'passages_fts%'"
)
"""Tables whose rows have a tenant, without the full-text table, which repeats their texts."""


def copy_holds(path: Path, tenant: str, marks: Marks | None) -> bool:
    """Whether a copy of a SQLite file holds marked rows of a tenant; without marks, any row."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)) as copy:
            tables = [str(name) for (name,) in copy.execute(_TABLES)]
            return any(_rows_hold(copy, table, tenant, marks) for table in tables)
    except sqlite3.Error:
        return path.exists()


def dump_holds(dumped: str, tenant: str, marks: Marks | None) -> bool:
    """Whether the text of a dump does; it has one row per line, with tabs between the columns."""
    rows = (line for line in dumped.splitlines() if tenant in line.split("\t"))
    return any(marks is None or marks.in_value(row) for row in rows)


def _rows_hold(copy: sqlite3.Connection, table: str, tenant: str, marks: Marks | None) -> bool:
    rows = copy.execute(f'SELECT * FROM "{table}" WHERE tenant = ?', (tenant,))  # noqa: S608 - a name from the schema
    if marks is None:
        return rows.fetchone() is not None
    return any(marks.in_value(value) for row in rows for value in row if isinstance(value, str))


# --- Tables that a restore does not take back: access and audit ---
#
# A checkpoint holds the tokens and the audit log of an earlier time. Restoring them would make revoked tokens valid
# again and delete later audit entries. So these tables are copied from the present store into the checkpoint's copy
# before the copy replaces the store, in one transaction: a restore that is killed leaves the old store or the present
# tokens. A token that exists only in the checkpoint is not restored.
#
# If the present tokens cannot be read (the store is damaged or gone), every token of the checkpoint is revoked.

CARRIED = ("access_tokens", "login_sessions", "audit", "owned_files")
"""Tables that a restore leaves as they are: those that decide about access and ownership."""

_COLUMNS = text(
    "SELECT column_name FROM information_schema.columns"
    " WHERE table_schema = :schema AND table_name = :table AND is_generated = 'NEVER' ORDER BY ordinal_position"
)
_SEQUENCES = text("SELECT sequencename FROM pg_sequences WHERE schemaname = :schema ORDER BY sequencename")


def carry_rows(live: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Replace the carried tables of a SQLite copy by those of the live file, inside the caller's transaction."""
    for table in CARRIED:
        listed = _list_shared_columns(_file_columns(copy, table), _file_columns(live, table))
        if not _file_columns(copy, table):
            continue
        copy.execute(f'DELETE FROM "{table}"')  # noqa: S608 - a name of ours
        if listed:
            rows = live.execute(f'SELECT {listed} FROM "{table}"')  # noqa: S608 - names of the schema
            marks = ", ".join("?" for _ in rows.description)
            copy.executemany(f'INSERT INTO "{table}" ({listed}) VALUES ({marks})', rows)  # noqa: S608 - the same
    _keep_counting(live, copy)


def _keep_counting(live: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Keep row numbers growing, so that the number of a deleted row is not used again."""
    for table, last in live.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
        if table in CARRIED:
            copy.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, table))


def _file_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")')]


def revoke_tokens(copy: sqlite3.Connection, now: datetime) -> None:
    """Revoke every token of a SQLite copy."""
    copy.execute("UPDATE access_tokens SET revoked_at = ? WHERE revoked_at IS NULL", (write_moment(now),))


def carry_between_schemas(connection: Connection, before: str, ours: str) -> None:
    """Replace the carried tables of one PostgreSQL schema by those of the schema that was there before."""
    for table in CARRIED:
        now_there, then_there = _schema_columns(connection, ours, table), _schema_columns(connection, before, table)
        if not now_there:
            continue
        connection.execute(text(f'DELETE FROM "{ours}"."{table}"'))  # noqa: S608 - names of the catalogue
        listed = _list_shared_columns(now_there, then_there)
        if listed:
            copied = f'INSERT INTO "{ours}"."{table}" ({listed}) SELECT {listed} FROM "{before}"."{table}"'  # noqa: S608 - the same
            connection.execute(text(copied))
    for sequence in connection.execute(_SEQUENCES, {"schema": before}).scalars().all():
        if any(sequence.startswith(f"{table}_") for table in CARRIED):
            counted = f'SELECT setval(:ours, last_value, is_called) FROM "{before}"."{sequence}"'  # noqa: S608 - the same
            connection.execute(text(counted), {"ours": f'"{ours}"."{sequence}"'})


def _schema_columns(connection: Connection, schema: str, table: str) -> Sequence[str]:
    return connection.execute(_COLUMNS, {"schema": schema, "table": table}).scalars().all()


def _list_shared_columns(first: Sequence[str], second: Sequence[str]) -> str:
    """Return the columns that both have, as a list for a statement."""
    return ", ".join(f'"{column}"' for column in first if column in second)
