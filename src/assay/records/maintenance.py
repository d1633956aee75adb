"""Upkeep of the whole store: checkpoints, retention, rescanning for secrets, erasing and the audit log.

- Checkpoints, retention and rescanning.
- Erasing memories.
- The audit log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.evidence import AuditEntry
from assay.records.fields import allow, require

# --- Checkpoints, retention and rescanning ---


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointLine:
    """One copy of the store as surfaces show it. Its description file also names the store that it is a copy of."""

    id: str
    name: str
    created_at: datetime
    backend: str
    """`sqlite` or `postgres`."""
    schema: str
    """The version of the tables."""
    memories: int
    """Of every tenant."""
    size_bytes: int
    content: str
    """The tagged hash of the copy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointPage:
    """One page of checkpoints, newest first."""

    checkpoints: tuple[CheckpointLine, ...]
    total: int
    """Of all pages."""
    next_cursor: str | None
    """What to give as `cursor` for the next page; None on the last page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoredCheckpoint:
    """What a restore did."""

    restored: CheckpointLine
    kept_aside: str
    """Where the state from before is: a checkpoint, a file or a schema."""
    note: str
    """Further notes for the person who restored it; empty: none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionReport:
    """What was moved and removed, or would be."""

    dry_run: bool
    queries: int
    events: int
    exempt_queries: int
    """Old, but in an evaluation corpus or judged."""
    shadow_runs: int
    log_lines: int | None
    """None: not known without doing it."""
    queries_before: datetime
    """Searches and feedback from before this moment go, in UTC."""
    shadow_before: datetime
    """Comparisons from before this moment go, in UTC."""
    archives: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BroughtBack:
    """What an archive gave back."""

    rows: int
    new: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RescanReport:
    """What was stored in clear, and what became of it."""

    masked: bool
    """Whether it was masked, or only found."""
    secrets: int
    kinds: Mapping[str, int]
    """How many secrets of each kind."""
    memories: Mapping[str, tuple[str, ...]]
    """By id of a memory, the kinds of secrets in it."""
    rows: Mapping[str, int]
    """Other rows that hold a secret, by table."""
    files: tuple[str, ...] = ()
    """Archives and exported files that hold one."""
    checkpoints: tuple[str, ...] = ()
    """Checkpoints, and copies a restore kept, that still hold one."""
    searched: tuple[str, ...] = ()
    """Files that were searched for the bytes afterwards."""
    left: tuple[str, ...] = ()
    """Files of the database that still hold some of the bytes; should be none."""
    unfinished: bool = False
    """Whether an earlier run masked the rows and was cut short before their old bytes were gone."""

    @property
    def clean(self) -> bool:
        """Whether nothing is left to do in the store."""
        return self.masked or not (self.secrets or self.unfinished)


# --- Erasing memories ---

SHORTEST_NAME = 3
"""Letters of a person's name: two would stand in half of all texts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forget:
    """What is to be forgotten: memories, a person, a writer, or everything of the tenant. One of the four."""

    memory_ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Of one person: every spelling that occurs in texts, such as a name and an address."""
    writer: str | None = None
    """Who wrote the memories."""
    everything: bool = False
    versions: bool = False
    """With memories: the other versions of their sources too."""
    checkpoints: bool = False
    """Delete the checkpoints that still hold it."""

    def __post_init__(self) -> None:
        require(self, values.identifiers, "memory_ids")
        require(self, values.labels, "names")
        allow(self, values.label, "writer")
        require(self, values.flag, "everything", "versions", "checkpoints")
        short = [name for name in self.names if sum(map(str.isalnum, name)) < SHORTEST_NAME]
        if short:
            raise BadValue(f"the name {short[0]!r} is too short to look for", remedy="Give the whole name.")
        asked = sum(map(bool, (self.memory_ids, self.names, self.writer, self.everything)))
        if asked == 0:
            raise BadValue(
                "nothing was named to forget", remedy="Name memories by id, a person, a writer, or everything."
            )
        if asked > 1:
            raise BadValue(
                f"{asked} kinds of things were named to forget at once",
                remedy="Forget memories, a person, a writer or everything in separate calls.",
            )


class Titled(NamedTuple):
    """A memory by name."""

    memory_id: str
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasurePlan:
    """What an erasure would touch."""

    memories: tuple[Titled, ...]
    merges: int
    """Texts that were merged into memories which stay."""
    queries: int
    other_rows: Mapping[str, int] = field(default_factory=dict)
    """Further rows that hold it, by table."""
    files: tuple[str, ...] = ()
    """Archives and exports that hold it."""
    checkpoints: tuple[str, ...] = ()
    """Copies that hold it."""
    other_versions: tuple[Titled, ...] = ()
    """Of the same sources, and not to be forgotten."""

    @property
    def empty(self) -> bool:
        """Whether nothing was found anywhere."""
        return not (self.memories or self.merges or self.queries or self.other_rows or self.files or self.checkpoints)


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """What was erased, where it was looked for afterwards, and what is left."""

    plan: ErasurePlan
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows deleted or reworded, by table."""
    files_changed: tuple[str, ...] = ()
    """Archives that lost rows, and exports that were deleted."""
    index_deleted: str | None = None
    checkpoints: tuple[str, ...] = ()
    """Copies that still hold it, or held it and were deleted: see `checkpoints_deleted`."""
    checkpoints_deleted: bool = False
    searched: tuple[str, ...] = ()
    """Files in which it was looked for afterwards."""
    left: tuple[str, ...] = ()
    """Files that still contain it. Should be empty."""
    said_elsewhere: tuple[str, ...] = ()
    """Of the texts looked for, those that rows hold which were not to be forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasedMemory:
    """What erasing a memory did, without the paths of files of this machine."""

    memory_ids: tuple[str, ...]
    rows: Mapping[str, int]
    """Rows deleted or reworded, by table."""
    left: int
    """Number of files that still contain it. Should be 0."""


# --- The audit log ---


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditLine(AuditEntry):
    """One entry of the audit log, with the tenant whose log it belongs to."""

    tenant: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditPage:
    """One page of the audit log, newest first."""

    entries: tuple[AuditLine, ...]
    next_cursor: str | None
    """What to give as `cursor` for the next page; None on the last page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditChain:
    """Whether the chain of one tenant's log is whole."""

    tenant: str
    is_whole: bool
    """Whether every entry fits the one before it."""
    entries: int
    """Entries that fit, from the first."""
    erased: int
    """Entries whose words were erased; the chain holds over them."""
    head: str
    """The hash of the last entry that fits; empty when there is none. Note it elsewhere to notice a shortened log."""
    broken_at: int | None
    """The place of the first entry that does not fit; None: the chain is whole."""
    problem: str
    """What is wrong there; empty when the chain is whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditChains:
    """The chains that were checked, by tenant."""

    chains: tuple[AuditChain, ...]

    @property
    def are_whole(self) -> bool:
        """Whether none of them is broken."""
        return all(chain.is_whole for chain in self.chains)
