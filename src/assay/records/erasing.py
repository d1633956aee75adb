"""Erasing: what is to be forgotten, what that touches, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, require

SHORTEST_NAME = 3
"""Letters of a person's name: two would stand in half of all texts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forget:
    """What is to be forgotten: memories, a person, a writer, or everything of the tenant. One of the four."""

    memory_ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Of one person: every spelling that stands in texts, such as a name and an address."""
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
                "nothing was named to forget", remedy="Name memories by id, a person, a writer, or ask for everything."
            )
        if asked > 1:
            raise BadValue(
                f"{asked} things at once are to be forgotten",
                remedy="Ask for memories, a person, a writer or everything: one after the other.",
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
    """Files in which it still stands. Empty, or something is wrong."""
    said_elsewhere: tuple[str, ...] = ()
    """Of the texts looked for, those that rows hold which were not to be forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasedMemory:
    """What erasing a memory did, without the paths of files of this machine."""

    memory_ids: tuple[str, ...]
    rows: Mapping[str, int]
    """Rows deleted or reworded, by table."""
    left: int
    """Files in which it still stands. 0, or something is wrong."""
