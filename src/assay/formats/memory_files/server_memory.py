"""The MCP reference server `server-memory`: a line for each entity and each relation, in any order.

`{"type": "entity", "name", "entityType", "observations": [...]}` becomes one memory with its observations as a list;
`{"type": "relation", "from", "to", "relationType"}` becomes an edge. Older files hold one object with two lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.formats.memory_files.reading import (
    Element,
    hash_of,
    make_item,
    read_json_lines,
    read_json_list,
    source_id_of,
)
from assay.records.importing import ImportItem, ImportLink, ImportProblem
from assay.regular_files import open_regular


def read(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:
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
        yield from (one._replace(value=_with_type(one.value, "entity")) for one in entities)
        for one in members.get("relations") or ():
            yield Element(_with_type(one.value, "relation"), one.line, 0)
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
    observations = [one for one in told if isinstance(one, str) and one.strip()] if isinstance(told, list) else []
    known = {"type", "name", "entityType", "observations"}
    name = record["name"]
    about = f"{name} ({kind})" if kind else name
    return make_item(
        place,
        element,
        title=name[:500],
        body="\n".join(f"- {one}" for one in observations) or about,
        tags=(kind[:200],) if kind.strip() else (),
        metadata={key: value for key, value in record.items() if key not in known and key != "assay"},
        source_id=source_id_of(source, "#", name),
        source_hash=hash_of(record),
        links=links,
    )
