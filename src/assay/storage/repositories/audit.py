"""The audit log: who did what to which thing, when and from where. Entries are added and read, never changed.

Entries of a tenant form a chain (`assay.storage.audit_chain`). The next place is drawn inside the write transaction,
which the write lock (SQLite) or the tenant's lock (PostgreSQL) gives to one writer at a time, so there is one chain
however many processes write. Erasing a person is the one exception to "never changed": `redact` takes words out and
says so in an entry of its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, Text, func, select, type_coerce, update

from assay.hashing import canonical_json
from assay.records import AuditEntry
from assay.records.audit_log import AuditLine
from assay.storage import audit_chain
from assay.storage.audit_chain import PLACES, REDACT, SALT_BYTES, START, ChainCheck, StoredEntry
from assay.storage.masked_columns import mask_value
from assay.storage.repositories.base import Repository, mine
from assay.storage.rows import from_row
from assay.storage.tables import audit
from assay.storage.types import write_moment

LARGEST = 500
"""Entries that one page gives at most."""
_ROWS_AT_A_TIME = 1_000
_ADD = audit.insert()
_HEAD = select(audit.c.place, audit.c.hash).where(mine(audit), audit.c.place.is_not(None))
_HEAD = _HEAD.order_by(audit.c.place.desc()).limit(1)
# Times and details as the text that is stored: the chain is over that text.
_AS_STORED = tuple(type_coerce(audit.c[name], Text).label(name) for name in ("at", "detail"))
_CHAIN = select(*(audit.c[name] for name in StoredEntry._fields if name not in ("at", "detail")), *_AS_STORED)


class AuditFilter(NamedTuple):
    """Which entries are wanted; None: any."""

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
        said = mask_value(dict(detail or {}))
        entry = AuditEntry(action=action, target=target, actor=who, at=when, detail=said, via=self._via)
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
        self._connection.execute(_ADD, {"tenant": tenant, **row})

    def entries(self, *, target: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """The newest entries first, of one target or of all."""
        wanted = self._select(audit).order_by(audit.c.id.desc()).limit(limit)
        if target is not None:
            wanted = wanted.where(audit.c.target == target)
        return [from_row(AuditEntry, row, audit) for row in self._connection.execute(wanted)]

    def find(self, wanted: AuditFilter, *, before: int = 0, limit: int = 50) -> list[ListedEntry]:
        """The newest entries of this tenant first; `before` is the row id of the last entry of the page before."""
        return self._list(self._select(audit), wanted, before, limit)

    def find_everywhere(self, wanted: AuditFilter, *, before: int = 0, limit: int = 50) -> list[ListedEntry]:
        """The newest entries of every tenant first: for operators alone."""
        return self._list(select(audit), wanted, before, limit)

    def check(self) -> ChainCheck:
        """Check the chain of this tenant, from its first entry."""
        return self._check(self._tenant)

    def check_everywhere(self) -> dict[str, ChainCheck]:
        """Check the chain of every tenant: for operators alone."""
        return {tenant: self._check(tenant) for tenant in self._tenants()}

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
            asked = select(audit.c.hash).where(audit.c.tenant == tenant, audit.c.place == int(place))
            found = self._connection.execute(asked).scalar_one_or_none()
            if found is None or bytes(found).hex() != head:
                missing.append(tenant)
        return missing

    def redact(self, changes: Mapping[int, Mapping[str, Any]]) -> int:
        """Replace words of entries, by row id, and write an entry that names the places where this was done.

        The salts of these entries go too: what the words were cannot be guessed from the hash that stays.
        """
        rows = self._connection.execute(self._select(audit, self._among(audit.c.id, changes))).all()
        if not rows:
            return 0
        places = [row.place for row in rows if row.place is not None]
        for row in rows:
            # An entry that named places of its own no longer proves them once it has no salt: name them again.
            if row.action == REDACT:
                places += [at for part in audit_chain.read_places(canonical_json(row.detail)) for at in part]
            changed = update(audit).where(self._mine(audit), audit.c.id == row.id)
            self._connection.execute(changed.values(**changes[row.id], salt=None))
        self.append(REDACT, "audit", {PLACES: audit_chain.write_places(places)})
        return len(rows)

    def _tenants(self) -> Sequence[str]:
        return self._connection.execute(select(audit.c.tenant).distinct().order_by(audit.c.tenant)).scalars().all()

    def _list(self, chosen: Select[Any], wanted: AuditFilter, before: int, limit: int) -> list[ListedEntry]:
        chosen = chosen.where(*_conditions(wanted)).order_by(audit.c.id.desc()).limit(min(limit, LARGEST))
        if before:
            chosen = chosen.where(audit.c.id < before)
        rows = self._connection.execute(chosen)
        return [ListedEntry(int(row.id), from_row(AuditLine, row, audit)) for row in rows]

    def _check(self, tenant: str) -> ChainCheck:
        theirs = audit.c.tenant == tenant
        unchained = select(func.count()).select_from(audit).where(theirs, audit.c.place.is_(None))
        return audit_chain.check(
            tenant, self._chain(theirs), unchained=self._connection.execute(unchained).scalar_one()
        )

    def _chain(self, theirs: ColumnElement[bool]) -> Iterator[StoredEntry]:
        wanted = _CHAIN.where(theirs, audit.c.place.is_not(None)).order_by(audit.c.place, audit.c.id)
        with self._connection.execute(wanted.execution_options(yield_per=_ROWS_AT_A_TIME)) as rows:
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
