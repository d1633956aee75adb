"""Golden JSON: one object with `entities`, `queries` with what is expected of each, and how grades are read.

- Entities: the documents.
- Queries: the cases.
- Reading and writing the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.case_fields import anchor_fields, anchors, fact_value_fields, fact_values, turn_fields, turns
from assay.formats.files import inside, write_lines
from assay.formats.strict_json import (
    Keys,
    Placed,
    Refuse,
    a_list,
    a_moment,
    an_object,
    build_or_refuse,
    one_line,
    raise_it,
    read_lines,
    read_object,
    texts,
    to_indented_json,
)
from assay.records.answers import EquivalenceClasses, FolderMode
from assay.records.datasets import Case, Dataset, Document, Grade, SessionContext
from assay.records.evidence import JudgmentSource
from assay.records.memory import Edge, Format, Tier
from assay.regular_files import LARGEST, read_regular

if TYPE_CHECKING:
    from pathlib import Path

# --- Entities: the documents ---

SUFFIXES = {Format.MARKDOWN: ".md", Format.TEXT: ".txt", Format.JSON: ".json"}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def entity(value: Any, *, folder: Path) -> Document:
    """A document from its object; a `content_file` is looked for in the folder."""
    keys = Keys(value, "the entity")
    ident = keys.need("entity_id")
    metadata = an_object(keys.take("metadata", {}), "metadata")
    given: dict[str, Any] = keys.present_values(
        entity_type="entity_type", title="title", rel_path="rel_path", folder="folder", tier="tier"
    )
    for name in ("tags", "triggers"):
        given[name] = texts(keys.take(name, []), name)
    dated = keys.take("dated")
    given["dated"] = None if dated is None else a_moment(dated, "dated")
    given["format"] = _format(keys.take("format"), metadata)
    text = _text(keys, folder)
    keys.check_none_left()
    return Document(id=ident, text=text, metadata=metadata, **given)


def entity_fields(document: Document, *, text: bool = True) -> dict[str, Any]:
    """A document as its object; what is at its default is left out."""
    said = _format_in(document.metadata)
    optional = {
        "format": None
        if said is document.format or (said is None and document.format is Format.MARKDOWN)
        else document.format.value,
        "rel_path": document.rel_path,
        "folder": document.folder,
        "tier": None if document.tier is Tier.NORMAL else document.tier.value,
        "triggers": list(document.triggers),
        "dated": document.dated and document.dated.isoformat(),
        "metadata": dict(document.metadata),
        "tags": list(document.tags),
    }
    return {
        "entity_id": document.id,
        "entity_type": document.entity_type,
        "title": document.title,
        **({"content": document.text} if text else {}),
        **{key: value for key, value in optional.items() if value},
    }


def name_file(document: Document, taken: set[str]) -> str:
    """A file name for a document's text that no other has, also where case does not count."""
    plain = _UNSAFE.sub("_", document.id).strip(".")[:80]
    if plain != document.id or plain.lower() in taken:
        plain = f"{plain}-{hashlib.sha256(document.id.encode()).hexdigest()[:12]}"
    taken.add(plain.lower())
    return plain + SUFFIXES[document.format]


def read_content(path: Path) -> str:
    """The text of a file, byte for byte."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as problem:
        raise MalformedFile(f"{path} is not UTF-8 at byte {problem.start:,}", remedy="Save it as UTF-8.") from problem


def read_bytes(path: Path, *, largest: int = LARGEST) -> bytes:
    """The bytes of a file that a user named."""
    try:
        return read_regular(path, largest=largest)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError(f"{path} cannot be read: {reason}", remedy="Check the path and its permissions.") from problem


def _text(keys: Keys, folder: Path) -> Any:
    content, file = keys.take("content"), keys.take("content_file")
    if (content is None) == (file is None):
        many = "neither" if content is None else "both"
        raise BadValue(
            f"the entity has {many} of 'content' and 'content_file'", remedy="Give the text, or the file that holds it."
        )
    if content is not None:
        return content
    place = inside(folder, file) if isinstance(file, str) else None
    if place is None:
        raise BadValue(f"content_file {file!r} is not a file beside it", remedy="Name a file below the golden file.")
    return read_content(place)


def _format(given: Any, metadata: dict[str, Any]) -> Any:
    if given is not None:
        return given
    said = _format_in(metadata)
    if said is None and "format" in metadata:
        raise BadValue(
            f"metadata.format {metadata['format']!r} is not known",
            remedy="Use MARKDOWN, TEXT or JSON; or add a 'format' to the entity itself.",
        )
    return Format.MARKDOWN if said is None else said


def _format_in(metadata: Any) -> Format | None:
    said = str(metadata.get("format", "")).upper()
    return Format(said) if said in set(Format) else None


# --- Queries: the cases ---
#
# `relevance_labels` is a grade by entity. Where one has several judges, or a judgment says more than its grade, a list
# `judgments` stands in its place. Grades win over `relevant_entities`, which are kept where the two differ; a query
#   with
# `relevant_entities` alone has them at the lowest grade that is relevant.


def query(value: Any, *, level: int) -> Case:
    """A case from its object; `level` is the lowest grade that is relevant."""
    keys = Keys(value, "the query")
    given: dict[str, Any] = {
        "id": keys.need("query_id"),
        "query": keys.need("query_text"),
        **keys.present_values(category="category", difficulty="difficulty", vault="vault", intent="intent"),
        **keys.present_values(folder_mode="folder_mode", reference_answer="reference_answer", answerable="answerable"),
        "tags": texts(keys.take("tags", []), "tags"),
        "causal_chain": texts(keys.take("causal_chain", []), "causal_chain"),
    }
    given["history"] = turns(keys.take("history", []), "history")
    given["rubric"] = texts(keys.take("rubric", []), "rubric")
    given |= fact_values(keys)
    given["anchors"] = anchors(keys, answerable=given.get("answerable", True))
    expected = keys.need("expected_results") if given["anchors"] is None else keys.take("expected_results", {})
    given |= _read_expected(expected, level) | _situation(keys)
    keys.check_none_left()
    return Case(**given)


def query_fields(case: Case, level: int) -> dict[str, Any]:
    """A case as its object; what is at its default is left out."""
    optional = {
        "category": case.category,
        "difficulty": case.difficulty,
        "tags": list(case.tags),
        "vault": case.vault,
        "intent": case.intent and case.intent.value,
        "folder_mode": None if case.folder_mode is FolderMode.OFF else case.folder_mode.value,
        "session": case.session and _session_fields(case.session),
        "causal_chain": list(case.causal_chain),
        "harvested_at": case.harvested_at and case.harvested_at.isoformat(),
        "history": turn_fields(case.history),
        "asked_at": case.asked_at and case.asked_at.isoformat(),
        "rubric": list(case.rubric),
    }
    return {
        "query_id": case.id,
        "query_text": case.query,
        "expected_results": _write_expected(case, level),
        **({} if case.answerable else {"answerable": False}),
        **({} if case.reference_answer is None else {"reference_answer": case.reference_answer}),
        **anchor_fields(case.anchors),
        **_class_fields(case.equivalence),
        **fact_value_fields(case),
        **{key: value for key, value in optional.items() if value not in (None, "", [])},
    }


def _read_expected(value: Any, level: int) -> dict[str, Any]:
    keys = Keys(value, "expected_results")
    labels = an_object(keys.take("relevance_labels", {}), "relevance_labels")
    listed, judged = keys.take("relevant_entities"), keys.take("judgments")
    found = {"top_chunk": keys.take("top_1_chunk")}
    keys.check_none_left()
    if labels and judged is not None:
        raise BadValue("expected_results has both 'relevance_labels' and 'judgments'", remedy="Keep one of the two.")
    grades = tuple(Grade(document_id=ident, grade=grade) for ident, grade in labels.items())
    if judged is not None:
        grades = a_list(judged, "judgments", _judgment)
    declared = None if listed is None else texts(listed, "relevant_entities")
    if not grades and declared:
        grades = tuple(Grade(document_id=ident, grade=level) for ident in declared)
        return {**found, "grades": grades, "declared_relevant": declared}
    settled = declared is None or set(declared) == set(_relevant(grades, level))
    return {**found, "grades": grades, "declared_relevant": None if settled else declared}


def _write_expected(case: Case, level: int) -> dict[str, Any]:
    relevant = _relevant(case.grades, level) if case.declared_relevant is None else list(case.declared_relevant)
    top = {} if case.top_chunk is None else {"top_1_chunk": case.top_chunk}
    return {"relevant_entities": relevant, **top, **_grade_fields(case.grades)}


def _grade_fields(grades: tuple[Grade, ...]) -> dict[str, Any]:
    labels = {grade.document_id: grade.grade for grade in grades}
    plain = tuple(Grade(document_id=ident, grade=grade) for ident, grade in labels.items())
    return (
        {"relevance_labels": labels}
        if plain == grades
        else {"judgments": [_judgment_fields(grade) for grade in grades]}
    )


def _relevant(grades: tuple[Grade, ...], level: int) -> list[str]:
    labels = Case(id="labels", query="labels", grades=grades).labels
    return [ident for ident in dict.fromkeys(grade.document_id for grade in grades) if labels[ident] >= level]


def _judgment(value: Any) -> Grade:
    keys = Keys(value, "a judgment")
    found = {
        "document_id": keys.need("entity_id"),
        "grade": keys.need("grade"),
        "channels": texts(keys.take("channels", []), "channels"),
        **keys.present_values(source="source", annotator="annotator", confidence="confidence"),
    }
    keys.check_none_left()
    return Grade(**found)


def _judgment_fields(grade: Grade) -> dict[str, Any]:
    optional = {
        "source": None if grade.source is JudgmentSource.MANUAL else grade.source.value,
        "annotator": grade.annotator or None,
        "confidence": None if grade.confidence == 1.0 else grade.confidence,
        "channels": list(grade.channels) or None,
    }
    said = {key: value for key, value in optional.items() if value is not None}
    return {"entity_id": grade.document_id, "grade": grade.grade, **said}


def _situation(keys: Keys) -> dict[str, Any]:
    session, classes = keys.take("session"), keys.take("equivalence")
    moments = {name: keys.take(name) for name in ("harvested_at", "asked_at")}
    groups = None if classes is None else a_list(classes, "equivalence", lambda item: frozenset(texts(item, "a class")))
    return {
        "session": None if session is None else _session(session),
        "equivalence": None if groups is None else EquivalenceClasses(classes=groups),
        **{name: None if moment is None else a_moment(moment, name) for name, moment in moments.items()},
    }


def _class_fields(found: EquivalenceClasses | None) -> dict[str, Any]:
    return {} if found is None else {"equivalence": [sorted(group) for group in found.classes]}


def _session(value: Any) -> SessionContext:
    keys = Keys(value, "session")
    found = {
        "session_id": keys.need("session_id"),
        "working_memory": texts(keys.take("working_memory", []), "working_memory"),
        "turn": keys.take("turn", 0),
    }
    keys.check_none_left()
    return SessionContext(**found)


def _session_fields(session_context: SessionContext) -> dict[str, Any]:
    return {
        "session_id": session_context.session_id,
        "working_memory": list(session_context.working_memory),
        "turn": session_context.turn,
    }


# --- Reading and writing the file ---
#
# The one format that keeps everything a dataset can hold. It comes in three shapes, all read by `read_golden`: one
# file; a `golden.json` whose entities name a `content_file` each, which is the shape to review; a `golden.json` that
# names an
# `entities_file` and a `queries_file` with one entity or query a line, which is the shape to stream.
# `golden_entities` and `golden_queries` hold the two kinds of parts.

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
"""Called now and then with the number of documents read."""


def read_golden(
    path: Path, *, name: str | None = None, refuse: Refuse = raise_it, on_read: OnRead | None = None
) -> Dataset:
    """The dataset of a golden file, or of a folder that holds one."""
    file = path / FILE_NAME if path.is_dir() else path
    found = read_object(file)
    top = Placed(None, file, 1)
    header = build_or_refuse(top._replace(value=found), partial(_header, name=name or _name_of(file)), refuse) or {}
    level = header.get("relevance_level", Dataset.relevance_level)
    entities = _parts(top, found, "entities", refuse)
    documents = _records(entities, partial(entity, folder=file.parent), "entity", refuse, on_read)
    cases = _records(_parts(top, found, "queries", refuse), partial(query, level=level), "query", refuse, None)
    try:
        return Dataset(documents=tuple(documents), cases=tuple(cases), **{"name": "golden", **header})
    except BadValue as problem:
        raise top.error(problem.message, problem.remedy) from problem


def write_golden(path: Path, dataset: Dataset, *, private: bool = False) -> None:
    """One file with everything."""
    head = header_fields(dataset)
    head["entities"] = [entity_fields(document) for document in dataset.documents]
    head["queries"] = [query_fields(case, dataset.relevance_level) for case in dataset.cases]
    write_lines(path, [to_indented_json(head)], private=private)


def write_golden_files(folder: Path, dataset: Dataset) -> None:
    """A golden file with the text of each entity in a file of its own, to be read and reviewed."""
    names: set[str] = set()
    entities = []
    for document in dataset.documents:
        name = f"entities/{name_file(document, names)}"
        write_lines(folder / name, [document.text])
        entities.append({**entity_fields(document, text=False), "content_file": name})
    head = {**header_fields(dataset), "entities": entities}
    head["queries"] = [query_fields(case, dataset.relevance_level) for case in dataset.cases]
    write_lines(folder / FILE_NAME, [to_indented_json(head)])


def write_golden_lines(folder: Path, dataset: Dataset, *, private: bool = False) -> None:
    """A golden file with entities and queries beside it, one a line: a corpus of any size."""
    entities = (one_line(entity_fields(document)) for document in dataset.documents)
    write_lines(folder / ENTITIES, entities, private=private)
    level = dataset.relevance_level
    write_lines(folder / QUERIES, (one_line(query_fields(case, level)) for case in dataset.cases), private=private)
    head = {**header_fields(dataset), "entities_file": ENTITIES, "queries_file": QUERIES}
    write_lines(folder / FILE_NAME, [to_indented_json(head)], private=private)


def header_fields(dataset: Dataset) -> dict[str, Any]:
    """Everything about a dataset but its documents and cases."""
    optional = {
        "created_at": dataset.created_at,
        "floors": dict(dataset.floors),
        "edges": [_edge_fields(edge) for edge in dataset.edges],
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
    keys.check_none_left()
    plain = {key: value.value for key, value in taken.items() if value is not None and value.value is not None}
    given: dict[str, Any] = {
        key: plain[key] for key in ("version", "created_at", "description", "ranked_unit") if key in plain
    }
    if "floors" in plain:
        given["floors"] = an_object(plain["floors"], "floors")
    if "edges" in plain:
        given["edges"] = a_list(plain["edges"], "edges", lambda item: _edge(item.value))
    return {"name": plain.get("name", name), **given, **_scale(plain.get("scale", {}))}


def _scale(value: Any) -> dict[str, int]:
    keys = Keys(value, "scale")
    found = keys.present_values(lowest_grade="lowest", highest_grade="highest", relevance_level="relevant_from")
    keys.check_none_left()
    return found


def _edge(value: Any) -> Edge:
    keys = Keys(value, "an edge")
    found = {
        "source_id": keys.need("source_id"),
        "target_id": keys.need("target_id"),
        "kind": keys.need("kind"),
        "created_at": a_moment(keys.need("created_at"), "created_at"),
        **keys.present_values(strength="strength", evidence="evidence"),
    }
    keys.check_none_left()
    return Edge(**found)


def _edge_fields(edge: Edge) -> dict[str, Any]:
    return {
        "source_id": edge.source_id,
        "target_id": edge.target_id,
        "kind": edge.kind.value,
        "created_at": edge.created_at.isoformat(),
        "strength": edge.strength,
        "evidence": edge.evidence,
    }


def _parts(top: Placed, found: dict[str, Placed], key: str, refuse: Refuse) -> Iterable[Placed]:
    """The entities or queries, from the file itself or from the one it names."""
    inline, named = found.get(key), found.get(f"{key}_file")
    if (inline is None) == (named is None):
        many = "both of" if inline is not None else "neither of"
        refuse(top.error(f"has {many} {key!r} and '{key}_file'", f"A golden file has a list {key!r}."))
    elif named is not None:
        return _lines_of(named, refuse)
    elif inline is not None and not isinstance(inline.value, list):
        refuse(inline.error(f"{key!r} is not a list", f"Write {key!r} as a list of objects."))
    elif inline is not None:
        return list(inline.value)
    return []


def _lines_of(named: Placed, refuse: Refuse) -> Iterator[Placed]:
    place = inside(named.path.parent, named.value) if isinstance(named.value, str) else None
    if place is None:
        refuse(named.error(f"{named.value!r} is not a file beside it", "Name a file in the folder of the golden file."))
        return
    yield from read_lines(place, refuse)


def _records(
    places: Iterable[Placed], make: Callable[[Any], Record], what: str, refuse: Refuse, on_read: OnRead | None
) -> Iterator[Record]:
    lines: dict[str, int] = {}
    for place in places:
        one: Record | None = build_or_refuse(place, make, refuse)
        if one is None:
            continue
        if one.id in lines:
            refuse(place.error(f"{what} {one.id!r} was given on line {lines[one.id]:,}", "Make ids unique."))
            continue
        lines[one.id] = place.line
        if on_read is not None and len(lines) % 1000 == 0:
            on_read(len(lines))
        yield one
