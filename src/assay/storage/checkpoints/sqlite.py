"""Checkpoints of a SQLite file: the online backup, both ways."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool

from assay.clock import Clock
from assay.errors import CheckpointFailed, StorageError
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import IdFactory, Scope
from assay.storage import schema, sqlite
from assay.storage.audit_chain import head_marks
from assay.storage.backend import WriteLock, translate_errors
from assay.storage.checkpoints import folder as manifest
from assay.storage.checkpoints.folder import (
    Checkpoint,
    CheckpointFolder,
    KeptInFolder,
    Restored,
    carry_rows,
    copy_holds,
    revoke_tokens,
)
from assay.storage.consistency import problems
from assay.storage.erasing import Marks
from assay.storage.repositories.base import EPOCH
from assay.storage.sqlite import SqliteBackend
from assay.storage.work import Work

SUFFIX = ".db"
TOKENS_REVOKED = (
    "The tokens of the damaged store could not be read, so every token of the checkpoint is revoked. "
    "Make new ones: assay token create"
)


class SqliteCheckpoints(KeptInFolder):
    """Create, list, restore and delete the checkpoints of one SQLite file."""

    def __init__(self, backend: SqliteBackend, *, clock: Clock, ids: IdFactory, folder: Path | None) -> None:
        self._backend = backend
        self._clock = clock
        self._ids = ids
        self._copies = copy_folder(backend.path, folder)

    @property
    def _folder(self) -> CheckpointFolder:
        return self._copies

    def create(self, name: str) -> Checkpoint:
        """Copy the store as it is now; others go on writing meanwhile."""
        checkpoint_id = self._ids.new("ck")
        with self._folder.adding(checkpoint_id) as copy, translate_errors(str(copy)):
            with self._backend.reader_file() as live, closing(sqlite3.connect(copy)) as target:
                live.backup(target)
                # One file is one checkpoint: no log beside it.
                target.execute("PRAGMA journal_mode = DELETE")
                facts = _facts(target)
            _sync(copy)
            made = Checkpoint(
                id=checkpoint_id,
                name=name,
                created_at=self._clock.now(),
                backend=self._backend.name,
                place=self._backend.place,
                size_bytes=copy.stat().st_size,
                content=manifest.hash_of(copy),
                **facts._asdict(),
            )
            self._folder.complete(made)
        return made

    def holding(self, tenant: str, marks: Marks | None) -> Sequence[Checkpoint]:
        """The checkpoints that still hold something of a tenant."""
        return [checkpoint for checkpoint in self.list() if copy_holds(self._folder.copy_of(checkpoint), tenant, marks)]

    def restore(self, wanted: str, scope: Scope) -> Restored:
        """Bring the store back to a checkpoint; the state from before becomes a checkpoint itself."""
        found = self._folder.find(wanted)
        by = _Restoring(found, scope, self._clock, self._ids)
        with prepare_copy(self._folder, by) as ready, self._backend.writer_file() as live:
            # Under the lock: a save between this copy and the restore would be in neither, and a token that is
            # revoked between the carrying and the restore would come back.
            aside = self.create(f"before restore of {found.name[:80]}")
            _begin_new_epoch(ready, by, live)
            with closing(sqlite3.connect(ready)) as source:
                source.backup(live)
        return Restored(found, aside.id)


def restore_over_damage(
    path: Path, wanted: str, scope: Scope, *, folder: Path | None, lock: WriteLock, clock: Clock, ids: IdFactory
) -> Restored:
    """Bring back a store whose own file cannot be opened: that file is moved aside, never deleted.

    Its tokens are carried over if they can still be read, and otherwise those of the checkpoint are revoked.
    """
    checkpoints = copy_folder(path, folder)
    by = _Restoring(checkpoints.find(wanted), scope, clock, ids)
    with prepare_copy(checkpoints, by) as ready, lock.hold():
        carried = _carry_from_wreck(path, ready, by)
        aside = path.with_name(f"{path.name}.damaged-{clock.now():%Y%m%dT%H%M%S%f}")
        for ending in ("-shm", "-wal", ""):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.rename(aside.with_name(aside.name + ending))
        beside = path.with_name(path.name + ".restoring")
        shutil.copyfile(ready, beside)
        beside.chmod(0o600)
        _sync(beside)
        beside.replace(path)
    return Restored(by.checkpoint, str(aside), "" if carried else TOKENS_REVOKED)


def copy_folder(path: Path, folder: Path | None) -> CheckpointFolder:
    """The checkpoint folder of a SQLite file: beside it, or one of its own inside the folder that was set."""
    if folder is None:
        return CheckpointFolder(path.with_name(path.name + ".checkpoints"), suffix=SUFFIX)
    # Two stores may have the same name in two places.
    place = content_hash(str(path)).removeprefix(HASH_PREFIX)[:8]
    return CheckpointFolder(folder / f"{path.name}-{place}", suffix=SUFFIX)


class _Restoring(NamedTuple):
    """Which checkpoint is restored, and by whom."""

    checkpoint: Checkpoint
    scope: Scope
    clock: Clock
    ids: IdFactory


@contextmanager
def prepare_copy(folder: CheckpointFolder, by: _Restoring) -> Iterator[Path]:
    """A private copy of a checkpoint that is proven whole and has the newest schema."""
    checkpoint = by.checkpoint
    copy = folder.verify_content(checkpoint)
    # A name of its own: two processes may restore the same checkpoint, and each deletes what it prepared.
    ready = copy.with_name(f"{checkpoint.id}.{by.ids.new('rs')}.restoring")
    ready.touch(mode=0o600)
    try:
        with (
            translate_errors(str(ready)),
            closing(sqlite3.connect(copy)) as source,
            closing(sqlite3.connect(ready)) as target,
        ):
            source.backup(target)
            _check_whole(target, checkpoint)
        with translate_errors(str(ready)), _transaction(ready) as connection:
            _bring_up_to_date(connection, checkpoint)
        yield ready
    finally:
        ready.unlink(missing_ok=True)
        ready.with_name(ready.name + "-journal").unlink(missing_ok=True)


class _Facts(NamedTuple):
    schema: str
    epoch: str
    memories: int
    audit_heads: Mapping[str, str]


_HEADS = (
    "SELECT a.tenant, a.place, a.hash FROM audit a JOIN"
    " (SELECT tenant, max(place) AS place FROM audit GROUP BY tenant) h ON h.tenant = a.tenant AND h.place = a.place"
)


def _facts(copy: sqlite3.Connection) -> _Facts:
    version = copy.execute(f"SELECT version_num FROM {schema.VERSION_TABLE}").fetchone()  # noqa: S608 - a constant
    epoch = copy.execute("SELECT value FROM meta WHERE key = ?", (EPOCH,)).fetchone()
    memories = copy.execute("SELECT count(*) FROM memories").fetchone()
    # A copy that is made before a migration may have an audit log without a chain.
    chained = any(row[1] == "hash" for row in copy.execute("PRAGMA table_info(audit)"))
    heads = head_marks(copy.execute(_HEADS)) if chained else {}
    return _Facts(version[0], epoch[0] if epoch else "", memories[0], heads)


def _check_whole(copy: sqlite3.Connection, checkpoint: Checkpoint) -> None:
    damage = sqlite.damage_of(copy)
    if damage:
        raise CheckpointFailed(
            f"checkpoint {checkpoint.id} is damaged: {damage[0]}",
            remedy="Choose another checkpoint; nothing was replaced.",
        )
    number = copy.execute("PRAGMA application_id").fetchone()[0]
    if number != sqlite.APPLICATION_ID:
        raise CheckpointFailed(
            f"checkpoint {checkpoint.id} is not a copy of an Assay store", remedy="Choose another checkpoint."
        )
    foreign = sqlite.foreign_code_in(copy)
    if foreign:
        raise CheckpointFailed(
            f"checkpoint {checkpoint.id} holds a {foreign[0]}, which Assay did not make",
            remedy="Choose another checkpoint; nothing was replaced. Such code runs with every save.",
        )


@contextmanager
def _transaction(ready: Path) -> Iterator[Connection]:
    """One transaction on a private copy."""
    connect = lambda: sqlite3.connect(ready, isolation_level=None)  # noqa: E731 - a one-line factory
    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.exec_driver_sql("COMMIT")
    finally:
        engine.dispose()


def _bring_up_to_date(connection: Connection, checkpoint: Checkpoint) -> None:
    schema.check_known(schema.revision(connection) or "", f"checkpoint {checkpoint.id}")
    schema.upgrade(connection, f"checkpoint {checkpoint.id}")
    broken = problems(connection)
    if broken:
        raise CheckpointFailed(
            f"checkpoint {checkpoint.id} does not agree with itself: {broken[0]}",
            remedy="Choose another checkpoint; nothing was replaced.",
        )


def _begin_new_epoch(ready: Path, by: _Restoring, live: sqlite3.Connection | None) -> None:
    """Make a copy ready to take the store's place: with the tokens of the live store, or with none that opens."""
    with translate_errors(str(ready)), _transaction(ready) as connection:
        copy: Any = connection.connection.driver_connection
        if live is None:
            revoke_tokens(copy, by.clock.now())
        else:
            carry_rows(live, copy)
        work = Work(connection, by.scope, by.clock)
        work.meta.put(EPOCH, by.ids.new("ep"))
        work.audit.append("checkpoint.restored", by.checkpoint.id, {"name": by.checkpoint.name})
    _sync(ready)


def _carry_from_wreck(path: Path, ready: Path, by: _Restoring) -> bool:
    """Carry the tokens of a store that cannot be opened if they can still be read; whether they could."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as wreck:
            # All of it or nothing: a damaged page may hide the row that revokes a token.
            if sqlite.damage_of(wreck) or wreck.execute("SELECT count(*) FROM access_tokens").fetchone() is None:
                raise sqlite3.DatabaseError("damaged")
            _begin_new_epoch(ready, by, wreck)
    except (sqlite3.Error, StorageError):
        _begin_new_epoch(ready, by, None)
        return False
    return True


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
