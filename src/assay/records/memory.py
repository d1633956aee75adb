"""Memories with their chunks and edges, and the kinds of documents.

- Memories, chunks and edges.
- Which files are documents, and the format of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, NamedTuple

from assay.records import values
from assay.records.fields import allow, one_of, require
from assay.records.heading_path import normalise

# --- Memories, chunks and edges ---
#
# The tenant is not part of a record: it belongs to the `Scope` the record is kept under.


class Tier(StrEnum):
    """How much a memory matters."""

    CONSTITUTIONAL = "constitutional"
    CRITICAL = "critical"
    IMPORTANT = "important"
    NORMAL = "normal"
    TEMPORARY = "temporary"
    DEPRECATED = "deprecated"


class Format(StrEnum):
    """How the body is written."""

    MARKDOWN = "MARKDOWN"
    TEXT = "TEXT"
    JSON = "JSON"


class MemoryStatus(StrEnum):
    """Whether a memory holds now, and if not, why."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    """A newer memory took its place."""
    QUARANTINED = "quarantined"
    """Kept out of every search until a person releases it."""
    FORGOTTEN = "forgotten"
    """Hidden from every search until it is restored, or erased for good."""


RESERVED = "assay"
"""The key of a memory's metadata under which Assay keeps its own notes, such as why it is in quarantine."""
QUARANTINED_MARK = "quarantined"
FORGOTTEN_MARK = "forgotten"


INGESTED_WITH = "assay ingest"
"""What a document says it was written with when a person took it in from a file."""


class AuthorKind(StrEnum):
    """Who stands behind a memory."""

    PERSON = "person"
    """Written by hand, or a document that a person took in with `assay ingest`."""
    PROGRAM = "program"
    """An agent over MCP, a token that was not made for a person, or a script that says so (`--automated`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """Who wrote a memory."""

    name: str
    """The principal: a user name, or `token:NAME`."""
    kind: AuthorKind

    def __post_init__(self) -> None:
        require(self, values.optional_label, "name")
        require(self, one_of(AuthorKind), "kind")


def author_of(written_by: str, written_with: str, metadata: Mapping[str, Any]) -> Author:
    """The author of a memory, from what is stored with it. The one place that tells a person from a program."""
    automated = metadata.get(RESERVED, {}).get("automated", False) and written_with != INGESTED_WITH
    return Author(name=written_by, kind=AuthorKind.PROGRAM if automated else AuthorKind.PERSON)


class EdgeKind(StrEnum):
    """How one memory relates to another."""

    CAUSED = "caused"
    ENABLED = "enabled"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryRecord:
    """One memory (also called entity, note or document)."""

    id: str
    title: str
    body: str
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    superseded_at: datetime | None = None
    """When a newer memory took its place. A superseded memory is kept, out of default search."""
    rel_path: str = ""
    folder: str = ""
    triggers: tuple[str, ...] = ()
    learned_triggers: tuple[str, ...] = ()
    """Learned from use; in no full-text index, ever."""
    tier: Tier = Tier.NORMAL
    context_type: str = ""
    entity_type: str = "KNOWLEDGE_ARTIFACT"
    format: Format = Format.MARKDOWN
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_id: str | None = None
    source_hash: str | None = None
    version: int = 1
    """Counts up each time the same source id arrives with another hash."""
    confidence: float = 0.5
    validation_count: int = 0
    access_count: int = 0
    frequency: int = 1
    written_by: str = ""
    written_with: str = ""

    def __post_init__(self) -> None:
        require(self, values.identifier, "id")
        require(self, values.label, "title", "entity_type")
        require(self, values.text, "body")
        require(self, values.optional_label, "rel_path", "context_type", "written_by", "written_with")
        require(self, values.optional_short_label, "folder")
        allow(self, values.short_label, "source_id")
        allow(self, values.label, "source_hash")
        require(self, one_of(Tier), "tier")
        require(self, one_of(Format), "format")
        require(self, values.labels, "triggers", "learned_triggers", "tags")
        require(self, values.json_object, "metadata")
        require(self, values.share, "confidence")
        require(self, values.count, "validation_count", "access_count", "frequency", "version")
        require(self, values.moment, "created_at", "updated_at", "valid_from")
        allow(self, values.moment, "superseded_at")

    @property
    def author(self) -> Author:
        """Who wrote it, and whether a person or a program."""
        return author_of(self.written_by, self.written_with, self.metadata)

    @property
    def status(self) -> MemoryStatus:
        """Whether it holds now; the store's `Memories.matching` decides the same in SQL."""
        if self.superseded_at is None:
            return MemoryStatus.CURRENT
        marks = self.metadata.get(RESERVED, {})
        if self.superseded_at == self.valid_from and FORGOTTEN_MARK in marks:
            return MemoryStatus.FORGOTTEN
        if self.superseded_at == self.valid_from and QUARANTINED_MARK in marks:
            return MemoryStatus.QUARANTINED
        return MemoryStatus.SUPERSEDED


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """One passage of a memory, the unit that search ranks."""

    memory_id: str
    position: int
    text: str
    heading_path: str = ""
    token_count: int

    def __post_init__(self) -> None:
        require(self, values.identifier, "memory_id")
        require(self, values.count, "position", "token_count")
        require(self, values.text, "text")
        require(self, _heading_path, "heading_path")

    @property
    def id(self) -> str:
        """The memory's id and the position in it."""
        return f"{self.memory_id}#{self.position}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """A directed relation: source `kind` target."""

    source_id: str
    target_id: str
    kind: EdgeKind
    created_at: datetime
    strength: float = 1.0
    evidence: str = ""

    def __post_init__(self) -> None:
        require(self, values.identifier, "source_id", "target_id")
        require(self, one_of(EdgeKind), "kind")
        require(self, values.share, "strength")
        require(self, values.text, "evidence")
        require(self, values.moment, "created_at")


def _heading_path(value: Any, field: str) -> str:
    return normalise(values.optional_label(value, field))


# --- Which files are documents, and the format of each ---
#
# A file is a document by its suffix, unless its name says that it is a list for a program (`requirements.txt`). JSONL
# files hold records, not a document; `assay ingest` reads them line by line.


class Markup(StrEnum):
    """How headings are written in a document."""

    MARKDOWN = "Markdown"
    RESTRUCTURED_TEXT = "reStructuredText"
    NONE = "none"
    """Plain text and JSON: the document is one section."""


class DocumentKind(NamedTuple):
    """What a suffix says about a document."""

    format: Format
    markup: Markup


KINDS = {
    ".md": DocumentKind(Format.MARKDOWN, Markup.MARKDOWN),
    ".markdown": DocumentKind(Format.MARKDOWN, Markup.MARKDOWN),
    ".rst": DocumentKind(Format.TEXT, Markup.RESTRUCTURED_TEXT),
    ".txt": DocumentKind(Format.TEXT, Markup.NONE),
    ".json": DocumentKind(Format.JSON, Markup.NONE),
}
"""Documents by suffix."""
RECORDS = frozenset({".jsonl", ".ndjson"})
"""Files that hold one record a line."""
FOR_PROGRAMS = ("requirements*.txt", "constraints*.txt", "CMakeLists.txt", "robots.txt")
"""Names of text files that programs read and nobody asks questions about."""


def kind_of(path: PurePath | str) -> DocumentKind | None:
    """The kind of document a file is; None: it is not one."""
    place = PurePath(path)
    return None if is_for_programs(place) else KINDS.get(place.suffix.lower())


def is_for_programs(path: PurePath | str) -> bool:
    """Whether a text file is a list that programs read."""
    return any(fnmatchcase(PurePath(path).name, pattern) for pattern in FOR_PROGRAMS)


def markup_of(rel_path: str, format: Format) -> Markup:  # noqa: A002 - the record's own word
    """How the headings of a document are written, by its path and, where that says nothing, by its format."""
    kind = KINDS.get(PurePath(rel_path).suffix.lower())
    if kind is not None and kind.format is format:
        return kind.markup
    return Markup.MARKDOWN if format is Format.MARKDOWN else Markup.NONE


def count_by_kind(paths: Iterable[PurePath | str]) -> dict[str, int]:
    """How many files there are of each suffix, the most frequent first; lists for programs by their name."""
    places = [PurePath(path) for path in paths]
    found = Counter(
        place.name if is_for_programs(place) else place.suffix.lower() or "without a suffix" for place in places
    )
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
