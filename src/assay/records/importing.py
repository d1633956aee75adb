"""Memories from elsewhere and for elsewhere: formats, and what a reader gives before anything is saved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assay.records.saving import Draft


class ImportFormat(StrEnum):
    """A format that memories can be imported from."""

    AUTO = "auto"
    MEM0 = "mem0"
    SERVER_MEMORY = "server-memory"
    CHATGPT = "chatgpt"
    OBSIDIAN = "obsidian"
    MARKDOWN = "markdown"
    JSONL = "jsonl"
    ASSAY = "assay"


class ExportFormat(StrEnum):
    """How memories are written."""

    JSONL = "jsonl"
    """Everything, to be imported again."""
    MARKDOWN = "markdown"
    """Current memories as notes in folders, to be read."""


class ImportLink(NamedTuple):
    """A reference from one imported memory to another, by the source id of the other."""

    target: str
    relation: str
    """What the file calls it, such as `works_at`; kept as the evidence of the edge."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportItem:
    """One memory of a file, ready to be saved. Its draft has a source id and a source hash."""

    draft: Draft
    place: str
    """The file, from the folder that was named."""
    line: int | None = None
    user: str | None = None
    """Whose memory it is, where a file holds those of several users."""
    links: tuple[ImportLink, ...] = ()
    size: int = 0
    """Bytes of the file that it stands for, to tell how far an import is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProblem:
    """Something that was not imported, or not whole, and why."""

    place: str
    reason: str
    """A few words to count by, such as `not JSON` or `no text`."""
    detail: str
    line: int | None = None
    partial: bool = False
    """What stands there was imported all the same, without the part that is named."""
    size: int = 0

    def __str__(self) -> str:
        where = self.place if self.line is None else f"{self.place}:{self.line}"
        return f"{where}: {self.reason} ({self.detail})"
