"""Interleaving and the votes that use of results gives to a test.

- Merged lists of control and treatment.
- Votes collected from the log.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assay.clock import Clock
from assay.errors import AssayError
from assay.hashing import HASH_PREFIX, bucket, content_hash, query_key
from assay.online.judged import (
    Judged,
    SideOutcomes,
    judge_runs,
    outcomes_of,
    ranked_outcome,
    read_judged,
)
from assay.online.trials import Trials, VoteResult, counts_from
from assay.online.vote_sources import TIME_TO_USE
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
from assay.records.evidence import JudgmentReader
from assay.records.flags import Arm, Interleaving, VoteKind
from assay.statistics.online_tests import Drafted, credit, team_draft

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.memory.searching.searcher import Blend
    from assay.memory.searching.trace import Failures
    from assay.online.shadow import SearchTreatment
    from assay.storage import Store, Work


# --- Merged lists of control and treatment ---
#
# Where traffic is low this needs far fewer queries than showing each query one side only. Lists are merged by team
# draft, seeded by the query's id, so that the same query merges the same way again. The merged list is what is logged
# and returned: a read, a reuse or a validation of a memory is credit for the side that drafted it. `collect` turns
# credit into votes when a list has had its time; a list of which nothing was used votes 0.

CREDITED = frozenset({EventType.READ_AFTER_SEARCH, EventType.REFERENCE, EventType.VALIDATE_USEFUL})
"""What counts as having been used."""


class ControlSearch(Protocol):
    """Searches without the change, and lets another list be blended in before the result is logged."""

    def __call__(self, scope: Scope, request: SearchRequest, *, blend: Blend | None = None) -> SearchResult:
        """Return one result."""
        ...


class InterleavedSearch:
    """Searches with both sides while a test of interleaved votes is running."""

    def __init__(
        self,
        *,
        store: Store,
        control: ControlSearch,
        treatment: SearchTreatment,
        failures: Failures,
        feature_id: str,
        clock: Clock,
    ) -> None:
        self._store = store
        self._control = control
        self._treatment = treatment
        self._failures = failures
        self._feature = feature_id
        self._clock = clock

    def search(self, scope: Scope, request: SearchRequest) -> SearchResult:
        """One merged list. A treatment that fails leaves the control's, and no vote."""
        drafts: list[tuple[Drafted, ...]] = []

        def blend(control: SearchResult) -> SearchResult:
            other = self._other(scope, request, control)
            if other is None:
                return control
            rng = np.random.default_rng(draft_seed(request, control.query_id))
            drafted = team_draft(control.ids, other.ids, length=_length(request, control), rng=rng)
            hits = _within_budget(merge_hits(control.hits, other.hits, drafted), _tokens_left(request))
            drafts.append(drafted[: len(hits)])
            return replace(control, hits=hits)

        result = self._control(scope, request, blend=blend if request.origin is Origin.USE else None)
        if drafts:
            self._keep(scope, result.query_id, drafts[0])
        return result

    def _other(self, scope: Scope, request: SearchRequest, control: SearchResult) -> SearchResult | None:
        try:
            return self._treatment(scope, replace(request, origin=Origin.SHADOW), control.query_id)
        except Exception as problem:  # noqa: BLE001 - a treatment must not be able to fail a search
            self._failures.count("treatment", problem)
            return None

    def _keep(self, scope: Scope, query_id: str, drafted: tuple[Drafted, ...]) -> None:
        try:
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
        except AssayError as problem:
            # The list was made and is the answer: without its row it has no vote, and that is all that is lost.
            self._failures.count("interleaving", problem)


def draft_seed(request: SearchRequest, query_id: str) -> int:
    """Return the seed of a draft: in a session the same question is merged the same way again."""
    by = [request.session_id, query_key(request.query)] if request.session_id else query_id
    return int(content_hash(by).removeprefix(HASH_PREFIX)[:16], 16)


def _length(request: SearchRequest, control: SearchResult) -> int:
    """Return how many results a merged list has: where a cut or a budget shortens lists, as many as the control's."""
    cut = request.relevant_only or request.token_budget is not None or request.min_relevance is not None
    return max(1, len(control.ids)) if cut else request.k


def _tokens_left(request: SearchRequest) -> int | None:
    return None if request.token_budget is None else max(0, request.token_budget - request.tokens_used)


def _within_budget(hits: tuple[Hit, ...], budget: int | None) -> tuple[Hit, ...]:
    """Return the hits that fit a token budget; the first is always among them."""
    if budget is None:
        return hits
    kept: list[Hit] = []
    used = 0
    for hit in hits:
        used += hit.tokens
        if kept and used > budget:
            break
        kept.append(hit)
    return tuple(kept)


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
        judged = read_judged(work, JudgmentReader.INTERLEAVING)
        until = clock.now() - TIME_TO_USE
        while waiting := work.interleavings.waiting(feature_id, test.attempt, until=until):
            for shown in waiting:
                voted = _cast(work, trials, shown, judged)
                if voted.test.status is AbTestStatus.PAUSED:
                    # Lists of a paused test keep their vote until it goes on.
                    return counted
                counted += voted.counted
                work.interleavings.mark_credited(shown.query_id, clock.now())
    return counted


def _cast(work: Work, trials: Trials, shown: Interleaving, judged: Judged) -> VoteResult:
    drafted = [
        *(Drafted(memory_id, "control") for memory_id in shown.control_ids),
        *(Drafted(memory_id, "treatment") for memory_id in shown.treatment_ids),
    ]
    logged = work.queries.get(shown.query_id)
    used = find_used(work.feedback.of_query(shown.query_id)) | judged.relevant_to_search(shown.query_id)
    earned = credit(drafted, used)
    return trials.vote_in(
        work,
        shown.feature_id,
        logged.query,
        float(earned.vote),
        arm=Arm.BOTH,
        query_id=shown.query_id,
        outcomes=SideOutcomes(
            control=ranked_outcome(logged.result_ids, used & set(shown.control_ids)),
            treatment=ranked_outcome(logged.result_ids, used & set(shown.treatment_ids)),
        ),
    )


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
        kind = VoteKind(work.ab_tests.latest(feature_id).kind)
    if kind is VoteKind.PAIRED:
        return collect_shadow(store, scope, trials, feature_id)
    if kind is VoteKind.SPLIT:
        return collect_split(store, scope, trials, feature_id, clock)
    return collect_interleaved(store, scope, trials, feature_id, clock)


def collect_shadow(store: Store, scope: Scope, trials: Trials, feature_id: str) -> int:
    """Votes of the shadow runs since the test began whose query has judgments now; how many counted."""
    store.log.flush()
    counted = 0
    with store.writing(scope) as work:
        test = work.ab_tests.latest(feature_id, to_change=True)
        runs = [
            run
            for run in reversed(work.shadow_runs.of(feature_id, limit=MOST))
            if run.problem is None and run.created_at >= counts_from(test)
        ]
        for run, query in judge_runs(work, runs):
            if run.mrr_delta is None:
                continue
            outcomes = outcomes_of(run, query.grades)
            voted = trials.vote_in(
                work,
                feature_id,
                query.text,
                run.mrr_delta,
                arm=Arm.BOTH,
                query_id=run.query_id,
                outcomes=outcomes,
            )
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
            used = find_used(work.feedback.of_query(query.query_id))
            outcome = ranked_outcome(query.result_ids, used)
            treated = arm is Arm.TREATMENT
            voted = trials.vote_in(
                work,
                feature_id,
                query.query,
                outcome.reciprocal_rank if treated else -outcome.reciprocal_rank,
                arm=arm,
                query_id=query.query_id,
                outcomes=SideOutcomes(treatment=outcome) if treated else SideOutcomes(control=outcome),
            )
            counted += voted.counted
    return counted


def _ripe(work: Work, test: AbTest, clock: Clock, wait: timedelta) -> list[LoggedQuery]:
    until = clock.now() - wait
    found = work.queries.since(counts_from(test), limit=MOST)
    return [query for query in found if query.session_id and query.created_at <= until]


def _arm(feature_id: str, identity: str, percent: int) -> Arm:
    return Arm.TREATMENT if bucket(identity, feature_id) < percent else Arm.CONTROL
