"""The repair plan: what is to become of every memory of an audited store, with reasons, as a JSON file.

| fault | action |
| --- | --- |
| injected order, self-feeding, junk | remove |
| the same words again | remove; the first one stays |
| a repetition in other words | merge: the one that says more stays |
| stale | mark as outdated, with what holds now |
| secret | redact |
| contradiction | keep both: only a person can decide |

A person may edit the file before it is applied: another action, another text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from assay.errors import MalformedFile
from assay.formats.files import write_lines
from assay.records.store_audits import (
    RepairAction,
    RepairPlan,
    RepairStep,
    StoreAudit,
    StoreFault,
    StoreFinding,
    StoreItem,
)
from assay.regular_files import read_regular_text
from assay.store_audit.outdated_marks import mark_outdated

RECORD = "assay-repair-plan"
"""What the file says it is."""
REMOVED = (StoreFault.INJECTED_ORDER, StoreFault.SELF_FEEDING, StoreFault.JUNK)
EXACT = "the same words"
_ADAPTER = TypeAdapter(RepairPlan)


def make_plan(audit: StoreAudit, items: Sequence[StoreItem]) -> RepairPlan:
    """Return what is to become of every memory."""
    found: dict[str, list[StoreFinding]] = defaultdict(list)
    for finding in audit.findings:
        if finding.certain:
            found[finding.key].append(finding)
    kept = _resolve_copies(found)
    steps = tuple(_plan_item(item, found.get(item.key, ()), kept) for item in items)
    return RepairPlan(store=audit.path, kind=audit.kind, digest=audit.digest, as_of=audit.as_of, steps=steps)


def _resolve_copies(found: Mapping[str, Sequence[StoreFinding]]) -> dict[str, str]:
    """Return, for each memory that goes as a copy, the memory that stays in the end; circles keep one of theirs."""
    copies = {
        key: finding.other
        for key, findings in found.items()
        for finding in findings
        if finding.fault is StoreFault.DUPLICATE and finding.other is not None
    }
    kept: dict[str, str] = {}
    for key, other in copies.items():
        seen, at = [key], other
        while at in copies and at not in seen:
            seen.append(at)
            at = copies[at]
        if at in seen:
            # Each is a copy of the next: the first of them by name stays.
            at = min(seen[seen.index(at) :])
        if at != key:
            kept[key] = at
    return kept


def _plan_item(item: StoreItem, findings: Sequence[StoreFinding], kept: Mapping[str, str]) -> RepairStep:
    faults = {finding.fault: finding for finding in findings}
    names = tuple(str(fault) for fault in faults)
    bad = next((faults[fault] for fault in REMOVED if fault in faults), None)
    if bad is not None:
        reason = f"{bad.fault}: {bad.reason}"
        return RepairStep(key=item.key, action=RepairAction.REMOVE, reason=reason, faults=names)
    if item.key in kept:
        copy = faults[StoreFault.DUPLICATE]
        action = RepairAction.REMOVE if copy.rule == EXACT else RepairAction.MERGE
        return RepairStep(
            key=item.key, action=action, reason=f"{copy.fault}: {copy.reason}", faults=names, into=kept[item.key]
        )
    return _plan_note(item, faults, names)


def _plan_note(item: StoreItem, faults: Mapping[StoreFault, StoreFinding], names: tuple[str, ...]) -> RepairStep:
    """Plan a memory that stays: with another text, or for a person to decide."""
    text, action, reasons = item.text, RepairAction.KEEP, []
    secret, stale = faults.get(StoreFault.SECRET), faults.get(StoreFault.STALE)
    if secret is not None:
        reasons.append(f"secret: {secret.reason}")
        if secret.replacement is not None:
            text, action = secret.replacement, RepairAction.REDACT
    if stale is not None:
        text, action = mark_outdated(text, stale.replacement or ""), RepairAction.MARK_OUTDATED
        reasons.append(f"stale: {stale.reason}")
    against = faults.get(StoreFault.CONTRADICTION)
    if against is not None:
        reasons.append(f"contradiction: {against.reason}")
    in_metadata = secret is not None and secret.replacement is None
    if in_metadata:
        reasons.append("the secret stands in the metadata, which a repair does not change")
    return RepairStep(
        key=item.key,
        action=action,
        reason="; ".join(reasons) or "no fault was found",
        faults=names,
        text=text if text != item.text else None,
        needs_person=against is not None or in_metadata,
    )


def write_plan(plan: RepairPlan, path: Path) -> None:
    """Write a plan as JSON, readable by its owner alone."""
    document = {"record": RECORD, "counts": plan.counts, **_ADAPTER.dump_python(plan, mode="json")}
    write_lines(path, [json.dumps(document, ensure_ascii=False, indent=1), "\n"], private=True)


def read_plan(path: Path) -> RepairPlan:
    """Read a plan; raises `MalformedFile` for a file that is none."""
    remedy = "Write one: assay audit STORE --plan FILE"
    try:
        document: Any = json.loads(read_regular_text(path))
    except OSError as problem:
        raise MalformedFile(f"{path} cannot be read: {problem.strerror or problem}", remedy=remedy) from problem
    except ValueError as problem:
        raise MalformedFile(f"{path} is not JSON: {problem}", remedy=remedy) from problem
    if not isinstance(document, dict) or document.get("record") != RECORD:
        raise MalformedFile(f"{path} is not a repair plan", remedy=remedy)
    try:
        return _ADAPTER.validate_python(
            {name: value for name, value in document.items() if name not in ("record", "counts")}
        )
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise MalformedFile(f"{path}: {place}: {first['msg']}", remedy=remedy) from problem
