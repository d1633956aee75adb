"""A gate that asks nothing of quality is not passed.

Without a baseline and without a floor on any metric of quality, only failures and latencies are looked at: a run that
finds nothing at all would pass. Floors that every value reaches, such as a recall of 0, ask nothing either.
"""

from __future__ import annotations

from collections.abc import Iterable

from assay.evaluation.floors import asks_quality
from assay.evaluation.gating import agent_memory, floors, guarantees, lost, relative
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.verdict import RuleVerdict, Status

RULE = "quality"
_ALWAYS_QUALITY = frozenset({relative.RULE, lost.RULE, agent_memory.RULE})
_MOST_NAMED = 3


def judge_asked(question: Question, given: Iterable[RuleVerdict]) -> list[RuleVerdict]:
    """Return one inconclusive verdict where no rule that applied spoke of quality, else nothing."""
    if any(_speaks_of_quality(question, verdict) for verdict in given):
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


def _speaks_of_quality(question: Question, verdict: RuleVerdict) -> bool:
    if verdict.status is Status.NOT_APPLICABLE:
        return False
    if verdict.rule == floors.RULE:
        return asks_quality(verdict.about, question.floors[verdict.about])
    if verdict.rule == guarantees.RULE:
        return verdict.about in question.run.metrics
    return verdict.rule in _ALWAYS_QUALITY
