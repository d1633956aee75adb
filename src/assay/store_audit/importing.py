"""Import the good memories of an audited store through the ordinary saver, its gate included.

Good is a memory without a fault, one whose only fault is a secret (the saver masks it), and one that contradicts
another: the saver joins the two by an edge, and a search shows both views.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.formats.memory_files import ImportSource
from assay.formats.memory_files.json_exports import folder_of
from assay.formats.memory_files.reading import TOOL, hash_of, source_id_of
from assay.memory.importing import Importer, ImportOptions, OnProgress
from assay.records.saving import ImportFormat, ImportItem, ImportProblem
from assay.records.store_audits import ImportedStore, StoreAudit, StoreFault, StoreItem, StoreKind
from assay.store_audit.auditor import ReadStore
from assay.store_audit.item_rules import make_draft_of

if TYPE_CHECKING:
    from assay.memory.engine import Engine
    from assay.records import Scope

LEFT_OUT = (
    StoreFault.INJECTED_ORDER,
    StoreFault.SELF_FEEDING,
    StoreFault.JUNK,
    StoreFault.DUPLICATE,
    StoreFault.STALE,
)
"""Faults of memories that are not imported, the gravest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoodMemories(ImportSource):
    """The good memories of a store, as the importer takes them."""

    items: tuple[ImportItem, ...] = ()

    def read(self) -> Iterator[ImportItem | ImportProblem]:
        """Everything in it, in order."""
        return iter(self.items)


def import_good(
    engine: Engine,
    scope: Scope,
    store: ReadStore,
    audit: StoreAudit,
    *,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> ImportedStore:
    """Save the good memories of an audited store."""
    faults: dict[str, set[StoreFault]] = {}
    for finding in audit.findings:
        if finding.certain:
            faults.setdefault(finding.key, set()).add(finding.fault)
    refused = {entry.place for entry in audit.unread_entries}
    left_out: Counter[str] = Counter()
    items: list[ImportItem] = []
    for item in store.items:
        worst = next((fault for fault in LEFT_OUT if fault in faults.get(item.key, ())), None)
        if worst is not None:
            left_out[str(worst)] += 1
        elif item.place not in refused:
            items.append(_to_import(item, store.reader.kind, Path(audit.path)))
    source = GoodMemories(
        path=Path(audit.path),
        format=ImportFormat.JSONL,
        name=Path(audit.path).resolve().name,
        size=sum(item.size for item in items),
        items=tuple(items),
    )
    importer = Importer(store=engine.store, saver=engine.saver, clock=engine.clock)
    report = importer.run(scope, source, ImportOptions(gate=True, dry_run=dry_run), on_progress)
    return ImportedStore(
        audited=audit.items,
        left_out=dict(left_out),
        report=replace(report, format=str(store.reader.kind)),
    )


def _to_import(item: StoreItem, kind: StoreKind, path: Path) -> ImportItem:
    draft = replace(
        make_draft_of(item),
        # A file of instructions is no person; every other owner has a folder of its own, as with `assay import`.
        folder="" if kind is StoreKind.AGENT_FILES or not item.owner else folder_of(item.owner),
        source_id=source_id_of(f"{kind}:{path.resolve().name}", "#", item.key),
        source_hash=hash_of([item.title, item.text]),
        written_with=TOOL,
    )
    return ImportItem(draft=draft, place=item.place, user=item.owner or None, size=len(item.text))
