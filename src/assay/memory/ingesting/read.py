"""Read one file into drafts: Markdown, plain text and JSON as one document, JSONL as one document a line.

Front matter of a Markdown file gives its title, tags, aliases (as trigger phrases) and date; the rest is metadata.

A JSONL record has a text (`text`, `body`, `content` or `contents`), maybe a `title`, an id (`_id`, `id`, `doc_id`), and
`tags`, `triggers`, `tier`, `folder`, `valid_from`; everything else it holds becomes metadata. What cannot be read is
yielded as a `Skip` with its line, and reading goes on.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, NoReturn

from assay.errors import InputError
from assay.formats import front_matter
from assay.formats.strict_json import line_decoder
from assay.hashing import HASH_PREFIX
from assay.memory.ingesting.report import Skip
from assay.memory.ingesting.walk import FoundFile
from assay.memory.saving.drafts import MOST_TAGS, MOST_TRIGGERS, RESERVED
from assay.records import Draft, Format, heading_path
from assay.records.memory import INGESTED_WITH, KINDS, RECORDS, Markup, markup_of
from assay.records.saving import INHERITED
from assay.regular_files import open_regular
from assay.text import sections

LIMIT = 16_000_000
"""Bytes of one document: as many characters as a memory's body may have."""
TOO_LONG = f"at most {LIMIT:,} bytes are read as one document; split it, or write it as JSONL"
TOOL = INGESTED_WITH

_TEXTS = ("text", "body", "content", "contents")
_IDS = ("_id", "id", "doc_id")
_LISTS = ("tags", "triggers")
_PLAIN = ("tier", "folder", "entity_type", "context_type")
_HEADING = re.compile(r"^#[ \t]+([^\n]*)$", re.MULTILINE)
_INHERITED = frozenset(INHERITED)
_TAKEN = frozenset({"title", "tags", "tag", RESERVED})
"""Properties of front matter that are more than metadata."""


def read_file(file: FoundFile) -> Iterator[Draft | Skip]:
    """The drafts of one file, and what in it could not be read."""
    try:
        if file.path.suffix.lower() in RECORDS:
            yield from _records(file)
        else:
            yield _document(file)
    except OSError as problem:
        yield _skip(file, "unreadable", problem.strerror or str(problem))


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
        headed = next((one.heading_path for one in sections.restructured_sections(body) if one.heading_path), "")
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
    lists = {key: tuple(record[key]) for key in _LISTS if isinstance(record.get(key), list)}
    return lists | {key: record[key] for key in _PLAIN if isinstance(record.get(key), str)}


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
    """The folder of a file. The last one is kept: every record of a file asks for the same."""
    folder = PurePosixPath(rel_path).parent.as_posix()
    return "" if folder == "." else folder


def _hash(content: bytes) -> str:
    return HASH_PREFIX + hashlib.sha256(content).hexdigest()


def _no_such_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_load = line_decoder(_no_such_number)


def _skip(file: FoundFile, reason: str, detail: str, line: int | None = None) -> Skip:
    return Skip(place=file.rel_path, reason=reason, detail=detail, line=line)
