"""JSON lines of any origin: one memory a line. Fields are those that `assay import` knows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.formats.files import write_lines
from assay.formats.memory_files.json_exports import DATES, IDS, TEXTS
from assay.formats.memory_files.reading import LINES, read_json_lines
from assay.records.saving import ImportProblem
from assay.records.store_audits import StoreItem, StoreKind, UnreadEntry
from assay.store_audit.readers.protocol import Changes, newest_of, owner_of


class JsonlReader:
    """Reads JSON lines."""

    kind = StoreKind.JSONL
    cannot_rewrite = ""

    def recognises(self, path: Path) -> bool:
        """Whether a file is named as JSON lines are."""
        return path.is_file() and path.suffix.lower() in LINES

    def files(self, path: Path) -> list[Path]:
        """Return the file."""
        return [path]

    def read(self, path: Path) -> Iterator[StoreItem | UnreadEntry]:
        """Yield every line."""
        seen: set[str] = set()
        for line in read_json_lines(path, path.name):
            if isinstance(line, ImportProblem):
                yield UnreadEntry(place=f"{path.name}:{line.line}", reason=line.reason, detail=line.detail)
            else:
                yield _item(line.value, path.name, line.line, seen)

    def rewrite(self, copy: Path, changes: Changes) -> None:
        """Change lines of a copy."""
        lines = []
        seen: set[str] = set()
        # Lines end with a line feed alone: a text may hold other line ends.
        for number, text in enumerate(copy.read_bytes().decode("utf-8-sig").split("\n"), start=1):
            if not text.strip():
                continue
            try:
                record = json.loads(text)
            except ValueError:
                record = None
            member = _text_member(record) if isinstance(record, dict) else None
            change = changes.get(_key(record, number, seen)) if member and isinstance(record, dict) else None
            if change is None:
                lines.append(f"{text}\n")
            elif change.text is not None:
                lines.append(json.dumps({**record, member: change.text}, ensure_ascii=False) + "\n")
        write_lines(copy, lines)


def _item(record: Any, file: str, line: int, seen: set[str]) -> StoreItem | UnreadEntry:
    place = f"{file}:{line}"
    if not isinstance(record, dict):
        return UnreadEntry(place=place, reason="not an object", detail=f"a {type(record).__name__}")
    member = _text_member(record)
    if member is None:
        return UnreadEntry(place=place, reason="no text", detail=f"none of {', '.join(TEXTS)} holds a text")
    title = record.get("title")
    return StoreItem(
        key=_key(record, line, seen),
        text=record[member],
        title=title.strip()[:500] if isinstance(title, str) else "",
        place=place,
        owner=owner_of(record),
        created_at=newest_of(*(record.get(name) for name in (*DATES, "updated_at"))),
        metadata={name: value for name, value in record.items() if name not in {member, "title", *IDS}},
    )


def _text_member(record: Mapping[str, Any]) -> str | None:
    return next((name for name in TEXTS if isinstance(record.get(name), str) and record[name].strip()), None)


def _key(record: Mapping[str, Any], line: int, seen: set[str]) -> str:
    """Return a line's id, or its number where it has none or an earlier line has the same."""
    found = next((record[name] for name in IDS if isinstance(record.get(name), str | int)), None)
    key = str(found).strip() if found is not None else ""
    key = key if key and key not in seen else f"line {line}"
    seen.add(key)
    return key
