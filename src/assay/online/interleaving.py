"""Interleaving: control and treatment answer one query in one merged list, and what is used of it is a vote.

Where traffic is low this needs far fewer queries than showing each query one side only. Lists are merged by team draft,
seeded by the query's id, so that the same query merges the same way again. The merged list is what is logged and
returned: a read, a reuse or a validation of a memory is credit for the side that drafted it. `collect` turns credit
into votes when a list has had its time; a list of which nothing was used votes 0.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from assay.clock import Clock
from assay.hashing import HASH_PREFIX, content_hash
from assay.memory.searching import Searcher
from assay.online.shadow import Treatment
from assay.online.trials import Trials
from assay.records import AbTestStatus, EventType, FeedbackEvent, Hit, Origin, Scope, SearchRequest, SearchResult
from assay.records.online import Arm, Interleaving
from assay.statistics.interleaving import Drafted, credit, team_draft
from assay.storage import Store, Work

CREDITED = frozenset({EventType.READ_AFTER_SEARCH, EventType.REFERENCE, EventType.VALIDATE_USEFUL})
"""What counts as having been used."""
TIME_TO_USE = timedelta(minutes=30)
"""How long a list has before its vote is cast."""


class InterleavedSearch:
    """Searches with both sides while a test of interleaved votes is running."""

    def __init__(
        self, *, store: Store, searcher: Searcher, treatment: Treatment, feature_id: str, clock: Clock
    ) -> None:
        self._store = store
        self._searcher = searcher
        self._treatment = treatment
        self._feature = feature_id
        self._clock = clock

    def search(self, scope: Scope, request: SearchRequest) -> SearchResult:
        """One merged list. A treatment that fails leaves the control's, and no vote."""
        drafts: list[tuple[Drafted, ...]] = []

        def blend(control: SearchResult) -> SearchResult:
            other = self._other(scope, request, control)
            if other is None:
                return control
            seed = int(content_hash(control.query_id).removeprefix(HASH_PREFIX)[:16], 16)
            drafted = team_draft(control.ids, other.ids, length=request.k, rng=np.random.default_rng(seed))
            drafts.append(drafted)
            return replace(control, hits=merged(control.hits, other.hits, drafted))

        result = self._searcher.search(scope, request, blend=blend if request.origin is Origin.USE else None)
        if drafts:
            self._keep(scope, result.query_id, drafts[0])
        return result

    def _other(self, scope: Scope, request: SearchRequest, control: SearchResult) -> SearchResult | None:
        try:
            return self._treatment(scope, replace(request, origin=Origin.SHADOW), control.query_id)
        except Exception as problem:  # noqa: BLE001 - a treatment must not be able to fail a search
            self._searcher.failures.count("treatment", problem)
            return None

    def _keep(self, scope: Scope, query_id: str, drafted: tuple[Drafted, ...]) -> None:
        with self._store.writing(scope) as work:
            test = work.ab_tests.latest(self._feature)
            if test.status is AbTestStatus.RUNNING:
                work.interleavings.add(
                    Interleaving(
                        query_id=query_id,
                        feature_id=self._feature,
                        attempt=test.attempt,
                        control_ids=tuple(one.item for one in drafted if one.team == "control"),
                        treatment_ids=tuple(one.item for one in drafted if one.team == "treatment"),
                        created_at=self._clock.now(),
                    )
                )


def merged(control: tuple[Hit, ...], treatment: tuple[Hit, ...], drafted: tuple[Drafted, ...]) -> tuple[Hit, ...]:
    """The hits in the order they were drafted; one that both sides have is the control's."""
    by_id = {hit.memory_id: hit for hit in (*treatment, *control)}
    return tuple(replace(by_id[one.item], rank=rank) for rank, one in enumerate(drafted, start=1))


def collect(store: Store, scope: Scope, trials: Trials, feature_id: str, clock: Clock) -> int:
    """Cast the votes of the lists that have had their time; how many counted."""
    store.log.flush()
    counted = 0
    with store.writing(scope) as work:
        test = work.ab_tests.latest(feature_id, to_change=True)
        until = clock.now() - TIME_TO_USE
        for shown in work.interleavings.waiting(feature_id, test.attempt, until=until):
            counted += _cast(work, trials, shown)
            work.interleavings.credited(shown.query_id, clock.now())
    return counted


def _cast(work: Work, trials: Trials, shown: Interleaving) -> bool:
    drafted = [
        *(Drafted(one, "control") for one in shown.control_ids),
        *(Drafted(one, "treatment") for one in shown.treatment_ids),
    ]
    earned = credit(drafted, used(work.feedback.of_query(shown.query_id)))
    query = work.queries.get(shown.query_id).query
    voted = trials.vote_in(work, shown.feature_id, query, float(earned.vote), arm=Arm.BOTH, query_id=shown.query_id)
    return voted.counted


def used(events: list[FeedbackEvent]) -> set[str]:
    """The memories that were used, by what was seen."""
    return {one.memory_id for one in events if one.event_type in CREDITED and one.memory_id is not None}
