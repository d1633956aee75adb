"""A gate that asks nothing of quality is not passed.

Without a baseline and without a floor on any metric of quality, only failures and latencies are looked at: a run that
finds nothing at all would pass. Floors that every value reaches, such as a recall of 0, ask nothing either.
"""

from __future__ import annotations

from collections.abc import Iterable

from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import GateRule
from assay.evaluation.gating.verdict import RuleVerdict, Status

RULE = "quality"
_MOST_NAMED = 3


def judge_asked(question: Question, given: Iterable[tuple[GateRule, RuleVerdict]]) -> list[RuleVerdict]:
    """Return one inconclusive verdict where no rule that applied spoke of quality, else nothing."""
    applied = [(rule, verdict) for rule, verdict in given if verdict.status is not Status.NOT_APPLICABLE]
    if any(rule.speaks_of_quality(question, verdict) for rule, verdict in applied):
        return []
    means = {metric: question.run.mean(metric) for metric in question.run.metrics}
    reached = [f"{metric} is {mean:.3f}" for metric, mean in means.items() if mean is not None][:_MOST_NAMED]
    return [
        RuleVerdict(
            rule=RULE,
            status=Status.INCONCLUSIVE,
            sentence=f"nothing is asked of quality ({', '.join(reached)}): bless a baseline (`assay baseline bless`) "
            "or declare floors in the dataset or under [floors] in assay.toml",
            evidence={"means": means},
        )
    ]
