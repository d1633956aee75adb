"""Cold starts: searches of a session without a history, and how they compare with the others.

The ratio of cold to warm starts is a ratio of two means, given to the cold cases so that it adds up: each cold case has
its reciprocal rank over the mean of the warm ones, and their mean is the ratio of the means. Warm cases are what it is
measured by and have no value of their own. The interval counts the doubt in both means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.metrics import outcomes
from assay.metrics.aggregate import LEVEL, Aggregate
from assay.metrics.case_view import CaseView
from assay.metrics.first_results import reciprocal_rank
from assay.metrics.percentiles import mean
from assay.records.outcome import Outcome, OutcomeKind
from assay.records.sessions import SessionQuery
from assay.statistics.intervals import ratio_interval

NO_SESSION = "the case stands in no session"
NOTHING_RELEVANT = "no memory is relevant to the query"
_FEWEST = 2


def session_query(view: CaseView) -> SessionQuery | None:
    """Return a case as session metrics read it; None where it stands in no session."""
    session = view.case.session
    if session is None:
        return None
    return SessionQuery(ranking=view.ids, relevant=view.relevant, cold=not session.working_memory)


def cold_start_mrr(query: SessionQuery, k: int | None = None) -> Outcome:
    """The reciprocal rank of the first query of a session."""
    if not query.cold:
        return outcomes.not_applicable("the session has a history")
    return _reciprocal_rank(query, k)


def _reciprocal_rank(query: SessionQuery, k: int | None) -> Outcome:
    if not query.relevant:
        return outcomes.not_applicable(NOTHING_RELEVANT)
    return Outcome.scored(reciprocal_rank(query.ranking, query.relevant, k))


@dataclass(frozen=True, kw_only=True, slots=True)
class ColdStart:
    """How searches without a history compare with the others."""

    cold_mrr: float | None
    warm_mrr: float | None
    cold: int
    """How many cold searches were scored."""
    warm: int
    left_out: Mapping[OutcomeKind, int]

    @property
    def ratio(self) -> Outcome:
        """Cold over warm."""
        if self.cold_mrr is None or self.warm_mrr is None:
            return outcomes.not_applicable(f"{self.cold} cold and {self.warm} warm searches: one of each is needed")
        return outcomes.share(self.cold_mrr, self.warm_mrr, "the mean of the warm searches is 0")


def cold_start(queries: Iterable[SessionQuery], k: int | None = None) -> ColdStart:
    """The mean reciprocal rank of cold and of warm searches."""
    scored: dict[bool, list[float]] = {True: [], False: []}
    left_out: Counter[OutcomeKind] = Counter()
    for query in queries:
        outcome = _reciprocal_rank(query, k)
        if outcome.value is None:
            left_out[outcome.kind] += 1
        else:
            scored[query.cold].append(outcome.value)
    return ColdStart(
        cold_mrr=mean(scored[True]),
        warm_mrr=mean(scored[False]),
        cold=len(scored[True]),
        warm=len(scored[False]),
        left_out=left_out,
    )


def give_shares(views: Sequence[CaseView]) -> dict[str, Outcome]:
    """Return what each case contributes to the ratio, over all cases that came back."""
    queries = {view.case.id: session_query(view) for view in views}
    cutoff = views[0].spec.cutoff if views else None
    measured = cold_start([query for query in queries.values() if query is not None], cutoff)
    return {case: _share(query, measured, cutoff) for case, query in queries.items()}


def _share(query: SessionQuery | None, measured: ColdStart, cutoff: int | None) -> Outcome:
    if query is None:
        return outcomes.not_applicable(NO_SESSION)
    if not query.cold:
        return outcomes.not_applicable("the session has a history: cold starts are measured by it")
    if measured.ratio.value is None or not measured.warm_mrr:
        return measured.ratio
    if not query.relevant:
        return outcomes.not_applicable(NOTHING_RELEVANT)
    return Outcome.scored(reciprocal_rank(query.ranking, query.relevant, cutoff) / measured.warm_mrr)


def combine_doubt(whole: Aggregate, cold: Mapping[str, Outcome], views: Sequence[CaseView]) -> Aggregate:
    """Return the aggregate of the ratio with an interval that counts how much the warm searches vary too."""
    queries = [session_query(view) for view in views]
    warm = [
        reciprocal_rank(query.ranking, query.relevant, whole.spec.cutoff)
        for query in queries
        if query is not None and not query.cold and query.relevant
    ]
    shares = [outcome.value for outcome in cold.values() if outcome.value is not None]
    if whole.value is None or min(len(shares), len(warm)) < _FEWEST:
        return replace(whole, interval=None)
    # The shares of cold cases are already over the warm mean, so the ratio is of them and of warm shares around 1.
    warm_mean = sum(warm) / len(warm)
    return replace(whole, interval=ratio_interval(shares, [rank / warm_mean for rank in warm], level=LEVEL))
