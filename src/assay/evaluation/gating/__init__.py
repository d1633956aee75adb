"""The gate: may this run go in?

- `verdict`: the question to a gate and its answer.
- `rules`: the registry of rules, `@gate_rule`, and judging a run by all of them.
- `run_rules`: seals, coverage and floors.
- `baseline_rules`: quality, latency and lost answers compared with the baseline.
- `guarantee_rules`: guarantees, failure rates, uncalibrated judges and agent memory.
"""

from assay.evaluation.gating.rules import judge
from assay.evaluation.gating.verdict import GateOptions, Question, RuleVerdict, Status, Verdict

__all__ = ["GateOptions", "Question", "RuleVerdict", "Status", "Verdict", "judge"]
