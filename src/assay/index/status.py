"""What is counted of a state for `index status` and health, and how much of the exact answer its vectors give."""

from __future__ import annotations

import numpy as np

from assay.index.columns import Fact
from assay.index.options import Recall
from assay.index.protocol import SearchView
from assay.index.state import State
from assay.records import Filters
from assay.storage import Work


def measure_recall(view: SearchView, work: Work, *, sample: int, rng: np.random.Generator, depth: int) -> Recall:
    """The share of the exact first `depth` that is found, over a sample of stored vectors."""
    model = work.vectors.active()
    if model is None or not view.document_count:
        return Recall(share=None, queries=0, depth=depth)
    numbers = rng.choice(view.numbers(), size=min(sample, view.document_count), replace=False)
    queries = work.vectors.by_numbers(model, numbers.tolist()).vectors
    shares = []
    for query in queries:
        truth = {hit.number for hit in view.nearest(query, model=model, limit=depth, exact=True)}
        found = {hit.number for hit in view.nearest(query, model=model, limit=depth)}
        shares.append(len(truth & found) / len(truth))
    return Recall(share=float(np.mean(shares)) if shares else None, queries=len(shares), depth=depth)


def count_memories(state: State) -> int:
    """Those that are there, superseded ones too."""
    of_base, of_tail = state.current_memories(Filters(include_superseded=True))
    new = ~np.isin(state.tail.memories[Fact.NUMBER], state.base.memories[Fact.NUMBER])
    return int(np.count_nonzero(of_base)) + int(np.count_nonzero(of_tail & new))


def count_vectors(state: State) -> int:
    """Those of passages that are there."""
    of_base = 0 if state.base.vectors is None else int(np.count_nonzero(state.base_alive[state.base.vectors.places]))
    return of_base + int(np.count_nonzero(state.tail.alive[state.tail.vector_places]))


def name_vector_kind(state: State, active: str | None, *, in_database: bool) -> str:
    """Return how the vectors are searched; see `IndexStatus.vector_kind`."""
    if active is None:
        return "none"
    if in_database:
        return "database"
    return "exact" if state.base.vectors is None else state.base.vectors.kind
