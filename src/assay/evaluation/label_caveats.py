"""What must be known of a dataset beside a run's numbers: who gave the labels, what leaks, what is a copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay.evaluation.datasets.checks import describe_weak, leaks, weak_sources
from assay.records.caveats import Caveat, CaveatKind
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import CaseResult

MOST_CHARACTERS = 5_000_000
"""Searched for leaks in about a second; of larger corpora only the documents that some case judges or names."""
_LEAKS = {
    "query-copied": "the query is copied from a document",
    "query-in-metadata": "the query stands in a document's metadata",
    "answer-in-metadata": "the answer stands in a document's metadata",
    "answer-in-query": "the query holds the answer",
}


def label_caveats(dataset: Dataset, cases: Sequence[Case]) -> Iterator[Caveat]:
    """Weak labels, then leakage, of the cases that were asked."""
    weak, judged = weak_sources(cases), sum(len(case.labels) for case in cases)
    if weak:
        yield Caveat(
            kind=CaveatKind.LABELS,
            sentence=f"{describe_weak(weak, judged)}: such labels are weak, and favour the system people used.",
            count=sum(weak.values()),
            of=judged,
        )
    leaked = _leaked_cases(dataset, cases)
    if leaked:
        concerned = len({case for found in leaked.values() for case in found})
        parts = ", ".join(f"{_LEAKS.get(code, code)} ({len(found):,})" for code, found in leaked.items())
        yield Caveat(
            kind=CaveatKind.LABELS,
            sentence=f"Leakage in {concerned:,} of {len(cases):,} cases: {parts}. The values may be too high; "
            f"`assay dataset check {dataset.name}` lists the cases.",
            count=concerned,
            of=len(cases),
        )


def _leaked_cases(dataset: Dataset, cases: Sequence[Case]) -> dict[str, set[str]]:
    """The cases that each kind of leak concerns. Saves repeat what was saved before: that is what they are for."""
    questions = tuple(case for case in cases if case.save is None)
    found: dict[str, set[str]] = {}
    if questions:
        for finding in leaks(replace(dataset, cases=questions, documents=_searched(dataset, questions))):
            found.setdefault(finding.code, set()).add(finding.where)
    return found


def _searched(dataset: Dataset, cases: Sequence[Case]) -> tuple[Document, ...]:
    if sum(len(document.text) for document in dataset.documents) <= MOST_CHARACTERS:
        return dataset.documents
    named = {name for case in cases for name in case.labels}
    paths = {support.rel_path for case in cases if case.anchors for support in case.anchors.supports}
    return tuple(one for one in dataset.documents if one.id in named or one.rel_path in paths)


def copy_caveats(results: Sequence[CaseResult], units: Mapping[str, Mapping[str, str]]) -> Iterator[Caveat]:
    """In how many cases the list has a document that is in the corpus several times; `units` is by case."""
    concerned = {
        result.case_id
        for result in results
        if result.retrieved is not None and not units.get(result.case_id, {}).keys().isdisjoint(result.retrieved.ids)
    }
    asked = len(Counter(result.case_id for result in results))
    if concerned:
        yield Caveat(
            kind=CaveatKind.COPIES,
            sentence=f"In {len(concerned):,} of {asked:,} cases the list has a judged document that is in the corpus "
            "more than once. A copy counts as the document itself, and both together once.",
            count=len(concerned),
            of=asked,
        )
