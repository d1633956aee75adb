"""Whether the parts of a dataset fit: ids that lead nowhere, grades off the scale, cases that nobody judged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.errors import AssayError
from assay.evaluation.datasets.findings import Finding, error, note, some, warning
from assay.evaluation.floors import floors_of
from assay.records.datasets import Case, Dataset

FEWEST_CASES = 20
"""Below it, intervals are too wide to see any change that matters."""
FEWEST_DOCUMENTS = 50
_TOP_CHUNK = re.compile(r"(?P<document>.+):chunk:\d+")


def misfits(dataset: Dataset) -> Iterator[Finding]:
    """Everything that does not fit."""
    yield from _sizes(dataset)
    yield from _relevance_level(dataset)
    yield from _floors(dataset)
    yield from _repeated_texts(dataset)
    yield from _edges(dataset)
    for case in dataset.cases:
        yield from _grades(dataset, case)
        yield from _declared(dataset, case)
        yield from _dangling(dataset, case)
        yield from _top_chunk(dataset, case)
        yield from _nothing_to_find(dataset, case)


def is_judged(case: Case) -> bool:
    """Whether anybody has said what the case expects. That there is no answer is an expectation, too."""
    found = bool(case.grades) or bool(case.anchors and case.anchors.supports) or case.save is not None
    return found or not case.answerable


def _sizes(dataset: Dataset) -> Iterator[Finding]:
    name, cases, documents = dataset.name, len(dataset.cases), len(dataset.documents)
    if not cases:
        yield error("empty", name, "has no cases", "Add at least one query.")
        return
    if not any(is_judged(one) for one in dataset.cases):
        yield error("nothing-judged", name, f"none of its {cases:,} cases is judged", "Judge some of them.")
    if cases < FEWEST_CASES:
        yield warning(
            "few-cases", name, f"has {cases:,} cases", f"With fewer than {FEWEST_CASES} only large changes can be seen."
        )
    if not documents:
        yield note("no-documents", name, "has no documents", "It measures run files and systems with their own index.")
    elif documents < FEWEST_DOCUMENTS:
        message = f"has {documents:,} documents"
        yield warning("few-documents", name, message, "In a small corpus everything is found; add distractors.")


def _relevance_level(dataset: Dataset) -> Iterator[Finding]:
    if dataset.relevance_level < 1:
        message = f"reads grade {dataset.relevance_level} as relevant, and no run accepts that"
        remedy = "Grade 0 is judged and not relevant: declare relevant_from 1 or more."
        yield error("relevance-level", dataset.name, message, remedy)


def _floors(dataset: Dataset) -> Iterator[Finding]:
    try:
        floors_of(dataset)
    except AssayError as problem:
        yield error("floors", dataset.name, f"floors: {problem.message}", problem.remedy)


def _repeated_texts(dataset: Dataset) -> Iterator[Finding]:
    queries: dict[str, str] = {}
    for one in dataset.cases:
        first = queries.setdefault(" ".join(one.query.casefold().split()), one.id)
        if first != one.id:
            yield warning("same-query", f"case {one.id}", f"asks what case {first!r} asks", "Keep one of them.")
    texts: dict[str, str] = {}
    for document in dataset.documents:
        first = texts.setdefault(" ".join(document.text.split()), document.id)
        if first != document.id and document.text.strip():
            message = f"has the text of document {first!r}"
            yield warning("same-text", f"document {document.id}", message, "Keep one, or declare them equivalent.")
        if not document.text.strip():
            yield warning("no-text", f"document {document.id}", "has no text", "Nothing can find it by its words.")


def _edges(dataset: Dataset) -> Iterator[Finding]:
    for one in dataset.edges:
        for ident in (one.source_id, one.target_id):
            if ident not in dataset.by_id:
                where = f"edge {one.source_id} {one.kind.value} {one.target_id}"
                yield error("dangling-id", where, f"names document {ident!r}, which is not there", "Add or remove it.")


def _grades(dataset: Dataset, case: Case) -> Iterator[Finding]:
    low, high = dataset.lowest_grade, dataset.highest_grade
    for one in case.grades:
        if not low <= one.grade <= high:
            message = f"grades {one.document_id!r} {one.grade}, off the scale from {low} to {high}"
            yield error("grade-range", f"case {case.id}", message, "Correct the grade, or declare the scale.")


def _declared(dataset: Dataset, case: Case) -> Iterator[Finding]:
    if case.declared_relevant is None:
        return
    level = dataset.relevance_level
    graded = {ident for ident, grade in case.labels.items() if grade >= level}
    missing, extra = sorted(graded - set(case.declared_relevant)), sorted(set(case.declared_relevant) - graded)
    if not missing and not extra:
        message = f"lists relevant entities and has no labels; they count as grade {level}"
        yield note("labels-missing", f"case {case.id}", message, "Add relevance_labels to say how relevant each is.")
        return
    parts = [f"does not list {some(missing)}"] if missing else []
    parts += [f"lists {some(extra)}, labelled below {level}"] if extra else []
    yield warning(
        "relevant-differs",
        f"case {case.id}",
        f"relevant_entities {' and '.join(parts)}; the labels count",
        "Make both lists say the same.",
    )


def _dangling(dataset: Dataset, case: Case) -> Iterator[Finding]:
    if not dataset.documents:
        return
    gone = {ident: grade for ident, grade in case.labels.items() if ident not in dataset.by_id}
    lost = [ident for ident, grade in gone.items() if grade >= dataset.relevance_level]
    rest = [ident for ident in gone if ident not in lost]
    where = f"case {case.id}"
    if lost:
        message = f"calls {some(lost)} relevant, which no document is"
        yield error("dangling-id", where, message, "Add the document, or remove the judgment: it can never be found.")
    if rest:
        yield warning("dangling-id", where, f"judges {some(rest)}, which no document is", "Remove the judgment.")
    others = {*case.causal_chain, *(case.session.working_memory if case.session else ())}
    others |= {ident for group in (case.equivalence.classes if case.equivalence else ()) for ident in group}
    unknown = sorted(others - dataset.by_id.keys())
    if unknown:
        yield error("dangling-id", where, f"names {some(unknown)}, which no document is", "Correct the ids.")


def _top_chunk(dataset: Dataset, case: Case) -> Iterator[Finding]:
    if case.top_chunk is None:
        return
    where, found = f"case {case.id}", _TOP_CHUNK.fullmatch(case.top_chunk)
    if found is None:
        message = f"top_1_chunk {case.top_chunk!r} is not spelt document:chunk:position"
        yield error("top-chunk", where, message, "Write it as entity-id:chunk:0.")
        return
    ident = found["document"]
    if dataset.documents and ident not in dataset.by_id:
        yield error("top-chunk", where, f"top_1_chunk names {ident!r}, which no document is", "Correct the id.")
    elif case.labels.get(ident, dataset.lowest_grade) < max(case.labels.values(), default=dataset.lowest_grade):
        message = f"top_1_chunk is of {ident!r}, and others have a higher grade"
        yield warning("top-chunk", where, message, "Grade it highest, or name another chunk.")


def _nothing_to_find(dataset: Dataset, case: Case) -> Iterator[Finding]:
    where = f"case {case.id}"
    if not is_judged(case):
        yield warning("unjudged", where, "has no judgments and no anchors", "Judge it, or say that it is unanswerable.")
    elif case.grades and case.answerable and max(case.labels.values()) < dataset.relevance_level:
        message = f"has judgments and none of grade {dataset.relevance_level} or more"
        yield warning("nothing-relevant", where, message, "No metric can score it; find what is relevant.")
    if not case.answerable and case.anchors and case.anchors.supports:
        yield error("unanswerable", where, "is unanswerable and has gold supports", "Correct one of the two.")
