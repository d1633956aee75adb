"""What to try next, from rules over what was measured. Each names its evidence; silence is an answer too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

from assay.evaluation.waterfall import GoldFate, LossStage, Waterfall
from assay.metrics.operations import TOTAL
from assay.records import Channel
from assay.records.evaluations import CaseStatus

if TYPE_CHECKING:
    from assay.evaluation.results import RunResult
    from assay.metrics.spec import MetricSpec

FEWEST = 2
"""Misses of one kind that are a pattern and not an incident."""
SHARE = 1 / 3
"""Of all misses, from which a kind of loss is worth a sentence."""
SMALLEST_PART = 5
"""Scored cases from which a part of the queries is judged on its own."""
MOSTLY_UNJUDGED = 0.5
_ASSAY_CHANNELS = frozenset(channel.value for channel in Channel)
MATTERS = 0.05
"""The smallest difference that a set should be able to see."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recommendation:
    """One thing to try."""

    rule: str
    advice: str
    evidence: str
    """The evidence for it, with the counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """A metric that fell below its baseline."""

    metric: str
    before: float
    now: float
    losers: tuple[str, ...]
    """Queries that lost, the largest loss first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEvidence:
    """What the rules look at; what is None or empty was not measured."""

    run: RunResult
    lead: MetricSpec | None
    """The metric that parts of the queries are compared by."""
    waterfall: Waterfall | None = None
    judged: int = 0
    """Judged results within k."""
    shown: int = 0
    """Results within k."""
    drops: Sequence[Drop] = ()
    detects: float | None = None
    """The smallest difference of the lead metric that the comparison could have seen."""
    needed: int | None = None
    """Queries it takes to see the smallest difference that matters."""
    ceilings: Mapping[str, float] = field(default_factory=dict)
    """Of latencies, by percentile."""


Rule = Callable[[RunEvidence], Iterator[Recommendation]]


def recommend(evidence: RunEvidence) -> tuple[Recommendation, ...]:
    """Return the recommendations that the rules find reasons for."""
    return tuple(chain.from_iterable(rule(evidence) for rule in RULES))


def _failures(evidence: RunEvidence) -> Iterator[Recommendation]:
    counts = evidence.run.counts
    failed = {status.value: counts[status] for status in (CaseStatus.ERROR, CaseStatus.TIMEOUT) if counts[status]}
    if not failed:
        return
    said = Counter(case.error for case in evidence.run.cases if case.error).most_common(1)
    often = f" Most often: {said[0][0]} ({said[0][1]})." if said else ""
    yield Recommendation(
        rule="failures",
        advice="Make the system answer every query first: a failed query is in none of the other numbers.",
        evidence=f"{sum(failed.values())} of {len(evidence.run.cases)} cases failed ({_join_counts(failed)}).{often}",
    )


def _nothing_returned(evidence: RunEvidence) -> Iterator[Recommendation]:
    empty = [case.case_id for case in evidence.run.cases if case.status is CaseStatus.EMPTY]
    if empty:
        yield Recommendation(
            rule="empty",
            advice="Find out why the system returned nothing: such a query counts with 0.",
            evidence=f"{len(empty)} of {len(evidence.run.cases)} cases came back empty: {_some_of(empty)}.",
        )


def _losses(evidence: RunEvidence) -> Iterator[Recommendation]:
    water = evidence.waterfall
    if water is None or not water.missed:
        return
    missed = [fate for fate in water.missed if not fate.failed]
    for stage, advise in _ADVICE.items():
        here = [fate for fate in missed if fate.stage is stage]
        if len(here) >= FEWEST and len(here) >= SHARE * len(missed):
            seen = f"{len(here)} of {len(missed)} missed gold items: {stage.value}."
            advice, more = advise(here, water)
            yield Recommendation(rule=stage.value, advice=advice, evidence=f"{seen} {more}".strip())


Advice = tuple[str, str]
"""What to do, and further evidence for it."""


def _not_indexed(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    return "Index them; `assay dataset check` shows whether the dataset still names what exists.", _some(here)


def _never_offered(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    asked = sorted({name for fate in here for name in fate.channels or {}})
    if set(asked) - _ASSAY_CHANNELS:
        return (
            f"Let {_some_of(asked)} offer more candidates, cut passages smaller, or add a channel of another kind.",
            f"None of {', '.join(asked)} offered them: {_some(here)}",
        )
    if asked and "vector" not in asked:
        return (
            "Ask the vector channel too: words alone do not find passages that say it in other words.",
            f"The channels that were asked: {', '.join(asked)}.",
        )
    return (
        "Let channels offer more (mode `deep`), cut passages smaller, or try another embedder.",
        f"None of {', '.join(asked) or 'the channels'} offered them: {_some(here)}",
    )


def _out_of_scope(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    return "Widen the scope, or let the choice of folders fall back to all (`on_with_fallback`).", _some(here)


def _advise_on_fusion(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    alone = Counter(names[0] for fate in here if len(names := _offering(fate)) == 1)
    if not alone:
        return "Let fusion keep more candidates, or try the other method (`search.fusion`).", _some(here)
    channel, count = alone.most_common(1)[0]
    return f"Raise the weight of the channel {channel}.", f"It alone had {count} of them."


def _advise_on_rerank(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    ranks = [fate.fused_rank for fate in here if fate.fused_rank is not None]
    before = f"Before it they stood at rank {median(ranks):.0f} in the middle." if ranks else ""
    stages = Counter(fate.dropped_by for fate in here if fate.dropped_by)
    if stages:
        stage, count = stages.most_common(1)[0]
        return (
            f"Let the stage {stage!r} keep more, or look at why it drops them.",
            f"It dropped {count} of them. {before}",
        )
    return "Show more results, or spread results that repeat each other less (`mmr`).", before


def _below_k(here: Sequence[GoldFate], water: Waterfall) -> Advice:
    near = sum(1 for fate in here if fate.rank is not None and fate.rank <= 2 * water.k)
    how = "in Assay the flag `cross_encoder` with the setting `rerank.folder`"
    return (
        f"Rerank the first {2 * water.k} results ({how}), or show more than {water.k}.",
        f"{near} of them stand between rank {water.k + 1} and {2 * water.k}.",
    )


def _not_cited(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    return "Ask the answer to cite every passage it rests on; retrieval had these.", _some(here)


def _answer_wrong(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    return "Look at the answers: their evidence was retrieved and cited.", _some(here)


def _not_known(here: Sequence[GoldFate], _: Waterfall) -> Advice:
    may = Counter(stage.value for fate in here for stage in fate.between)
    advice = (
        "Ask the system again with `assay report --why lost --probe`, or let it report `candidates` and `stages` with "
        "its results (docs/guides/why-a-query-lost.md)."
    )
    return advice, f"They may have been: {', '.join(may)}." if may else ""


_ADVICE: dict[LossStage, Callable[[Sequence[GoldFate], Waterfall], Advice]] = {
    LossStage.NOT_INDEXED: _not_indexed,
    LossStage.NOT_A_CANDIDATE: _never_offered,
    LossStage.OUT_OF_SCOPE: _out_of_scope,
    LossStage.LOST_IN_FUSION: _advise_on_fusion,
    LossStage.LOST_IN_RERANK: _advise_on_rerank,
    LossStage.BELOW_K: _below_k,
    LossStage.NOT_CITED: _not_cited,
    LossStage.ANSWER_WRONG: _answer_wrong,
    LossStage.NOT_KNOWN: _not_known,
}


def advise(fate: GoldFate, water: Waterfall) -> str | None:
    """Return what would have kept one gold item; None where there is no evidence."""
    if fate.stage not in _ADVICE or fate.failed:
        return None
    return _ADVICE[fate.stage]([fate], water)[0]


def _weak_parts(evidence: RunEvidence) -> Iterator[Recommendation]:
    lead = evidence.lead
    whole = None if lead is None else evidence.run.aggregates[lead].value
    if lead is None or whole is None:
        return
    for label, parts in evidence.run.breakdowns.items():
        found = {name: metrics[lead] for name, metrics in parts.items() if lead in metrics}
        weak = [
            (aggregate.value, name, aggregate.interval)
            for name, aggregate in found.items()
            if aggregate.value is not None
            and aggregate.scored >= SMALLEST_PART
            and aggregate.interval is not None
            and aggregate.interval.high is not None
            and aggregate.interval.high < whole
        ]
        if weak:
            value, name, interval = min(weak, key=lambda item: (item[0], item[1]))
            yield Recommendation(
                rule="weak part",
                advice=f"Look at the queries of {label} {name} first.",
                evidence=f"{lead} is {value:.3f} there (at most {interval.high:.3f}) and {whole:.3f} over all.",
            )


def _drops(evidence: RunEvidence) -> Iterator[Recommendation]:
    for drop in evidence.drops:
        share = (drop.now - drop.before) / drop.before * 100 if drop.before else 0.0
        yield Recommendation(
            rule="degraded",
            advice=f"Read the queries that lost {drop.metric}: {_some_of(drop.losers)}.",
            evidence=f"{drop.metric} fell from {drop.before:.3f} to {drop.now:.3f} ({share:+.1f} %); "
            f"{len(drop.losers)} queries lost.",
        )


def _slow(evidence: RunEvidence) -> Iterator[Recommendation]:
    stages = {
        name: latency.p95 for name, latency in evidence.run.latency.items() if name != TOTAL and latency.p95 is not None
    }
    for name, ceiling in evidence.ceilings.items():
        value = evidence.run.value(name)
        if value is None or value <= ceiling:
            continue
        slowest = max(stages, key=lambda stage: stages[stage]) if stages else None
        where = f" The slowest stage is {slowest} (p95 {stages[slowest]:.0f} ms)." if slowest else ""
        yield Recommendation(
            rule="slow",
            advice=f"Make {slowest} faster, or ask it for less." if slowest else "Time the stages of the system.",
            evidence=f"Latency {name} is {value:.0f} ms, allowed are {ceiling:.0f} ms.{where}",
        )


def _recommend_judging(evidence: RunEvidence) -> Iterator[Recommendation]:
    unknown = evidence.shown - evidence.judged
    if evidence.shown and unknown / evidence.shown > MOSTLY_UNJUDGED:
        yield Recommendation(
            rule="unjudged",
            advice="Judge more of the shown results: a result without a judgment counts as not relevant.",
            evidence=f"{unknown} of {evidence.shown} results within k were never judged.",
        )


def _small_set(evidence: RunEvidence) -> Iterator[Recommendation]:
    if evidence.detects is None or evidence.detects <= MATTERS or evidence.lead is None:
        return
    more = f"; about {evidence.needed} would be needed to see {MATTERS:g}" if evidence.needed else ""
    yield Recommendation(
        rule="small set",
        advice="Add queries before trusting small differences.",
        evidence=f"These queries see differences of {evidence.detects:.3f} or more in {evidence.lead} (80 % power)"
        f"{more}.",
    )


def _offering(fate: GoldFate) -> list[str]:
    return [name for name, rank in (fate.channels or {}).items() if rank is not None]


def _some(fates: Sequence[GoldFate]) -> str:
    return f"For example {_some_of([f'{fate.item} ({fate.case_id})' for fate in fates])}."


def _some_of(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _join_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


RULES: tuple[Rule, ...] = (
    _failures,
    _nothing_returned,
    _losses,
    _drops,
    _weak_parts,
    _slow,
    _recommend_judging,
    _small_set,
)
"""In the order of a report."""
