"""Recorded traces as a system under test: `traces`. What a trace retrieved and answered is what it returns.

A case is the trace of the same id (`cases`). The lists of the searches are the channels of the evidence waterfall, what
a reranker was given is the list after fusion, and what the answer cites or rests on are its references.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.errors import InputError
from assay.judging.builtin.judges import read_abstention
from assay.records import Scope
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved, Seen
from assay.storage import Store
from assay.systems.protocol import System
from assay.traces.analysis import AnalysedTrace
from assay.traces.summing import load_trace


class RecordedTraces(System):
    """Replays what production traffic did."""

    name = "traces"
    replays = True

    def __init__(self, store: Store, scope: Scope, close: Callable[[], None]) -> None:
        self._store = store
        self._scope = scope
        self._close = close

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - a trace knows its own question
        """What the trace of this case gave to its answer, the first k; raises `InputError` for another case."""
        with self._store.reading(self._scope) as work:
            if not work.traces.spans_of([case.id]):
                raise InputError(
                    f"case {case.id} was not made of a trace of this store",
                    remedy="Run a dataset of `assay dataset from-traces` here.",
                )
            trace = load_trace(work, case.id)
        return replay(trace, k)

    def subject(self) -> Mapping[str, Any]:
        """Whose traces they are."""
        return {"system": self.name, "kind": "traces", "tenant": self._scope.tenant}

    def close(self) -> None:
        """Close the store."""
        self._close()


def replay(trace: AnalysedTrace, k: int) -> Retrieved:
    """A trace as what a system returned."""
    given = trace.given[:k]
    scores = [document.score for document in given]
    reranked = trace.reranker
    before = None if reranked is None else tuple(dict.fromkeys(document.id for document in reranked.candidates))
    return Retrieved(
        ids=tuple(document.id for document in given),
        scores=tuple(score for score in scores if score is not None) if given and None not in scores else None,
        stages={
            f"{line.span.role.value} {line.span.name}".strip(): line.span.duration_ms
            for line in trace.lines
            if line.span.duration_ms is not None
        },
        seen=Seen(channels=trace.lists(), names_all_channels=True, fused=before or None),
        answer=_answer(trace),
        cost=trace.cost_usd,
    )


def _answer(trace: AnalysedTrace) -> GivenAnswer | None:
    if not trace.answer.strip():
        return None
    used = trace.used or frozenset()
    references = [
        RetrievedChunk(rel_path=document.id, chunk_id=document.id, text=trace.texts.get(document.id, ""))
        for document in trace.given
        if document.id in used
    ]
    return GivenAnswer(
        text=trace.answer, references=tuple(references), abstained=read_abstention(trace.answer).abstained
    )
