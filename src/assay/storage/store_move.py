"""Move a store to another database: every row of every tenant, from SQLite to PostgreSQL, back, or to the same kind.

The source is read in one snapshot and never written. The target is filled in one transaction that excludes writers:
either it holds everything, verified, or it is as it was. Rows go over in batches, so the size of the store does not
matter. Numbers, ids, times, vectors, tokens and the audit chain stay as they are; only the epoch is new, so that no
index file of the one store passes for that of the other. See design/moving-a-store.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Connection

from assay.clock import Clock
from assay.errors import InputError, MoveFailed, StoreNotFound, TargetNotEmpty
from assay.hashing import HASH_PREFIX
from assay.records import IdFactory, Scope
from assay.storage.opening import OpenOptions, StoreOptions, open_postgres, open_sqlite
from assay.storage.postgres import PostgresBackend, lift_statement_timeout
from assay.storage.repositories import whole_tables
from assay.storage.repositories.base import EPOCH
from assay.storage.sqlite import SqliteBackend
from assay.storage.store import is_postgres, open_store
from assay.storage.work import Work

AnyBackend: TypeAlias = SqliteBackend | PostgresBackend
OnRows: TypeAlias = Callable[[int, int, str], None]
"""Told the rows that are done, all rows, and what is being done with which table. Each row is copied, then checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """An address of a store, and how it is opened."""

    address: str | Path
    options: StoreOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class MovedTable:
    """What was moved of one table."""

    name: str
    rows: int
    content: str
    """The tagged hash of its rows, the same in both stores; empty after a dry run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreMove:
    """What a move did, or would do."""

    source: str
    target: str
    dry_run: bool
    tables: tuple[MovedTable, ...]
    """Every table, also those without rows."""
    audit_chains: Mapping[str, bool]
    """For each tenant, whether its audit chain verifies in the target; empty after a dry run."""
    checkpoint: str = ""
    """The checkpoint of what the target held before, if it was replaced."""
    changed_meanwhile: tuple[str, ...] = ()
    """Tables of the source with another number of rows than in the snapshot. A change within a row shows in the change
    log or the audit log, which get a row for it; what was changed is not in the target."""

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return sum(table.rows for table in self.tables)

    def count(self, name: str) -> int:
        """Return the rows of one table."""
        return next(table.rows for table in self.tables if table.name == name)


def move_store(
    source: Place,
    target: Place,
    *,
    scope: Scope,
    clock: Clock,
    replace_rows: bool = False,
    dry_run: bool = False,
    on_rows: OnRows | None = None,
) -> StoreMove:
    """Copy a whole store to another address and verify the copy; the source stays as it is.

    A target with rows is refused unless `replace_rows`, which makes a checkpoint of it first. A dry run counts, says
    whether the target would be taken, and writes nothing.
    """
    tell = on_rows or (lambda *_: None)
    with closing(_open(source, clock, create=False)) as origin:
        if dry_run:
            return _count(origin, target, clock, replace_rows=replace_rows)
        checkpoint = ""
        if replace_rows:
            checkpoint = _keep_target(target, clock)
        with closing(_open(target, clock, create=True)) as goal:
            _refuse_same(origin, goal)
            with origin.reading() as reading:
                if isinstance(origin, PostgresBackend):
                    lift_statement_timeout(reading)
                with _filling(goal) as writing:
                    moved = _Copy(reading, writing, origin, goal, tell).run(scope, clock, replace_rows=replace_rows)
        with origin.reading() as later:
            changed = _find_changes(moved, whole_tables.count_rows(later))
    return replace(moved, checkpoint=checkpoint, changed_meanwhile=changed)


class _Copy:
    """One copy, between an open snapshot and an open transaction."""

    def __init__(
        self, source: Connection, target: Connection, origin: AnyBackend, goal: AnyBackend, tell: OnRows
    ) -> None:
        self._source, self._target = source, target
        self._origin, self._goal = origin, goal
        self._tell = tell
        self._counts = whole_tables.count_rows(source)
        self._all = 2 * sum(self._counts.values())
        self._done = 0

    def run(self, scope: Scope, clock: Clock, *, replace_rows: bool) -> StoreMove:
        """Fill the target, verify it, and note the move in its audit log."""
        if not replace_rows:
            _refuse_used(self._target, self._goal)
        whole_tables.clear(self._target)
        whole_tables.make_months(self._source, self._target)
        references = whole_tables.drop_references(self._target)
        hashes = {name: self._copy(name) for name in whole_tables.NAMES}
        whole_tables.add_references(self._target, references)
        whole_tables.write_counters(self._target, whole_tables.read_counters(self._source))
        whole_tables.analyse(self._target)
        for name, content in hashes.items():
            self._verify(name, content)
        work = Work(self._target, scope, clock)
        chains = {tenant: check.is_whole for tenant, check in work.audit.check_everywhere().items()}
        self._verify_chains(chains, scope, clock)
        work.meta.put(EPOCH, IdFactory(clock).new("ep"))
        rows = sum(self._counts.values())
        work.audit.append("store.moved", self._goal.place[:200], {"from": self._origin.place, "rows": rows})
        return StoreMove(
            source=self._origin.place,
            target=self._goal.place,
            dry_run=False,
            tables=tuple(MovedTable(name=name, rows=self._counts[name], content=hashes[name]) for name in hashes),
            audit_chains=chains,
        )

    def _copy(self, name: str) -> str:
        digest = hashlib.sha256()
        for batch in whole_tables.read_rows(self._source, name):
            whole_tables.write_rows(self._target, name, batch)
            self._count_batch(digest, batch, f"copying {name}")
        return HASH_PREFIX + digest.hexdigest()

    def _verify(self, name: str, expected: str) -> None:
        digest, rows = hashlib.sha256(), 0
        for batch in whole_tables.read_rows(self._target, name):
            rows += len(batch)
            self._count_batch(digest, batch, f"checking {name}")
        if rows != self._counts[name] or HASH_PREFIX + digest.hexdigest() != expected:
            raise MoveFailed(
                f"the table {name} has {rows:,} rows in {self._goal.place} and {self._counts[name]:,} in "
                f"{self._origin.place}, or their contents differ",
                remedy="The target is as it was. Run `assay doctor` on the source, then move it again.",
            )

    def _verify_chains(self, chains: Mapping[str, bool], scope: Scope, clock: Clock) -> None:
        """Refuse a target whose audit chains verify less than those of the source."""
        before = Work(self._source, scope, clock).audit.check_everywhere()
        broken = [tenant for tenant, check in before.items() if check.is_whole and not chains.get(tenant)]
        if broken:
            raise MoveFailed(
                f"the audit log of {', '.join(broken)} does not verify in {self._goal.place}",
                remedy="The target is as it was. Run `assay audit-log verify` on the source, then move it again.",
            )

    def _count_batch(self, digest: hashlib._Hash, batch: list[whole_tables.Row], what: str) -> None:
        for row in batch:
            digest.update(repr(row).encode())
        self._done += len(batch)
        self._tell(self._done, self._all, what)


def _open(place: Place, clock: Clock, *, create: bool) -> AnyBackend:
    how = OpenOptions(clock=clock, ids=IdFactory(clock), options=place.options, create=create, migrate=create)
    if is_postgres(place.address):
        return open_postgres(str(place.address), how)
    return open_sqlite(Path(place.address), how)


def _filling(goal: AnyBackend) -> AbstractContextManager[Connection]:
    """One transaction that excludes all other writers of the target."""
    return goal.restoring() if isinstance(goal, PostgresBackend) else goal.writing()


def _count(origin: AnyBackend, target: Place, clock: Clock, *, replace_rows: bool) -> StoreMove:
    with origin.reading() as reading:
        counts = whole_tables.count_rows(reading)
    try:
        with closing(_open(target, clock, create=False)) as goal:
            _refuse_same(origin, goal)
            place = goal.place
            with goal.reading() as reading:
                if not replace_rows:
                    _refuse_used(reading, goal)
    except StoreNotFound:
        place = _describe(target)
    tables = tuple(MovedTable(name=name, rows=rows, content="") for name, rows in counts.items())
    return StoreMove(source=origin.place, target=place, dry_run=True, tables=tables, audit_chains={})


def _describe(place: Place) -> str:
    if not is_postgres(place.address):
        return str(place.address)
    from assay.storage.postgres import read_url  # noqa: PLC0415 - see `rows.insert`

    return (
        f"{read_url(str(place.address)).render_as_string(hide_password=True)} (schema {place.options.postgres_schema})"
    )


def _keep_target(target: Place, clock: Clock) -> str:
    """Make a checkpoint of a target that is there already; return its id."""
    try:
        with open_store(target.address, clock=clock, create=False, options=target.options) as store:
            return store.checkpoints.create("before a move").id
    except StoreNotFound:
        return ""


def _refuse_same(origin: AnyBackend, goal: AnyBackend) -> None:
    if origin.place == goal.place:
        raise InputError(f"{origin.place} is the source and the target", remedy="Name another place with --to.")


def _refuse_used(connection: Connection, goal: AnyBackend) -> None:
    used = whole_tables.list_used_tables(connection, whole_tables.count_rows(connection))
    if used:
        raise TargetNotEmpty(
            f"{goal.place} holds rows already, in {', '.join(used[:5])}" + (", ..." if len(used) > 5 else ""),
            remedy="Name an empty place, or give --replace: a checkpoint is made, then its rows are replaced.",
        )


def _find_changes(moved: StoreMove, later: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(table.name for table in moved.tables if later[table.name] != table.rows)
