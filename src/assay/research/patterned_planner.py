"""A planner that heeds what earlier questions failed by; only behind the flag `pattern_planning`.

Patterns are found by the offline analysis: questions with some trait score lower on some dimension. When a new question
has the trait, the first plan is made as if the critic had seen the plain one and named that weakness: the rules search
for what it names, a model is told in the words it is always told feedback in. Later attempts have a critic of their
own, and nothing is added to what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.records.research import Issue, IterationMode, Plan, PlanFeedback
from assay.research.planner import Planner, RulePlanner

Cautions = Callable[[str], Sequence[Issue]]
"""What questions like this one failed by before, gravest first."""
KNOWN_PATTERN = "known_pattern"
"""The failure type that such feedback names; the plan's record has it beside the planner."""


class PatternedPlanner:
    """Another planner, told of known weaknesses."""

    def __init__(self, inner: Planner, cautions: Cautions) -> None:
        self._inner = inner
        self._cautions = cautions
        self._rules = RulePlanner()

    def plan(self, question: str, *, feedback: PlanFeedback | None = None) -> Plan:
        """The first plan with known weaknesses in mind, or the next one after feedback."""
        issues = tuple(self._cautions(question)) if feedback is None else ()
        if not issues:
            return self._inner.plan(question, feedback=feedback)
        known = PlanFeedback(
            previous=self._rules.plan(question),
            mode=IterationMode.TARGETED_FIX,
            failure_type=KNOWN_PATTERN,
            critique="\n".join(f"{one.issue} {one.fix}" for one in issues),
            issues=issues,
        )
        made = self._inner.plan(question, feedback=known)
        return replace(made, planner=f"{made.planner} ({KNOWN_PATTERN})")
