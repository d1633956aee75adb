"""Latency, cost and failures: how long, how dear, how often not at all.

Percentiles are nearest-rank (`percentiles`). A case that timed out took at least as long as it was waited for. It
counts with that time, and percentiles that hang on it are lower bounds (`LatencySummary.at_least`). Any other case that
failed has no latency; the number of failures is shown beside every percentile.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from assay.metrics import outcomes
from assay.metrics.catalog import Better, Cutoff, FromRun, MetricEntry, Parameter, register
from assay.metrics.inputs import LatencySummary, RunFacts, mean, percentile
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseRun, CaseStatus, Outcome, OutcomeKind, Rate

TOTAL = "total"
"""The stage that is the whole case."""
_TIMEOUT, _EMPTY = frozenset({CaseStatus.TIMEOUT}), frozenset({CaseStatus.EMPTY})
FAILED = frozenset({CaseStatus.ERROR, *_TIMEOUT, *_EMPTY})


class TimedCase(Protocol):
    """A case that has a latency: a `CaseRun` or a `CaseResult`."""

    @property
    def status(self) -> CaseStatus:
        """How it ended."""

    @property
    def total_ms(self) -> float | None:
        """How long it took."""

    @property
    def stages(self) -> Mapping[str, float]:
        """How long each stage took, in milliseconds."""


def latency(run: TimedCase, stage: str = TOTAL) -> Outcome:
    """Milliseconds of one case in one stage; the total is the sum of the stages where only they were measured."""
    if run.status is CaseStatus.SKIPPED:
        return outcomes.skipped("the case was never tried")
    if run.status in FAILED:
        return outcomes.system_failed(f"the case ended with {run.status}")
    if stage == TOTAL:
        return _total(run)
    if stage not in run.stages:
        return outcomes.not_applicable(f"stage {stage!r} did not run")
    return Outcome.scored(run.stages[stage])


def _total(run: TimedCase) -> Outcome:
    if run.total_ms is not None:
        return Outcome.scored(run.total_ms)
    if run.stages:
        return Outcome.scored(math.fsum(run.stages.values()))
    return outcomes.skipped("the case was not timed")


def latency_summary(runs: Iterable[TimedCase], stage: str = TOTAL) -> LatencySummary:
    """The distribution of one stage over many cases."""
    cases = list(runs)
    waited = [run.total_ms for run in cases if stage == TOTAL and _ran_out_of_time(run) and run.total_ms is not None]
    answered, left_out = list[float](), Counter[OutcomeKind]()
    for run in cases:
        if stage == TOTAL and run.status is CaseStatus.OK and run.total_ms is not None:
            answered.append(run.total_ms)  # most cases: no outcome is made of them
        elif stage != TOTAL or not _ran_out_of_time(run):
            outcome = latency(run, stage)
            if outcome.value is None:
                left_out[outcome.kind] += 1
            else:
                answered.append(outcome.value)
    return summarise_times(answered, waited, left_out)


def summarise_times(
    answered: Sequence[float], waited: Sequence[float], left_out: Mapping[OutcomeKind, int]
) -> LatencySummary:
    """The distribution of times that were measured, those of cases that ran out of time, and how many have none."""
    times = sorted([*answered, *waited])
    return LatencySummary(
        p50=percentile(times, 50),
        p95=percentile(times, 95),
        p99=percentile(times, 99),
        mean=mean(times),
        timed=len(answered),
        left_out=left_out,
        timed_out=len(waited),
        at_least=_lower_bounds(answered, waited),
    )


def _ran_out_of_time(run: TimedCase) -> bool:
    """Whether a case ran out of time, and it is known how long it was waited for."""
    return run.status is CaseStatus.TIMEOUT and run.total_ms is not None


def _lower_bounds(answered: Sequence[float], waited: Sequence[float]) -> tuple[str, ...]:
    """The figures that could only be larger if cases had been waited for longer: those with such a case below them."""
    if not waited:
        return ()
    whole, earliest = len(answered) + len(waited), min(waited)
    before = sum(time <= earliest for time in answered)
    places = {f"p{percent}": -(-percent * whole // 100) for percent in (50, 95, 99)}
    return (*(name for name, place in places.items() if place > before), "mean")


def latency_by_stage(runs: Sequence[TimedCase]) -> dict[str, LatencySummary]:
    """The total, then every stage that some case went through."""
    stages = dict.fromkeys(stage for run in runs for stage in run.stages)
    return {stage: latency_summary(runs, stage) for stage in (TOTAL, *stages)}


def error_rate(run: CaseRun) -> Outcome:
    """Whether a case failed in any way: error, timeout or empty response."""
    return _has_status(run.status, FAILED)


def timeout_rate(run: CaseRun) -> Outcome:
    """Whether a case timed out."""
    return _has_status(run.status, _TIMEOUT)


def empty_response_rate(run: CaseRun) -> Outcome:
    """Whether a case came back with nothing in it."""
    return _has_status(run.status, _EMPTY)


def _has_status(status: CaseStatus, ways: Collection[CaseStatus]) -> Outcome:
    if status is CaseStatus.SKIPPED:
        return outcomes.skipped("the case was never tried")
    return outcomes.yes_or_no(status in ways)


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureCounts:
    """How often cases failed, and how."""

    any: Rate
    timeout: Rate
    empty: Rate


def failures(runs: Iterable[TimedCase]) -> FailureCounts:
    """The three rates over the cases that were tried."""
    return count_failures(Counter(run.status for run in runs))


def count_failures(endings: Mapping[CaseStatus, int]) -> FailureCounts:
    """The same, from how many cases ended in each way."""
    untried = endings.get(CaseStatus.SKIPPED, 0)
    tried = sum(endings.values()) - untried

    def rate(ways: Collection[CaseStatus]) -> Rate:
        hits = sum(count for status, count in endings.items() if status in ways)
        left_out = Counter({OutcomeKind.SKIPPED: untried} if untried else {})
        return Rate(hits=hits, of=tried, left_out=left_out)

    return FailureCounts(any=rate(FAILED), timeout=rate(_TIMEOUT), empty=rate(_EMPTY))


def failures_by_doc_type(runs: Iterable[CaseRun]) -> dict[str, FailureCounts]:
    """The same for each type of document, since failures tend to cluster by type; "" holds those of no type."""
    groups: defaultdict[str, list[CaseRun]] = defaultdict(list)
    for run in runs:
        groups[run.doc_type].append(run)
    return {doc_type: failures(groups[doc_type]) for doc_type in sorted(groups)}


def _read_latency(spec: MetricSpec, facts: RunFacts) -> Outcome:
    stage = spec.parameter("stage")
    summary = facts.latency.get(stage)
    if summary is None:
        return outcomes.not_applicable(f"stage {stage!r} did not run; there are: {', '.join(facts.latency)}")
    value = getattr(summary, spec.name.removesuffix("_latency"))
    return outcomes.skipped("no case was timed") if value is None else Outcome.scored(value)


def _read_rate(spec: MetricSpec, facts: RunFacts) -> Outcome:
    value = facts.rates[spec.name].value
    return outcomes.skipped("no case was tried") if value is None else Outcome.scored(value)


def _read_elapsed(_: MetricSpec, facts: RunFacts) -> Outcome:
    if facts.elapsed_s is None:
        return outcomes.skipped("the run was resumed, or it was stored before its time was kept")
    return Outcome.scored(facts.elapsed_s)


def _read_tokens(_: MetricSpec, facts: RunFacts) -> Outcome:
    if not facts.spent:
        return outcomes.no_judge()
    unmetered = sum(spent.get("unmetered", 0) for spent in facts.spent)
    tokens = sum(spent.get("prompt_tokens", 0) + spent.get("completion_tokens", 0) for spent in facts.spent)
    if unmetered:
        return outcomes.skipped(f"{unmetered} replies came without a token count; the others used {tokens}")
    return Outcome.scored(tokens)


def _read_cost(_: MetricSpec, facts: RunFacts) -> Outcome:
    if not facts.spent:
        return outcomes.no_judge()
    costs = [spent.get("cost_usd") for spent in facts.spent]
    if any(cost is None for cost in costs):
        return outcomes.not_applicable("no price is set for the judge's tokens, or its server does not count them")
    return Outcome.scored(math.fsum(cost for cost in costs if cost is not None))


def _read_judge_time(_: MetricSpec, facts: RunFacts) -> Outcome:
    if not facts.spent:
        return outcomes.no_judge()
    times = [spent.get("took_s") for spent in facts.spent]
    if any(time is None for time in times):
        return outcomes.skipped("the run was judged before the time of judging was kept")
    return Outcome.scored(math.fsum(time for time in times if time is not None))


_STAGE = Parameter(
    name="stage",
    meaning="which stage: total, folder-choice, candidate, fusion, rerank, retrieval, generation, ...",
    default=TOTAL,
)
_INTERPOLATION = (
    "Nearest rank: a latency that was measured. numpy and many dashboards interpolate between two, which puts the tail"
    " of a small sample below its worst case."
)


def _entry(
    name: str,
    summary: str,
    formula: str,
    disagreement: str,
    example: str,
    *,
    citation: str,
    compute: Callable[[MetricSpec, RunFacts], Outcome],
    highest: float | None = None,
    parameters: tuple[Parameter, ...] = (),
) -> MetricEntry:
    """All of them are from 0, better when lower, and without a cutoff."""
    return MetricEntry(
        name=name,
        family="operations",
        summary=summary,
        formula=formula,
        lowest=0,
        highest=highest,
        better=Better.LOWER,
        cutoff=Cutoff.NONE,
        parameters=parameters,
        citation=citation,
        disagreement=disagreement,
        example=example,
        compute=FromRun(compute),
    )


_latency_entry = partial(
    _entry, citation="the RAG regression framework, section 4.5.", compute=_read_latency, parameters=(_STAGE,)
)
_usage_entry = partial(_entry, citation="the core metrics document, performance metrics.")
_failure_entry = partial(
    _entry, citation="the core metrics document, operational metrics.", compute=_read_rate, highest=1
)

ENTRIES = (
    _latency_entry(
        "p50",
        "How long does the middle case take?",
        "the smallest latency that at least 50 % of the cases do not exceed, in ms",
        f"{_INTERPOLATION} Of an even number of cases it is the lower of the two in the middle.",
        "Latencies 10, 20, 30 and 100 ms: place ceil(0.5 * 4) = 2, which is 20",
    ),
    _latency_entry(
        "p95",
        "How long does a slow case take?",
        "the smallest latency that at least 95 % of the cases do not exceed, in ms",
        _INTERPOLATION,
        "Latencies 1, 2, ..., 20 ms: place ceil(0.95 * 20) = 19, which is 19",
    ),
    _latency_entry(
        "p99",
        "How long do the slowest cases take?",
        "the smallest latency that at least 99 % of the cases do not exceed, in ms",
        f"{_INTERPOLATION} With fewer than 100 cases it is the slowest one.",
        "Latencies 1, 2, ..., 20 ms: place ceil(0.99 * 20) = 20, which is 20",
    ),
    _latency_entry(
        "mean_latency",
        "How long does a case take on average?",
        "sum of latencies / timed cases, in ms",
        "One slow case moves it; read it beside the percentiles.",
        "Latencies 10, 20, 30 and 100 ms: 160 / 4 = 40",
    ),
    _usage_entry(
        "suite_time",
        "How long does the whole run take?",
        "end of the last case - start of the first, in seconds",
        "Time on the wall, not the sum of latencies: cases that run side by side are not counted twice.",
        "Begun at 10:00:00, ended at 10:01:30: 90",
        compute=_read_elapsed,
    ),
    _usage_entry(
        "judge_tokens",
        "How many tokens did judging use?",
        "input tokens + output tokens of the calls that were sent",
        "Replies from the cache use nothing. If a server reports no counts the total is not known, and not shown as"
        " the sum of the rest.",
        "Two calls of 800 in and 50 out, one from the cache: 850",
        compute=_read_tokens,
    ),
    _usage_entry(
        "judge_cost",
        "What did judging cost?",
        "(input tokens * input price + output tokens * output price) / 1,000,000",
        "List prices; discounts for cached prompts or batches are not known here.",
        "1,000,000 tokens in at 0.15 and 100,000 out at 0.60 a million: 0.15 + 0.06 = 0.21",
        compute=_read_cost,
    ),
    _usage_entry(
        "judge_time",
        "How long did judging take?",
        "sum over the judges of the time from the first case shown to the last verdict, in seconds",
        "Time on the wall: verdicts that are asked for side by side are not counted twice, and kept replies take next"
        " to none.",
        "Groundedness judged in 40 s, then abstention in 5 s: 45",
        compute=_read_judge_time,
    ),
    _failure_entry(
        "error_rate",
        "How many cases failed?",
        "cases that ended with an error, a timeout or an empty response / cases tried",
        "Includes timeouts and empty responses, as the document has it; elsewhere errors alone.",
        "Ten cases: one error, one timeout, one empty response: 3/10 = 0.3",
    ),
    _failure_entry(
        "timeout_rate",
        "How many cases ran out of time?",
        "timeouts / cases tried",
        "Depends on the time allowed, which is part of the run's configuration.",
        "Ten cases: one error, one timeout, one empty response: 1/10 = 0.1",
    ),
    _failure_entry(
        "empty_response_rate",
        "How many cases came back with nothing?",
        "empty responses / cases tried",
        "An abstention in words is an answer, not an empty response.",
        "Ten cases: one error, one timeout, two empty responses: 2/10 = 0.2",
    ),
)
register(__name__, ENTRIES)
