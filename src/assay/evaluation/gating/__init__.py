"""The gate: may this run go in?

`question` what is asked and what is allowed, `verdict` what is answered, `judge` all rules over one question. Each rule
is a module with one function from a `Question` to its verdicts: `sealed`, `coverage`, `floors`, `relative`, `latency`,
`lost`, `guarantees`, `failures`, `diagnostic`, and `agent_memory` for the dataset of that name. `registering` is where
they and those of packages are registered; `asked` sees to it that at least one of them spoke of quality.
"""

from assay.evaluation.gating.judge import judge
from assay.evaluation.gating.question import GateOptions, Question
from assay.evaluation.gating.verdict import RuleVerdict, Status, Verdict

__all__ = ["GateOptions", "Question", "RuleVerdict", "Status", "Verdict", "judge"]
