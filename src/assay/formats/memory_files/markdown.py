"""Markdown notes and Obsidian vaults: one memory a file, its properties, its tags, and its links as edges.

Front matter gives title, tags, aliases and dates; what else it holds is metadata, and none of it is text that a search
finds. `#tags` in the text are tags. `[[Note]]`, `[[folder/Note#Heading|shown]]`, `![[Note]]` and relative links to
Markdown files are links; code is not looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from assay.errors import InputError
from assay.formats import front_matter
from assay.formats.front_matter import FrontMatter
from assay.formats.memory_files.reading import Element, hash_of_text, make_item, source_id_of
from assay.records import heading_path
from assay.records.saving import ImportItem, ImportLink, ImportProblem
from assay.regular_files import read_regular

SUFFIXES = frozenset({".md", ".markdown"})
LARGEST = 16_000_000
"""Bytes of one note."""
MOST_TAGS = 100
MOST_ALIASES = 50
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TICKS = re.compile(r"`+")
_TAG = re.compile(r"(?:^|(?<=\s))#([\w/-]*[^\W\d][\w/-]*)")
# What a link is made of holds no brackets: else every opening would be looked at up to the end of the text.
_WIKI = re.compile(r"\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_LINK = re.compile(r"\]\(<?([^()\[\]<>\s]+)>?(?:\s+[\"'(][^()\[\]]*\)?)?\)")
_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
_TITLE = re.compile(r"^#[ \t]+([^\n]*)$", re.MULTILINE)
_TAKEN = frozenset({"title", "tags", "tag", "assay"})
LINKS_TO = "links to"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Note:
    rel_path: str
    source_id: str
    front: FrontMatter
    prose: str
    """The text without its code."""
    content_hash: str
    size: int


def find_notes(path: Path) -> list[Path]:
    """The Markdown files at a path, in order; hidden folders and links out of the folder are passed over."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"there is no file or folder {path}", remedy="Check the path.")
    root = path.resolve()
    found = []
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        places = [Path(folder) / name for name in sorted(files) if not name.startswith(".")]
        found += [
            place
            for place in places
            if place.suffix.lower() in SUFFIXES and place.is_file() and place.resolve().is_relative_to(root)
        ]
    return found


def read(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:
    """Every note, with its links to others of the same folder."""
    top = path if path.is_dir() else path.parent
    notes: list[_Note] = []
    for file in find_notes(path):
        rel_path = file.relative_to(top).as_posix()
        note = _read_note(file, rel_path, source_id_of(name, "/", rel_path) if path.is_dir() else name)
        if isinstance(note, ImportProblem):
            yield note
        else:
            notes.append(note)
    names = _Names(notes)
    for note in notes:
        yield from _import_note(note, names)


def _read_note(file: Path, rel_path: str, source_id: str) -> _Note | ImportProblem:
    size = 0
    try:
        size = file.stat().st_size
        if size > LARGEST:
            return ImportProblem(place=rel_path, reason="too long", detail=f"{size:,} bytes", size=size)
        text = read_regular(file, largest=LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        detail = f"byte {problem.start:,}; convert the file to UTF-8"
        return ImportProblem(place=rel_path, reason="not UTF-8", detail=detail, size=size)
    except OSError as problem:
        return ImportProblem(place=rel_path, reason="unreadable", detail=problem.strerror or str(problem), size=size)
    front = front_matter.split(text)
    return _Note(
        rel_path=rel_path,
        source_id=source_id,
        front=front,
        prose=without_code(front.body),
        content_hash=hash_of_text(text),
        size=size,
    )


def without_code(text: str) -> str:
    """A text with a blank in place of every fenced block and every piece of code between backticks."""
    return _without_code_spans(_FENCED.sub(" ", text))


def _without_code_spans(text: str) -> str:
    """Code begins with a run of backticks and ends with the next run of the same length; without one, it is text."""
    runs = [(found.start(), found.end()) for found in _TICKS.finditer(text)]
    # For each run the next one of its length, found in one pass from the end.
    closing: dict[int, int] = {}
    ends: list[int | None] = [None] * len(runs)
    for place in range(len(runs) - 1, -1, -1):
        length = runs[place][1] - runs[place][0]
        ends[place] = closing.get(length)
        closing[length] = place
    kept, at, place = [], 0, 0
    while place < len(runs):
        end = ends[place]
        if end is not None:
            kept.append(text[at : runs[place][0]])
            at = runs[end][1]
            place = end
        place += 1
    return " ".join((*kept, text[at:]))


def _import_note(note: _Note, names: _Names) -> Iterator[ImportItem | ImportProblem]:
    front = note.front
    if front.problem:
        detail = f"{front.problem}; it was imported as text"
        yield ImportProblem(place=note.rel_path, reason="front matter that is not YAML", detail=detail, partial=True)
    links: dict[ImportLink, None] = {}
    for written in link_targets(f"{note.prose}\n{_property_texts(front.properties)}"):
        target = names.find(written, note)
        if target is None:
            detail = f"{written!r}; the note was imported without this link"
            yield ImportProblem(
                place=note.rel_path, reason="link to a note that is not there", detail=detail, partial=True
            )
        elif target.source_id != note.source_id:
            links[ImportLink(target.source_id, LINKS_TO)] = None
    folder = PurePosixPath(note.rel_path).parent.as_posix()
    yield make_item(
        note.rel_path,
        Element(None, 0, note.size),
        title=(front.title or _heading(note) or PurePosixPath(note.rel_path).stem)[:500],
        body=front.body,
        folder="" if folder == "." else folder,
        rel_path=note.rel_path,
        tags=tuple(dict.fromkeys((*front.tags, *_TAG.findall(note.prose))))[:MOST_TAGS],
        triggers=tuple(alias[:200] for alias in front.aliases)[:MOST_ALIASES],
        metadata={name: value for name, value in front.properties.items() if name not in _TAKEN},
        valid_from=front.created,
        source_id=note.source_id,
        source_hash=note.content_hash,
        links=tuple(links),
    )


def _property_texts(value: Any) -> str:
    """The texts of all properties: a property may link to other notes."""
    if isinstance(value, Mapping):
        return "\n".join(map(_property_texts, value.values()))
    if isinstance(value, list):
        return "\n".join(map(_property_texts, value))
    return value if isinstance(value, str) else ""


def _heading(note: _Note) -> str:
    names = (heading_path.heading_text(found.group(1)) for found in _TITLE.finditer(note.prose))
    return next(filter(None, names), "")


def link_targets(prose: str) -> Iterator[str]:
    """What a text links to, as it is written, each once: names of notes, and relative paths of Markdown files."""
    seen: set[str] = set()
    wiki = (found.group(1).strip() for found in _WIKI.finditer(prose))
    relative = (unquote(found.group(1)).split("#")[0] for found in _LINK.finditer(prose))
    notes = (link for link in relative if not _SCHEME.match(link) and PurePosixPath(link).suffix.lower() in SUFFIXES)
    # A file that is not a note, such as an image, is an attachment and not a link between memories.
    named = (
        link for link in wiki if PurePosixPath(link).suffix.lower() in ("", *SUFFIXES) or " " in link.rsplit(".")[-1]
    )
    for target in (*named, *(f"./{note}" for note in notes)):
        if target and target not in seen:
            seen.add(target)
            yield target


class _Names:
    """Finds the note a link means: by path, else by name, else by alias; in the same folder first."""

    def __init__(self, notes: Sequence[_Note]) -> None:
        self._paths: Mapping[str, _Note] = {_bare(note.rel_path): note for note in notes}
        self._names: dict[str, list[_Note]] = {}
        for note in sorted(notes, key=lambda item: (item.rel_path.count("/"), item.rel_path)):
            self._names.setdefault(_bare(PurePosixPath(note.rel_path).name), []).append(note)
        for note in notes:
            for alias in note.front.aliases:
                self._names.setdefault(_bare(alias), []).append(note)

    def find(self, written: str, source: _Note) -> _Note | None:
        folder = PurePosixPath(source.rel_path).parent
        if written.startswith(("./", "../")):
            return self._paths.get(_bare(os.path.normpath(folder / written).replace(os.sep, "/")))
        if "/" in written:
            return self._paths.get(_bare(written.lstrip("/"))) or self._paths.get(_bare((folder / written).as_posix()))
        beside = self._paths.get(_bare((folder / written).as_posix()))
        return beside or next(iter(self._names.get(_bare(written), ())), None)


def _bare(path: str) -> str:
    """A path without the suffix of a note, in upper or lower case."""
    lower = path.lower()
    return next((lower.removesuffix(suffix) for suffix in SUFFIXES if lower.endswith(suffix)), lower)
