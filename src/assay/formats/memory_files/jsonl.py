"""JSON lines of any origin: a text (`text`, `body`, `content`, `contents` or `memory`), and whatever else is known.

`title`, an id (`_id`, `id`, `doc_id`), `tags`, `triggers`, `folder`, `tier`, `context_type`, `entity_type` and a date
(`valid_from`, `created_at`, `created`, `timestamp`, `date`) are read; everything else becomes metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.formats.front_matter import read_moment
from assay.formats.memory_files.reading import (
    Element,
    hash_of,
    labels_of,
    make_item,
    read_json_lines,
    source_id_of,
    title_of,
)
from assay.records.importing import ImportItem, ImportProblem
from assay.records.memory import Format

TEXTS = ("text", "body", "content", "contents", "memory")
IDS = ("_id", "id", "doc_id")
DATES = ("valid_from", "created_at", "created", "timestamp", "date")
_PLAIN = ("folder", "tier", "context_type", "entity_type")
_LISTS = ("tags", "triggers")


def read(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:
    """Every line."""
    seen: dict[str, int] = {}
    for element in read_json_lines(path, path.name):
        found = element if isinstance(element, ImportProblem) else _read_record(path.name, name, element)
        if isinstance(found, ImportItem):
            source, line = str(found.draft.source_id), found.line or 0
            if seen.setdefault(source, line) != line:
                detail = f"the id of line {seen[source]:,} again"
                found = ImportProblem(place=path.name, line=line, reason="id given twice", detail=detail)
        yield found


def _read_record(place: str, name: str, element: Element) -> ImportItem | ImportProblem:
    record = element.value
    if not isinstance(record, dict):
        detail = f"a {type(record).__name__} instead of an object"
        return ImportProblem(place=place, line=element.line, reason="not an object", detail=detail, size=element.size)
    text_key = next((key for key in TEXTS if isinstance(record.get(key), str) and record[key].strip()), None)
    if text_key is None:
        detail = f"none of {', '.join(TEXTS)} holds a text"
        return ImportProblem(place=place, line=element.line, reason="no text", detail=detail, size=element.size)
    text = record[text_key]
    id_key = next((key for key in IDS if isinstance(record.get(key), (str, int)) and str(record[key]).strip()), None)
    dated = next((key for key in DATES if read_moment(record.get(key)) is not None), None)
    given = _pick_known(record)
    rest = {key: value for key, value in record.items() if key not in {text_key, "title", "valid_from", *given}}
    if "assay" in rest:
        rest["imported_assay"] = rest.pop("assay")
    return make_item(
        place,
        element,
        title=str(record.get("title") or "").strip()[:500] or title_of(text),
        body=text,
        format=Format.TEXT,
        metadata=rest,
        valid_from=None if dated is None else read_moment(record[dated]),
        # Without an id, what a line says is what it is known by: a line that moves is still the same.
        source_id=source_id_of(name, "#", str(record[id_key]) if id_key else hash_of(record)[-32:]),
        source_hash=hash_of(record),
        **given,
    )


def _pick_known(record: Mapping[str, Any]) -> dict[str, Any]:
    lists = {key: labels_of(record[key]) for key in _LISTS if isinstance(record.get(key), list)}
    return lists | {key: record[key] for key in _PLAIN if isinstance(record.get(key), str) and record[key].strip()}
