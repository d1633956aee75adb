"""Rules that must hold in every case: guarantees, failure rates, uncalibrated judges, agent memory.

- Guarantees without exceptions.
- Ceilings of failure rates.
- Metrics of uncalibrated judges decide nothing.
- Runs over an agent's memory.

Runs over an agent's memory:

    always there       every constitutional memory comes with every search
    what matters       over 0.90 of the weight of critical and constitutional memories is found
    cold starts        a session without a history reaches 0.70 of one that has one
    sessions           the session's boost gains something
    reasons            over 0.60 of the chain behind a decision is shown
    current facts      the first result states the value that holds now in 0.75 of the cases, one of five in 0.90
    stale facts        no outdated value is shown without a mark or above the current one
    tiers              of what is shown, critical memories are right more often than important, these than normal ones

A target that was not measured is inconclusive: this dataset requires all of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from assay.evaluation.comparison import number
from assay.evaluation.gating.rules import gate_rule
from assay.evaluation.gating.run_rules import RATES
from assay.evaluation.gating.verdict import FAILURE_CEILINGS, Question, RuleVerdict, Status, beyond
from assay.evaluation.judged_scores import find_untrusted
from assay.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.evaluation.readings import Reading
    from assay.metrics.operations import FailureCounts
    from assay.records.evaluations import Rate

# --- Guarantees without exceptions ---
#
# Constitutional memories surface always, nothing leaves its scope, and a channel that found something in the baseline
# is not silent now.

GUARANTEE_RULE = "guarantee"
ALWAYS = {"constitutional_surfacing": (1.0, "constitutional memories surface")}
"""The value that a metric must have in every case, and what that means."""
_NAMED = 5


@gate_rule("guarantee", quality=lambda question, verdict: verdict.about in question.run.metrics)
def judge_guarantees(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each guarantee that the run measured."""
    found = [*_always(question.run), *_in_scope(question.run), *_alive(question.run, question.baseline)]
    if found:
        yield from found
    else:
        sentence = "the run measured no guarantee and tells of no channels"
        yield RuleVerdict(rule=GUARANTEE_RULE, status=Status.NOT_APPLICABLE, sentence=sentence)


def _always(run: Reading) -> Iterator[RuleVerdict]:
    for metric in run.metrics:
        name = MetricSpec.parse(metric).name
        if name in ALWAYS and run.count_values(metric):
            yield _judge_guarantee(run, metric, *ALWAYS[name])


def _judge_guarantee(run: Reading, metric: str, wanted: float, meaning: str) -> RuleVerdict:
    values = run.values(metric)
    broken = [case for case, value in values.items() if value != wanted]
    return _unbroken(run, metric, meaning, broken, len(values))


def _in_scope(run: Reading) -> Iterator[RuleVerdict]:
    broken = [case for case, leaked in run.scoped.items() if leaked]
    if run.scoped:
        yield _unbroken(run, "scope", "nothing from outside the scope was shown", broken, len(run.scoped))


def _unbroken(run: Reading, about: str, meaning: str, broken: Sequence[str], cases: int) -> RuleVerdict:
    more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    named = f": not in {', '.join(run.called(case) for case in broken[:_NAMED])}{more}" if broken else ""
    return RuleVerdict(
        rule=GUARANTEE_RULE,
        about=about,
        status=Status.FAIL if broken else Status.PASS,
        sentence=f"{meaning} in {cases - len(broken)} of {cases} cases{named}",
        evidence={"broken": list(broken), "cases": cases},
    )


def _alive(run: Reading, baseline: Reading | None) -> Iterator[RuleVerdict]:
    """One verdict for each channel of the run or the baseline, where the run reports its channels."""
    before = {} if baseline is None or not run.channels else baseline.channels
    for channel in dict.fromkeys([*run.channels, *before]):
        found, was = run.channels.get(channel), before.get(channel, 0)
        status, sentence = _liveness(channel, found, was)
        yield RuleVerdict(
            rule=GUARANTEE_RULE,
            about=f"channel {channel}",
            status=status,
            sentence=sentence,
            evidence={"found": found, "baseline": was},
        )


def _liveness(channel: str, found: int | None, was: int) -> tuple[Status, str]:
    """Judge a channel by the number of cases in which it found something; None where it was never used."""
    earlier = f"in the baseline it found something in {was}"
    if found:
        return Status.PASS, f"channel {channel} found something in {found} cases"
    if not was:
        return Status.NOT_APPLICABLE, f"channel {channel} found nothing in any case; no baseline says that it should"
    if found is None:
        remedy = "if it was switched off on purpose, bless this run"
        return Status.INCONCLUSIVE, f"channel {channel} was not asked in any case; {earlier}; {remedy}"
    return Status.FAIL, f"channel {channel} found nothing in any case; {earlier}"


# --- Ceilings of failure rates ---

FAILURE_RULE = "failures"
_SAID = {
    "error_rate": "cases failed (error, timeout or nothing returned)",
    "timeout_rate": "cases ran out of time",
    "empty_response_rate": "cases came back with nothing",
}


@gate_rule("failures", quality=False)
def judge_failures(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each rate with a ceiling."""
    found = question.run.failures()
    declared = {name: value for name, value in question.floors.items() if name in RATES}
    for name, ceiling in {**FAILURE_CEILINGS, **declared}.items():
        yield _judge_rate(name, _rate(found, name), ceiling)


def _judge_rate(name: str, rate: Rate, ceiling: float) -> RuleVerdict:
    if rate.value is None:
        sentence = "no case was tried, so nothing is known of failures"
        return RuleVerdict(rule=FAILURE_RULE, about=name, status=Status.INCONCLUSIVE, sentence=sentence)
    return RuleVerdict(
        rule=FAILURE_RULE,
        about=name,
        status=Status.FAIL if beyond(rate.value, ceiling) else Status.PASS,
        sentence=f"{rate.hits} of {rate.of} {_SAID[name]}: {rate.value * 100:.1f} %, allowed {ceiling * 100:g} %",
        evidence={"rate": rate.value, "hits": rate.hits, "of": rate.of, "ceiling": ceiling},
    )


def _rate(found: FailureCounts, name: str) -> Rate:
    return {"error_rate": found.any, "timeout_rate": found.timeout, "empty_response_rate": found.empty}[name]


# --- Metrics of uncalibrated judges decide nothing ---
#
# A floor on such a metric cannot be answered, and neither can whether it changed since the baseline: both leave the
# gate
# `inconclusive`, so that a judge whose calibration has ended does not take its metric out of the gate.

JUDGE_RULE = "judge"


@gate_rule("judge", quality=False)
def judge_judges(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each judged metric that has values and may not decide."""
    floors = {MetricSpec.parse(name).name for name in question.floors}
    for metric, why in find_untrusted(question.run.subject).items():
        measured = [name for name in question.run.metrics if MetricSpec.parse(name).name == metric]
        known = [name for name in measured if question.run.count_values(name)]
        asked = _metrics_of_baseline(question, measured)
        if metric in floors and measured:
            yield _inconclusive(metric, f"{metric} has a floor and cannot decide it: {why}", why)
        elif asked:
            yield _inconclusive(
                metric, f"{_describe_move(question, asked[0])} since the baseline, which cannot be decided: {why}", why
            )
        elif known:
            yield RuleVerdict(
                rule=JUDGE_RULE,
                about=metric,
                status=Status.NOT_APPLICABLE,
                sentence=f"{metric} is diagnostic only: {why}",
                evidence={"why": why},
            )


def _metrics_of_baseline(question: Question, measured: Sequence[str]) -> list[str]:
    """The metrics that the baseline has values of and that would decide; a deciding metric leaves out the others."""
    baseline, deciding = question.baseline, question.options.metric
    if baseline is None:
        return []
    return [name for name in measured if baseline.count_values(name) and deciding in (None, name)]


def _describe_move(question: Question, metric: str) -> str:
    before = None if question.baseline is None else question.baseline.mean(metric)
    return f"{metric} went from {number(before)} to {number(question.run.mean(metric))}"


def _inconclusive(metric: str, sentence: str, why: str) -> RuleVerdict:
    return RuleVerdict(
        rule=JUDGE_RULE, about=metric, status=Status.INCONCLUSIVE, sentence=sentence, evidence={"why": why}
    )


# --- Runs over an agent's memory ---

AGENT_MEMORY_RULE = "agent memory"
ALWAYS_THERE = str(MetricSpec.parse("constitutional_surfacing@5"))
TIERS = tuple(str(MetricSpec.parse(f"tier_precision(tier={tier})@5")) for tier in ("critical", "important", "normal"))
"""Each must be above the next."""


class Target(NamedTuple):
    """One value that must be reached."""

    metric: str
    least: str
    """`more than`, `at least` or `at most`."""
    value: float
    meaning: str

    def is_met_by(self, value: float) -> bool:
        """Whether a value reaches it."""
        if self.least == AT_MOST:
            return value <= self.value
        return value > self.value or (self.least == AT_LEAST and value == self.value)


AT_LEAST, AT_MOST, MORE_THAN = "at least", "at most", "more than"


def _target(metric: str, least: str, value: float, meaning: str) -> Target:
    return Target(str(MetricSpec.parse(metric)), least, value, meaning)


TARGETS = (
    _target(
        "importance_weighted_recall(least=critical,pinned=count)@10",
        MORE_THAN,
        0.90,
        "of the weight of critical and constitutional memories was found",
    ),
    _target("cold_start_ratio@10", AT_LEAST, 0.70, "of the warm reciprocal rank is reached by cold starts"),
    _target("personalisation_lift@10", MORE_THAN, 0.0, "of reciprocal rank is gained by the session's boost"),
    _target("causal_chain_completeness@10", MORE_THAN, 0.60, "of the chains behind decisions is shown"),
    _target("current_fact@1", AT_LEAST, 0.75, "of the questions have the current value in the first result"),
    _target("current_fact@5", AT_LEAST, 0.90, "of the questions have the current value in the first five results"),
    _target("stale_served@5", AT_MOST, 0.0, "of the questions are shown an outdated value unmarked or on top"),
)


@gate_rule("agent-memory", datasets=("agent-memory",))
def judge_agent_memory(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each target."""
    run = question.run
    if not run.count_values(ALWAYS_THERE):  # where it was measured, the guarantees judge it case by case
        yield _judge_unmeasured(ALWAYS_THERE)
    for target in TARGETS:
        value = run.mean(target.metric)
        yield _judge_unmeasured(target.metric) if value is None else _judge_target(run, target, value)
    yield _tiers(run)


def _judge_target(run: Reading, target: Target, value: float) -> RuleVerdict:
    met = target.is_met_by(value)
    return RuleVerdict(
        rule=AGENT_MEMORY_RULE,
        about=target.metric,
        status=Status.PASS if met else Status.FAIL,
        sentence=f"{value:.3f} {target.meaning}, {target.least} {target.value:g} is demanded",
        evidence={"value": value, "demanded": target.value, "cases": run.count_values(target.metric)},
    )


def _tiers(run: Reading) -> RuleVerdict:
    means = {metric: run.mean(metric) for metric in TIERS}
    values = [value for value in means.values() if value is not None]
    if len(values) < len(TIERS):
        return _judge_unmeasured(*(metric for metric, value in means.items() if value is None))
    falling = all(value > following for value, following in pairwise(values))
    critical, important, normal = values
    return RuleVerdict(
        rule=AGENT_MEMORY_RULE,
        about="tier_precision",
        status=Status.PASS if falling else Status.FAIL,
        sentence=f"of the memories shown, {critical:.3f} of the critical, {important:.3f} of the important and "
        f"{normal:.3f} of the normal ones are relevant, which must fall in this order",
        evidence={**means},
    )


def _judge_unmeasured(*metrics: str) -> RuleVerdict:
    sentence = f"not measured, and demanded by this dataset: {', '.join(metrics)}"
    return RuleVerdict(rule=AGENT_MEMORY_RULE, about=metrics[0], status=Status.INCONCLUSIVE, sentence=sentence)
