"""Audit a store: read every memory, ask every rule, and put the findings in order. Nothing is written."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from assay.hashing import HASH_PREFIX
from assay.records.store_audits import (
    StoreAudit,
    StoreFault,
    StoreFinding,
    StoreItem,
    StoreKind,
    UnreadEntry,
)
from assay.regular_files import open_regular
from assay.store_audit.fact_rules import find_fact_faults, find_passed_plans
from assay.store_audit.item_rules import CheckedItem, check_item, find_item_faults, show
from assay.store_audit.pair_rules import LONGEST, find_exact_copies, find_near_pairs, find_pair_faults
from assay.store_audit.readers import StoreReader, find_reader
from assay.store_audit.self_feeding import find_recalled_lines, normalise_entry

_BLOCK = 1 << 20
Tell = Callable[[float, float | None, str], None]
"""Told how far the audit is."""


def tell_nobody(done: float, of: float | None, what: str) -> None:
    """Progress that nobody wants to hear of."""


class ReadStore(NamedTuple):
    """Everything in a store, read once."""

    reader: StoreReader
    items: tuple[StoreItem, ...]
    unread: tuple[UnreadEntry, ...]
    digest: str


def read_store(path: Path, kind: StoreKind = StoreKind.AUTO) -> ReadStore:
    """Read a store; its kind is found out unless it is given."""
    reader = find_reader(path, kind)
    digest = hash_files(path, reader.files(path))
    items: dict[str, StoreItem] = {}
    unread: list[UnreadEntry] = []
    for entry in reader.read(path):
        if isinstance(entry, UnreadEntry):
            unread.append(entry)
        elif entry.key in items:
            unread.append(UnreadEntry(place=entry.place, reason="id given twice", detail=f"{entry.key!r} again"))
        else:
            items[entry.key] = entry
    return ReadStore(reader, tuple(items.values()), tuple(unread), digest)


def hash_files(path: Path, files: Sequence[Path]) -> str:
    """Return the tagged hash of files with their names."""
    found = hashlib.sha256()
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        found.update(f"{name}\0{file.stat().st_size}\0".encode())
        with open_regular(file) as opened:
            while block := opened.read(_BLOCK):
                found.update(block)
    return HASH_PREFIX + found.hexdigest()


def audit_store(
    path: Path, *, as_of: datetime, kind: StoreKind = StoreKind.AUTO, tell: Tell = tell_nobody
) -> StoreAudit:
    """Audit a store; days before `as_of` have passed."""
    return audit_items(read_store(path, kind), path, as_of=as_of, tell=tell)


def audit_items(store: ReadStore, path: Path, *, as_of: datetime, tell: Tell = tell_nobody) -> StoreAudit:
    """Audit what was read of a store."""
    checked: list[CheckedItem] = []
    unread = list(store.unread)
    for number, item in enumerate(store.items, start=1):
        found = check_item(item)
        if isinstance(found, str):
            unread.append(UnreadEntry(place=item.place, reason="no note could hold it", detail=found))
        else:
            checked.append(found)
        tell(number, len(store.items), "reading")
    findings = list(_find_all(checked, as_of, tell))
    counted = [finding for finding in findings if finding.certain]
    by_fault = Counter(finding.fault for finding in counted)
    return StoreAudit(
        path=str(path),
        kind=store.reader.kind,
        digest=store.digest,
        as_of=as_of,
        items=len(checked),
        faulty=len({finding.key for finding in counted}),
        counts={str(fault): by_fault[fault] for fault in StoreFault},
        findings=tuple(findings),
        unread=dict(sorted(Counter(entry.reason for entry in unread).items())),
        unread_entries=tuple(unread),
        worth_a_look=len(findings) - len(counted),
        not_compared=sum(len(found.clean) > LONGEST for found in checked),
    )


def _find_all(items: Sequence[CheckedItem], as_of: datetime, tell: Tell) -> Iterator[StoreFinding]:
    """Yield all findings, each fault of a memory once.

    What an entry says counts only if it is a note: junk, orders and the memory's own output are compared with nothing.
    """
    seen: set[tuple[StoreFault, str]] = set()
    own: list[StoreFinding] = []
    for checked in items:
        own += find_item_faults(checked)
    own += _find_recalled_lists(items, {finding.key for finding in own if finding.fault is StoreFault.SELF_FEEDING})
    tell(len(items), len(items), "comparing")
    yield from _once(own, seen)
    bad = {
        finding.key
        for finding in own
        if finding.certain and finding.fault in (StoreFault.JUNK, StoreFault.INJECTED_ORDER, StoreFault.SELF_FEEDING)
    }
    notes = [checked for checked in items if checked.item.key not in bad]
    copies = list(find_exact_copies(notes))
    yield from _once(copies, seen)
    skipped = frozenset(finding.key for finding in copies)
    by_fact = list(find_fact_faults(notes, skipped))
    yield from _once(by_fact, seen)
    told = {frozenset((finding.key, finding.other)) for finding in by_fact}
    pairs = (pair for pair in find_near_pairs(notes, skipped) if frozenset(_keys(pair.old, pair.new)) not in told)
    yield from _once(find_pair_faults(pairs), seen)
    yield from _once(find_passed_plans(notes, as_of), seen)


def _keys(one: CheckedItem, other: CheckedItem) -> tuple[str, str]:
    return one.item.key, other.item.key


def _once(
    findings: Iterator[StoreFinding] | list[StoreFinding], seen: set[tuple[StoreFault, str]]
) -> Iterator[StoreFinding]:
    for finding in findings:
        if (finding.fault, finding.key) not in seen:
            seen.add((finding.fault, finding.key))
            yield finding


def _find_recalled_lists(items: Sequence[CheckedItem], known: set[str]) -> Iterator[StoreFinding]:
    """Yield entries that are lists of other entries, which only a recall writes."""
    by_text: dict[str, str] = {}
    for checked in items:
        by_text.setdefault(normalise_entry(checked.clean), checked.item.key)
    for checked in items:
        if checked.item.key in known or "\n" not in checked.clean:
            continue
        found = find_recalled_lines(checked.clean, by_text)
        if found:
            yield StoreFinding(
                fault=StoreFault.SELF_FEEDING,
                key=checked.item.key,
                rule="a list of other entries",
                reason=f"{len(found)} of its lines are other entries, word for word",
                parts=(show(checked),),
                look_at="Check that every line is stored as a note of its own.",
                other=found[0],
            )
