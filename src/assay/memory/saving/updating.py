"""Changing a memory: a new version that takes its place and keeps every field that was not given.

The old version stays, superseded, and `assay restore` brings it back. The new one goes through the ordinary save, so
secrets are masked and a program's text that looks like no note is quarantined and replaces nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import InputError, NotReady
from assay.memory import rights
from assay.memory.saving.structure import RESERVED
from assay.records import Draft, MemoryRecord, MemoryStatus, SaveDecision, SaveOutcome, Scope, Step
from assay.records.saving import INHERITED

CHANGEABLE = ("title", "body", "triggers", "tags", "folder", "tier", "format", "context_type", "metadata")
"""Fields that an update may give."""
KEPT = (*CHANGEABLE, "rel_path", "entity_type", "source_id", "source_hash")
"""Fields that a new version has from the old one unless they are given."""


def draft_of_update(
    memory: MemoryRecord, scope: Scope, changes: Mapping[str, Any], *, automated: bool, tool: str
) -> Draft | None:
    """The new version of a memory; None when the changes change nothing."""
    if unknown := sorted(set(changes) - set(CHANGEABLE)):
        raise InputError(f"{unknown[0]!r} cannot be updated", remedy=f"Give one of {', '.join(CHANGEABLE)}.")
    check_current(memory)
    rights.check_change(memory, scope, "update", automated=automated)
    old = {name: getattr(memory, name) for name in KEPT}
    old["metadata"] = {key: value for key, value in memory.metadata.items() if key != RESERVED}
    if all(old[name] == value for name, value in changes.items()):
        return None
    values = {**old, **changes, "supersedes": memory.id, "written_with": tool, "automated": automated}
    return Draft(**values, given=frozenset(INHERITED))


def check_current(memory: MemoryRecord) -> MemoryRecord:
    """The memory, if it holds now; what does not hold has no next version."""
    if memory.status is not MemoryStatus.CURRENT:
        raise NotReady(
            f"the memory {memory.id!r} is {memory.status} and cannot be updated",
            remedy="Update the current version, or restore this one first.",
        )
    return memory


def already(memory: MemoryRecord) -> SaveOutcome:
    """The outcome of an update that gives what is there."""
    return SaveOutcome(
        save_id="",
        decision=SaveDecision.STORE,
        memory_id=memory.id,
        unchanged=True,
        version=memory.version,
        steps=(Step("write", "unchanged", "every given field is as it was"),),
    )
