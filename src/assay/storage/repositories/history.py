"""The change log and the audit log.

- The change log.
- The audit log.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, Text, bindparam, delete, func, select, type_coerce, update

from assay.hashing import canonical_json
from assay.records import AuditEntry, Change, LogPosition, Operation, RowKind
from assay.records.maintenance import AuditLine
from assay.storage import audit_chain
from assay.storage.audit_chain import PLACES, REDACT, SALT_BYTES, START, ChainCheck, StoredEntry
from assay.storage.repositories.base import EPOCH, Bound, Meta, Repository, mine, model_key, trim_key, unlogged_key
from assay.storage.rows import from_row, mask_value, write_moment
from assay.storage.tables import audit, changes, meta

# --- The change log ---
#
# A follower remembers a `LogPosition`. It reads on from there, unless a restore began a new epoch or the log was
# trimmed beyond it: then `follow` says so and the follower rebuilds from the tables.

BATCH = 10_000


class ChangedRow(NamedTuple):
    """A row that changed."""

    kind: RowKind
    row_id: str
    number: int


class Followed(NamedTuple):
    """The changes that a follower reads."""

    changes: list[Change]
    position: LogPosition
    """Where to continue next time."""
    must_rebuild: bool
    """Whether changes are missing (a restore or a trim): read the tables instead, then continue from `position`."""


class Standing(NamedTuple):
    """The state of the log in one snapshot, which a follower compares with its own."""

    position: LogPosition
    """The end of the log."""
    trimmed_to: int
    """A follower that has not read this far has to rebuild."""
    model: str | None
    """The embedding model that search uses."""
    unlogged_writes: int
    """How many times rows were written that the log does not tell of: edges, and facts that were read again. Whoever
    keeps those in memory reads them anew when it changes."""


_STANDING = select(
    *(
        select(meta.c.value).where(meta.c.key == bindparam(name)).scalar_subquery()
        for name in ("epoch", "trim", "model", "unlogged")
    ),
    select(func.max(changes.c.seq)).where(mine(changes)).scalar_subquery(),
)
_ADD_CHANGE = changes.insert()
_AFTER = (
    select(changes)
    .where(mine(changes), changes.c.seq > bindparam("known"))
    .order_by(changes.c.seq)
    .limit(bindparam("most"))
)


class Changes(Repository):
    """The change log of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._meta = Meta(bound)

    def append(self, operation: Operation, lines: Sequence[ChangedRow]) -> None:
        """Write one line per row, in the same transaction as the rows."""
        if lines:
            same = {"tenant": self._tenant, "operation": str(operation), "at": self._clock.now()}
            rows = [{**same, "kind": str(kind), "row_id": row_id, "number": number} for kind, row_id, number in lines]
            self._insert(_ADD_CHANGE, rows)

    def standing(self) -> Standing:
        """Where the log ends and what search uses, in one question."""
        tenant = self._tenant
        keys = {"epoch": EPOCH, "trim": trim_key(tenant), "model": model_key(tenant), "unlogged": unlogged_key(tenant)}
        epoch, trimmed, model, unlogged_writes, newest = self._rows(_STANDING, **keys)[0]
        trimmed_to = int(trimmed or 0)
        position = LogPosition(epoch or "", max(newest or 0, trimmed_to))
        return Standing(position, trimmed_to, model, int(unlogged_writes or 0))

    def position(self) -> LogPosition:
        """The end of the log as this snapshot sees it."""
        return self.standing().position

    def follow(self, known: LogPosition | None, *, limit: int = BATCH) -> Followed:
        """The changes after a known position, at most `limit` at a time."""
        standing = self.standing()
        end, trimmed_to = standing.position, standing.trimmed_to
        if known is None or known.epoch != end.epoch or known.seq < trimmed_to:
            return Followed([], end, must_rebuild=True)
        if known.seq >= end.seq:
            return Followed([], known, must_rebuild=False)
        found = [from_row(Change, row, changes) for row in self._rows(_AFTER, known=known.seq, most=limit)]
        reached = found[-1].seq if found else known.seq
        return Followed(found, LogPosition(end.epoch, reached), must_rebuild=False)

    def find_arrival(self, memory_id: str, *, since: datetime) -> datetime | None:
        """Return when a memory came into this store, if that was after a moment; None otherwise."""
        # Lines are in the order of time, so only those after the moment are read.
        own = self._mine(changes)
        before = select(changes.c.seq).where(own, changes.c.at <= since).order_by(changes.c.seq.desc()).limit(1)
        statement = select(func.max(changes.c.at)).where(
            own,
            changes.c.seq > func.coalesce(before.scalar_subquery(), 0),
            changes.c.kind == str(RowKind.MEMORY),
            changes.c.operation == str(Operation.INSERT),
            changes.c.row_id == memory_id,
        )
        found: datetime | None = self._connection.execute(statement).scalar_one_or_none()
        return found

    def trim(self, upto: int) -> int:
        """Delete the log up to and including a seq; followers that have not read so far will rebuild."""
        standing = self.standing()
        end, trimmed_to = standing.position, standing.trimmed_to
        upto = min(upto, end.seq)
        gone = self._connection.execute(delete(changes).where(self._mine(changes), changes.c.seq <= upto)).rowcount
        self._meta.put(trim_key(self._tenant), str(max(upto, trimmed_to)))
        return int(gone)

    def trim_before(self, moment: datetime, *, keep: int = BATCH) -> int:
        """Delete lines older than a moment, but never the last `keep`; return how many were deleted."""
        last_kept = (
            select(changes.c.seq).where(self._mine(changes)).order_by(changes.c.seq.desc()).offset(keep).limit(1)
        )
        upto = self._connection.execute(last_kept).scalar_one_or_none()
        if upto is None:
            return 0
        old = select(func.max(changes.c.seq)).where(self._mine(changes), changes.c.seq <= upto, changes.c.at < moment)
        oldest = self._connection.execute(old).scalar_one_or_none()
        return 0 if oldest is None else self.trim(oldest)


# --- The audit log ---
#
# Entries of a tenant form a chain (`assay.storage.audit_chain`). The next place is drawn inside the write transaction,
# which the write lock (SQLite) or the tenant's lock (PostgreSQL) gives to one writer at a time, so there is one chain
# however many processes write. Entries are never changed, with one exception: to erase a person, `redact` replaces
# texts and adds an entry about it.

LARGEST = 500
"""Most entries of one page."""
_ROWS_AT_A_TIME = 1_000
_ADD_ENTRY = audit.insert()
_HEAD = select(audit.c.place, audit.c.hash).where(mine(audit), audit.c.place.is_not(None))
_HEAD = _HEAD.order_by(audit.c.place.desc()).limit(1)
# Times and details as the text that is stored: the chain is over that text.
_AS_STORED = tuple(type_coerce(audit.c[name], Text).label(name) for name in ("at", "detail"))
_CHAIN = select(*(audit.c[name] for name in StoredEntry._fields if name not in ("at", "detail")), *_AS_STORED)


class AuditFilter(NamedTuple):
    """A filter of entries; None: any value."""

    action: str | None = None
    """An action, or the beginning of some that ends in a dot: `token.` means all about tokens."""
    actor: str | None = None
    target: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Before this moment."""


class ListedEntry(NamedTuple):
    """An entry in a list of several tenants' entries."""

    row_id: int
    """Where the next page goes on."""
    entry: AuditLine


class Audit(Repository):
    """The audit log of one tenant."""

    def append(self, action: str, target: str, detail: Mapping[str, Any] | None = None) -> None:
        """Write an entry in the name of the scope's principal."""
        self.append_to(self._tenant, action, target, detail)

    def append_to(self, tenant: str, action: str, target: str, detail: Mapping[str, Any] | None = None) -> None:
        """Write an entry into another tenant's log; the caller holds that tenant's lock."""
        who, when = self._principal, self._clock.now()
        masked = mask_value(dict(detail or {}))
        entry = AuditEntry(action=action, target=target, actor=who, at=when, detail=masked, via=self._via)
        head = self._connection.execute(_HEAD, {"tenant": tenant}).one_or_none()
        place, previous = (1, START) if head is None else (head.place + 1, bytes(head.hash))
        stored = StoredEntry(
            place=place,
            action=entry.action,
            target=entry.target,
            actor=entry.actor,
            via=entry.via,
            at=write_moment(entry.at),
            detail=canonical_json(entry.detail),
            salt=None,
            content=None,
            previous=None,
            hash=None,
        )
        sealed = audit_chain.seal(tenant, stored, previous, secrets.token_bytes(SALT_BYTES))
        row = {**sealed._asdict(), "at": entry.at, "detail": entry.detail}
        self._connection.execute(_ADD_ENTRY, {"tenant": tenant, **row})

    def entries(self, *, target: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """The newest entries first, of one target or of all."""
        statement = self._select(audit).order_by(audit.c.id.desc()).limit(limit)
        if target is not None:
            statement = statement.where(audit.c.target == target)
        return [from_row(AuditEntry, row, audit) for row in self._connection.execute(statement)]

    def find(
        self, wanted: AuditFilter, *, before: int = 0, limit: int = 50, oldest_first: bool = False
    ) -> list[ListedEntry]:
        """The newest entries of this tenant first; `before` is the row id of the last entry of the page before."""
        return self._list(self._select(audit), wanted, before, limit, oldest_first=oldest_first)

    def find_everywhere(
        self, wanted: AuditFilter, *, before: int = 0, limit: int = 50, oldest_first: bool = False
    ) -> list[ListedEntry]:
        """The newest entries of every tenant first: for operators alone."""
        return self._list(select(audit), wanted, before, limit, oldest_first=oldest_first)

    def count(self, wanted: AuditFilter, *, everywhere: bool = False) -> int:
        """Count the entries of this tenant that match a filter; `everywhere`: of every tenant, for operators alone."""
        counted = select(func.count()).select_from(audit).where(*_conditions(wanted))
        return int(self._connection.execute(counted if everywhere else counted.where(self._mine(audit))).scalar_one())

    def check(self) -> ChainCheck:
        """Check the chain of this tenant, from its first entry."""
        return self._check(self._tenant)

    def check_everywhere(self) -> dict[str, ChainCheck]:
        """Check the chain of every tenant: for operators alone."""
        return {tenant: self._check(tenant) for tenant in self._tenants()}

    def tenants(self) -> list[str]:
        """Return every tenant that has an entry: for the server's own work alone."""
        return sorted(self._tenants())

    def heads(self) -> dict[str, str]:
        """Return where the chain of every tenant ends, as the description of a checkpoint has it."""
        last = select(audit.c.tenant, func.max(audit.c.place).label("place")).group_by(audit.c.tenant).subquery()
        same = (audit.c.tenant == last.c.tenant) & (audit.c.place == last.c.place)
        rows = self._connection.execute(select(audit.c.tenant, audit.c.place, audit.c.hash).join(last, same))
        return audit_chain.head_marks((row.tenant, row.place, row.hash) for row in rows)

    def missing_heads(self, heads: Mapping[str, str]) -> list[str]:
        """Return the tenants whose log no longer has the entry that it once ended with; erased tenants have none."""
        missing = []
        for tenant in self._tenants():
            place, _, head = heads.get(audit_chain.mark_of(tenant), "").partition(":")
            if not head:
                continue
            statement = select(audit.c.hash).where(audit.c.tenant == tenant, audit.c.place == int(place))
            found = self._connection.execute(statement).scalar_one_or_none()
            if found is None or bytes(found).hex() != head:
                missing.append(tenant)
        return missing

    def redact(self, changes: Mapping[int, Mapping[str, Any]]) -> int:
        """Replace texts of entries, by row id, and add an entry that lists their places.

        The salts of these entries are deleted too, so that the texts cannot be guessed from the hash that stays.
        """
        rows = self._connection.execute(self._select(audit, self._among(audit.c.id, changes))).all()
        if not rows:
            return 0
        places = [row.place for row in rows if row.place is not None]
        for row in rows:
            # A redacted entry that listed places itself no longer proves them without its salt: list them again.
            if row.action == REDACT:
                places += [at for part in audit_chain.read_places(canonical_json(row.detail)) for at in part]
            changed = update(audit).where(self._mine(audit), audit.c.id == row.id)
            self._connection.execute(changed.values(**changes[row.id], salt=None))
        self.append(REDACT, "audit", {PLACES: audit_chain.write_places(places)})
        return len(rows)

    def _tenants(self) -> Sequence[str]:
        return self._connection.execute(select(audit.c.tenant).distinct().order_by(audit.c.tenant)).scalars().all()

    def _list(
        self, chosen: Select[Any], wanted: AuditFilter, before: int, limit: int, *, oldest_first: bool
    ) -> list[ListedEntry]:
        order = audit.c.id.asc() if oldest_first else audit.c.id.desc()
        chosen = chosen.where(*_conditions(wanted)).order_by(order).limit(min(limit, LARGEST))
        if before:
            chosen = chosen.where(audit.c.id > before if oldest_first else audit.c.id < before)
        rows = self._connection.execute(chosen)
        return [ListedEntry(int(row.id), from_row(AuditLine, row, audit)) for row in rows]

    def _check(self, tenant: str) -> ChainCheck:
        theirs = audit.c.tenant == tenant
        unchained = select(func.count()).select_from(audit).where(theirs, audit.c.place.is_(None))
        return audit_chain.check(
            tenant, self._chain(theirs), unchained=self._connection.execute(unchained).scalar_one()
        )

    def _chain(self, theirs: ColumnElement[bool]) -> Iterator[StoredEntry]:
        statement = _CHAIN.where(theirs, audit.c.place.is_not(None)).order_by(audit.c.place, audit.c.id)
        with self._connection.execute(statement.execution_options(yield_per=_ROWS_AT_A_TIME)) as rows:
            for row in rows:
                yield _to_stored(row)


def _to_stored(row: Row[Any]) -> StoredEntry:
    found = {name: getattr(row, name) for name in StoredEntry._fields}
    # PostgreSQL gives memoryviews for bytes.
    for name in ("salt", "content", "previous", "hash"):
        found[name] = None if found[name] is None else bytes(found[name])
    return StoredEntry(**found)


def _conditions(wanted: AuditFilter) -> Sequence[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.action is not None:
        begins = wanted.action.endswith(".")
        exact = audit.c.action == wanted.action
        conditions.append(audit.c.action.startswith(wanted.action, autoescape=True) if begins else exact)
    if wanted.actor is not None:
        conditions.append(audit.c.actor == wanted.actor)
    if wanted.target is not None:
        conditions.append(audit.c.target == wanted.target)
    if wanted.since is not None:
        conditions.append(audit.c.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(audit.c.at < wanted.until)
    return conditions
