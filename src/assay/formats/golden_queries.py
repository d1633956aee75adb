"""The queries of a golden file: one case each, with its grades, its anchors and where in a session it is asked.

`relevance_labels` is a grade by entity. Where one has several judges, or a judgment says more than its grade, a list
`judgments` stands in its place. Grades win over `relevant_entities`, which are kept where the two differ; a query with
`relevant_entities` alone has them at the lowest grade that is relevant.
"""

from __future__ import annotations

from typing import Any

from assay.errors import BadValue
from assay.formats.anchor_fields import anchor_fields, anchors
from assay.formats.keys import Keys, a_list, a_moment, an_object, texts
from assay.formats.turns import turn_fields, turns
from assay.records.anchors import FolderMode
from assay.records.datasets import Case, Grade, SessionContext
from assay.records.equivalence import EquivalenceClasses
from assay.records.evidence import JudgmentSource


def query(value: Any, *, level: int) -> Case:
    """A case from its object; `level` is the lowest grade that is relevant."""
    keys = Keys(value, "the query")
    given: dict[str, Any] = {
        "id": keys.need("query_id"),
        "query": keys.need("query_text"),
        **keys.given(category="category", difficulty="difficulty", vault="vault", intent="intent"),
        **keys.given(folder_mode="folder_mode", reference_answer="reference_answer", answerable="answerable"),
        "tags": texts(keys.take("tags", []), "tags"),
        "causal_chain": texts(keys.take("causal_chain", []), "causal_chain"),
    }
    given["history"] = turns(keys.take("history", []), "history")
    given["rubric"] = texts(keys.take("rubric", []), "rubric")
    given["anchors"] = anchors(keys, answerable=given.get("answerable", True))
    expected = keys.need("expected_results") if given["anchors"] is None else keys.take("expected_results", {})
    given |= _read_expected(expected, level) | _situation(keys)
    keys.done()
    return Case(**given)


def query_fields(one: Case, level: int) -> dict[str, Any]:
    """A case as its object; what is at its default is left out."""
    optional = {
        "category": one.category,
        "difficulty": one.difficulty,
        "tags": list(one.tags),
        "vault": one.vault,
        "intent": one.intent and one.intent.value,
        "folder_mode": None if one.folder_mode is FolderMode.OFF else one.folder_mode.value,
        "session": one.session and _session_fields(one.session),
        "causal_chain": list(one.causal_chain),
        "harvested_at": one.harvested_at and one.harvested_at.isoformat(),
        "history": turn_fields(one.history),
        "asked_at": one.asked_at and one.asked_at.isoformat(),
        "rubric": list(one.rubric),
    }
    return {
        "query_id": one.id,
        "query_text": one.query,
        "expected_results": _write_expected(one, level),
        **({} if one.answerable else {"answerable": False}),
        **({} if one.reference_answer is None else {"reference_answer": one.reference_answer}),
        **anchor_fields(one.anchors),
        **_class_fields(one.equivalence),
        **{key: value for key, value in optional.items() if value not in (None, "", [])},
    }


def _read_expected(value: Any, level: int) -> dict[str, Any]:
    keys = Keys(value, "expected_results")
    labels = an_object(keys.take("relevance_labels", {}), "relevance_labels")
    listed, judged = keys.take("relevant_entities"), keys.take("judgments")
    found = {"top_chunk": keys.take("top_1_chunk")}
    keys.done()
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


def _write_expected(one: Case, level: int) -> dict[str, Any]:
    relevant = _relevant(one.grades, level) if one.declared_relevant is None else list(one.declared_relevant)
    top = {} if one.top_chunk is None else {"top_1_chunk": one.top_chunk}
    return {"relevant_entities": relevant, **top, **_grade_fields(one.grades)}


def _grade_fields(grades: tuple[Grade, ...]) -> dict[str, Any]:
    labels = {one.document_id: one.grade for one in grades}
    plain = tuple(Grade(document_id=ident, grade=grade) for ident, grade in labels.items())
    return {"relevance_labels": labels} if plain == grades else {"judgments": [_judgment_fields(one) for one in grades]}


def _relevant(grades: tuple[Grade, ...], level: int) -> list[str]:
    labels = Case(id="labels", query="labels", grades=grades).labels
    return [ident for ident in dict.fromkeys(one.document_id for one in grades) if labels[ident] >= level]


def _judgment(value: Any) -> Grade:
    keys = Keys(value, "a judgment")
    found = {
        "document_id": keys.need("entity_id"),
        "grade": keys.need("grade"),
        "channels": texts(keys.take("channels", []), "channels"),
        **keys.given(source="source", annotator="annotator", confidence="confidence"),
    }
    keys.done()
    return Grade(**found)


def _judgment_fields(one: Grade) -> dict[str, Any]:
    optional = {
        "source": None if one.source is JudgmentSource.MANUAL else one.source.value,
        "annotator": one.annotator or None,
        "confidence": None if one.confidence == 1.0 else one.confidence,
        "channels": list(one.channels) or None,
    }
    said = {key: value for key, value in optional.items() if value is not None}
    return {"entity_id": one.document_id, "grade": one.grade, **said}


def _situation(keys: Keys) -> dict[str, Any]:
    session, classes = keys.take("session"), keys.take("equivalence")
    moments = {name: keys.take(name) for name in ("harvested_at", "asked_at")}
    groups = None if classes is None else a_list(classes, "equivalence", lambda one: frozenset(texts(one, "a class")))
    return {
        "session": None if session is None else _session(session),
        "equivalence": None if groups is None else EquivalenceClasses(classes=groups),
        **{name: None if one is None else a_moment(one, name) for name, one in moments.items()},
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
    keys.done()
    return SessionContext(**found)


def _session_fields(one: SessionContext) -> dict[str, Any]:
    return {"session_id": one.session_id, "working_memory": list(one.working_memory), "turn": one.turn}
