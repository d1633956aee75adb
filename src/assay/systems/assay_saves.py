"""Assay as a system that saves: every case has a tenant of its own in a store that is thrown away.

The older note is there before the clock starts, kept without the gate; the newer one is saved with the gate enforced,
as it is when the warn-only period is over and a person has looked at what it would have turned away. `enforce` makes
it so for one tenant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from assay.memory.engine import Engine
from assay.records import Draft, EdgeKind, Origin, SaveDecision, SaveOutcome, Scope, SearchRequest
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import Retrieved
from assay.records.writes import SaveTask, Written
from assay.systems.assay_engine import OnDocument
from assay.systems.protocol import System
from assay.systems.specs import Configuration

LOOKED_AT = 5
"""Results looked at after a save, for a note that should no longer be served."""


class _Place(NamedTuple):
    """A tenant with the older note in it."""

    scope: Scope
    older: str
    """The memory that holds it."""


class AssaySaves(System):
    """Saves notes into a memory."""

    def __init__(
        self,
        engine: Engine,
        dataset: Dataset,
        configuration: Configuration,
        *,
        enforce: Callable[[Scope], object],
        name: str = "assay",
        made_of: Mapping[str, Any] | None = None,
        close: Callable[[], None] | None = None,
        on_document: OnDocument | None = None,
    ) -> None:
        self.name = name
        self._engine = engine
        self._dataset = dataset
        self._configuration = configuration
        self._made_of = made_of or {}
        self._close = close
        self._enforce = enforce
        self._numbers = itertools.count()
        self._ready: dict[str, _Place] = {}
        engine.store.checkpoints.create("empty")
        for done, case in enumerate(dataset.cases, start=1):
            self._ready[case.id] = self._prepared(_task(case))
            if on_document is not None:
                on_document(done, len(dataset.cases))

    def _prepared(self, task: SaveTask) -> _Place:
        engine, older = self._engine, self._dataset.by_id[task.after]
        scope = Scope(tenant=f"save-{next(self._numbers)}")
        self._enforce(scope)
        draft = Draft(title=older.title, body=older.text, triggers=older.triggers)
        kept = engine.saver.save(scope, draft, gated=False)
        return _Place(scope, kept.memory_id or "")

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - it is never asked
        """A dataset of saves asks nothing."""
        return Retrieved(ids=())

    def save(self, case: Case) -> Retrieved:
        """Save the newer note, then search for it."""
        task = _task(case)
        place = self._ready.pop(case.id, None) or self._prepared(task)
        outcome = self._engine.saver.save(place.scope, Draft(title=task.title, body=task.body, triggers=task.triggers))
        query = f"{task.title}\n{task.body}"
        request = SearchRequest(query=query, k=LOOKED_AT, origin=Origin.EVALUATION, tool_name="assay run")
        found = self._engine.searcher.search(place.scope, request)
        newer = f"{case.id}:newer"
        return Retrieved(
            ids=tuple(task.after if one == place.older else newer for one in found.ids),
            scores=tuple(hit.score for hit in found.hits),
            saved=self._written(place, outcome),
            notes=found.degraded,
        )

    def _written(self, place: _Place, outcome: SaveOutcome) -> Written:
        with self._engine.store.reading(place.scope) as work:
            older = work.memories.get(place.older)
            holder = None if outcome.memory_id is None else work.memories.find(outcome.memory_id)
            joined = work.edges.of(place.older)
        turned_away = outcome.decision is SaveDecision.REJECT
        return Written(
            decided=outcome.decision,
            old_live=older.superseded_at is None,
            new_live=not turned_away and holder is not None and holder.superseded_at is None,
            marked=any(one.kind is EdgeKind.CONTRADICTS for one in joined),
            kept="" if turned_away or holder is None else holder.body,
        )

    def subject(self) -> Mapping[str, Any]:
        """What was asked for, and what the engine is made of."""
        return {"system": self.name, "kind": "assay", "configuration": self._configuration.as_json(), **self._made_of}

    def close(self) -> None:
        """Throw the store away."""
        if self._close is not None:
            self._close()


def _task(case: Case) -> SaveTask:
    if case.save is None:
        raise ValueError(f"{case.id} saves nothing")
    return case.save
