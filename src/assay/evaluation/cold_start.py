"""The ratio of cold to warm starts over a run: a ratio of two means, given to the cold cases so that it adds up.

Each cold case has its reciprocal rank over the mean of the warm ones; their mean is the ratio of the means. Warm cases
are what it is measured by and have no value of their own. The interval counts the doubt in both means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.evaluation.asked import Asked
from assay.evaluation.memory_metrics import NO_SESSION, session_query
from assay.metrics import outcomes
from assay.metrics.agent_memory import ColdStart, cold_start
from assay.metrics.aggregate import LEVEL, Aggregate
from assay.metrics.first_results import reciprocal_rank
from assay.records.outcome import Outcome
from assay.records.sessions import SessionQuery
from assay.statistics.ratio import ratio_interval

NAME = "cold_start_ratio"
_FEWEST = 2


def ratio_outcomes(asked: Sequence[Asked]) -> dict[str, Outcome]:
    """What each case contributes to the ratio, over all cases that came back."""
    queries = {one.case.id: session_query(one) for one in asked}
    cutoff = asked[0].spec.cutoff if asked else None
    measured = cold_start([one for one in queries.values() if one is not None], cutoff)
    return {case: _outcome(query, measured, cutoff) for case, query in queries.items()}


def _outcome(query: SessionQuery | None, measured: ColdStart, cutoff: int | None) -> Outcome:
    if query is None:
        return outcomes.not_applicable(NO_SESSION)
    if not query.cold:
        return outcomes.not_applicable("the session has a history: cold starts are measured by it")
    if measured.ratio.value is None or not measured.warm_mrr:
        return measured.ratio
    if not query.relevant:
        return outcomes.not_applicable("no memory is relevant to the query")
    return Outcome.scored(reciprocal_rank(query.ranking, query.relevant, cutoff) / measured.warm_mrr)


def with_doubt_in_both(one: Aggregate, cold: Mapping[str, Outcome], asked: Sequence[Asked]) -> Aggregate:
    """The aggregate of a ratio with an interval that counts how much the warm searches vary too."""
    queries = [session_query(each) for each in asked]
    warm = [
        reciprocal_rank(each.ranking, each.relevant, one.spec.cutoff)
        for each in queries
        if each is not None and not each.cold and each.relevant
    ]
    values = [each.value for each in cold.values() if each.value is not None]
    if one.value is None or min(len(values), len(warm)) < _FEWEST:
        return replace(one, interval=None)
    # The shares of cold cases are already over the warm mean, so the ratio is of them and of warm shares around 1.
    mean = sum(warm) / len(warm)
    return replace(one, interval=ratio_interval(values, [each / mean for each in warm], level=LEVEL))
