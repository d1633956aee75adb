"""Find files and read them into drafts.

- Walk: every file below the named paths, once, in order, and none outside the root.
- Read: Markdown, text, JSON, web pages and PDF as one document, JSONL as one per line, a chat as one per turn.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from assay.errors import InputError
from assay.formats import front_matter
from assay.formats.conversations import read_chats
from assay.formats.document_text import ReadProblem, extract_text, is_extracted, most_bytes
from assay.formats.strict_json import line_decoder
from assay.hashing import HASH_PREFIX
from assay.memory.ingesting.conversations import make_turns
from assay.memory.saving.drafts import MOST_TAGS, MOST_TRIGGERS, RESERVED
from assay.records import Draft, Format, heading_path
from assay.records.memory import (
    INGESTED_WITH,
    INHERITED,
    KINDS,
    LABEL_FIELDS,
    RECORD_FIELDS,
    RECORDS,
    Markup,
    is_for_programs,
    kind_of,
    markup_of,
)
from assay.records.saving import Skip
from assay.regular_files import open_regular
from assay.text import sections

# --- Walk: every file below the named paths, once, in order, and none outside the root ---
#
# A link is followed when what it leads to lies inside the folder that was named; with `follow_links`, anywhere inside
# the root. The place it leads to is what counts, so a file that two links lead to is found once and a loop of links
# ends. Names that begin with a dot are passed over unless they were named themselves. What is not taken is returned
# with the reason, never dropped.

LONGEST_GLOB = 1_000
"""Characters of a pattern: making one takes time that grows with the square of its brackets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundFile:
    """A file to be read."""

    path: Path
    """Where it lies, links resolved."""
    rel_path: str
    """From the root, with forward slashes."""
    source_id: str
    """The root's own name and the path below it: what the file is known by from one run to the next."""
    size: int
    changed_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Walked:
    """What a walk found."""

    files: tuple[FoundFile, ...]
    skipped: tuple[Skip, ...]
    folders: tuple[str, ...]
    """The source ids of the folders that were named: what lies below them was looked for completely."""
    passed: frozenset[str] = frozenset()
    """The source ids of files and folders that are there and were passed over."""


def walk(
    paths: Sequence[Path], *, root: Path | None = None, globs: Sequence[str] = (), follow_links: bool = False
) -> Walked:
    """Every file that the paths lead to, below the root that is named or that the paths suggest."""
    return _Walk((root or suggest_root(paths)).resolve(), tuple(globs), follow_links=follow_links).over(paths)


def suggest_root(paths: Sequence[Path]) -> Path:
    """The working folder when it holds every path, else the nearest folder that does, short of the whole disk."""
    here = Path.cwd().resolve()
    places = [place for place in map(_resolve, paths) if place is not None]
    if not places or all(place.is_relative_to(here) for place in places):
        return here
    common = Path(os.path.commonpath([place if place.is_dir() else place.parent for place in places]))
    return here if common == Path(common.anchor) else common


def walk_again(
    paths: Sequence[Path], *, root: Path | None = None, globs: Sequence[str] = (), follow_links: bool = False
) -> Walked:
    """The same for paths that were there before: one that has gone since is simply empty."""
    there = [path for path in paths if path.exists()]
    return walk(there, root=root, globs=globs, follow_links=follow_links)


class _Walk:
    def __init__(self, root: Path, globs: tuple[str, ...], *, follow_links: bool) -> None:
        if not root.is_dir():
            raise InputError(f"the root {root} is not a folder", remedy="Name a folder that exists.")
        if any(len(glob) > LONGEST_GLOB for glob in globs):
            raise InputError(f"a pattern has over {LONGEST_GLOB:,} characters", remedy="Give a shorter --glob.")
        self._root = root
        self._globs = globs
        self._follow_links = follow_links
        self._top = root
        """The folder that links may not lead out of."""
        self._seen: set[Path] = set()
        self._files: list[FoundFile] = []
        self._skipped: list[Skip] = []
        self._passed: set[str] = set()

    def over(self, paths: Sequence[Path]) -> Walked:
        places = [self._check_named(path) for path in paths]
        for place in places:
            if place.is_dir():
                self._top = self._root if self._follow_links else place
                self._folder(place)
            else:
                self._file(place, self._relative(place))
        folders = tuple(self._source_id(self._relative(place)) for place in places if place.is_dir())
        return Walked(
            files=tuple(self._files), skipped=tuple(self._skipped), folders=folders, passed=frozenset(self._passed)
        )

    def _check_named(self, path: Path) -> Path:
        """A path the user wrote: it must be there and inside the root, or nothing is begun."""
        place = _resolve(path)
        if place is None or not place.exists():
            raise InputError(f"there is no file or folder {path}", remedy="Check the path.")
        if not place.is_relative_to(self._root):
            raise InputError(
                f"{path} is outside the root {self._root}",
                remedy="Name the folder it belongs to with --root (in Python: root=...).",
            )
        return place

    def _folder(self, folder: Path) -> None:
        if folder in self._seen:
            return
        self._seen.add(folder)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as problem:
            self._skip(folder, "unreadable", problem.strerror or str(problem))
            return
        for entry in entries:
            self._entry(Path(entry.path))

    def _entry(self, path: Path) -> None:
        if path.name.startswith("."):
            self._skip(path, "hidden", "the name begins with a dot")
            return
        place = _resolve(path)
        if place is None:
            self._skip(path, "link", "a loop of links")
        elif not place.is_relative_to(self._top):
            self._skip(path, "outside", self._leads_out(place))
        elif place.is_dir():
            self._folder(place)
        elif self._is_wanted(place):
            self._file(place, self._relative(place))
        elif self._globs:
            self._passed.add(self._source_id(self._relative(place)))
        else:
            what = path.name if is_for_programs(path) else path.suffix or "no suffix"
            self._skip(path, "kind", f"{what} is not read unless the file or a pattern names it")

    def _leads_out(self, place: Path) -> str:
        if not place.is_relative_to(self._root):
            return f"the link leads out of the root, to {place}"
        return f"the link leads out of {self._top}, to {place}; --follow-links takes it"

    def _is_wanted(self, place: Path) -> bool:
        if not self._globs:
            return kind_of(place) is not None or place.suffix.lower() in RECORDS
        relative = self._relative(place)
        return any(fnmatchcase(relative, glob) or fnmatchcase(place.name, glob) for glob in self._globs)

    def _file(self, place: Path, relative: str) -> None:
        if place in self._seen:
            return
        self._seen.add(place)
        try:
            seen = place.stat()
        except OSError as problem:
            self._skip(place, "unreadable", problem.strerror or str(problem))
            return
        if not place.is_file():
            self._skip(place, "kind", "neither a file nor a folder")
            return
        self._files.append(
            FoundFile(
                path=place,
                rel_path=relative,
                source_id=self._source_id(relative),
                size=seen.st_size,
                changed_ns=seen.st_mtime_ns,
            )
        )

    def _relative(self, place: Path) -> str:
        return place.relative_to(self._root).as_posix()

    def _source_id(self, relative: str) -> str:
        return (PurePosixPath(self._root.name) / relative).as_posix()

    def _skip(self, path: Path, reason: str, detail: str) -> None:
        relative = self._relative(path)
        self._passed.add(self._source_id(relative))
        self._skipped.append(Skip(place=relative, reason=reason, detail=detail))


def _resolve(path: Path) -> Path | None:
    """Where a path leads; None for a loop of links."""
    try:
        return path.resolve(strict=True)
    except FileNotFoundError:
        return path.resolve()
    except (OSError, RuntimeError):
        return None


def find_changed(before: Sequence[FoundFile], after: Sequence[FoundFile]) -> Iterator[str]:
    """Source ids of files that came, went, or differ in size or time."""
    old = {old_file.source_id: (old_file.size, old_file.changed_ns) for old_file in before}
    new = {new_file.source_id: (new_file.size, new_file.changed_ns) for new_file in after}
    yield from sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


# --- Read: Markdown, plain text, JSON, web pages and PDF as one document, JSONL as one document per line ---
#
# Front matter of a Markdown file gives its title, tags, aliases (as trigger phrases) and date; the rest is metadata.
#
# A JSONL record has a text (`text`, `body`, `content` or `contents`), maybe a `title`, an id (`_id`, `id`, `doc_id`),
# and
# `tags`, `triggers`, `tier`, `folder`, `valid_from`; everything else it holds becomes metadata. What cannot be read is
# yielded as a `Skip` with its line, and reading goes on.

LIMIT = 16_000_000
"""Bytes of one document: as many characters as a memory's body may have."""
TOO_LONG = f"at most {LIMIT:,} bytes are read as one document; split it, or write it as JSONL"
LONGEST_CHAT = 256_000_000
"""Bytes of one chat export, which is read whole: its turns are found by those around them."""
TOOL = INGESTED_WITH

_TEXTS = ("text", "body", "content", "contents")
_IDS = ("_id", "id", "doc_id")
_HEADING = re.compile(r"^#[ \t]+([^\n]*)$", re.MULTILINE)
_INHERITED = frozenset(INHERITED)
_TAKEN = frozenset({"title", "tags", "tag", RESERVED})
"""Properties of front matter that are more than metadata."""


def read_file(file: FoundFile, *, conversation: bool = False) -> Iterator[Draft | Skip]:
    """The drafts of one file, and what in it could not be read; a `conversation` gives a draft for each turn."""
    try:
        if conversation:
            yield from _conversation(file)
        elif file.path.suffix.lower() in RECORDS:
            yield from _records(file)
        else:
            yield _extracted(file) if is_extracted(file.path) else _document(file)
    except OSError as problem:
        yield _skip(file, "unreadable", problem.strerror or str(problem))


def _conversation(file: FoundFile) -> Iterator[Draft | Skip]:
    with open_regular(file.path) as opened:
        content = opened.read(LONGEST_CHAT + 1)
    if len(content) > LONGEST_CHAT:
        yield _skip(file, "size", f"{file.size:,} bytes; at most {LONGEST_CHAT:,} are read as one export; split it")
        return
    text = _decode(file, content)
    if isinstance(text, Skip):
        yield text
        return
    suffix = file.path.suffix.lower()
    try:
        chats = list(read_chats(text, place=file.rel_path, is_json=suffix == ".json", by_line=suffix in RECORDS))
    except InputError as problem:
        yield _skip(file, "conversation", f"{problem.message}; {problem.remedy}")
        return
    for chat in chats:
        for turn in make_turns(chat):
            own_id = str(turn.pop("own_id"))
            yield _draft(file, format=Format.TEXT, source_id=f"{file.source_id}#{own_id}", **turn)


def _document(file: FoundFile) -> Draft | Skip:
    with open_regular(file.path) as opened:
        content = opened.read(LIMIT + 1)
    if len(content) > LIMIT:
        return _skip(file, "size", f"{max(file.size, len(content)):,} bytes; {TOO_LONG}")
    body = _decode(file, content)
    if isinstance(body, Skip):
        return body
    if not body.strip():
        return _skip(file, "empty", "there is no visible character in it")
    if file.path.suffix.lower() == ".json":
        problem = _broken_json(file, body)
        if problem is not None:
            return problem
    if _format(file) is Format.MARKDOWN:
        return _note(file, body, _hash(content))
    return _draft(file, title=_title(file, body), body=body, format=_format(file), source_hash=_hash(content))


def _extracted(file: FoundFile) -> Draft | Skip:
    """A web page or a PDF: what it says, without what its file is made of."""
    most = most_bytes(file.path)
    with open_regular(file.path) as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        told = f"{max(file.size, len(content)):,} bytes; at most {most:,} are read of such a file; split it"
        return _skip(file, "size", told)
    body = extract_text(content, file.path)
    if isinstance(body, ReadProblem):
        return _skip(file, body.reason, str(body))
    kind = _format(file)
    title = _heading(body) if kind is Format.MARKDOWN else ""
    return _draft(file, title=(title or file.path.stem)[:500], body=body, format=kind, source_hash=_hash(content))


def _note(file: FoundFile, text: str, source_hash: str) -> Draft | Skip:
    """A Markdown file: its front matter gives title, tags, aliases and date, and is not part of the text."""
    front = front_matter.split(text)
    if not front.body.strip():
        return _skip(file, "empty", "there is nothing below its front matter")
    properties: dict[str, Any] = {
        "tags": front.tags[:MOST_TAGS],
        "triggers": tuple(alias[:200] for alias in front.aliases)[:MOST_TRIGGERS],
        "metadata": {name: value for name, value in front.properties.items() if name not in _TAKEN},
    }
    return _draft(
        file,
        title=(front.title or _heading(front.body) or file.path.stem)[:500],
        body=front.body,
        format=Format.MARKDOWN,
        valid_from=front.created,
        source_hash=source_hash,
        # What the file does not give is not given: a new version keeps what was added here.
        **{name: value for name, value in properties.items() if value},
    )


def _heading(body: str) -> str:
    names = (heading_path.heading_text(found.group(1)) for found in _HEADING.finditer(_without_code(body)))
    return next(filter(None, names), "")


def _decode(file: FoundFile, content: bytes) -> str | Skip:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\x00" in content:
        return _skip(file, "binary", f"a NUL byte at {content.index(0):,}")
    else:
        encoding = "utf-8-sig"
    try:
        body = content.decode(encoding)
    except UnicodeDecodeError as problem:
        return _skip(file, "encoding", f"not UTF-8 at byte {problem.start:,}; convert the file to UTF-8")
    return _skip(file, "binary", "it holds NUL characters") if "\x00" in body else body


def _format(file: FoundFile) -> Format:
    kind = KINDS.get(file.path.suffix.lower())
    return Format.TEXT if kind is None else kind.format


def _title(file: FoundFile, body: str) -> str:
    """The first heading of reStructuredText; else the file's name."""
    if markup_of(file.rel_path, _format(file)) is Markup.RESTRUCTURED_TEXT:
        headed = next((one.heading_path for one in sections.split_rst(body) if one.heading_path), "")
        return headed[:500] or file.path.stem
    return file.path.stem


def _without_code(body: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1", "", body, flags=re.MULTILINE | re.DOTALL)


def _broken_json(file: FoundFile, body: str) -> Skip | None:
    try:
        json.loads(body, parse_constant=_no_such_number)
    except json.JSONDecodeError as problem:
        return _skip(file, "json", f"{problem.msg} at column {problem.colno}", line=problem.lineno)
    except (ValueError, RecursionError) as problem:
        return _skip(file, "json", str(problem))
    return None


def _records(file: FoundFile) -> Iterator[Draft | Skip]:
    with open_regular(file.path) as opened:
        number = 0
        while line := opened.readline(LIMIT + 1):
            number += 1
            if len(line) > LIMIT:
                yield _skip(file, "size", TOO_LONG, line=number)
                _finish_line(opened)
            elif line.strip():
                yield _record(file, line.removeprefix(codecs.BOM_UTF8), number)
        if not number:
            yield _skip(file, "empty", "there is no line in it")


def _finish_line(opened: Any) -> None:
    while (rest := opened.readline(LIMIT)) and not rest.endswith(b"\n"):
        pass


def _record(file: FoundFile, line: bytes, number: int) -> Draft | Skip:
    try:
        record = _load(line)
    except UnicodeDecodeError as problem:
        return _skip(file, "encoding", f"not UTF-8 at byte {problem.start:,} of the line", line=number)
    except (ValueError, RecursionError) as problem:
        return _skip(file, "json", getattr(problem, "msg", str(problem)), line=number)
    if not isinstance(record, dict):
        return _skip(file, "record", "not an object", line=number)
    return _record_draft(file, record, line, number)


def _record_draft(file: FoundFile, record: Mapping[str, Any], line: bytes, number: int) -> Draft | Skip:
    text_key = next((key for key in _TEXTS if isinstance(record.get(key), str) and record[key].strip()), None)
    if text_key is None:
        return _skip(file, "record", f"no text: give one of {', '.join(_TEXTS)}", line=number)
    id_key = next((key for key in _IDS if isinstance(record.get(key), (str, int))), None)
    own_id = str(record[id_key]) if id_key else str(number)
    given = _pick_fields(record)
    taken = {text_key, "title", "valid_from", *given}
    rest = {key: value for key, value in record.items() if key not in taken}
    try:
        return _draft(
            file,
            line=number,
            title=str(record.get("title") or "").strip() or own_id,
            body=record[text_key],
            format=Format.TEXT,
            metadata=rest,
            valid_from=_moment(record.get("valid_from")),
            source_id=f"{file.source_id}#{own_id}",
            source_hash=_hash(line.strip()),
            **given,
        )
    except ValueError as problem:
        return _skip(file, "record", str(problem), line=number)


def _pick_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    lists = {key: tuple(record[key]) for key in LABEL_FIELDS if isinstance(record.get(key), list)}
    return lists | {key: record[key] for key in RECORD_FIELDS if isinstance(record.get(key), str)}


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"valid_from {value!r} is not a time in ISO 8601")  # noqa: TRY004 - told as the others are
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _draft(file: FoundFile, *, line: int | None = None, **given: Any) -> Draft | Skip:
    filled = {
        "rel_path": file.rel_path,
        "folder": _folder(file.rel_path),
        "source_id": file.source_id,
        "written_with": TOOL,
        "automated": True,
    }
    try:
        values = {**filled, **given}
        return Draft(**values, given=_INHERITED.intersection(values))
    except InputError as problem:
        return _skip(file, "refused", problem.message, line=line)


@lru_cache(maxsize=1)
def _folder(rel_path: str) -> str:
    """Return the folder of a file. The last one is cached, since every record of a file has the same."""
    folder = PurePosixPath(rel_path).parent.as_posix()
    return "" if folder == "." else folder


def _hash(content: bytes) -> str:
    return HASH_PREFIX + hashlib.sha256(content).hexdigest()


def _no_such_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_load = line_decoder(_no_such_number)


def _skip(file: FoundFile, reason: str, detail: str, line: int | None = None) -> Skip:
    return Skip(place=file.rel_path, reason=reason, detail=detail, line=line)
