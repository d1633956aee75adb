"""mem0: `{"results": [...]}` as `get_all` gives it, a bare list, or one record a line.

A record is `{"id", "memory", "user_id", "agent_id", "run_id", "metadata", "categories", "created_at", "updated_at"}`.
Every user's memories go to a folder of their own, `users/USER`, so that those of several users never stand in one.
"""

from __future__ import annotations

import re
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
    read_json_list,
    source_id_of,
    title_of,
)
from assay.records.importing import ImportItem, ImportProblem
from assay.records.memory import Format

_KNOWN = frozenset({"id", "memory", "metadata", "categories", "hash", "score"})
_PASSING = ("hash", "score")
"""Fields that say nothing about the memory: the score of a search, mem0's own hash."""


def read(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:  # noqa: ARG001 - its ids are unique anywhere
    """Every memory of a mem0 export."""
    if path.suffix.lower() != ".json":
        for element in read_json_lines(path, path.name):
            yield element if isinstance(element, ImportProblem) else _read_record(path.name, element)
        return
    members, elements = read_json_list(path, ("results", "memories"))
    for element in elements:
        yield _read_record(path.name, element)
    for relation in members.get("relations") or ():
        detail = "it joins names, not memories"
        yield ImportProblem(place=path.name, line=relation.line, reason="a relation of mem0's graph", detail=detail)


def _read_record(place: str, element: Element) -> ImportItem | ImportProblem:
    record = element.value
    text = record.get("memory") if isinstance(record, dict) else None
    if not isinstance(text, str) or not text.strip():
        detail = "the record has no `memory` with a text in it"
        return ImportProblem(place=place, line=element.line, reason="no text", detail=detail, size=element.size)
    user = record.get("user_id")
    owner = user if isinstance(user, str) and user.strip() else None
    given = {key: value for key, value in record.items() if key not in _PASSING}
    own_id = record.get("id")
    return make_item(
        place,
        element,
        title=title_of(text),
        body=text,
        format=Format.TEXT,
        folder=folder_of(owner),
        tags=labels_of(record.get("categories")),
        metadata=_metadata(record),
        valid_from=read_moment(record.get("created_at")),
        source_id=source_id_of("mem0:", str(own_id) if own_id else hash_of([owner, text])[-32:]),
        source_hash=hash_of(given),
        user=owner,
    )


def folder_of(user: str | None) -> str:
    """The folder of a user's memories; the top folder for a record of nobody."""
    if user is None:
        return ""
    return "users/" + (re.sub(r"[\\/:~]+|\.\.+", "_", user).strip("._ ") or "unnamed")[:200]


def _metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    own = record.get("metadata")
    rest = {key: value for key, value in record.items() if key not in _KNOWN and value is not None}
    kept = {"metadata": own} if own is not None and not isinstance(own, dict) else dict(own or {})
    # Assay keeps notes of its own under this name.
    if "assay" in kept:
        kept["mem0_assay"] = kept.pop("assay")
    return {**kept, **{key if key not in kept else f"mem0_{key}": value for key, value in rest.items()}}
