"""Golden JSON: one object with `entities`, `queries` with what is expected of each, and how grades are read.

The one format that keeps everything a dataset can hold. It comes in three shapes, all read by `read_golden`: one file;
a `golden.json` whose entities name a `content_file` each, which is the shape to review; a `golden.json` that names an
`entities_file` and a `queries_file` with one entity or query a line, which is the shape to stream.
`golden_entities` and `golden_queries` hold the two kinds of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import BadValue
from assay.formats.files import inside, write_lines
from assay.formats.golden_entities import entity, entity_fields, name_file
from assay.formats.golden_queries import query, query_fields
from assay.formats.keys import Keys, a_list, a_moment, an_object
from assay.formats.strict_json import Placed, Refuse, indented, made, one_line, raise_it, read_lines, read_object
from assay.records.datasets import Case, Dataset, Document
from assay.records.memory import Edge

FILE_NAME = "golden.json"
ENTITIES, QUERIES = "entities.jsonl", "queries.jsonl"
_HEADER = (
    "name",
    "version",
    "created_at",
    "description",
    "scale",
    "ranked_unit",
    "floors",
    "edges",
    "entities",
    "queries",
    "entities_file",
    "queries_file",
)
Record = TypeVar("Record", Document, Case)
OnRead = Callable[[int], None]
"""Told how many documents have been read, now and then."""


def read_golden(
    path: Path, *, name: str | None = None, refuse: Refuse = raise_it, on_read: OnRead | None = None
) -> Dataset:
    """The dataset of a golden file, or of a folder that holds one."""
    file = path / FILE_NAME if path.is_dir() else path
    found = read_object(file)
    top = Placed(None, file, 1)
    header = made(top._replace(value=found), partial(_header, name=name or _name_of(file)), refuse) or {}
    level = header.get("relevance_level", Dataset.relevance_level)
    entities = _parts(top, found, "entities", refuse)
    documents = _records(entities, partial(entity, folder=file.parent), "entity", refuse, on_read)
    cases = _records(_parts(top, found, "queries", refuse), partial(query, level=level), "query", refuse, None)
    try:
        return Dataset(documents=tuple(documents), cases=tuple(cases), **{"name": "golden", **header})
    except BadValue as problem:
        raise top.refused(problem.message, problem.remedy) from problem


def write_golden(path: Path, dataset: Dataset, *, private: bool = False) -> None:
    """One file with everything."""
    head = header_fields(dataset)
    head["entities"] = [entity_fields(one) for one in dataset.documents]
    head["queries"] = [query_fields(one, dataset.relevance_level) for one in dataset.cases]
    write_lines(path, [indented(head)], private=private)


def write_golden_files(folder: Path, dataset: Dataset) -> None:
    """A golden file with the text of each entity in a file of its own, to be read and reviewed."""
    names: set[str] = set()
    entities = []
    for one in dataset.documents:
        name = f"entities/{name_file(one, names)}"
        write_lines(folder / name, [one.text])
        entities.append({**entity_fields(one, text=False), "content_file": name})
    head = {**header_fields(dataset), "entities": entities}
    head["queries"] = [query_fields(one, dataset.relevance_level) for one in dataset.cases]
    write_lines(folder / FILE_NAME, [indented(head)])


def write_golden_lines(folder: Path, dataset: Dataset, *, private: bool = False) -> None:
    """A golden file with entities and queries beside it, one a line: a corpus of any size."""
    entities = (one_line(entity_fields(one)) for one in dataset.documents)
    write_lines(folder / ENTITIES, entities, private=private)
    level = dataset.relevance_level
    write_lines(folder / QUERIES, (one_line(query_fields(one, level)) for one in dataset.cases), private=private)
    head = {**header_fields(dataset), "entities_file": ENTITIES, "queries_file": QUERIES}
    write_lines(folder / FILE_NAME, [indented(head)], private=private)


def header_fields(dataset: Dataset) -> dict[str, Any]:
    """Everything about a dataset but its documents and cases."""
    optional = {
        "created_at": dataset.created_at,
        "floors": dict(dataset.floors),
        "edges": [_edge_fields(one) for one in dataset.edges],
    }
    return {
        "name": dataset.name,
        "version": dataset.version,
        "description": dataset.description,
        "scale": {
            "lowest": dataset.lowest_grade,
            "highest": dataset.highest_grade,
            "relevant_from": dataset.relevance_level,
        },
        "ranked_unit": dataset.ranked_unit,
        **{key: value for key, value in optional.items() if value},
    }


def _name_of(file: Path) -> str:
    stem = file.name.removesuffix(".gz").removesuffix(".json")
    return file.resolve().parent.name or stem if file.name == FILE_NAME else stem


def _header(found: dict[str, Placed], *, name: str) -> dict[str, Any]:
    keys = Keys(found, "the dataset")
    taken = {key: keys.take(key) for key in _HEADER}
    keys.done()
    plain = {key: one.value for key, one in taken.items() if one is not None and one.value is not None}
    given: dict[str, Any] = {
        key: plain[key] for key in ("version", "created_at", "description", "ranked_unit") if key in plain
    }
    if "floors" in plain:
        given["floors"] = an_object(plain["floors"], "floors")
    if "edges" in plain:
        given["edges"] = a_list(plain["edges"], "edges", lambda one: _edge(one.value))
    return {"name": plain.get("name", name), **given, **_scale(plain.get("scale", {}))}


def _scale(value: Any) -> dict[str, int]:
    keys = Keys(value, "scale")
    found = keys.given(lowest_grade="lowest", highest_grade="highest", relevance_level="relevant_from")
    keys.done()
    return found


def _edge(value: Any) -> Edge:
    keys = Keys(value, "an edge")
    found = {
        "source_id": keys.need("source_id"),
        "target_id": keys.need("target_id"),
        "kind": keys.need("kind"),
        "created_at": a_moment(keys.need("created_at"), "created_at"),
        **keys.given(strength="strength", evidence="evidence"),
    }
    keys.done()
    return Edge(**found)


def _edge_fields(one: Edge) -> dict[str, Any]:
    return {
        "source_id": one.source_id,
        "target_id": one.target_id,
        "kind": one.kind.value,
        "created_at": one.created_at.isoformat(),
        "strength": one.strength,
        "evidence": one.evidence,
    }


def _parts(top: Placed, found: dict[str, Placed], key: str, refuse: Refuse) -> Iterable[Placed]:
    """The entities or queries, from the file itself or from the one it names."""
    inline, named = found.get(key), found.get(f"{key}_file")
    if (inline is None) == (named is None):
        many = "both of" if inline is not None else "neither of"
        refuse(top.refused(f"has {many} {key!r} and '{key}_file'", f"A golden file has a list {key!r}."))
    elif named is not None:
        return _lines_of(named, refuse)
    elif inline is not None and not isinstance(inline.value, list):
        refuse(inline.refused(f"{key!r} is not a list", f"Write {key!r} as a list of objects."))
    elif inline is not None:
        return list(inline.value)
    return []


def _lines_of(named: Placed, refuse: Refuse) -> Iterator[Placed]:
    place = inside(named.path.parent, named.value) if isinstance(named.value, str) else None
    if place is None:
        refuse(named.refused(f"{named.value!r} is no file beside it", "Name a file in the golden file's own folder."))
        return
    yield from read_lines(place, refuse)


def _records(
    places: Iterable[Placed], make: Callable[[Any], Record], what: str, refuse: Refuse, on_read: OnRead | None
) -> Iterator[Record]:
    lines: dict[str, int] = {}
    for place in places:
        one: Record | None = made(place, make, refuse)
        if one is None:
            continue
        if one.id in lines:
            refuse(place.refused(f"{what} {one.id!r} was given on line {lines[one.id]:,}", "Make ids unique."))
            continue
        lines[one.id] = place.line
        if on_read is not None and len(lines) % 1000 == 0:
            on_read(len(lines))
        yield one
