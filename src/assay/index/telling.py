"""Gathers what `index status` and health tell of a tenant's index."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from assay.index.columns import Fact
from assay.index.folding import Folding
from assay.index.state import State
from assay.index.status import IndexStatus, Recall
from assay.index.tenant import TenantIndex
from assay.index.view import View
from assay.records import Filters
from assay.storage import Work


def status_of(tenant: TenantIndex, work: Work, folding: Folding, *, now: datetime) -> IndexStatus:
    """How a tenant's index stands after following the log to the snapshot."""
    state, _ = tenant.state(work)
    base, manifest, generations = state.base, state.base.manifest, tenant.generations
    active = work.vectors.active()
    return IndexStatus(
        generation=None if manifest is None else manifest.generation,
        on_disk=base.folder is not None and base.folder.is_dir(),
        passages=state.alive.count,
        memories=_memories(state),
        base_passages=base.count,
        tail_passages=int(np.count_nonzero(state.tail.alive)),
        position=state.position,
        log_end=work.changes.position(),
        vector_kind=_vector_kind(state, active, in_database=tenant.vectors_in_database),
        model=active if tenant.vectors_in_database else state.model,
        active_model=active,
        vectors=None if tenant.vectors_in_database else _vectors(state),
        folder=None if generations is None else str(generations.folder),
        bytes_on_disk=0 if generations is None else generations.bytes_on_disk(),
        rebuilt_because=tenant.rebuilt_because,
        last_problem=folding.problems.get(work.scope.tenant),
        folding=folding.is_running(work.scope),
        lock_holder=None if generations is None else generations.lock_holder(),
        at=now,
    )


def recall_of(view: View, work: Work, *, sample: int, rng: np.random.Generator, depth: int) -> Recall:
    """The share of the exact first `depth` that is found, over a sample of stored vectors."""
    model = work.vectors.active()
    if model is None or not view.document_count:
        return Recall(share=None, queries=0, depth=depth)
    numbers = rng.choice(view.numbers(), size=min(sample, view.document_count), replace=False)
    queries = work.vectors.by_numbers(model, numbers.tolist()).vectors
    shares = []
    for query in queries:
        truth = {one.number for one in view.nearest(query, model=model, limit=depth, exact=True)}
        found = {one.number for one in view.nearest(query, model=model, limit=depth)}
        shares.append(len(truth & found) / len(truth))
    return Recall(share=float(np.mean(shares)) if shares else None, queries=len(shares), depth=depth)


def _memories(state: State) -> int:
    """Those that are there, superseded ones too."""
    of_base, of_tail = state.current_memories(Filters(include_superseded=True))
    new = ~np.isin(state.tail.memories[Fact.NUMBER], state.base.memories[Fact.NUMBER])
    return int(np.count_nonzero(of_base)) + int(np.count_nonzero(of_tail & new))


def _vectors(state: State) -> int:
    of_base = 0 if state.base.vectors is None else int(np.count_nonzero(state.base_alive[state.base.vectors.places]))
    return of_base + int(np.count_nonzero(state.tail.alive[state.tail.vector_places]))


def _vector_kind(state: State, active: str | None, *, in_database: bool) -> str:
    if active is None:
        return "none"
    if in_database:
        return "database"
    return "exact" if state.base.vectors is None else state.base.vectors.kind
