"""Checks of a dataset: structure, labels, leakage, generated cases.

- Findings: severity, place and remedy.
- Structure: unknown ids, grades off the scale, unjudged cases.
- Labels: who gave grades, and in which direction.
- Leakage: what gives answers away.
- Generated cases without a review.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError
from assay.evaluation.run_metrics import floors_of
from assay.metrics.current_facts import find_stating
from assay.records.evidence import JudgmentSource
from assay.text.terms import words

if TYPE_CHECKING:
    from assay.records.datasets import Case, Dataset, Document

# --- Findings: severity, place and remedy ---


class Severity(StrEnum):
    """Whether a dataset can be used all the same."""

    ERROR = "error"
    """Numbers measured on it would be wrong, or cannot be had."""
    WARNING = "warning"
    """Metrics can be computed, but the dataset should be reviewed."""
    NOTE = "note"
    """Good to know."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing about a dataset."""

    severity: Severity
    code: str
    """The stable name of this kind of finding, such as `dangling-id`."""
    where: str
    """The case, document, or file and line."""
    message: str
    remedy: str = ""


def error(code: str, where: str, message: str, remedy: str) -> Finding:
    """Something that makes numbers wrong."""
    return Finding(severity=Severity.ERROR, code=code, where=where, message=message, remedy=remedy)


def warning(code: str, where: str, message: str, remedy: str) -> Finding:
    """Something to look at."""
    return Finding(severity=Severity.WARNING, code=code, where=where, message=message, remedy=remedy)


def note(code: str, where: str, message: str, remedy: str = "") -> Finding:
    """Something good to know."""
    return Finding(severity=Severity.NOTE, code=code, where=where, message=message, remedy=remedy)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Errors before warnings before notes; within each as they were found."""
    order = list(Severity)
    return sorted(findings, key=lambda item: order.index(item.severity))


def some(names: Iterable[str], most: int = 3) -> str:
    """A few names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(repr(value) for value in found[:most]) + more


# --- Structure: unknown ids, grades off the scale, unjudged cases ---

FEWEST_CASES = 20
"""Below it, intervals are too wide to see any change that matters."""
FEWEST_DOCUMENTS = 50
_TOP_CHUNK = re.compile(r"(?P<document>.+):chunk:\d+")


def misfits(dataset: Dataset) -> Iterator[Finding]:
    """Everything that does not fit."""
    yield from _sizes(dataset)
    yield from _relevance_level(dataset)
    yield from _floors(dataset)
    yield from _find_repeated_texts(dataset)
    yield from _edges(dataset)
    for case in dataset.cases:
        yield from _grades(dataset, case)
        yield from _check_declared_relevance(dataset, case)
        yield from _dangling(dataset, case)
        yield from _top_chunk(dataset, case)
        yield from _fact_values(dataset, case)
        yield from _nothing_to_find(dataset, case)


def is_judged(case: Case) -> bool:
    """Whether the case states what it expects. "No answer" is an expectation, too."""
    found = bool(case.grades) or bool(case.anchors and case.anchors.supports) or case.save is not None
    return found or not case.answerable


def _sizes(dataset: Dataset) -> Iterator[Finding]:
    name, cases, documents = dataset.name, len(dataset.cases), len(dataset.documents)
    if not cases:
        yield error("empty", name, "has no cases", "Add at least one query.")
        return
    if not any(is_judged(case) for case in dataset.cases):
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


def _find_repeated_texts(dataset: Dataset) -> Iterator[Finding]:
    queries: dict[str, str] = {}
    for case in dataset.cases:
        first = queries.setdefault(" ".join(case.query.casefold().split()), case.id)
        if first != case.id:
            yield warning("same-query", f"case {case.id}", f"asks what case {first!r} asks", "Keep one of them.")
    texts: dict[str, str] = {}
    for document in dataset.documents:
        first = texts.setdefault(" ".join(document.text.split()), document.id)
        if first != document.id and document.text.strip():
            message = f"has the text of document {first!r}"
            yield warning("same-text", f"document {document.id}", message, "Keep one, or declare them equivalent.")
        if not document.text.strip():
            yield warning("no-text", f"document {document.id}", "has no text", "Nothing can find it by its words.")


def _edges(dataset: Dataset) -> Iterator[Finding]:
    for edge in dataset.edges:
        for ident in (edge.source_id, edge.target_id):
            if ident not in dataset.by_id:
                where = f"edge {edge.source_id} {edge.kind.value} {edge.target_id}"
                yield error("dangling-id", where, f"names document {ident!r}, which is not there", "Add or remove it.")


def _grades(dataset: Dataset, case: Case) -> Iterator[Finding]:
    low, high = dataset.lowest_grade, dataset.highest_grade
    for grade in case.grades:
        if not low <= grade.grade <= high:
            message = f"grades {grade.document_id!r} {grade.grade}, off the scale from {low} to {high}"
            yield error("grade-range", f"case {case.id}", message, "Correct the grade, or declare the scale.")


def _check_declared_relevance(dataset: Dataset, case: Case) -> Iterator[Finding]:
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


def _fact_values(dataset: Dataset, case: Case) -> Iterator[Finding]:
    """Values that no text states can be neither found nor served."""
    if case.current_value is None or not dataset.documents:
        return
    where, stating = f"case {case.id}", find_stating(dataset.documents, case.current_value)
    if not stating:
        message = f"current_value {case.current_value!r} is stated by no document"
        yield error("fact-value", where, message, "Write the value as the text states it.")
    elif case.grades and not any(case.labels.get(ident, 0) >= dataset.relevance_level for ident in stating):
        message = f"current_value {case.current_value!r} is stated by {some(stating)}, which is not relevant"
        yield warning("fact-value", where, message, "Grade the document that states it, or correct the value.")
    for value in case.outdated_values:
        if not find_stating(dataset.documents, value):
            message = f"outdated value {value!r} is stated by no document, so it can never be served"
            yield warning("fact-value", where, message, "Write the value as the text states it, or remove it.")


def _nothing_to_find(dataset: Dataset, case: Case) -> Iterator[Finding]:
    where = f"case {case.id}"
    if not is_judged(case):
        yield warning("unjudged", where, "has no judgments and no anchors", "Judge it, or say that it is unanswerable.")
    elif case.grades and case.answerable and max(case.labels.values()) < dataset.relevance_level:
        message = f"has judgments and none of grade {dataset.relevance_level} or more"
        yield warning("nothing-relevant", where, message, "No metric can score it; find what is relevant.")
    if not case.answerable and case.anchors and case.anchors.supports:
        yield error("unanswerable", where, "is unanswerable and has gold supports", "Correct one of the two.")


# --- Labels: who gave grades, and in which direction ---
#
# `weak_labels` and `backward_grades` are findings of a check; `label_sources` counts who gave the grades, and
# `weak_sources` names those that are guesses from use or from a model. A run says the same as a caveat.

WEAK = {
    JudgmentSource.IMPLICIT: "read or referred to in use",
    JudgmentSource.BOOTSTRAPPED: "shown and left alone in use",
    JudgmentSource.VALIDATED: "marked useful or not in use",
    JudgmentSource.LLM_JUDGE: "graded by a model",
}
"""Sources without labels given by hand, described: people click on what some system showed them."""
MOSTLY = 0.5
"""The share of weak grades from which on a check warns."""
FEWEST = 10
"""Cases with two grades or more that are needed to say anything of their order."""
BACKWARD = 0.8
"""The share of such cases in which the order must look backward."""


def label_sources(cases: Iterable[Case]) -> dict[str, int]:
    """How many grades each source gave, the most frequent first."""
    return dict(Counter(grade.source.value for case in cases for grade in case.grades).most_common())


def weak_sources(cases: Iterable[Case]) -> dict[JudgmentSource, int]:
    """How many of the grades that count come from each weak source; a label by hand outweighs them."""
    found: Counter[JudgmentSource] = Counter()
    for case in cases:
        if not any(grade.source in WEAK for grade in case.grades):
            continue
        trusted = {grade.document_id: grade.source for grade in sorted(case.grades, key=lambda item: item.confidence)}
        found.update(source for source in trusted.values() if source in WEAK)
    return dict(found.most_common())


def describe_weak(found: Mapping[JudgmentSource, int], judged: int) -> str:
    """Weak labels in a sentence without its end."""
    parts = ", ".join(f"{count:,} {WEAK[source]}" for source, count in found.items())
    return f"{sum(found.values()):,} of {judged:,} grades were not given by hand ({parts})"


def weak_labels(dataset: Dataset) -> Iterator[Finding]:
    """Grades from use or from a model, where they are many."""
    found, judged = weak_sources(dataset.cases), sum(len(case.labels) for case in dataset.cases)
    if found and sum(found.values()) >= MOSTLY * judged:
        yield warning(
            "weak-labels",
            dataset.name,
            f"{describe_weak(found, judged)}: they favour the system whose results people saw",
            "Label some by hand with `assay label`; do not judge another system by them alone.",
        )


def backward_grades(dataset: Dataset) -> Iterator[Finding]:
    """Grades below 0, and grades that look as if 1 meant best."""
    negative = sum(grade.grade < 0 for case in dataset.cases for grade in case.grades)
    if negative:
        message = f"has {negative:,} grades below 0: they count as unjudged"
        yield warning("negative-grade", dataset.name, message, "Use 0 for not relevant, and more for more relevant.")
    for message in (_mostly_highest(dataset), _describe_inverted_grades(dataset)):
        if message:
            remedy = "If the smallest number means the best document, turn the grades round: higher is better."
            yield warning("backward-grades", dataset.name, message, remedy)


def _cases_with_grades(dataset: Dataset) -> list[tuple[Case, dict[str, int]]]:
    """Cases with several grades."""
    return [(case, labels) for case in dataset.cases if len(set((labels := case.labels).values())) > 1]


def _mostly_highest(dataset: Dataset) -> str:
    """Relevant documents are few: where most judged documents have the highest of three grades, it may be the worst."""
    rows = [labels for _, labels in _cases_with_grades(dataset) if len(set(labels.values())) > 2]
    top = sum(2 * sum(grade == max(row.values()) for grade in row.values()) > len(row) for row in rows)
    if len(rows) < FEWEST or top < BACKWARD * len(rows):
        return ""
    return f"in {top:,} of {len(rows):,} cases most judged documents have the highest grade"


def _describe_inverted_grades(dataset: Dataset) -> str:
    """A query has more words in common with what answers it than with what does not."""
    rows = [
        (
            _mean_word_overlap(dataset, case, labels, max(labels.values())),
            _mean_word_overlap(dataset, case, labels, min(labels.values())),
        )
        for case, labels in _cases_with_grades(dataset)
    ]
    told = [(high, low) for high, low in rows if high is not None and low is not None and high != low]
    backward = sum(low > high for high, low in told)
    if len(told) < FEWEST or backward < BACKWARD * len(told):
        return ""
    return (
        f"in {backward:,} of {len(told):,} cases the documents of the lowest grade have more words of the query "
        "than those of the highest"
    )


def _mean_word_overlap(dataset: Dataset, case: Case, labels: Mapping[str, int], wanted: int) -> float | None:
    """The mean share of the query's words in the documents of one grade; None where none of them is at hand."""
    asked = set(case.query.casefold().split())
    found = [dataset.by_id[name] for name, grade in labels.items() if grade == wanted and name in dataset.by_id]
    shares = [
        len(asked & set(f"{document.title} {document.text}".casefold().split())) / len(asked) for document in found
    ]
    return sum(shares) / len(shares) if shares else None


# --- Leakage: what gives answers away ---
#
# Texts are compared word by word (`text.terms.words`), four words in a row at a time. A query is copied when it stands
# in a document as it is, or, if it is long, when most of its runs of four words stand in one document. Documents are
# looked at once, one by one, so a large corpus costs time and no memory.

RUN = 4
"""Words in a row."""
SHORTEST_COPY = 5
"""Words of a query that is called copied; anybody may ask for "check-in time"."""
LONG = 8
"""Words of a query from which on a part of it is enough."""
MOST = 0.8
"""Which part."""
SHORTEST_ANSWER = 3
"""The fewest words of an answer to look for; "yes" is in every text."""


def leaks(dataset: Dataset) -> Iterator[Finding]:
    """Everything that gives an answer away."""
    queries = dict(_find_phrases(((case.id, case.query) for case in dataset.cases), SHORTEST_COPY))
    yield from _find_copied_queries(dataset, queries)
    yield from _in_metadata(dataset, queries)
    yield from _in_questions(dataset.cases)


def _find_phrases(texts: Iterable[tuple[str, str | None]], shortest: int) -> Iterator[tuple[str, list[str]]]:
    """The words of the texts that are long enough to be looked for, by case."""
    for name, text in texts:
        if text and len(found := words(text)) >= shortest:
            yield name, found


def _find_copied_queries(dataset: Dataset, queries: Mapping[str, list[str]]) -> Iterator[Finding]:
    runs = {name: _runs(found) for name, found in queries.items()}
    owners: dict[str, list[str]] = {}
    for name, own in runs.items():
        for run in own:
            owners.setdefault(run, []).append(name)
    told: set[str] = set()
    for document in dataset.documents:
        for name, how in _find_copies_in(document, runs, owners, queries):
            if name not in told:
                told.add(name)
                yield warning("query-copied", f"case {name}", f"{how} {document.id!r}", "Ask it in other words.")


def _find_copies_in(
    document: Document, runs: Mapping[str, set[str]], owners: Mapping[str, list[str]], queries: Mapping[str, list[str]]
) -> Iterator[tuple[str, str]]:
    found = words(f"{document.title}\n{document.text}")
    met = _runs(found) & owners.keys()
    counts = Counter(name for run in met for name in owners[run])
    for name, count in counts.items():
        share = count / len(runs[name])
        if share == 1.0 and f" {' '.join(queries[name])} " in f" {' '.join(found)} ":
            yield name, "its query stands word for word in document"
        elif share >= MOST and len(queries[name]) >= LONG:
            yield name, f"{share:.0%} of its query's runs of {RUN} words stand in document"


def _runs(found: list[str]) -> set[str]:
    return {" ".join(found[start : start + RUN]) for start in range(len(found) - RUN + 1)}


def _in_metadata(dataset: Dataset, queries: Mapping[str, list[str]]) -> Iterator[Finding]:
    """Many systems search metadata, tags and triggers, and authors of queries easily fill them in.

    Metadata that repeats the document's own text gives away no more than the text does.
    """
    wanted = _phrases_by_start(dataset, queries)
    for document in dataset.documents:
        said = [words(text) for text in _texts([document.metadata, document.tags, document.triggers])]
        hits = {hit for found in said for hit in _match_phrases(found, wanted)}
        own = f" {' '.join(words(document.text))} " if hits else ""
        for what, name, phrase in sorted(hits):
            if f" {phrase} " not in own:
                message = f"its {what} stands in the metadata, tags or triggers of document {document.id!r}"
                yield warning(f"{what}-in-metadata", f"case {name}", message, "Take it out of the document.")


def _phrases_by_start(dataset: Dataset, queries: Mapping[str, list[str]]) -> dict[str, list[tuple[str, str, str]]]:
    """What is looked for, as (kind, case, phrase), by its first words."""
    answers = _find_phrases(((case.id, case.reference_answer) for case in dataset.cases), SHORTEST_ANSWER)
    found: dict[str, list[tuple[str, str, str]]] = {}
    for what, texts in (("query", queries.items()), ("answer", answers)):
        for name, phrase in texts:
            found.setdefault(" ".join(phrase[:SHORTEST_ANSWER]), []).append((what, name, " ".join(phrase)))
    return found


def _match_phrases(
    found: list[str], wanted: Mapping[str, list[tuple[str, str, str]]]
) -> Iterator[tuple[str, str, str]]:
    for start in range(len(found) - SHORTEST_ANSWER + 1):
        for hit in wanted.get(" ".join(found[start : start + SHORTEST_ANSWER]), ()):
            if found[start : start + len(hit[2].split(" "))] == hit[2].split(" "):
                yield hit


def _in_questions(cases: tuple[Case, ...]) -> Iterator[Finding]:
    for case in cases:
        answer = words(case.reference_answer) if case.reference_answer else []
        if len(answer) >= SHORTEST_ANSWER and f" {' '.join(answer)} " in f" {' '.join(words(case.query))} ":
            yield warning(
                "answer-in-query", f"case {case.id}", "its query holds its reference answer", "Ask without answering."
            )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)


# --- Generated cases that nobody has reviewed ---

GENERATED = "generated"
"""The tag of a case that was made and not written; it stays for good."""
ACCEPTED = "accepted"
"""The tag of a generated case that a person accepted."""


def is_generated(case: Case) -> bool:
    """Whether the case was generated."""
    return GENERATED in case.tags


def is_unlabelled(case: Case) -> bool:
    """Whether the case was generated and not accepted yet."""
    return is_generated(case) and ACCEPTED not in case.tags


def find_unlabelled_cases(dataset: Dataset) -> Iterator[Finding]:
    """Return one finding about generated cases that are not labelled."""
    found = [case.id for case in dataset.cases if is_unlabelled(case)]
    if found:
        message = f"{len(found):,} of {len(dataset.cases):,} cases were generated and are not labelled: {some(found)}"
        yield warning("unlabelled", dataset.name, message, "They do not count until `assay label` has accepted them.")
