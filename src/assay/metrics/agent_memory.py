"""Agent memory: what must always surface, what matters most, and what a session's history gains.

- Cold starts: searches of a session without a history.
- Agent memory: what must surface, what matters most, what a session's history gains.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from assay.metrics import outcomes
from assay.metrics.aggregate import LEVEL, Aggregate
from assay.metrics.catalog import Better, Cutoff, FromCase, FromCases, MetricEntry, Parameter, register
from assay.metrics.inputs import CaseView, first, mean, reciprocal_rank
from assay.records.answers import NO_CLASSES, EquivalenceClasses
from assay.records.evaluations import Outcome, OutcomeKind
from assay.records.memory import Tier
from assay.records.sessions import SessionQuery
from assay.statistics.intervals import ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

# --- Cold starts: searches of a session without a history ---
#
# The ratio of cold to warm starts is a ratio of two means, given to the cold cases so that it adds up: each cold case
# has its reciprocal rank over the mean of the warm ones, and their mean is the ratio of the means. Warm cases are what
# it is measured by and have no value of their own. The interval counts the doubt in both means.

NO_SESSION = "the case stands in no session"
NOTHING_RELEVANT = "no memory is relevant to the query"
_FEWEST = 2


def session_query(view: CaseView) -> SessionQuery | None:
    """Return a case as session metrics read it; None where it is not part of a session."""
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


# --- Agent memory: what must surface, what matters most, what a session's history gains ---
#
# Rankings are lists of memory ids, best first. Each function looks at one search; the mean over the scored searches is
# the metric. Only the ratio of cold to warm starts is a property of a whole set.

TIER_WEIGHTS: Mapping[Tier, float] = MappingProxyType(
    {
        Tier.CONSTITUTIONAL: 4.0,
        Tier.CRITICAL: 3.0,
        Tier.IMPORTANT: 2.0,
        Tier.NORMAL: 1.0,
        Tier.TEMPORARY: 0.5,
        Tier.DEPRECATED: 0.0,
    }
)
"""What finding a memory is worth."""
NO_HISTORY = "the session has no history"


class Need(StrEnum):
    """What of the constitutional memories must surface."""

    ALL = "all"
    ANY = "any"
    SHARE = "share"
    """Nothing must: the share of them is the value."""


def constitutional_surfacing(
    hits: Sequence[str], constitutional: Collection[str], k: int, *, pinned: Sequence[str] = (), need: Need = Need.ALL
) -> Outcome:
    """Whether the constitutional memories in scope are among the pinned ones or the first k hits."""
    wanted = set(constitutional)
    found = wanted & {*pinned, *first(hits, k)}
    if need is Need.SHARE or not wanted:
        return outcomes.share(len(found), len(wanted), "there is no constitutional memory in scope")
    return outcomes.yes_or_no(found == wanted if need is Need.ALL else bool(found))


def importance_weighted_recall(
    hits: Sequence[str],
    relevant: Mapping[str, Tier],
    k: int,
    *,
    pinned: Sequence[str] = (),
    least: Tier = Tier.TEMPORARY,
    classes: EquivalenceClasses = NO_CLASSES,
) -> Outcome:
    """The weight of the relevant memories found, over the weight of all of them; an equivalence class is one memory."""
    weights: dict[str, float] = {}
    for memory, tier in relevant.items():
        if TIER_WEIGHTS[tier] >= TIER_WEIGHTS[least]:
            name = classes.name(memory)
            weights[name] = max(weights.get(name, 0.0), TIER_WEIGHTS[tier])
    found = classes.names([*pinned, *first(hits, k)])
    weight_found = math.fsum(weight for name, weight in weights.items() if name in found)
    return outcomes.share(weight_found, math.fsum(weights.values()), "no relevant memory has any weight")


def personalisation_lift(
    boosted: Sequence[str], plain: Sequence[str], relevant: Collection[str], k: int | None = None
) -> Outcome:
    """What the session boost adds to the reciprocal rank of one query."""
    if not relevant:
        return outcomes.not_applicable(NOTHING_RELEVANT)
    return Outcome.scored(reciprocal_rank(boosted, relevant, k) - reciprocal_rank(plain, relevant, k))


def causal_chain_completeness(
    hits: Sequence[str], chain: Collection[str], k: int, *, classes: EquivalenceClasses = NO_CLASSES
) -> Outcome:
    """The share of a decision's causal chain among the first k hits."""
    nodes = classes.names(chain)
    found = nodes & classes.names(first(hits, k))
    return outcomes.share(len(found), len(nodes), "the query has no causal chain")


def tier_precision(
    hits: Sequence[str],
    tiers: Mapping[str, Tier],
    relevant: Collection[str],
    k: int,
    *,
    tier: Tier,
    classes: EquivalenceClasses = NO_CLASSES,
) -> Outcome:
    """Of the first k hits that are of one tier: the share that is relevant."""
    shown = [memory for memory in first(hits, k) if tiers.get(memory) is tier]
    right = classes.names(relevant) & classes.names(shown)
    return outcomes.share(len(right), len(shown), f"no {tier} memory is among the first {k}")


def dedup_tokens_saved(filtered_tokens: Sequence[int] | None) -> Outcome:
    """The tokens of the results held back because the session has them already. None: nothing was held back."""
    if filtered_tokens is None:
        return outcomes.not_applicable("session deduplication was off")
    return Outcome.scored(sum(filtered_tokens))


def _constitutional(view: CaseView) -> Outcome:
    laws = [document.id for document in view.dataset.documents if document.tier is Tier.CONSTITUTIONAL]
    need = Need(view.parameter("need"))
    return constitutional_surfacing(view.ids, laws, view.k, pinned=view.given.pinned, need=need)


def _recall_by_importance(view: CaseView) -> Outcome:
    known = view.dataset.by_id
    return importance_weighted_recall(
        view.ids,
        {document: known[document].tier for document in view.relevant if document in known},
        view.k,
        pinned=view.given.pinned if view.parameter("pinned") == "count" else (),
        least=Tier(view.parameter("least")),
        classes=view.classes,
    )


def _tier_precision(view: CaseView) -> Outcome:
    tiers = {document: view.dataset.by_id[document].tier for document in view.ids if document in view.dataset.by_id}
    tier = Tier(view.parameter("tier"))
    return tier_precision(view.ids, tiers, view.relevant, view.k, tier=tier, classes=view.classes)


def _cold_start(view: CaseView) -> Outcome:
    query = session_query(view)
    return outcomes.not_applicable(NO_SESSION) if query is None else cold_start_mrr(query, view.k)


def _with_history(compute: Callable[[CaseView], Outcome]) -> Callable[[CaseView], Outcome]:
    """Compute only for a case whose session has a history."""

    def compute_view(view: CaseView) -> Outcome:
        if view.case.session is None:
            return outcomes.not_applicable(NO_SESSION)
        return compute(view) if view.case.session.working_memory else outcomes.not_applicable(NO_HISTORY)

    return compute_view


def _lift(view: CaseView) -> Outcome:
    plain = view.seen.unboosted
    if plain is None:
        return outcomes.not_applicable("the system does not say what it gives without the session")
    return personalisation_lift(view.ids, plain, view.relevant, view.k)


def _tokens_saved(view: CaseView) -> Outcome:
    saved = view.seen.tokens_saved
    if saved is None:
        return outcomes.not_applicable("the system does not say what it held back")
    return dedup_tokens_saved([saved])


def _chain(view: CaseView) -> Outcome:
    return causal_chain_completeness(view.ids, view.case.causal_chain, view.k, classes=view.classes)


_SECTION = "the memory evaluation framework, section 3.3."
_TIERS = tuple(tier.value for tier in Tier)

ENTRIES = (
    MetricEntry(
        name="constitutional_surfacing",
        compute=FromCase(_constitutional),
        family="agent memory",
        summary="Do the memories that must always be there come with the search?",
        formula="1 if every constitutional memory in scope is pinned or among the first k hits, else 0",
        cutoff=Cutoff.REQUIRED,
        parameters=(
            Parameter(
                name="need",
                meaning="all of them, any of them, or the share of them",
                default="all",
                choices=tuple(need.value for need in Need),
            ),
        ),
        citation=_SECTION,
        disagreement="The document defines it as `all` and computes it as `share` (count / total); `all` is the"
        " default. Pinned memories count whatever k is.",
        example="Three constitutional memories: one pinned, one at place 2, one at place 7: need=share gives 2/3 at 5,"
        " need=any gives 1, and the metric itself gives 0",
    ),
    MetricEntry(
        name="importance_weighted_recall",
        compute=FromCase(_recall_by_importance),
        family="agent memory",
        summary="How much of what matters was found, by weight of its tier?",
        formula="sum of w(tier) over relevant memories in the first k / sum of w(tier) over all relevant memories;"
        " w = 4 constitutional, 3 critical, 2 important, 1 normal, 0.5 temporary, 0 deprecated",
        cutoff=Cutoff.REQUIRED,
        parameters=(
            Parameter(
                name="least",
                meaning="the lowest tier that counts; critical gives critical and constitutional",
                default="temporary",
                choices=_TIERS,
            ),
            Parameter(
                name="pinned",
                meaning="whether memories returned outside the ranking count as found",
                default="ignore",
                choices=("ignore", "count"),
            ),
        ),
        citation=_SECTION,
        disagreement="The document gives no weight for deprecated memories; finding one is worth nothing here."
        " Nothing relevant: not applicable, where the document's plain recall says 1.",
        example="Relevant: a critical memory (3), found, and a normal one (1), missed: 3/4 = 0.75",
    ),
    MetricEntry(
        name="cold_start_mrr",
        compute=FromCase(_cold_start),
        family="agent memory",
        summary="How high is the first relevant memory when the session has no history?",
        formula="mean of 1 / place of the first relevant memory, over the first queries of sessions",
        cutoff=Cutoff.OPTIONAL,
        citation=_SECTION,
        disagreement="Warm queries are not applicable, so they never dilute it.",
        example="Two cold queries with the first relevant memory at places 1 and 2: (1 + 1/2) / 2 = 0.75",
    ),
    MetricEntry(
        name="cold_start_ratio",
        compute=FromCases(give_shares, combine_doubt),
        family="agent memory",
        summary="How much of the warm quality does a cold start reach?",
        formula="cold_start_mrr / mean reciprocal rank of the warm queries",
        highest=None,
        cutoff=Cutoff.OPTIONAL,
        citation=_SECTION,
        disagreement="A ratio of means, not a mean of ratios: cold and warm queries are not pairs. The target is 0.70.",
        example="Cold queries at places 1 and 2 (0.75), warm ones at places 1 and 1 (1.0): 0.75",
    ),
    MetricEntry(
        name="personalisation_lift",
        compute=FromCase(_with_history(_lift)),
        family="agent memory",
        summary="What does the session boost add to the reciprocal rank?",
        formula="reciprocal rank with the session boost - reciprocal rank without it",
        lowest=-1,
        cutoff=Cutoff.OPTIONAL,
        citation=_SECTION,
        disagreement="A difference, not a ratio as `lift` means in marketing.",
        example="The first relevant memory moves from place 2 to place 1: 1 - 1/2 = 0.5",
    ),
    MetricEntry(
        name="causal_chain_completeness",
        compute=FromCase(_chain),
        family="agent memory",
        summary="How much of the chain behind a decision is shown?",
        formula="chain memories in the first k / chain memories",
        cutoff=Cutoff.REQUIRED,
        citation=_SECTION,
        disagreement="Order along the chain is not asked for; a memory named twice in a chain is one.",
        example="A chain of five memories, three of them in the first ten: 3/5 = 0.6",
    ),
    MetricEntry(
        name="tier_precision",
        compute=FromCase(_tier_precision),
        family="agent memory",
        summary="Of the memories of one tier that were shown, how many are relevant?",
        formula="relevant memories of the tier in the first k / memories of the tier in the first k",
        cutoff=Cutoff.REQUIRED,
        parameters=(Parameter(name="tier", meaning="which tier", default="critical", choices=_TIERS),),
        citation=_SECTION,
        disagreement="Not divided by k: the tiers are to be compared with each other, whatever their numbers."
        " Of one equivalence class a single member counts as relevant.",
        example="Of the first five, two are critical and one of these is relevant: 1/2 = 0.5",
    ),
    MetricEntry(
        name="dedup_tokens_saved",
        compute=FromCase(_with_history(_tokens_saved)),
        family="agent memory",
        summary="How many tokens did the session not have to read again?",
        formula="sum of the token counts of results filtered because the session already has them",
        highest=None,
        better=Better.NEITHER,
        citation=_SECTION,
        disagreement="Per search; a session's total is the sum of its searches.",
        example="Two results of 120 and 80 tokens are held back: 200",
    ),
)
register(__name__, ENTRIES)
