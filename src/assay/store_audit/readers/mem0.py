"""Stores of mem0: points in Qdrant's local storage, and the history in SQLite.

A folder is searched for `storage.sqlite` of Qdrant collections and for `history.db`. Where there are points, they are
the memories, and the history is repaired along with them. With a history alone, the last text of every memory that
was not deleted is read. The raw messages that mem0 keeps beside its history are counted, not audited.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.records.store_audits import StoreItem, StoreKind, UnreadEntry
from assay.storage.foreign_sqlite import ForeignDatabase, change_foreign, find_log_files, is_sqlite, open_foreign
from assay.store_audit.readers.pickled_points import PickledPoint, UnreadablePickle, read_point, replace_text
from assay.store_audit.readers.protocol import Changes, newest_of, owner_of

POINTS_FILE = "storage.sqlite"
DATABASES = frozenset({".sqlite", ".db", ".sqlite3"})
OWN_COLLECTIONS = frozenset({"mem0migrations"})
"""Collections in which mem0 keeps notes for itself."""
_TEXT = "data"
_STEMMED = "text_lemmatized"
"""Where newer versions keep the words of the text a second time, for full-text search."""
_LINKS = "linked_memory_ids"
"""A point with this is a name that mem0 found in memories, kept in a collection of its own."""
_KNOWN = frozenset({_TEXT, _STEMMED, "hash", "created_at", "updated_at"})
_HISTORY = ("memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted")


class Mem0Reader:
    """Reads stores of mem0."""

    kind = StoreKind.MEM0
    cannot_rewrite = ""

    def recognises(self, path: Path) -> bool:
        """Whether there are points of Qdrant or a history of mem0."""
        points, histories = _find(path)
        return bool(points or histories)

    def files(self, path: Path) -> list[Path]:
        """Return the databases with their logs."""
        points, histories = _find(path)
        return [file for database in (*points, *histories) for file in (database, *find_log_files(database))]

    def read(self, path: Path) -> Iterator[StoreItem | UnreadEntry]:
        """Yield every memory."""
        points, histories = _find(path)
        for file in points:
            yield from _read_points(file, _place(path, file))
        for file in histories:
            yield from _read_history(file, _place(path, file), memories=not points)

    def rewrite(self, copy: Path, changes: Changes) -> None:
        """Change points and history of a copy."""
        points, histories = _find(copy)
        for file in points:
            _rewrite_points(file, changes)
        for file in histories:
            _rewrite_history(file, changes)


def _find(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the databases of points and of histories."""
    files = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
    databases = [file for file in files if file.suffix.lower() in DATABASES and is_sqlite(file)]
    points = [file for file in databases if file.name == POINTS_FILE and file.parent.name not in OWN_COLLECTIONS]
    return points, [file for file in databases if file.name != POINTS_FILE and _is_history(file)]


def _is_history(file: Path) -> bool:
    with open_foreign(file) as database:
        return database.columns("history") >= {"memory_id", "new_memory", "event"}


def _place(path: Path, file: Path) -> str:
    return file.name if path.is_file() else file.relative_to(path).as_posix()


def _read_points(file: Path, place: str) -> Iterator[StoreItem | UnreadEntry]:
    with open_foreign(file) as database:
        for number, (_, blob) in enumerate(database.rows("points", ("id", "point")), start=1):
            where = f"{place}, point {number}"
            try:
                found = read_point(bytes(blob))
            except (UnreadablePickle, TypeError) as problem:
                yield UnreadEntry(place=where, reason="not a plain point", detail=str(problem))
                continue
            if _LINKS in found.payload:
                yield UnreadEntry(place=where, reason="an entity, not a memory", detail="mem0 links memories by it")
                continue
            text = found.payload.get(_TEXT)
            if not isinstance(text, str) or not text.strip():
                yield UnreadEntry(place=where, reason="no text", detail=f"the payload of {found.point_id} has no data")
                continue
            yield StoreItem(
                key=found.point_id,
                text=text,
                place=where,
                owner=owner_of(found.payload),
                created_at=newest_of(found.payload.get("created_at"), found.payload.get("updated_at")),
                metadata={name: value for name, value in found.payload.items() if name not in _KNOWN},
            )


def _read_history(file: Path, place: str, *, memories: bool) -> Iterator[StoreItem | UnreadEntry]:
    with open_foreign(file) as database:
        if memories:
            yield from _last_texts(database, place)
        if "messages" in database.tables():
            for _ in range(database.count("messages")):
                yield UnreadEntry(place=place, reason="a message, not a memory", detail="mem0 keeps the last messages")


def _last_texts(database: ForeignDatabase, place: str) -> Iterator[StoreItem | UnreadEntry]:
    """Yield the last text of every memory that was not deleted, in the order in which memories were first written."""
    current: dict[str, StoreItem | None] = {}
    for memory_id, _, text, event, created, updated, deleted in database.rows("history", _HISTORY):
        key = str(memory_id)
        gone = bool(deleted) or str(event).upper() == "DELETE"
        if gone or not isinstance(text, str) or not text.strip():
            if not gone:
                yield UnreadEntry(place=place, reason="no text", detail=f"an event of {key} without a text")
            current[key] = None
            continue
        when = newest_of(created, updated)
        current[key] = StoreItem(key=key, text=text, place=f"{place}, memory {key}", created_at=when)
    yield from (item for item in current.values() if item is not None)


def _rewrite_points(file: Path, changes: Changes) -> None:
    with change_foreign(file) as database:
        for key, blob in list(database.rows("points", ("id", "point"))):
            try:
                found = read_point(bytes(blob))
            except UnreadablePickle:
                continue
            change = changes.get(found.point_id)
            if change is None or _LINKS in found.payload:
                continue
            if change.text is None:
                database.delete("points", {"id": key})
            else:
                database.update("points", {"point": _change_text(bytes(blob), found, change.text)}, {"id": key})


def _change_text(blob: bytes, found: PickledPoint, text: str) -> bytes:
    """Return a point with another text, also where its words stand a second time."""
    changed = replace_text(blob, str(found.payload[_TEXT]), text)
    words = found.payload.get(_STEMMED)
    return replace_text(changed, words, text.lower()) if isinstance(words, str) and words else changed


def _rewrite_history(file: Path, changes: Changes) -> None:
    """Remove the history of memories that go or change: it holds the texts that the repair takes out."""
    with change_foreign(file) as database:
        for key, change in changes.items():
            if change.text is None:
                database.delete("history", {"memory_id": key})
            else:
                database.update("history", {"old_memory": None, "new_memory": change.text}, {"memory_id": key})
