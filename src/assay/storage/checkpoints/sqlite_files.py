"""Checkpoints of a SQLite file: the online backup, both ways.

Creating reads one snapshot through a read-only connection while others go on writing. Restoring prepares a private
copy (verified, migrated, given a new epoch), keeps the present state as a checkpoint of its own, and then lets SQLite
write the copy over the live database in one transaction under the write lock: other processes see the old state or the
new one, also when the restore is killed. Only a live file that cannot be read at all is moved aside instead.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from assay.clock import Clock
from assay.errors import CheckpointFailed
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import IdFactory, Scope
from assay.storage import schema, sqlite
from assay.storage.checkpoints import manifest
from assay.storage.checkpoints.folder import CheckpointFolder, KeptInFolder
from assay.storage.checkpoints.holding import copy_holds
from assay.storage.checkpoints.manifest import Checkpoint, Restored
from assay.storage.consistency import problems
from assay.storage.failures import translated
from assay.storage.lock import WriteLock
from assay.storage.marks import Marks
from assay.storage.repositories.meta import EPOCH
from assay.storage.sqlite import SqliteBackend
from assay.storage.work import Work

SUFFIX = ".db"


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
        with self._folder.adding(checkpoint_id) as copy, translated(str(copy)):
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
        return [one for one in self.list() if copy_holds(self._folder.copy_of(one), tenant, marks)]

    def restore(self, wanted: str, scope: Scope) -> Restored:
        """Bring the store back to a checkpoint; the state from before becomes a checkpoint itself."""
        found = self._folder.find(wanted)
        with (
            prepared(self._folder, found, scope, self._clock, self._ids) as ready,
            closing(sqlite3.connect(ready)) as source,
            self._backend.writer_file() as live,
        ):
            # Under the lock: a save between this copy and the restore would be in neither.
            aside = self.create(f"before restore of {found.name[:80]}")
            source.backup(live)
        return Restored(found, aside.id)


def restore_over_damage(
    path: Path, wanted: str, scope: Scope, *, folder: Path | None, lock: WriteLock, clock: Clock, ids: IdFactory
) -> Restored:
    """Bring back a store whose own file cannot be opened: that file is moved aside, never deleted."""
    checkpoints = copy_folder(path, folder)
    found = checkpoints.find(wanted)
    with prepared(checkpoints, found, scope, clock, ids) as ready, lock.held():
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
    return Restored(found, str(aside))


def copy_folder(path: Path, folder: Path | None) -> CheckpointFolder:
    """The checkpoint folder of a SQLite file: beside it, or one of its own inside the folder that was set."""
    if folder is None:
        return CheckpointFolder(path.with_name(path.name + ".checkpoints"), suffix=SUFFIX)
    # Two stores may have the same name in two places.
    place = content_hash(str(path)).removeprefix(HASH_PREFIX)[:8]
    return CheckpointFolder(folder / f"{path.name}-{place}", suffix=SUFFIX)


@contextmanager
def prepared(
    folder: CheckpointFolder, checkpoint: Checkpoint, scope: Scope, clock: Clock, ids: IdFactory
) -> Iterator[Path]:
    """A private copy of a checkpoint that is proven whole, has the newest schema and an epoch of its own."""
    copy = folder.verify_content(checkpoint)
    # A name of its own: two processes may restore the same checkpoint, and each deletes what it prepared.
    ready = copy.with_name(f"{checkpoint.id}.{ids.new('rs')}.restoring")
    ready.touch(mode=0o600)
    try:
        with (
            translated(str(ready)),
            closing(sqlite3.connect(copy)) as source,
            closing(sqlite3.connect(ready)) as target,
        ):
            source.backup(target)
            _check_whole(target, checkpoint)
        with translated(str(ready)):
            _begin_new_epoch(ready, checkpoint, scope, clock, ids)
        _sync(ready)
        yield ready
    finally:
        ready.unlink(missing_ok=True)
        ready.with_name(ready.name + "-journal").unlink(missing_ok=True)


class _Facts(NamedTuple):
    schema: str
    epoch: str
    memories: int


def _facts(copy: sqlite3.Connection) -> _Facts:
    version = copy.execute(f"SELECT version_num FROM {schema.VERSION_TABLE}").fetchone()  # noqa: S608 - a constant
    epoch = copy.execute("SELECT value FROM meta WHERE key = ?", (EPOCH,)).fetchone()
    memories = copy.execute("SELECT count(*) FROM memories").fetchone()
    return _Facts(version[0], epoch[0] if epoch else "", memories[0])


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


def _begin_new_epoch(ready: Path, checkpoint: Checkpoint, scope: Scope, clock: Clock, ids: IdFactory) -> None:
    connect = lambda: sqlite3.connect(ready, isolation_level=None)  # noqa: E731 - a one-line factory
    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            schema.check_known(schema.revision(connection) or "", f"checkpoint {checkpoint.id}")
            schema.upgrade(connection, f"checkpoint {checkpoint.id}")
            broken = problems(connection)
            if broken:
                raise CheckpointFailed(
                    f"checkpoint {checkpoint.id} does not agree with itself: {broken[0]}",
                    remedy="Choose another checkpoint; nothing was replaced.",
                )
            work = Work(connection, scope, clock)
            work.meta.put(EPOCH, ids.new("ep"))
            work.audit.append("checkpoint.restored", checkpoint.id, {"name": checkpoint.name})
            connection.exec_driver_sql("COMMIT")
    finally:
        engine.dispose()


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
