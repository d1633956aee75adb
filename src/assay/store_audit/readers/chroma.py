"""Chroma's folder, read from its SQLite file without the package.

Documents and metadata stand in SQLite; vectors stand in index files of Chroma's own, which name the same records. A
copy whose rows were changed without the index would answer with records that are gone, so a copy is not rewritten:
the plan is exported as JSON lines of what to keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.records.store_audits import StoreItem, StoreKind, UnreadEntry
from assay.storage.foreign_sqlite import ForeignDatabase, find_log_files, is_sqlite, open_foreign
from assay.store_audit.readers.protocol import Changes, newest_of, owner_of

FILE = "chroma.sqlite3"
DOCUMENT = "chroma:document"
_DATES = ("created_at", "updated_at", "timestamp", "date")
_VALUES = ("string_value", "int_value", "float_value")


class ChromaReader:
    """Reads stores of Chroma."""

    kind = StoreKind.CHROMA
    cannot_rewrite = "Chroma keeps vectors in index files that only Chroma can change"

    def recognises(self, path: Path) -> bool:
        """Whether there is a SQLite file with Chroma's tables."""
        file = _file(path)
        if not is_sqlite(file):
            return False
        with open_foreign(file) as database:
            return database.tables() >= {"embeddings", "embedding_metadata", "segments", "collections"}

    def files(self, path: Path) -> list[Path]:
        """Return the SQLite file with its log."""
        return [_file(path), *find_log_files(_file(path))]

    def read(self, path: Path) -> Iterator[StoreItem | UnreadEntry]:
        """Yield every document of every collection."""
        with open_foreign(_file(path)) as database:
            names = dict(database.rows("collections", ("id", "name")))
            collections = {
                segment: str(names.get(collection, collection))
                for segment, collection in database.rows("segments", ("id", "collection"))
            }
            metadata = _read_metadata(database)
            columns = ("id", "segment_id", "embedding_id", "created_at")
            for number, segment, embedding_id, created in database.rows("embeddings", columns, order="id"):
                collection = collections.get(segment, str(segment))
                yield _item(collection, str(embedding_id), metadata.get(number, {}), created)

    def rewrite(self, copy: Path, changes: Changes) -> None:  # noqa: ARG002 - the protocol
        """Refuse; a repair writes JSON lines of what stays instead."""
        raise InputError(
            f"the store {copy} cannot be rewritten: {self.cannot_rewrite}",
            remedy="Apply the plan with `assay repair`, which writes the memories that stay as JSON lines.",
        )


def _file(path: Path) -> Path:
    return path / FILE if path.is_dir() else path


def _read_metadata(database: ForeignDatabase) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    columns = [*_VALUES, *(name for name in ("bool_value",) if name in database.columns("embedding_metadata"))]
    for number, name, *values in database.rows("embedding_metadata", ("id", "key", *columns), order="id"):
        value = next((value for value in values if value is not None), None)
        found.setdefault(number, {})[str(name)] = value
    return found


def _item(collection: str, embedding_id: str, metadata: dict[str, Any], created: Any) -> StoreItem | UnreadEntry:
    place = f"{collection}, record {embedding_id}"
    text = metadata.get(DOCUMENT)
    if not isinstance(text, str) or not text.strip():
        return UnreadEntry(place=place, reason="no text", detail="the record has no document")
    own = {name: value for name, value in metadata.items() if name != DOCUMENT}
    # Chroma's own time is the time of the row: a record that was loaded again has a new one. Its metadata know better.
    dated = newest_of(*(own.get(name) for name in _DATES))
    return StoreItem(
        key=f"{collection}/{embedding_id}",
        text=text,
        place=place,
        owner="/".join(filter(None, (collection, owner_of(own)))),
        created_at=dated or newest_of(created),
        metadata=own,
    )
