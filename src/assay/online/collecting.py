"""Votes from what was logged: shadow runs that somebody judged, and split traffic by what was used of it.

Casting is idempotent, one vote for each distinct query, so both may be run as often as one likes.
"""

from __future__ import annotations

from datetime import timedelta

from assay.clock import Clock
from assay.flags import known
from assay.hashing import bucket
from assay.online import interleaving
from assay.online.interleaving import TIME_TO_USE, used
from assay.online.trials import Trials, counts_from
from assay.records import AbTest, LoggedQuery, Scope
from assay.records.online import Arm, VoteKind
from assay.storage import Store, Work

MOST = 10_000
"""Rows looked at in one go."""


def collect(store: Store, scope: Scope, trials: Trials, feature_id: str, clock: Clock) -> int:
    """Votes of whatever kind the newest test of a feature takes; how many counted."""
    with store.reading(scope) as work:
        kind = VoteKind(work.ab_tests.latest(feature_id).state_json["kind"])
    if kind is VoteKind.PAIRED:
        return collect_shadow(store, scope, trials, feature_id)
    if kind is VoteKind.SPLIT:
        return collect_split(store, scope, trials, feature_id, clock)
    return interleaving.collect(store, scope, trials, feature_id, clock)


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
    return Arm.TREATMENT if bucket(identity, known(feature_id).name) < percent else Arm.CONTROL


def _outcome(work: Work, query: LoggedQuery) -> float:
    taken = used(work.feedback.of_query(query.query_id))
    ranks = [rank for rank, one in enumerate(query.result_ids, start=1) if one in taken]
    return 1.0 / ranks[0] if ranks else 0.0
