"""Interleaving and the votes that use of results gives to a test.

- Merged lists of control and treatment.
- Votes collected from the log.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from assay.clock import Clock
from assay.flags import find_flag
from assay.hashing import HASH_PREFIX, bucket, content_hash
from assay.online.trials import Trials, counts_from
from assay.records import (
    AbTest,
    AbTestStatus,
    EventType,
    FeedbackEvent,
    Hit,
    LoggedQuery,
    Origin,
    Scope,
    SearchRequest,
    SearchResult,
)
from assay.records.flags import Arm, Interleaving, VoteKind
from assay.statistics.online_tests import Drafted, credit, team_draft

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.memory.searching import Searcher
    from assay.online.shadow import Treatment
    from assay.storage import Store, Work


# --- Merged lists of control and treatment ---
#
# Where traffic is low this needs far fewer queries than showing each query one side only. Lists are merged by team
# draft, seeded by the query's id, so that the same query merges the same way again. The merged list is what is logged
# and returned: a read, a reuse or a validation of a memory is credit for the side that drafted it. `collect` turns
# credit into votes when a list has had its time; a list of which nothing was used votes 0.

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
            return replace(control, hits=merge_hits(control.hits, other.hits, drafted))

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
                        control_ids=tuple(draft.item for draft in drafted if draft.team == "control"),
                        treatment_ids=tuple(draft.item for draft in drafted if draft.team == "treatment"),
                        created_at=self._clock.now(),
                    )
                )


def merge_hits(control: tuple[Hit, ...], treatment: tuple[Hit, ...], drafted: tuple[Drafted, ...]) -> tuple[Hit, ...]:
    """The hits in the order they were drafted; one that both sides have is the control's."""
    by_id = {hit.memory_id: hit for hit in (*treatment, *control)}
    return tuple(replace(by_id[draft.item], rank=rank) for rank, draft in enumerate(drafted, start=1))


def collect_interleaved(store: Store, scope: Scope, trials: Trials, feature_id: str, clock: Clock) -> int:
    """Cast the votes of the lists that have had their time; how many counted."""
    store.log.flush()
    counted = 0
    with store.writing(scope) as work:
        test = work.ab_tests.latest(feature_id, to_change=True)
        until = clock.now() - TIME_TO_USE
        for shown in work.interleavings.waiting(feature_id, test.attempt, until=until):
            counted += _cast(work, trials, shown)
            work.interleavings.mark_credited(shown.query_id, clock.now())
    return counted


def _cast(work: Work, trials: Trials, shown: Interleaving) -> bool:
    drafted = [
        *(Drafted(memory_id, "control") for memory_id in shown.control_ids),
        *(Drafted(memory_id, "treatment") for memory_id in shown.treatment_ids),
    ]
    earned = credit(drafted, find_used(work.feedback.of_query(shown.query_id)))
    query = work.queries.get(shown.query_id).query
    voted = trials.vote_in(work, shown.feature_id, query, float(earned.vote), arm=Arm.BOTH, query_id=shown.query_id)
    return voted.counted


def find_used(events: list[FeedbackEvent]) -> set[str]:
    """The memories that were used, by what was seen."""
    return {event.memory_id for event in events if event.event_type in CREDITED and event.memory_id is not None}


# --- Votes collected from the log ---
#
# Casting is idempotent, one vote for each distinct query, so both may be run as often as one likes.

MOST = 10_000
"""Rows looked at in one go."""


def collect(store: Store, scope: Scope, trials: Trials, feature_id: str, clock: Clock) -> int:
    """Collect votes for the newest test of a feature; returns how many counted."""
    with store.reading(scope) as work:
        kind = VoteKind(work.ab_tests.latest(feature_id).state_json["kind"])
    if kind is VoteKind.PAIRED:
        return collect_shadow(store, scope, trials, feature_id)
    if kind is VoteKind.SPLIT:
        return collect_split(store, scope, trials, feature_id, clock)
    return collect_interleaved(store, scope, trials, feature_id, clock)


def collect_shadow(store: Store, scope: Scope, trials: Trials, feature_id: str) -> int:
    """Votes of the shadow runs since the test began whose query has judgments; how many counted."""
    store.log.flush()
    counted = 0
    with store.writing(scope) as work:
        test = work.ab_tests.latest(feature_id, to_change=True)
        for run in reversed(work.shadow_runs.of(feature_id, limit=MOST)):
            if run.mrr_delta is not None and run.created_at >= counts_from(test):
                query = work.queries.get(run.query_id).query
                voted = trials.vote_in(work, feature_id, query, run.mrr_delta, arm=Arm.BOTH, query_id=run.query_id)
                counted += voted.counted
    return counted


def collect_split(
    store: Store, scope: Scope, trials: Trials, feature_id: str, clock: Clock, *, wait: timedelta = TIME_TO_USE
) -> int:
    """Votes of the searches since the test began that have had their time; how many counted.

    A search's outcome is the reciprocal rank of the first result that was used, 0 when none was. Which side answered
    follows from the session, as the flag's rollout drew it; a search outside a session was in no rollout and has no
    vote.
    """
    store.log.flush()
    counted = 0
    with store.writing(scope) as work:
        test = work.ab_tests.latest(feature_id, to_change=True)
        percent = int(test.state_json["flag"]["percent"])
        for query in _ripe(work, test, clock, wait):
            arm = _arm(feature_id, str(query.session_id), percent)
            outcome = _outcome(work, query)
            signed = outcome if arm is Arm.TREATMENT else -outcome
            voted = trials.vote_in(work, feature_id, query.query, signed, arm=arm, query_id=query.query_id)
            counted += voted.counted
    return counted


def _ripe(work: Work, test: AbTest, clock: Clock, wait: timedelta) -> list[LoggedQuery]:
    until = clock.now() - wait
    found = work.queries.since(counts_from(test), limit=MOST)
    return [query for query in found if query.session_id and query.created_at <= until]


def _arm(feature_id: str, identity: str, percent: int) -> Arm:
    return Arm.TREATMENT if bucket(identity, find_flag(feature_id).name) < percent else Arm.CONTROL


def _outcome(work: Work, query: LoggedQuery) -> float:
    taken = find_used(work.feedback.of_query(query.query_id))
    ranks = [rank for rank, memory_id in enumerate(query.result_ids, start=1) if memory_id in taken]
    return 1.0 / ranks[0] if ranks else 0.0
