"""Memories with their chunks and edges, and the kinds of documents.

- Memories, the drafts they are made of, chunks and edges.
- Which files are documents, and the format of each.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, one_of, require
from assay.records.heading_path import normalise

# --- Memories, the drafts they are made of, chunks and edges ---
#
# The tenant is not part of a record: it belongs to the `Scope` the record is kept under.
#
# `WRITTEN_FIELDS` is the table of what a writer gives. A draft tells what its writer gave from what was left out: an
# update takes over from the memory it supersedes what was left out. `make_draft` makes one from arguments of which None
# means "not given".


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
TIER_MARK = "tier"
"""Its tier was set with `assay tier`: when, and what it was before."""


INGESTED_WITH = "assay ingest"
"""The value of `written_with` for a document that a person imported with `assay ingest`."""


class AuthorKind(StrEnum):
    """Whether a person or a program wrote a memory."""

    PERSON = "person"
    """Written by hand, or a document that a person took in with `assay ingest`."""
    PROGRAM = "program"
    """An agent over MCP, a token that was not made for a person, or a script run with `--automated`."""


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
    """Return the author of a memory from its stored fields. Only this function decides between person and program."""
    automated = metadata.get(RESERVED, {}).get("automated", False) and written_with != INGESTED_WITH
    return _make_author(written_by, AuthorKind.PROGRAM if automated else AuthorKind.PERSON)


def read_author(written_by: str, written_with: str, stored_metadata: str) -> Author:
    """The same from metadata as they are stored, as JSON; they are read only if they may name a program."""
    if written_with == INGESTED_WITH or '"automated"' not in stored_metadata:
        return _make_author(written_by, AuthorKind.PERSON)
    return author_of(written_by, written_with, json.loads(stored_metadata))


@lru_cache(maxsize=1_024)
def _make_author(name: str, kind: AuthorKind) -> Author:
    """One object for each author: few write, and every result names who wrote it."""
    return Author(name=name, kind=kind)


class EdgeKind(StrEnum):
    """How one memory relates to another."""

    CAUSED = "caused"
    ENABLED = "enabled"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"


class FieldKind(StrEnum):
    """What the value of a written field is."""

    TEXT = "text"
    LABELS = "labels"
    """Several short texts."""
    CHOICE = "choice"
    """One of a few names."""
    JSON = "json"


class WrittenField(NamedTuple):
    """A field of a memory that its writer gives."""

    name: str
    kind: FieldKind = FieldKind.TEXT
    inherited: bool = False
    """Whether an update takes it over from the memory it supersedes, unless it is given."""
    changeable: bool = False
    """Whether an update may give it."""
    label: str = ""
    """What `assay show` and the dashboard call it among a memory's facts; empty: it has a place of its own there."""


WRITTEN_FIELDS = (
    WrittenField("title", changeable=True),
    WrittenField("body", changeable=True),
    WrittenField("triggers", FieldKind.LABELS, inherited=True, changeable=True),
    WrittenField("tier", FieldKind.CHOICE, inherited=True, changeable=True),
    WrittenField("folder", inherited=True, changeable=True),
    WrittenField("tags", FieldKind.LABELS, inherited=True, changeable=True),
    WrittenField("format", FieldKind.CHOICE, changeable=True),
    WrittenField("context_type", inherited=True, changeable=True, label="context type"),
    WrittenField("surroundings", inherited=True, changeable=True, label="surroundings"),
    WrittenField("entity_type", inherited=True),
    WrittenField("metadata", FieldKind.JSON, inherited=True, changeable=True),
    WrittenField("rel_path"),
    WrittenField("source_id"),
)
"""Every field that a writer gives. Saving, updating, masking, exporting, importing and showing read this table.

To add one: a line here, the field in `Draft` and `MemoryRecord` below, a column with its migration, the field in the
requests of `assay.verbs.memory`, and an option of `assay save`.
"""
INHERITED = tuple(field.name for field in WRITTEN_FIELDS if field.inherited)
"""Fields that an update takes over from what it supersedes, unless they are given."""
CHANGEABLE = tuple(field.name for field in WRITTEN_FIELDS if field.changeable)
"""Fields that an update may give."""
TEXT_FIELDS = tuple(field.name for field in WRITTEN_FIELDS if field.kind is FieldKind.TEXT)
LABEL_FIELDS = tuple(field.name for field in WRITTEN_FIELDS if field.kind is FieldKind.LABELS)
RECORD_FIELDS = tuple(
    field.name for field in WRITTEN_FIELDS if field.inherited and field.kind in {FieldKind.TEXT, FieldKind.CHOICE}
)
"""Fields that are one text in a record of a JSON file, read under their own names."""
_INHERITED = frozenset(INHERITED)


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
    surroundings: str = ""
    """What stood around it, such as the turns before and after in a chat: a search finds it by these words too, but
    they are not part of it and are not shown with it."""
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
        require(self, values.text, "body", "surroundings")
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
    def tier_was_set(self) -> bool:
        """Whether its tier was set with `assay tier`: then votes do not change it."""
        return TIER_MARK in self.metadata.get(RESERVED, {})

    @property
    def labelled(self) -> tuple[tuple[str, str], ...]:
        """Its facts that have a label in `WRITTEN_FIELDS`, as label and text; without those that are empty."""
        found = ((known.label, str(getattr(self, known.name))) for known in WRITTEN_FIELDS if known.label)
        return tuple((label, text) for label, text in found if text)

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
class Draft:
    """A memory to be saved. It does not have what the store decides: id, times, version."""

    title: str
    body: str
    triggers: tuple[str, ...] = ()
    tier: Tier = Tier.NORMAL
    format: Format = Format.MARKDOWN
    folder: str = ""
    rel_path: str = ""
    context_type: str = ""
    surroundings: str = ""
    entity_type: str = "KNOWLEDGE_ARTIFACT"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_id: str | None = None
    source_hash: str | None = None
    """None: made from the content."""
    valid_from: datetime | None = None
    """None: now."""
    supersedes: str | None = None
    """The id of the memory whose place it takes; None: the saver decides what it replaces."""
    written_with: str = ""
    automated: bool = False
    """Written by a program on its own; such a draft never replaces a constitutional or hand-written memory."""
    given: frozenset[str] | None = None
    """Which of `INHERITED` the writer gave, be it an empty value; None: those that are not at their default."""

    def __post_init__(self) -> None:
        require(self, values.label, "title", "entity_type")
        values.text(self.body, "body", empty=False)
        # Files are taken in by the million: what is left empty needs no look.
        if self.surroundings != "":
            require(self, values.text, "surroundings")
        if self.triggers != () or self.tags != ():
            require(self, values.labels, "triggers", "tags")
        require(self, one_of(Tier), "tier")
        require(self, one_of(Format), "format")
        if self.folder != "":
            require(self, values.optional_short_label, "folder")
        require(self, values.optional_label, "rel_path", "context_type", "written_with")
        require(self, values.json_object, "metadata")
        allow(self, values.short_label, "source_id")
        allow(self, values.label, "source_hash")
        allow(self, values.moment, "valid_from")
        allow(self, values.identifier, "supersedes")
        require(self, values.flag, "automated")
        if self.given is not None and not _INHERITED.issuperset(self.given):
            unknown = sorted(set(self.given) - _INHERITED)
            raise BadValue(f"given names {', '.join(unknown)}", remedy=f"Name only {', '.join(INHERITED)}.")

    def was_given(self, name: str) -> bool:
        """Whether the writer gave one of the fields in `INHERITED`."""
        return getattr(self, name) != _DEFAULTS[name] if self.given is None else name in self.given


_DEFAULTS: Mapping[str, Any] = {
    part.name: part.default_factory() if part.default_factory is not MISSING else part.default
    for part in fields(Draft)
    if part.name in INHERITED
}


def make_draft(*, title: str, body: str, **given: Any) -> Draft:
    """Make a draft of what was given: None means not given, which an update takes over from what it supersedes.

    An empty value is a value: `tags=()` saves without tags, even if the older memory has some. `given` are the other
    fields of a draft by name.
    """
    present = {name: value for name, value in given.items() if value is not None or name not in _INHERITED}
    labels = {name: tuple(present[name]) for name in LABEL_FIELDS if name in present}
    return Draft(title=title, body=body, **present | labels, given=_INHERITED.intersection(present))


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
    """The format and kind of a document by its suffix."""

    format: Format
    markup: Markup


KINDS = {
    ".md": DocumentKind(Format.MARKDOWN, Markup.MARKDOWN),
    ".markdown": DocumentKind(Format.MARKDOWN, Markup.MARKDOWN),
    ".rst": DocumentKind(Format.TEXT, Markup.RESTRUCTURED_TEXT),
    ".txt": DocumentKind(Format.TEXT, Markup.NONE),
    ".json": DocumentKind(Format.JSON, Markup.NONE),
    # Their text is extracted first (`assay.formats.document_text`): Markdown of a web page, plain text of a PDF.
    ".html": DocumentKind(Format.MARKDOWN, Markup.MARKDOWN),
    ".htm": DocumentKind(Format.MARKDOWN, Markup.MARKDOWN),
    ".xhtml": DocumentKind(Format.MARKDOWN, Markup.MARKDOWN),
    ".pdf": DocumentKind(Format.TEXT, Markup.NONE),
}
"""Documents by suffix."""
RECORDS = frozenset({".jsonl", ".ndjson"})
"""Files that hold one record a line."""
FOR_PROGRAMS = ("requirements*.txt", "constraints*.txt", "CMakeLists.txt", "robots.txt")
"""Names of text files that are written for programs and are not worth searching."""


def kind_of(path: PurePath | str) -> DocumentKind | None:
    """The kind of document a file is; None: it is not one."""
    place = PurePath(path)
    return None if is_for_programs(place) else KINDS.get(place.suffix.lower())


def is_for_programs(path: PurePath | str) -> bool:
    """Whether a text file is a list that programs read."""
    return any(fnmatchcase(PurePath(path).name, pattern) for pattern in FOR_PROGRAMS)


def markup_of(rel_path: str, format: Format) -> Markup:  # noqa: A002 - the record's own word
    """Return how a document writes its headings, by its path or else by its format."""
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
