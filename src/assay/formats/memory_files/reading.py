"""What all readers share: JSON lines, positions, titles, hashes, and detection of the format.

- Shared by the readers.
- Detection of a file's format.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.strict_json import line_decoder, read_list, read_object, read_text
from assay.hashing import HASH_PREFIX, canonical_json
from assay.records.memory import Draft
from assay.records.saving import ImportFormat, ImportItem, ImportLink, ImportProblem
from assay.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# --- Shared by the readers ---

LONGEST_LINE = 64_000_000
"""Bytes of one line."""
TITLE = 80
"""Characters of a title that is made from a text."""
TOOL = "assay import"


class Element(NamedTuple):
    """A JSON value, the line it begins in, and its size in bytes."""

    value: Any
    line: int
    size: int


def read_json_lines(path: Path, place: str) -> Iterator[Element | ImportProblem]:
    """Every line that is not blank; a line that is not JSON is a problem and does not end the reading."""
    with open_regular(path) as opened:
        number = 0
        while line := opened.readline(LONGEST_LINE + 1):
            number += 1
            size = len(line)
            if size > LONGEST_LINE:
                while (rest := opened.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    size += len(rest)
                detail = f"a line of over {LONGEST_LINE:,} bytes"
                yield ImportProblem(place=place, line=number, reason="too long", detail=detail, size=size)
            elif line.strip():
                yield _read_line(line.removeprefix(codecs.BOM_UTF8), place, number)


def _read_line(line: bytes, place: str, number: int) -> Element | ImportProblem:
    try:
        return Element(_load(line), number, len(line))
    except UnicodeDecodeError as problem:
        reason, detail = "not UTF-8", f"byte {problem.start:,} of the line"
    except json.JSONDecodeError as problem:
        reason, detail = "not JSON", f"{problem.msg.removesuffix(' at')} at column {problem.colno}"
    except (ValueError, RecursionError) as problem:
        reason, detail = "not JSON", str(problem)
    return ImportProblem(place=place, line=number, reason=reason, detail=detail, size=len(line))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_load = line_decoder(_refuse_constant)


def read_json_list(path: Path, names: Sequence[str]) -> tuple[Mapping[str, Any], list[Element]]:
    """The elements of the list a file holds, or of the first of these members of its object; and the members."""
    size = path.stat().st_size
    if read_text(path).lstrip().startswith("["):
        members: Mapping[str, Any] = {}
        placed = read_list(path)
    else:
        members = {name: found.value for name, found in read_object(path).items()}
        placed = next((members[name] for name in names if isinstance(members.get(name), list)), [])
    each = size // max(1, len(placed))
    return members, [Element(element.value, element.line, each) for element in placed]


def make_item(
    place: str,
    element: Element,
    *,
    title: str,
    body: str,
    source_id: str,
    source_hash: str,
    user: str | None = None,
    links: Sequence[ImportLink] = (),
    **more: Any,
) -> ImportItem | ImportProblem:
    """An item, or why its record cannot be kept."""
    try:
        draft = Draft(
            title=title,
            body=body,
            source_id=source_id,
            source_hash=source_hash,
            written_with=TOOL,
            automated=True,
            **more,
        )
    except InputError as problem:
        reason = "no text" if not body.strip() else "bad value"
        message = problem.message if isinstance(problem, BadValue) else str(problem)
        return ImportProblem(place=place, line=element.line or None, reason=reason, detail=message, size=element.size)
    line = element.line or None
    return ImportItem(draft=draft, place=place, line=line, user=user, links=tuple(links), size=element.size)


def title_of(text: str) -> str:
    """A title for a text that has none: its first line, cut between two words."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(first) <= TITLE:
        return first
    return first[:TITLE].rsplit(" ", 1)[0].rstrip(" ,;:.") + " ..."


def hash_of(value: Any) -> str:
    """The hash of a JSON value, however it is written."""
    return HASH_PREFIX + hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def hash_of_text(text: str) -> str:
    """The hash of a text."""
    return HASH_PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def source_id_of(*parts: str) -> str:
    """A source id of at most 500 characters; what is longer ends in a hash."""
    joined = "".join(parts)
    return joined if len(joined) <= 400 else f"{joined[:330]}~{hash_of_text(joined)[-32:]}"


def labels_of(value: Any, most: int = 50) -> tuple[str, ...]:
    """Texts of a list, each once, short enough to be labels."""
    found = (
        [str(part).strip() for part in value if isinstance(part, (str, int, float))] if isinstance(value, list) else []
    )
    return tuple(dict.fromkeys(text[:200] for text in found if text))[:most]


# --- Detection of a file's format ---

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
LINES = frozenset({".jsonl", ".ndjson"})
EXPORT_KIND = "assay-memories"
"""The kind named in the first line of Assay's own export."""


def detect(path: Path) -> ImportFormat:
    """The format of a file or folder; raises where it cannot be detected."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}", remedy="Check the path.")
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        formats = ", ".join(format_ for format_ in ImportFormat if format_ is not ImportFormat.AUTO)
        raise MalformedFile(f"{path} is in no format that can be told", remedy=f"Name it with --format: {formats}.")
    return found


def _of_folder(folder: Path) -> ImportFormat | None:
    if (folder / ".obsidian").is_dir():
        return ImportFormat.OBSIDIAN
    if (folder / "conversations.json").is_file():
        return ImportFormat.CHATGPT
    return ImportFormat.MARKDOWN if any(folder.rglob("*.md")) else None


def _of_file(path: Path) -> ImportFormat | None:
    suffix = path.suffix.lower()
    if suffix in MARKDOWN_SUFFIXES:
        return ImportFormat.MARKDOWN
    if suffix == ".zip":
        return ImportFormat.CHATGPT
    if suffix in LINES:
        return _of_lines(path)
    return _of_json(path) if suffix == ".json" else None


def _of_lines(path: Path) -> ImportFormat:
    """By the first line that is an object; a file of bad lines is read as JSONL, which names them all."""
    for found in read_json_lines(path, path.name):
        if not isinstance(found, ImportProblem) and isinstance(found.value, dict):
            return of_record(found.value) or ImportFormat.JSONL
    return ImportFormat.JSONL


def of_record(record: Mapping[str, Any]) -> ImportFormat | None:
    """The format whose record this is; None: no format of its own."""
    if record.get("record") == EXPORT_KIND:
        return ImportFormat.ASSAY
    if record.get("type") in ("entity", "relation"):
        return ImportFormat.SERVER_MEMORY
    if isinstance(record.get("mapping"), dict):
        return ImportFormat.CHATGPT
    return ImportFormat.MEM0 if isinstance(record.get("memory"), str) else None


def _of_json(path: Path) -> ImportFormat | None:
    # The reference server once kept JSON lines in a file called memory.json.
    with open_regular(path) as opened:
        first = opened.readline(1_000_000)
    try:
        record = json.loads(first)
    except ValueError:
        record = None
    if isinstance(record, dict) and record.get("type") in ("entity", "relation"):
        return ImportFormat.SERVER_MEMORY
    members, elements = read_json_list(path, ("results", "memories", "entities"))
    if "entities" in members:
        return ImportFormat.SERVER_MEMORY
    objects = [element.value for element in elements if isinstance(element.value, dict)]
    found = of_record(objects[0]) if objects else None
    return found or (ImportFormat.MEM0 if "results" in members else None)
