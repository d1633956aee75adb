"""Which files are documents, and how each kind is written: the one table for ingest, generated cases and anchors.

A file is a document by its suffix, unless its name says that it is a list for a program (`requirements.txt`). JSONL
files hold records, not a document; `assay ingest` reads them line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import NamedTuple

from assay.records.memory import Format


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
