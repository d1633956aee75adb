"""Memories as JSON: plain JSON lines, mem0, and the MCP reference server `server-memory`.

- JSON lines of any origin.
- mem0.
- The MCP reference server `server-memory`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
from assay.records.memory import LABEL_FIELDS, RECORD_FIELDS, Format
from assay.records.saving import ImportItem, ImportLink, ImportProblem
from assay.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# --- JSON lines of any origin ---
#
# `title`, an id (`_id`, `id`, `doc_id`), `tags`, `triggers`, `folder`, `tier`, `context_type`, `entity_type` and a
#   date
# (`valid_from`, `created_at`, `created`, `timestamp`, `date`) are read; everything else becomes metadata.

TEXTS = ("text", "body", "content", "contents", "memory")
IDS = ("_id", "id", "doc_id")
DATES = ("valid_from", "created_at", "created", "timestamp", "date")


def read_jsonl(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:
    """Every line."""
    seen: dict[str, int] = {}
    for element in read_json_lines(path, path.name):
        found = element if isinstance(element, ImportProblem) else _read_json_record(path.name, name, element)
        if isinstance(found, ImportItem):
            source, line = str(found.draft.source_id), found.line or 0
            if seen.setdefault(source, line) != line:
                detail = f"the id of line {seen[source]:,} again"
                found = ImportProblem(place=path.name, line=line, reason="id given twice", detail=detail)
        yield found


def _read_json_record(place: str, name: str, element: Element) -> ImportItem | ImportProblem:
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
    lists = {key: labels_of(record[key]) for key in LABEL_FIELDS if isinstance(record.get(key), list)}
    texts = {key: record[key] for key in RECORD_FIELDS if isinstance(record.get(key), str)}
    return lists | {key: text for key, text in texts.items() if text.strip()}


# --- mem0 ---
#
# A record is `{"id", "memory", "user_id", "agent_id", "run_id", "metadata", "categories", "created_at",
# "updated_at"}`. Every user's memories go to a folder of their own, `users/USER`, so that those of several users never
# stand in one.

_KNOWN = frozenset({"id", "memory", "metadata", "categories", "hash", "score"})
_PASSING = ("hash", "score")
"""Fields that say nothing about the memory: the score of a search, mem0's own hash."""


def read_mem0(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:  # noqa: ARG001 - its ids are unique anywhere
    """Every memory of a mem0 export."""
    if path.suffix.lower() != ".json":
        for element in read_json_lines(path, path.name):
            yield element if isinstance(element, ImportProblem) else _read_mem0_record(path.name, element)
        return
    members, elements = read_json_list(path, ("results", "memories"))
    for element in elements:
        yield _read_mem0_record(path.name, element)
    for relation in members.get("relations") or ():
        detail = "it joins names, not memories"
        yield ImportProblem(place=path.name, line=relation.line, reason="a relation of mem0's graph", detail=detail)


def _read_mem0_record(place: str, element: Element) -> ImportItem | ImportProblem:
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
    """The folder of a user's memories; the top folder for a record without a user."""
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


# --- The MCP reference server `server-memory` ---
#
# `{"type": "entity", "name", "entityType", "observations": [...]}` becomes one memory with its observations as a list;
# `{"type": "relation", "from", "to", "relationType"}` becomes an edge. Older files hold one object with two lists.


def read_server_memory(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:
    """Every entity, each with the relations that begin at it."""
    entities: dict[str, Element] = {}
    links: dict[str, dict[ImportLink, int]] = {}
    place = path.name
    for element in _elements(path):
        problem = element if isinstance(element, ImportProblem) else _sort(place, name, element, entities, links)
        if problem is not None:
            yield problem
    for entity, element in entities.items():
        yield _entity(path.name, name, element, tuple(links.pop(entity, {})))
    for entity, left in links.items():
        for link, line in left.items():
            detail = f"{entity!r} {link.relation}: no entity has that name"
            yield ImportProblem(place=path.name, line=line, reason="relation from an unknown entity", detail=detail)


def _elements(path: Path) -> Iterator[Element | ImportProblem]:
    with open_regular(path) as opened:
        begins = opened.read(64).lstrip()
    if path.suffix.lower() == ".json" and not begins.startswith(b'{"type"'):
        members, entities = read_json_list(path, ("entities",))
        yield from (entity._replace(value=_with_type(entity.value, "entity")) for entity in entities)
        for relation in members.get("relations") or ():
            yield Element(_with_type(relation.value, "relation"), relation.line, 0)
        return
    yield from read_json_lines(path, path.name)


def _with_type(value: Any, kind: str) -> Any:
    return {**value, "type": kind} if isinstance(value, dict) else value


def _sort(
    place: str,
    source: str,
    element: Element,
    entities: dict[str, Element],
    links: dict[str, dict[ImportLink, int]],
) -> ImportProblem | None:
    """Put an element where it belongs, or say why it belongs nowhere."""
    record = element.value if isinstance(element.value, dict) else {}
    kind, name = record.get("type"), record.get("name")
    if kind == "entity" and isinstance(name, str) and name.strip():
        first = entities.setdefault(name, element)
        if first is element:
            return None
        reason, detail = "entity given twice", f"{name!r} stands in line {first.line:,} too"
    elif kind == "relation" and (ends := _ends(record)):
        begin, end, relation = ends
        link = ImportLink(source_id_of(source, "#", end), relation)
        links.setdefault(begin, {}).setdefault(link, element.line)
        return None
    else:
        reason, detail = "not an entity or relation", "an entity has a name, a relation has from, to and relationType"
    return ImportProblem(place=place, line=element.line, reason=reason, detail=detail, size=element.size)


def _ends(record: dict[str, Any]) -> tuple[str, str, str] | None:
    """Where a relation begins and ends, and what it is; None when one of these is missing or blank."""
    begin, end, relation = (record.get(key) for key in ("from", "to", "relationType"))
    if not (isinstance(begin, str) and isinstance(end, str) and isinstance(relation, str)):
        return None
    return (begin, end, relation) if begin.strip() and end.strip() and relation.strip() else None


def _entity(place: str, source: str, element: Element, links: tuple[ImportLink, ...]) -> ImportItem | ImportProblem:
    record = element.value
    kind = record.get("entityType")
    kind = kind if isinstance(kind, str) else ""
    told = record.get("observations")
    observations = (
        [observation for observation in told if isinstance(observation, str) and observation.strip()]
        if isinstance(told, list)
        else []
    )
    known = {"type", "name", "entityType", "observations"}
    name = record["name"]
    about = f"{name} ({kind})" if kind else name
    return make_item(
        place,
        element,
        title=name[:500],
        body="\n".join(f"- {observation}" for observation in observations) or about,
        tags=(kind[:200],) if kind.strip() else (),
        metadata={key: value for key, value in record.items() if key not in known and key != "assay"},
        source_id=source_id_of(source, "#", name),
        source_hash=hash_of(record),
        links=links,
    )
