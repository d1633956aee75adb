"""What a run over an agent's memory must hold besides the rules of every gate.

    always there       every constitutional memory comes with every search
    what matters       over 0.90 of the weight of critical and constitutional memories is found
    cold starts        a session without a history reaches 0.70 of one that has one
    sessions           the session's boost gains something
    reasons            over 0.60 of the chain behind a decision is shown
    tiers              of what is shown, critical memories are right more often than important, these than normal ones

A target that was not measured is inconclusive: this dataset asks for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.readings import Reading
from assay.metrics.spec import MetricSpec

RULE = "agent memory"
ALWAYS_THERE = str(MetricSpec.parse("constitutional_surfacing@5"))
TIERS = tuple(str(MetricSpec.parse(f"tier_precision(tier={tier})@5")) for tier in ("critical", "important", "normal"))
"""Each must be above the next."""


class Target(NamedTuple):
    """One value that must be reached."""

    metric: str
    least: str
    """`more than` or `at least`."""
    value: float
    meaning: str

    def met_by(self, value: float) -> bool:
        """Whether a value reaches it."""
        return value > self.value or (self.least == AT_LEAST and value == self.value)


AT_LEAST, MORE_THAN = "at least", "more than"


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
)


@gate_rule("agent-memory", datasets=("agent-memory",))
def judge_agent_memory(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each target."""
    run = question.run
    if not run.values(ALWAYS_THERE):  # where it was measured, the guarantees judge it case by case
        yield _unmeasured(ALWAYS_THERE)
    for target in TARGETS:
        value = run.mean(target.metric)
        yield _unmeasured(target.metric) if value is None else _judged(run, target, value)
    yield _tiers(run)


def _judged(run: Reading, target: Target, value: float) -> RuleVerdict:
    met = target.met_by(value)
    return RuleVerdict(
        rule=RULE,
        about=target.metric,
        status=Status.PASS if met else Status.FAIL,
        sentence=f"{value:.3f} {target.meaning}, {target.least} {target.value:g} is demanded",
        evidence={"value": value, "demanded": target.value, "cases": len(run.values(target.metric))},
    )


def _tiers(run: Reading) -> RuleVerdict:
    means = {metric: run.mean(metric) for metric in TIERS}
    values = [value for value in means.values() if value is not None]
    if len(values) < len(TIERS):
        return _unmeasured(*(metric for metric, value in means.items() if value is None))
    falling = all(one > following for one, following in pairwise(values))
    critical, important, normal = values
    return RuleVerdict(
        rule=RULE,
        about="tier_precision",
        status=Status.PASS if falling else Status.FAIL,
        sentence=f"of the memories shown, {critical:.3f} of the critical, {important:.3f} of the important and "
        f"{normal:.3f} of the normal ones are relevant, which must fall in this order",
        evidence={**means},
    )


def _unmeasured(*metrics: str) -> RuleVerdict:
    sentence = f"not measured, and demanded by this dataset: {', '.join(metrics)}"
    return RuleVerdict(rule=RULE, about=metrics[0], status=Status.INCONCLUSIVE, sentence=sentence)
