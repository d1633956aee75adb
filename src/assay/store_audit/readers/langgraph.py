"""Stores of LangGraph in SQLite: the table `store`, one row for each item with a JSON value.

The text of an item is the first of its usual members that holds one; an item that has none of them is read as the
only text in it. The namespace is the owner.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.formats.memory_files.json_exports import TEXTS
from assay.records.store_audits import StoreItem, StoreKind, UnreadEntry
from assay.storage.foreign_sqlite import change_foreign, find_log_files, is_sqlite, open_foreign
from assay.store_audit.readers.protocol import Changes, newest_of

_TEXTS = (*TEXTS, "data", "value", "fact", "note")
_COLUMNS = ("prefix", "key", "value", "created_at", "updated_at")


class LangGraphReader:
    """Reads stores of LangGraph."""

    kind = StoreKind.LANGGRAPH
    cannot_rewrite = ""

    def recognises(self, path: Path) -> bool:
        """Whether a SQLite file has LangGraph's table."""
        if not is_sqlite(path):
            return False
        with open_foreign(path) as database:
            return database.columns("store") >= set(_COLUMNS)

    def files(self, path: Path) -> list[Path]:
        """Return the SQLite file with its log."""
        return [path, *find_log_files(path)]

    def read(self, path: Path) -> Iterator[StoreItem | UnreadEntry]:
        """Yield every item."""
        with open_foreign(path) as database:
            for prefix, key, value, created, updated in database.rows("store", _COLUMNS):
                place = f"{prefix}, item {key}"
                found = _read_value(value)
                if isinstance(found, str):
                    yield UnreadEntry(place=place, reason=found, detail=f"the value of {key!r}")
                    continue
                record, name = found
                yield StoreItem(
                    key=_key(prefix, key),
                    text=record[name],
                    place=place,
                    owner=str(prefix),
                    created_at=newest_of(created, updated, record.get("created_at")),
                    metadata={member: inner for member, inner in record.items() if member != name},
                )

    def rewrite(self, copy: Path, changes: Changes) -> None:
        """Change rows of a copy; vectors of changed texts go, so that no search finds them by their old words."""
        with change_foreign(copy) as database:
            has_vectors = "store_vectors" in database.tables()
            for prefix, key, value, *_ in list(database.rows("store", _COLUMNS)):
                change = changes.get(_key(prefix, key))
                found = _read_value(value)
                if change is None or isinstance(found, str):
                    continue
                row = {"prefix": prefix, "key": key}
                if has_vectors:
                    database.delete("store_vectors", row)
                if change.text is None:
                    database.delete("store", row)
                else:
                    record, name = found
                    written = json.dumps({**record, name: change.text}, ensure_ascii=False)
                    database.update("store", {"value": written}, row)


def _key(prefix: Any, key: Any) -> str:
    return f"{prefix}/{key}"


def _read_value(value: Any) -> tuple[dict[str, Any], str] | str:
    """Return the JSON object with the name of its text member, or why there is none."""
    try:
        record = json.loads(value)
    except (ValueError, TypeError, RecursionError):
        return "not JSON"
    if not isinstance(record, dict):
        return "not an object"
    texts = {name: inner for name, inner in record.items() if isinstance(inner, str) and inner.strip()}
    name = next((name for name in _TEXTS if name in texts), None)
    if name is None and len(texts) == 1:
        [name] = texts
    return "no text" if name is None else (record, name)
