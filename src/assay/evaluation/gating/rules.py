"""The rules in force: those of every gate, and those that a dataset brings along.

A further set of rules is one more module and one more line in `OF_DATASET`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from assay.evaluation.gating.agent_memory import judge_agent_memory
from assay.evaluation.gating.coverage import judge_coverage
from assay.evaluation.gating.diagnostic import judge_judges
from assay.evaluation.gating.failures import judge_failures
from assay.evaluation.gating.floors import judge_floors
from assay.evaluation.gating.guarantees import judge_guarantees
from assay.evaluation.gating.latency import judge_latency
from assay.evaluation.gating.lost import judge_lost
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.relative import judge_relative
from assay.evaluation.gating.sealed import judge_seals
from assay.evaluation.gating.verdict import RuleVerdict

Rule = Callable[[Question], Iterable[RuleVerdict]]

ALWAYS: tuple[Rule, ...] = (
    judge_seals,
    judge_coverage,
    judge_floors,
    judge_relative,
    judge_latency,
    judge_lost,
    judge_guarantees,
    judge_failures,
    judge_judges,
)
OF_DATASET: Mapping[str, tuple[Rule, ...]] = {"agent-memory": (judge_agent_memory,)}
"""By the name of the dataset."""


def rules_of(dataset: str) -> tuple[Rule, ...]:
    """Everything that a run over this dataset must hold."""
    return (*ALWAYS, *OF_DATASET.get(dataset, ()))
