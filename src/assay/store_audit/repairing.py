"""Apply a repair plan to a copy of its store, and audit the copy. The original is only read.

A plan names the hash of what was audited; it is applied to nothing else. A form that cannot be rewritten
(`cannot_rewrite` of its reader says which and why) gives a file of JSON lines with the memories that stay.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.errors import InputError, NotComparable
from assay.formats.files import write_lines, writing
from assay.private_files import make_private_folder
from assay.records.store_audits import (
    RepairAction,
    RepairedStore,
    RepairPlan,
    RepairStep,
    StoreItem,
    StoreKind,
)
from assay.store_audit.auditor import ReadStore, audit_items, read_store
from assay.store_audit.readers import TextChange

GONE = (RepairAction.REMOVE, RepairAction.MERGE)


def repair_store(plan: RepairPlan, to: Path, *, store: Path | None = None) -> RepairedStore:
    """Copy a store, apply a plan to the copy, and audit it; `store` is where the original is now, if it moved."""
    source = Path(plan.store) if store is None else store
    if to.exists():
        raise InputError(f"{to} exists already", remedy="Name a new file or folder for the copy.")
    if to.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{to} lies inside the store {source}", remedy="Name a place outside it.")
    original = read_store(source, plan.kind)
    if original.digest != plan.digest:
        raise NotComparable(
            f"{source} has changed since the plan was made",
            remedy=f"Audit it again: assay audit {source} --plan FILE",
        )
    steps = _check_steps(plan, original)
    reader = original.reader
    if reader.cannot_rewrite:
        _export(original.items, steps, to)
        note = f"{reader.cannot_rewrite}; {to} has the memories to keep as JSON lines"
        return _verify(plan, original, to, StoreKind.JSONL, note=note)
    _copy(source, to)
    reader.rewrite(to, {key: _change_of(step) for key, step in steps.items() if _is_change(step)})
    return _verify(plan, original, to, reader.kind, note="")


def _check_steps(plan: RepairPlan, original: ReadStore) -> dict[str, RepairStep]:
    known = {item.key for item in original.items}
    unknown = next((step.key for step in plan.steps if step.key not in known), None)
    if unknown is not None:
        raise InputError(f"the plan names {unknown!r}, which the store does not have", remedy="Audit the store again.")
    return {step.key: step for step in plan.steps}


def _is_change(step: RepairStep) -> bool:
    return step.action in GONE or step.text is not None


def _change_of(step: RepairStep) -> TextChange:
    return TextChange(None if step.action in GONE else step.text)


def _copy(source: Path, to: Path) -> None:
    with writing(to):
        make_private_folder(to.parent)
        if source.is_dir():
            shutil.copytree(source, to, symlinks=True)
            return
        # A log that lies beside a database belongs to it.
        for file in (source, *source.parent.glob(f"{source.name}-*")):
            shutil.copyfile(file, to.with_name(to.name + file.name[len(source.name) :]))


def _export(items: tuple[StoreItem, ...], steps: Mapping[str, RepairStep], to: Path) -> None:
    write_lines(to, _export_lines(items, steps), private=True)


def _export_lines(items: tuple[StoreItem, ...], steps: Mapping[str, RepairStep]) -> Iterator[str]:
    for item in items:
        step = steps.get(item.key)
        if step is not None and step.action in GONE:
            continue
        record = {
            "id": item.key,
            "text": item.text if step is None or step.text is None else step.text,
            "title": item.title or None,
            "user_id": item.owner or None,
            "created_at": None if item.created_at is None else item.created_at.isoformat(),
            "metadata": dict(item.metadata) or None,
        }
        kept = {name: value for name, value in record.items() if value is not None}
        yield json.dumps(kept, ensure_ascii=False, default=str) + "\n"


def _verify(plan: RepairPlan, original: ReadStore, to: Path, kind: StoreKind, *, note: str) -> RepairedStore:
    """Audit the copy; a fault is explained where the plan keeps that text with that fault for a person."""
    copy = read_store(to, kind)
    again = audit_items(copy, to, as_of=plan.as_of)
    texts = {item.key: item.text for item in original.items}
    for_person = {
        (fault, texts[step.key] if step.text is None else step.text)
        for step in plan.steps
        if step.action not in GONE and (step.needs_person or step.action is RepairAction.KEEP)
        for fault in step.faults
    }
    copied = {item.key: item.text for item in copy.items}
    left: Counter[str] = Counter()
    unexpected: Counter[str] = Counter()
    for finding in again.findings:
        if finding.certain:
            explained = (str(finding.fault), copied[finding.key]) in for_person
            (left if explained else unexpected)[str(finding.fault)] += 1
    return RepairedStore(
        to=str(to),
        kind=kind,
        rewritten=not note,
        note=note,
        actions=plan.counts,
        items=again.items,
        left=dict(sorted(left.items())),
        unexpected=dict(sorted(unexpected.items())),
    )
