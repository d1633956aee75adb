"""Traces as cases of a dataset: the question, and what was retrieved for it, to be labelled by people.

Nothing is graded here: what a system retrieved is no proof that it is right. A case without grades is in no score until
somebody has labelled it; `labelling.tasks_of` lists its documents. The id of a case is the id of its trace, so that the
recorded behaviour can be replayed as a system (`replaying`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from assay.evaluation.labelling import FROM_TRACE
from assay.records.datasets import Case, Dataset, Document
from assay.records.traces import TraceFault
from assay.text.terms import normalise_phrase
from assay.traces.analysis import AnalysedTrace

NO_QUESTION = "no question is recorded"
NO_TEXTS = "no text of a retrieved document is recorded"
TITLE = 80
"""Characters of a document's text that stand for a title."""


class MadeCases(NamedTuple):
    """A dataset with new cases, and what became of each trace."""

    dataset: Dataset
    added: tuple[str, ...]
    known: tuple[str, ...]
    left_out: dict[str, int]
    to_label: int


def has_fault(trace: AnalysedTrace, wanted: Collection[TraceFault]) -> bool:
    """Whether a trace has one of the faults; without any wanted, every trace."""
    return not wanted or not set(wanted).isdisjoint(trace.faults)


def new_dataset(name: str, at: datetime) -> Dataset:
    """An empty dataset for traces."""
    return Dataset(
        name=name,
        documents=(),
        cases=(),
        description="Questions of production traffic, with what was retrieved for them.",
        created_at=f"{at:%Y-%m-%d}",
    )


def add_cases(dataset: Dataset, traces: Iterable[AnalysedTrace]) -> MadeCases:
    """Add traces to a dataset as cases; a trace that is a case already, and one without a question, adds nothing."""
    cases = {case.id: case for case in dataset.cases}
    documents = {document.id: document for document in dataset.documents}
    added: list[str] = []
    known: list[str] = []
    left_out: Counter[str] = Counter()
    to_label = 0
    for trace in traces:
        trace_id = trace.summary.trace_id
        if trace_id in cases:
            known.append(trace_id)
        elif not normalise_phrase(trace.question):
            left_out[NO_QUESTION] += 1
        elif trace.documents and not trace.texts:
            left_out[NO_TEXTS] += 1
        else:
            cases[trace_id] = _case(trace)
            added.append(trace_id)
            to_label += _add_documents(documents, trace)
    made = replace(dataset, documents=tuple(documents.values()), cases=tuple(cases.values()))
    return MadeCases(made, tuple(added), tuple(known), dict(left_out), to_label)


def _case(trace: AnalysedTrace) -> Case:
    return Case(
        id=trace.summary.trace_id,
        query=trace.question,
        tags=(FROM_TRACE, *(fault.value for fault in trace.faults)),
        harvested_at=trace.summary.started_at,
    )


def _add_documents(documents: dict[str, Document], trace: AnalysedTrace) -> int:
    """Add what was retrieved, each document with the cases it was retrieved for; return how many pairs there are."""
    case_id = trace.summary.trace_id
    retrieved = [document for document in trace.documents if document in trace.texts]
    for document_id in retrieved:
        there = documents.get(document_id)
        if there is None:
            text = trace.texts[document_id]
            title = " ".join(text.split())[:TITLE]
            documents[document_id] = Document(id=document_id, text=text, title=title, tags=(case_id,))
        elif case_id not in there.tags:
            documents[document_id] = replace(there, tags=(*there.tags, case_id))
    return len(retrieved)
