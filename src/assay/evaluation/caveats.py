"""Find what a reader must know beside a run's numbers: failures, reasons, unjudged results, short lists, ties.

`run_caveats` looks at a finished run. `unjudged_caveat`, `short_list_caveat` and `tie_caveat` make one caveat each
from counts, so that `assay measure` gives the same caveats for a run file. `withhold` takes a verdict back
when the difference between two runs may only come from unjudged results of one of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from assay.metrics.aggregate import Aggregate
from assay.metrics.engine import MeasuredRun
from assay.metrics.inputs import LatencySummary
from assay.metrics.operations import latency_summary
from assay.metrics.outcome_columns import distinct_outcomes
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import (
    VECTOR_SEARCH,
    CaseResult,
    CaseRun,
    CaseStatus,
    Cause,
    Outcome,
    OutcomeKind,
    Retrieved,
    RunManifest,
)
from assay.records.run_results import Caveat, CaveatKind
from assay.statistics import Comparison

COLD, COLD_MS = 3.0, 10.0
"""A first case is cold when it takes so many times the 95th percentile of the others, and so many ms more."""
JUDGED_GAP = 0.10
"""How much larger the share of unjudged results of one run must be before it may explain a difference."""
LEFT_OUT = {
    "excluded_unlabelled": "{} generated cases are not labelled yet and do not count: see `assay label`.",
    "excluded_unresolved": "{} cases with anchors that lead nowhere were left out: see `assay dataset check`.",
}
"""The sentence about cases left out of a run, by the instrument field that names them."""
FEWEST_RISES = 20
"""Neighbours with rising grades that are needed before the grades can look backward."""
BACKWARD = 0.8
"""The share of neighbours with different grades that must rise."""
_UNDECIDED = (OutcomeKind.NOT_APPLICABLE, OutcomeKind.JUDGE_FAILED)
_NOT_ANSWERED = (OutcomeKind.SKIPPED, OutcomeKind.SYSTEM_FAILED)
_FEW = 5
_COUNTED = re.compile(r"(\d+) (.*?)(, such as .*)?")


def case_caveats(cases: Sequence[CaseResult]) -> list[Caveat]:
    """Cases that ended badly or were never tried, then what the adapter of the system reported."""
    return [
        *_failure_caveats(cases),
        *_retry_caveats(cases),
        *_cost_caveats(cases),
        *_index_caveats(cases),
        *_adapter_caveats(cases),
    ]


def _index_caveats(cases: Sequence[CaseResult]) -> list[Caveat]:
    """How much of what exact search finds an approximate index found, where the system searched both ways."""
    shares, searched, exact_ms, depth = list[float](), list[CaseRun](), list[CaseRun](), 0
    for given in (case.retrieved for case in cases if case.retrieved is not None):
        if given.seen is None or not given.seen.exact:
            continue
        exact = set(given.seen.exact)
        depth = max(depth, len(exact))
        shares.append(len(exact & set(given.ids)) / len(exact))
        searched.append(CaseRun(total_ms=given.stages.get(VECTOR_SEARCH)))
        exact_ms.append(CaseRun(total_ms=given.seen.exact_ms))
    if not shares:
        return []
    index, exhaustive = latency_summary(searched), latency_summary(exact_ms)
    recall = math.fsum(shares) / len(shares)
    times = {"p50": index.p50, "p95": index.p95, "exact_p50": exhaustive.p50, "exact_p95": exhaustive.p95}
    known = {name: value for name, value in times.items() if value is not None}
    told = (
        f" The index took p50 {known['p50']:.2f} ms, p95 {known['p95']:.2f} ms; exact search p50 "
        f"{known['exact_p50']:.2f} ms, p95 {known['exact_p95']:.2f} ms."
        if len(known) == len(times)
        else ""
    )
    return [
        Caveat(
            kind=CaveatKind.INDEX,
            sentence=f"The approximate index has a recall@{depth} of {recall:.3f} against exact search of the same "
            f"vectors, over {len(shares):,} cases; the lowest is {min(shares):.3f}.{told}",
            count=len(shares),
            of=len(cases),
            figures={"recall": recall, "lowest": min(shares), "k": depth, **known},
        )
    ]


def _cost_caveats(cases: Sequence[CaseResult]) -> list[Caveat]:
    """What the cases cost, where the system reports it; failed cases without a cost may have been paid for."""
    tried = [case for case in cases if case.status is not CaseStatus.SKIPPED]
    told = [case.cost for case in tried if case.cost is not None]
    if not told:
        return []
    untold = [case for case in tried if case.cost is None]
    failed = sum(case.status in (CaseStatus.ERROR, CaseStatus.TIMEOUT) for case in untold)
    missing = (
        f" {len(untold):,} cases told no cost, {failed:,} of them failed: it may have been more." if untold else ""
    )
    return [
        Caveat(
            kind=CaveatKind.COST,
            sentence=f"{len(told):,} of {len(tried):,} cases told what they cost: {sum(told):.6g} in all.{missing}",
            count=len(told),
            of=len(tried),
            figures={"cost": sum(told), "untold": len(untold)},
        )
    ]


def idle_budget_caveat(money: float, cases: Sequence[CaseResult]) -> Caveat | None:
    """Return the caveat that a money budget limited nothing because no case reported a cost; None where one did."""
    tried = [case for case in cases if case.status is not CaseStatus.SKIPPED]
    if not tried or any(case.cost is not None for case in tried):
        return None
    sentence = f"The budget of {money:g} limited nothing: none of {len(tried):,} cases told what it cost."
    return Caveat(kind=CaveatKind.COST, sentence=sentence, count=0, of=len(tried))


def _retry_caveats(cases: Sequence[CaseResult]) -> list[Caveat]:
    """Cases that took more than one try: the error rate counts only how the last try ended."""
    counted = [case for case in cases if case.tries is not None]
    repeated = [case for case in counted if (case.tries or 0) > 1]
    if not repeated:
        return []
    requests = sum(case.tries or 0 for case in counted)
    answered = sum(case.status in (CaseStatus.OK, CaseStatus.EMPTY) for case in counted)
    failed = requests - answered
    sentence = (
        f"{requests:,} requests for {len(counted):,} cases: {failed:,} requests failed ({failed / requests:.1%}), and "
        f"{len(repeated):,} cases were tried again. The error rate counts cases by their last try; times include "
        "all tries and the pauses between them."
    )
    return [
        Caveat(
            kind=CaveatKind.RETRIES,
            sentence=sentence,
            count=len(repeated),
            of=len(counted),
            figures={"requests": requests, "failed_requests": failed, "cases": len(counted)},
        )
    ]


def _failure_caveats(cases: Sequence[CaseResult]) -> list[Caveat]:
    caveats = []
    for status in (CaseStatus.ERROR, CaseStatus.TIMEOUT, CaseStatus.SKIPPED):
        ended = [case for case in cases if case.status is status]
        if ended:
            why = f" The first said: {ended[0].error.rstrip('.')}." if ended[0].error else ""
            named = name_few(list(dict.fromkeys(case.case_id for case in ended)))
            caveats.append(
                Caveat(
                    kind=CaveatKind.SKIPPED_CASES if status is CaseStatus.SKIPPED else CaveatKind.FAILED_CASES,
                    sentence=f"{len(ended):,} cases ended with {status}: {named}.{why}",
                    count=len(ended),
                    of=len(cases),
                )
            )
    return caveats


def _adapter_caveats(cases: Sequence[CaseResult]) -> list[Caveat]:
    """The notes of single cases, added up: "2 ids that ..." in three cases becomes one sentence."""
    total: Counter[str] = Counter()
    concerned: Counter[str] = Counter()
    for note in (note for case in cases if case.retrieved is not None for note in case.retrieved.notes):
        counted = _COUNTED.fullmatch(note)
        what = (counted[2] if counted else note).rstrip(".")
        total[what] += int(counted[1]) if counted else 0
        concerned[what] += 1
    return [
        Caveat(
            kind=CaveatKind.SYSTEM_NOTE,
            sentence=f"In {count:,} cases: {f'{total[what]:,} ' if total[what] else ''}{what}.",
            count=count,
            of=len(cases),
        )
        for what, count in concerned.items()
    ]


def latency_caveats(cases: Sequence[CaseResult], total: LatencySummary | None) -> list[Caveat]:
    """What times include: cases that ran out of time, and the first question after the system was opened."""
    found = []
    if total is not None and total.timed_out:
        bounds = ", ".join(total.at_least)
        found.append(
            Caveat(
                kind=CaveatKind.LATENCY,
                sentence=f"{total.timed_out:,} cases ran out of time and count with the time they were waited for: "
                f"latency {bounds} {'is' if len(total.at_least) == 1 else 'are'} at least what is shown.",
                metrics=total.at_least,
                count=total.timed_out,
                of=len(cases),
            )
        )
    return [*found, *_cold_start_caveat(cases)]


def _cold_start_caveat(cases: Sequence[CaseResult]) -> list[Caveat]:
    """The first question took far longer than the others: the system was cold."""
    timed = [case for case in cases if case.status is CaseStatus.OK and case.total_ms is not None]
    first = [case for case in timed if case.first]
    others = latency_summary(case for case in timed if not case.first)
    slowest = max((case.total_ms or 0.0 for case in first), default=0.0)
    if others.p95 is None or others.p99 is None or slowest <= COLD * others.p95 or slowest - others.p95 < COLD_MS:
        return []
    return [
        Caveat(
            kind=CaveatKind.LATENCY,
            sentence=f"The first case asked ({first[0].case_id}) took {slowest:.1f} ms, with what the system loads on "
            "its first question; there was no warm-up. "
            f"Without it p95 is {others.p95:.1f} ms, p99 {others.p99:.1f} ms.",
            metrics=("p50", "p95", "p99", "mean"),
            count=len(first),
            of=len(timed),
            figures={"first_ms": slowest, "p50": others.p50 or 0.0, "p95": others.p95, "p99": others.p99},
        )
    ]


def bounds_caveat(aggregates: Mapping[MetricSpec, Aggregate]) -> list[Caveat]:
    """Between what the means would lie, had the cases without a value all come out badly or all well."""
    found = {str(spec): aggregate for spec, aggregate in aggregates.items() if aggregate.value is not None}
    limits = {
        name: (aggregate.worst, aggregate.best)
        for name, aggregate in found.items()
        if aggregate.worst is not None and aggregate.best is not None and aggregate.best != aggregate.worst
    }
    if not limits:
        return []
    doubtful = {name: found[name] for name in limits}
    ends = [f"{name} {min(pair):.3f} to {max(pair):.3f}" for name, pair in limits.items()]
    most = max(
        aggregate.cases - aggregate.scored - aggregate.others[OutcomeKind.NOT_APPLICABLE]
        for aggregate in doubtful.values()
    )
    whole = max(aggregate.cases for aggregate in doubtful.values())
    return [
        Caveat(
            kind=CaveatKind.FAILED_CASES,
            sentence=f"{most:,} of {whole:,} cases have no value and are in no mean. From all of them wrong to all of "
            f"them right: {name_few(ends)}.",
            metrics=tuple(doubtful),
            count=most,
            of=whole,
            figures={
                **{f"worst:{name}": worst for name, (worst, _) in limits.items()},
                **{f"best:{name}": best for name, (_, best) in limits.items()},
            },
        )
    ]


def seal_caveat(what: str) -> Caveat:
    """Files that version 0.1 wrote have no seal."""
    return Caveat(
        kind=CaveatKind.SEAL, sentence=f"The files of {what} have no seal: whether they were edited cannot be told."
    )


def sample_caveat(manifest: RunManifest, of: int) -> list[Caveat]:
    """A run over a part of the cases of its dataset."""
    asked = len(manifest.case_ids)
    if manifest.sample is None or manifest.sample >= 1.0:
        return []
    sentence = f"A sample: {asked:,} of {of:,} cases were asked. It cannot be blessed as a baseline."
    return [Caveat(kind=CaveatKind.PARTIAL, sentence=sentence, count=asked, of=of)]


def left_out_caveats(instrument: Mapping[str, Any]) -> list[Caveat]:
    """Cases of the dataset that were left out before the run, by why, as the instrument of the run names them."""
    return [
        Caveat(kind=CaveatKind.PARTIAL, sentence=sentence.format(f"{len(cases):,}"), count=len(cases))
        for name, sentence in LEFT_OUT.items()
        if (cases := instrument.get(name))
    ]


def no_answer_caveat(metrics: Sequence[str]) -> Caveat:
    """The dataset expects answers and the system gave none."""
    return Caveat(
        kind=CaveatKind.NO_ANSWERS,
        sentence=f"The system gives no answers, so nothing is known of {name_few(metrics, most=20)}.",
        metrics=tuple(metrics),
    )


def find_untold(scores: Mapping[MetricSpec, Mapping[str, Outcome]]) -> dict[MetricSpec, str]:
    """Metrics that no case could compute because the system does not report what they need, with that reason."""
    found = {}
    for spec, per_case in scores.items():
        asked = [outcome for outcome in distinct_outcomes(per_case) if outcome.kind not in _NOT_ANSWERED]
        reasons = {(outcome.reason, outcome.cause) for outcome in asked}
        if len(reasons) == 1 and asked[0].cause is Cause.UNTOLD:
            found[spec] = asked[0].reason
    return found


def untold_caveats(scores: Mapping[MetricSpec, Mapping[str, Outcome]]) -> list[Caveat]:
    """Name in one caveat the metrics that tables leave out because the system reports nothing for them."""
    untold = find_untold(scores)
    if not untold:
        return []
    metrics = tuple(map(str, untold))
    kinds = list(dict.fromkeys(f"{spec.name}@{spec.cutoff}" if spec.cutoff else spec.name for spec in untold))
    sentence = (
        f"{len(metrics):,} metrics have no value in any case and are left out of the tables, because "
        f"{'; '.join(dict.fromkeys(untold.values()))}: {name_few(kinds)}."
    )
    return [Caveat(kind=CaveatKind.UNTOLD, sentence=sentence, metrics=metrics, count=len(metrics))]


def missing_value_caveats(scores: Mapping[MetricSpec, Mapping[str, Outcome]]) -> list[Caveat]:
    """Why some cases have no value under some metrics, one caveat a reason; `untold_caveats` names the others."""
    found: dict[tuple[OutcomeKind, str, Cause | None], tuple[set[str], dict[str, None]]] = {}
    untold = find_untold(scores)
    for spec, per_case in scores.items():
        if spec in untold or not any(outcome.kind in _UNDECIDED for outcome in distinct_outcomes(per_case)):
            continue
        for case, outcome in per_case.items():
            if outcome.kind in _UNDECIDED:
                reason = outcome.reason or "nothing relevant to find"
                cases, specs = found.setdefault((outcome.kind, reason, outcome.cause), (set(), {}))
                cases.add(case)
                specs[str(spec)] = None
    return [
        Caveat(
            kind=_kind_of_missing_value(kind, cause),
            sentence=f"{len(cases):,} cases are {kind.replace('_', ' ')} under {name_few(list(specs))}: {reason}.",
            metrics=tuple(specs),
            count=len(cases),
        )
        for (kind, reason, cause), (cases, specs) in found.items()
    ]


def run_metric_caveats(found: Mapping[MetricSpec, Outcome]) -> list[Caveat]:
    """Say why metrics of the whole run have no value."""
    return [
        Caveat(
            kind=_kind_of_missing_value(outcome.kind, outcome.cause),
            sentence=f"{spec} has no value: {outcome.reason}.",
            metrics=(str(spec),),
        )
        for spec, outcome in found.items()
        if outcome.value is None
    ]


def _kind_of_missing_value(kind: OutcomeKind, cause: Cause | None) -> CaveatKind:
    if cause is Cause.NO_JUDGE:
        return CaveatKind.NO_JUDGE
    return CaveatKind.JUDGE if kind is OutcomeKind.JUDGE_FAILED else CaveatKind.NOT_APPLICABLE


def ranking_caveats(measured: MeasuredRun, specs: Sequence[MetricSpec]) -> list[Caveat]:
    """Unjudged results and short lists of measured rankings; `measured` has `extra_specs` too."""
    groups = by_cutoff(specs)
    shares = [read_judged_share(measured, concerned, cutoff) for cutoff, concerned in groups.items()]
    unjudged = [share for share in shares if share.unjudged > 0]
    found = [caveat_about_unjudged(unjudged)] if unjudged else []
    deepest = max((cutoff for cutoff in groups if cutoff is not None), default=0)
    short = _short_lists(measured, deepest)
    if short is not None:
        found.append(short_list_caveat(short, groups[deepest]))
    if measured.rises >= FEWEST_RISES and measured.rises >= BACKWARD * (measured.rises + measured.falls):
        found.append(backward_caveat(measured.rises, measured.rises + measured.falls))
    return found


def backward_caveat(rises: int, of: int) -> Caveat:
    """Say that better grades stand below worse ones nearly everywhere."""
    return Caveat(
        kind=CaveatKind.LABELS,
        sentence=f"The grades look backward: in {rises:,} of {of:,} neighbouring results with different grades the "
        "lower one has the higher grade. Either the smallest grade means the best document, or the system lists its "
        "worst results first.",
        count=rises,
        of=of,
    )


def by_cutoff(specs: Sequence[MetricSpec]) -> dict[int | None, list[MetricSpec]]:
    """Ranking metrics that leave unjudged results out of account, by how far down they look."""
    found: dict[int | None, list[MetricSpec]] = {}
    for spec in specs:
        if spec.is_ranking and spec.name != "judged":
            found.setdefault(spec.cutoff, []).append(spec)
    return found


def extra_specs(specs: Sequence[MetricSpec]) -> tuple[MetricSpec, ...]:
    """Further metrics that `ranking_caveats` needs to find out what unjudged results may change."""
    found: list[MetricSpec] = []
    for cutoff, concerned in by_cutoff(specs).items():
        found += [MetricSpec(name="judged", cutoff=cutoff), *([_precision(cutoff)] if cutoff is not None else [])]
        found += [changed for spec in concerned for rule in _ASSUMED if (changed := _assume(spec, rule)) is not None]
    return tuple(dict.fromkeys(found))


def _precision(cutoff: int) -> MetricSpec:
    return MetricSpec(name="precision", cutoff=cutoff)


_ASSUMED = ("in_view", "missed")
"""What is assumed of the unjudged results down to the cutoff: they are relevant; or only others found them."""


def _assume(spec: MetricSpec, rule: str) -> MetricSpec | None:
    """The metric under another rule for unjudged results; None where it names a rule itself."""
    given = dict(spec.parameters)
    if given.get("unjudged", "0") != "0" or "unjudged" not in {known.name for known in spec.entry.parameters}:
        return None
    parameters = tuple(sorted({**given, "unjudged": rule}.items()))
    return MetricSpec(name=spec.name, parameters=parameters, cutoff=spec.cutoff)


class Assumed(NamedTuple):
    """The mean of a metric as measured, and under two assumptions about unjudged results."""

    value: float
    if_relevant: float
    """If the unjudged results down to the cutoff were relevant."""
    if_missed: float
    """If as many relevant documents were there and this run had found none of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedShare:
    """How many of a run's results are judged, down to one cutoff."""

    cutoff: int | None
    metrics: tuple[str, ...]
    judged: float
    """The share of judged results, as the metric `judged` gives it."""
    unknown: float | None
    """Of the results not known to be relevant, the unjudged share; None without a cutoff."""
    ranges: Mapping[str, Assumed]
    """By metric."""

    @property
    def unjudged(self) -> float:
        """The share of unjudged results."""
        return 1.0 - self.judged


def read_judged_share(measured: MeasuredRun, specs: Sequence[MetricSpec], cutoff: int | None) -> JudgedShare:
    """Read the judged share of a run from what was measured with `extra_specs`."""
    judged = _mean(measured, MetricSpec(name="judged", cutoff=cutoff))
    return JudgedShare(
        cutoff=cutoff,
        metrics=tuple(map(str, specs)),
        judged=1.0 if judged is None else judged,
        unknown=None if cutoff is None else _unknown_share(measured, cutoff),
        ranges={str(spec): assumed for spec in specs if (assumed := _measure_assumptions(measured, spec)) is not None},
    )


def _measure_assumptions(measured: MeasuredRun, spec: MetricSpec) -> Assumed | None:
    """The metric as measured and under both assumptions; None where one of them has no value."""
    wanted = [spec, *(_assume(spec, rule) for rule in _ASSUMED)]
    means = [None if grade is None else _mean(measured, grade) for grade in wanted]
    found = [value for value in means if value is not None]
    return Assumed(*found) if len(found) == len(means) else None


def _unknown_share(measured: MeasuredRun, cutoff: int) -> float:
    """Of the results not known to be relevant, the unjudged share over all queries."""
    looked = np.minimum(measured.retrieved, cutoff)
    relevant = measured.scores[_precision(cutoff)].values * cutoff
    judged = measured.scores[MetricSpec(name="judged", cutoff=cutoff)].values * looked
    others = float((looked - relevant).sum())
    return float((looked - judged).sum()) / others if others > 0 else 0.0


def _mean(measured: MeasuredRun, spec: MetricSpec) -> float | None:
    column = measured.scores[spec]
    values = column.values[column.scored]
    return float(values.mean()) if values.size else None


def caveat_about_unjudged(shares: Sequence[JudgedShare]) -> Caveat:
    """Say how many results are unjudged, and what the metrics would be if those were relevant."""
    ordered = sorted(shares, key=lambda share: math.inf if share.cutoff is None else share.cutoff)
    where = join_words(
        f"{share.unjudged * 100:.1f} % of {'all' if share.cutoff is None else f'the first {share.cutoff}'} results"
        for share in ordered
    )
    ranges = {name: ends for share in shares for name, ends in share.ranges.items()}
    moved = [(name, ends) for name, ends in ranges.items() if round(ends.value, 3) != round(ends.if_relevant, 3)]
    ends = ", ".join(f"{name} {bounds.if_relevant:.3f} instead of {bounds.value:.3f}" for name, bounds in moved[:_FEW])
    figures: dict[str, float] = {}
    for share in shares:
        figures[f"judged{_at(share.cutoff)}"] = share.judged
        if share.unknown is not None:
            figures[f"unknown{_at(share.cutoff)}"] = share.unknown
    return Caveat(
        kind=CaveatKind.UNJUDGED,
        sentence=f"{where} were never judged and count as not relevant."
        + (f" If they were relevant: {ends}." if moved else ""),
        metrics=tuple(name for share in shares for name in share.metrics),
        figures={
            **figures,
            **{f"value:{name}": bounds.value for name, bounds in ranges.items()},
            **{f"if_relevant:{name}": bounds.if_relevant for name, bounds in ranges.items()},
            **{f"if_missed:{name}": bounds.if_missed for name, bounds in ranges.items()},
        },
    )


def _at(cutoff: int | None) -> str:
    return "" if cutoff is None else f"@{cutoff}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShortLists:
    """Rankings with fewer results than a cutoff."""

    cutoff: int
    cases: int
    of: int
    mean_length: float
    """Of the short ones."""


def _short_lists(measured: MeasuredRun, cutoff: int) -> ShortLists | None:
    lengths = measured.retrieved[measured.retrieved > 0]
    short = lengths[lengths < cutoff]
    if not short.size:
        return None
    return ShortLists(cutoff=cutoff, cases=int(short.size), of=int(lengths.size), mean_length=float(np.mean(short)))


def short_list_caveat(short: ShortLists, specs: Sequence[MetricSpec]) -> Caveat:
    """Say how many rankings end above the cutoff."""
    return Caveat(
        kind=CaveatKind.SHORT_LISTS,
        sentence=f"{short.cases:,} of {short.of:,} cases have fewer than {short.cutoff} results (on average "
        f"{short.mean_length:.1f}); the empty places down to {short.cutoff} count as not relevant.",
        metrics=tuple(map(str, specs)),
        count=short.cases,
        of=short.of,
    )


def tie_caveat(cases: int, of: int, *, rule: str) -> Caveat:
    """Say in how many cases equal scores hide which result is first, and which order counts."""
    return Caveat(
        kind=CaveatKind.TIES,
        sentence=f"In {cases:,} of {of:,} cases, results of equal score are partly relevant and partly not, so the "
        f"values depend on how ties are ordered: {rule}.",
        count=cases,
        of=of,
    )


def has_mixed_ties(retrieved: Retrieved, relevant: Iterable[str]) -> bool:
    """Whether results of equal score are partly relevant and partly not."""
    if retrieved.scores is None:
        return False
    wanted = set(relevant)
    seen: dict[float, bool] = {}
    for document, score in zip(retrieved.ids, retrieved.scores, strict=False):
        key = float(np.float32(score))
        if seen.setdefault(key, document in wanted) != (document in wanted):
            return True
    return False


def withhold(comparison: Comparison, control: Sequence[Caveat], treatment: Sequence[Caveat], metric: str) -> Comparison:
    """Withhold "better" or "worse" where unjudged results may be the whole difference in the metric.

    Two conditions: the losing run would reach the other one if its unjudged results were relevant (a recall or nDCG of
    the other one would fall then, because it did not find them), and among its
    results not known to be relevant it has a clearly larger share of unjudged ones. Where only relevant documents were
    ever judged, that share is the same for every run, and the caveat alone has to do.
    """
    if comparison.verdict not in ("better", "worse") or comparison.delta is None:
        return comparison
    lost = (treatment, control) if comparison.verdict == "worse" else (control, treatment)
    name = "second" if comparison.verdict == "worse" else "first"
    why = _explain_by_unjudged(*lost, metric, gap=abs(comparison.delta), name=name)
    if not why:
        return comparison
    seen = comparison.sentence.rstrip(".")
    return replace(comparison, verdict="withheld", sentence=f"Withheld: {why}. Without that: {seen}.")


def _explain_by_unjudged(
    loser: Sequence[Caveat], winner: Sequence[Caveat], metric: str, *, gap: float, name: str
) -> str:
    """Say why unjudged results may be the whole gap; empty when they cannot be."""
    place = _at(MetricSpec.parse(metric).cutoff)
    lost, won = _figures_of_unjudged(loser, metric), _figures_of_unjudged(winner, metric)
    more_unknown = lost.get(f"unknown{place}", 0.0) - won.get(f"unknown{place}", 0.0)
    if not _may_catch_up(lost, metric, gap) or more_unknown <= JUDGED_GAP:
        return ""
    unjudged = (1 - lost[f"judged{place}"]) * 100
    return (
        f"{unjudged:.1f} % of the results of the {name} run were never judged and count as not relevant, many more "
        "than of the other run; judge them first"
    )


def _may_catch_up(lost: Mapping[str, float], metric: str, gap: float) -> bool:
    """Whether the losing run would reach the other one if its unjudged results were relevant.

    What the other run's value would fall to is estimated from the losing run's: both are divided by the same number
    of relevant documents, which grows by the newly relevant ones.
    """
    if f"if_relevant:{metric}" not in lost:
        return False
    value = lost[f"value:{metric}"]
    share_left = lost.get(f"if_missed:{metric}", value) / value if value > 0 else 1.0
    return lost[f"if_relevant:{metric}"] >= (value + gap) * min(share_left, 1.0)


def _figures_of_unjudged(caveats: Sequence[Caveat], metric: str) -> Mapping[str, float]:
    found = (caveat for caveat in caveats if caveat.kind is CaveatKind.UNJUDGED and metric in caveat.metrics)
    return next((caveat.figures for caveat in found), {})


def join_words(words: Iterable[str]) -> str:
    """Words as a list in a sentence: "a", "a and b", "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def name_few(names: Sequence[str], most: int = _FEW) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
