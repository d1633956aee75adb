"""How entries of the audit log are chained: each holds a hash of itself and of the one before it.

Each entry has two hashes. `content` is a salted hash of the fields that may name a person: target, actor, origin,
detail. `hash` covers the rest (tenant, place, action, time), the content hash, and the hash of the entry before. So a
person can be erased from an entry: the texts are replaced and the salt is deleted, so that the texts cannot be guessed
from the hash that stays; the chain over the content hashes still verifies. See design/audit-log-hash-chain.md.

`check` reads a chain from its first entry and stops at the first that does not fit. The manifest of each checkpoint
records where the chains ended, so that a log which was shortened later is detected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.hashing import HASH_PREFIX, canonical_json, content_hash

START = bytes(32)
"""The previous hash of the first entry of a chain."""
SALT_BYTES = 16
REDACT = "audit.redact"
"""The action of an entry that lists earlier entries from which texts were erased."""
PLACES = "places"
"""The key of that list in the entry's detail: pairs of first and last place."""


class StoredEntry(NamedTuple):
    """One row of the audit table, times and detail as the text that is stored."""

    place: int | None
    action: str
    target: str
    actor: str
    via: str
    at: str
    detail: str
    salt: bytes | None
    content: bytes | None
    previous: bytes | None
    hash: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainCheck:
    """What checking the chain of one tenant found."""

    entries: int
    """Entries that were read, up to the first that does not fit."""
    erased: int
    """Entries whose texts were erased; the chain is intact over them too."""
    head: str
    """The hash of the last entry that fits; empty when there is none."""
    broken_at: int | None = None
    """The place of the first entry that does not fit; None: the chain is whole."""
    problem: str = ""
    """What is wrong there."""

    @property
    def is_whole(self) -> bool:
        """Whether every entry fits the one before it."""
        return self.broken_at is None


def content_of(salt: bytes, entry: StoredEntry) -> bytes:
    """Return the salted hash of what may name a person."""
    words = canonical_json([entry.target, entry.actor, entry.via, entry.detail])
    return hashlib.sha256(salt + words.encode()).digest()


def hash_of(tenant: str, entry: StoredEntry, content: bytes, previous: bytes) -> bytes:
    """Return the hash that an entry has at its place in the chain."""
    fixed = canonical_json([tenant, entry.place, entry.action, entry.at])
    return hashlib.sha256(b"assay audit 1\n" + previous + content + fixed.encode()).digest()


def seal(tenant: str, entry: StoredEntry, previous: bytes, salt: bytes) -> StoredEntry:
    """Give an entry its place in the chain, behind the entry with the hash `previous`."""
    content = content_of(salt, entry)
    return entry._replace(salt=salt, content=content, previous=previous, hash=hash_of(tenant, entry, content, previous))


def write_places(places: Iterable[int]) -> list[list[int]]:
    """Return places as pairs of first and last, in order."""
    pairs: list[list[int]] = []
    for place in sorted(set(places)):
        if pairs and pairs[-1][1] == place - 1:
            pairs[-1][1] = place
        else:
            pairs.append([place, place])
    return pairs


def read_places(detail: str) -> list[range]:
    """Return the places listed by an entry about erasures; none if its detail has another shape."""
    try:
        pairs = json.loads(detail)[PLACES]
        return [range(int(first), int(last) + 1) for first, last in pairs]
    except (ValueError, TypeError, KeyError):
        return []


def check(tenant: str, entries: Iterable[StoredEntry], *, unchained: int = 0) -> ChainCheck:
    """Check a chain from its first entry. `unchained` counts rows that have no place in it.

    An entry without its salt counts as erased only if a later entry lists it as erased; otherwise an attacker who
    changes an entry could hide that by deleting its salt.
    """
    previous, count = START, 0
    erased: list[int] = []
    named: set[int] = set()
    for entry in entries:
        problem = _problem(tenant, entry, count + 1, previous)
        if problem:
            return ChainCheck(
                entries=count, erased=len(erased), head=_hex(previous, count), broken_at=count + 1, problem=problem
            )
        count += 1
        previous = entry.hash or START
        if entry.salt is None:
            erased.append(count)
        elif entry.action == REDACT:
            named.update(place for places in read_places(entry.detail) for place in places if place < count)
    found = ChainCheck(entries=count, erased=len(erased), head=_hex(previous, count))
    return _check_erased(found, erased, named) or _check_unchained(found, unchained)


def head_marks(heads: Iterable[tuple[str, int, bytes]]) -> dict[str, str]:
    """Return the ends of chains (tenant, place, hash) as a manifest has them: tenants by a mark, not by their name."""
    return {mark_of(tenant): f"{place}:{bytes(head).hex()}" for tenant, place, head in heads}


def mark_of(tenant: str) -> str:
    """Return a hash in place of a tenant's name, for files that are kept when the tenant is erased."""
    return content_hash(tenant).removeprefix(HASH_PREFIX)[:16]


def _problem(tenant: str, entry: StoredEntry, place: int, previous: bytes) -> str:
    if entry.place != place:
        return f"the next entry has the place {entry.place}: entries between were removed"
    if entry.previous != previous:
        return "it does not hold the hash of the entry before it"
    content = entry.content or b""
    if entry.salt is not None and content_of(entry.salt, entry) != content:
        return "its target, actor, origin or detail was changed"
    if hash_of(tenant, entry, content, previous) != entry.hash:
        return "its action or time was changed"
    return ""


def _check_erased(found: ChainCheck, erased: Sequence[int], named: Collection[int]) -> ChainCheck | None:
    for place in erased:
        if place not in named:
            return ChainCheck(
                entries=found.entries, erased=found.erased, head=found.head, broken_at=place,
                problem="its words were erased, and no later entry says so",
            )  # fmt: skip
    return None


def _check_unchained(found: ChainCheck, unchained: int) -> ChainCheck:
    if not unchained:
        return found
    return ChainCheck(
        entries=found.entries, erased=found.erased, head=found.head, broken_at=found.entries + 1,
        problem=f"{unchained} rows of the log have no place in the chain: another program wrote them",
    )  # fmt: skip


def _hex(head: bytes, count: int) -> str:
    return head.hex() if count else ""
