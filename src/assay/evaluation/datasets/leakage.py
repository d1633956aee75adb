"""What gives answers away: queries copied out of documents, and answers that stand in metadata or in the question.

Texts are compared word by word (`text.terms.words`), four words in a row at a time. A query is copied when it stands
in a document as it is, or, if it is long, when most of its runs of four words stand in one document. Documents are
looked at once, one by one, so a large corpus costs time and no memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from assay.evaluation.datasets.findings import Finding, warning
from assay.records.datasets import Case, Dataset, Document
from assay.text.terms import words

RUN = 4
"""Words in a row."""
SHORTEST_COPY = 5
"""Words of a query that is called copied; anybody may ask for "check-in time"."""
LONG = 8
"""Words of a query from which on a part of it is enough."""
MOST = 0.8
"""Which part."""
SHORTEST_ANSWER = 3
"""Words of an answer that is looked for; "yes" stands everywhere."""


def leaks(dataset: Dataset) -> Iterator[Finding]:
    """Everything that gives an answer away."""
    queries = {one.id: words(one.query) for one in dataset.cases}
    yield from _copied(dataset, queries)
    yield from _in_metadata(dataset, queries)
    yield from _in_questions(dataset.cases, queries)


def _copied(dataset: Dataset, queries: Mapping[str, list[str]]) -> Iterator[Finding]:
    runs = {name: _runs(found) for name, found in queries.items() if len(found) >= SHORTEST_COPY}
    owners: dict[str, list[str]] = {}
    for name, own in runs.items():
        for run in own:
            owners.setdefault(run, []).append(name)
    told: set[str] = set()
    for document in dataset.documents:
        for name, how in _copied_from(document, runs, owners, queries):
            if name not in told:
                told.add(name)
                yield warning("query-copied", f"case {name}", f"{how} {document.id!r}", "Ask it in other words.")


def _copied_from(
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
    """Metadata, tags and triggers are searched by many systems, and are easily filled in by whoever wrote the query.

    Metadata that repeats the document's own text gives away no more than the text does.
    """
    wanted = _wanted(dataset, queries)
    for document in dataset.documents:
        said = [words(text) for text in _texts([document.metadata, document.tags, document.triggers])]
        hits = {hit for found in said for hit in _met(found, wanted)}
        own = f" {' '.join(words(document.text))} " if hits else ""
        for what, name, phrase in sorted(hits):
            if f" {phrase} " not in own:
                message = f"its {what} stands in the metadata, tags or triggers of document {document.id!r}"
                yield warning(f"{what}-in-metadata", f"case {name}", message, "Take it out of the document.")


def _wanted(dataset: Dataset, queries: Mapping[str, list[str]]) -> dict[str, list[tuple[str, str, str]]]:
    """What is looked for, as (kind, case, phrase), by its first words."""
    answers = {one.id: words(one.reference_answer or "") for one in dataset.cases}
    kinds = (("query", queries, SHORTEST_COPY), ("answer", answers, SHORTEST_ANSWER))
    found: dict[str, list[tuple[str, str, str]]] = {}
    for what, texts, shortest in kinds:
        for name, phrase in texts.items():
            if len(phrase) >= shortest:
                found.setdefault(" ".join(phrase[:SHORTEST_ANSWER]), []).append((what, name, " ".join(phrase)))
    return found


def _met(found: list[str], wanted: Mapping[str, list[tuple[str, str, str]]]) -> Iterator[tuple[str, str, str]]:
    for start in range(len(found) - SHORTEST_ANSWER + 1):
        for hit in wanted.get(" ".join(found[start : start + SHORTEST_ANSWER]), ()):
            if found[start : start + len(hit[2].split(" "))] == hit[2].split(" "):
                yield hit


def _in_questions(cases: tuple[Case, ...], queries: Mapping[str, list[str]]) -> Iterator[Finding]:
    for one in cases:
        answer = words(one.reference_answer or "")
        if len(answer) >= SHORTEST_ANSWER and f" {' '.join(answer)} " in f" {' '.join(queries[one.id])} ":
            yield warning(
                "answer-in-query", f"case {one.id}", "its query holds its reference answer", "Ask without answering."
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
