"""Audits of memory stores that other tools wrote: what was found, the plan to repair it, and what became of it.

Not to be confused with the audit log, which says who did what in Assay's own store (`records.maintenance`).

- What was read.
- What was found.
- The repair plan.
- What was repaired and imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.records.saving import ImportReport

# --- What was read ---


class StoreKind(StrEnum):
    """A form in which other tools keep memories."""

    AUTO = "auto"
    """Found out by looking."""
    MEM0 = "mem0"
    SERVER_MEMORY = "server-memory"
    CHROMA = "chroma"
    LANGGRAPH = "langgraph"
    LETTA = "letta"
    AGENT_FILES = "agent-files"
    """Folders with CLAUDE.md or AGENTS.md."""
    JSONL = "jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreItem:
    """One memory of a store."""

    key: str
    """Unique in its store; how plans name it."""
    text: str
    title: str = ""
    """What the store itself calls it; empty where it has no name for it."""
    place: str = ""
    """The file, from the folder that was named, and where in it."""
    owner: str = ""
    """Whose memory it is: a user, agent or namespace. Only memories of one owner are compared."""
    created_at: datetime | None = None
    """When it was written or last changed; None where the store does not say."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadEntry:
    """Something in a store that could not be read as a memory, and why."""

    place: str
    reason: str
    """A few words to count by, such as `not JSON` or `no text`."""
    detail: str


# --- What was found ---


class StoreFault(StrEnum):
    """What can be wrong with a memory."""

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    STALE = "stale"
    JUNK = "junk"
    SECRET = "secret"  # noqa: S105 - the name of a fault
    INJECTED_ORDER = "injected-order"
    SELF_FEEDING = "self-feeding"


class EvidencePart(NamedTuple):
    """A part of a memory that shows a fault; secrets in it are masked."""

    key: str
    place: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreFinding:
    """One fault of one memory."""

    fault: StoreFault
    key: str
    """The memory that has the fault."""
    rule: str
    """Which rule found it, in a few words."""
    reason: str
    """What the rule saw."""
    parts: tuple[EvidencePart, ...]
    """The text parts, first of this memory, then of the memory it is held against."""
    look_at: str
    """What a person should look at before it is repaired."""
    other: str | None = None
    """The memory that it repeats, contradicts or is outdated by."""
    replacement: str | None = None
    """The text without the fault, where the rule can give one."""
    certain: bool = True
    """False: worth a look, and not counted as a fault. A note that quotes an injected order to warn of it is one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreAudit:
    """What the audit of a store found."""

    path: str
    kind: StoreKind
    digest: str
    """The tagged hash of every file that was read."""
    as_of: datetime
    """Dates before it have passed."""
    items: int
    faulty: int
    """Memories with at least one fault."""
    counts: Mapping[str, int]
    """Faults by name, also those of which there is none."""
    findings: tuple[StoreFinding, ...]
    unread: Mapping[str, int]
    """What could not be read as a memory, by reason."""
    unread_entries: tuple[UnreadEntry, ...] = ()
    worth_a_look: int = 0
    """Findings that are not certain and not counted."""
    not_compared: int = 0
    """Memories that are too long to be compared with others."""
    files: tuple[str, ...] = ()
    """Files that were written about it: the plan, the report."""


# --- The repair plan ---


class RepairAction(StrEnum):
    """What a plan does with a memory."""

    KEEP = "keep"
    REMOVE = "remove"
    MARK_OUTDATED = "mark-outdated"
    MERGE = "merge"
    REDACT = "redact"


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairStep:
    """What is to become of one memory, and why."""

    key: str
    action: RepairAction
    reason: str
    faults: tuple[str, ...] = ()
    into: str | None = None
    """The memory that stays in its place, of a merge or a duplicate."""
    text: str | None = None
    """The text it is to have; None where it stays as it is or goes."""
    needs_person: bool = False
    """Only a person can decide: the plan keeps it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairPlan:
    """What is to become of every memory of a store."""

    store: str
    kind: StoreKind
    digest: str
    """Of the store that was audited: a plan is applied to no other content."""
    as_of: datetime
    steps: tuple[RepairStep, ...]
    version: int = 1

    @property
    def counts(self) -> dict[str, int]:
        """Memories by what becomes of them."""
        found = dict.fromkeys(map(str, RepairAction), 0)
        for step in self.steps:
            found[step.action] += 1
        return found


# --- What was repaired and imported ---


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairedStore:
    """What applying a plan to a copy did, and what auditing the copy again found."""

    to: str
    kind: StoreKind
    """Of the copy: `jsonl` where the form of the original cannot be rewritten."""
    rewritten: bool
    """Whether the copy has the form of the original."""
    note: str
    """Why not, or what to do next; empty: nothing to say."""
    actions: Mapping[str, int]
    items: int
    """Memories in the copy."""
    left: Mapping[str, int]
    """Faults that the copy still has, by name: those that only a person can decide."""
    unexpected: Mapping[str, int]
    """Faults of the copy that the plan does not explain, by name."""

    @property
    def is_verified(self) -> bool:
        """Whether the copy has no fault that the plan does not explain."""
        return not any(self.unexpected.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedStore:
    """What became of the good memories of a store."""

    audited: int
    left_out: Mapping[str, int]
    """Memories that were not given to the saver, by their first fault."""
    report: ImportReport
    """What the saver did with the others."""
