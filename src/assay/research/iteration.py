"""The loop around a plan: the critic's word on an attempt that failed, how the next is made, and which one is used.

After the first failed attempt the critic's mode is used; after the second everything is planned anew; when the last one
allowed fails, the larger model looks at it and the best attempt is used. A planner that raises ends the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.judging.panel_options import PanelOptions, below
from assay.records.panel import CheckpointResult, IterationDecision, PanelVerdict
from assay.records.research import Dimension, Issue, IterationMode, Plan, PlanFeedback
from assay.records.researched import PlanAttempt
from assay.research.choosing import choose_plan, standing_of

FAILURES = {
    Dimension.INTENT_ALIGNMENT: "intent_misalignment",
    Dimension.QUERY_COVERAGE: "insufficient_coverage",
    Dimension.SCOPE_APPROPRIATENESS: "scope_mismatch",
}
"""What a plan's failure is called, gravest first."""
LOW_SCORE = "low_score"
"""No dimension is below its bar, and all together are."""
MISUNDERSTOOD = 0.4
"""Intent below this is no slip: the plan is about something else, and mending it is not enough."""
MOST_ISSUES = 8
ANEW_AFTER = 2
"""The failed attempt after which the critic is not asked how."""


def failure_of(result: CheckpointResult) -> str:
    """What a plan that did not pass failed by."""
    failed = set(result.failed_dimensions)
    return next((name for dimension, name in FAILURES.items() if dimension.value in failed), LOW_SCORE)


def decide(result: CheckpointResult, *, attempt: int, options: PanelOptions) -> IterationDecision:
    """What the critic makes of an attempt that failed."""
    verdict = result.verdict
    issues = () if verdict is None else _issues(verdict)
    forced = attempt >= ANEW_AFTER
    mode = IterationMode.FULL_REGENERATION if forced else recommended(result, options)
    return IterationDecision(
        mode=mode, failure_type=failure_of(result), issues=issues, feedback=_feedback(result, issues), forced=forced
    )


def recommended(result: CheckpointResult, options: PanelOptions) -> IterationMode:
    """The critic's own choice: another approach to a misunderstanding, all anew for several faults, else a mend."""
    intent = result.scores.get(Dimension.INTENT_ALIGNMENT.value, 1.0)
    if below(intent, MISUNDERSTOOD):
        return IterationMode.ALTERNATIVE_APPROACH
    own = [name for name in result.failed_dimensions if name in FAILURES]
    floor = options.thresholds[result.checkpoint] / 2
    if len(own) > 1 or any(below(score, floor) for score in result.scores.values()):
        return IterationMode.FULL_REGENERATION
    return IterationMode.TARGETED_FIX


def feedback_on(plan: Plan, result: CheckpointResult, decision: IterationDecision) -> PlanFeedback:
    """What the planner gets."""
    return PlanFeedback(
        previous=plan,
        mode=decision.mode,
        failure_type=decision.failure_type,
        critique=decision.feedback,
        issues=decision.issues,
        scores={Dimension(name): score for name, score in result.scores.items() if name in FAILURES},
    )


def best_of(attempts: Sequence[PlanAttempt]) -> PlanAttempt:
    """The one that passed; else the highest score, the earlier of equals; one without a score before none."""
    return attempts[choose_plan([standing_of(attempt.result) for attempt in attempts])]


def _issues(verdict: PanelVerdict) -> tuple[Issue, ...]:
    """What the roles named, each once, the less content role first."""
    roles = sorted(
        (one for one in verdict.results if one.scored), key=lambda one: min(one.scores.values(), default=1.0)
    )
    found: dict[str, Issue] = {}
    for issue in (issue for role in roles for issue in role.issues):
        found.setdefault(issue.issue, issue)
    return tuple(found.values())[:MOST_ISSUES]


def _feedback(result: CheckpointResult, issues: Sequence[Issue]) -> str:
    verdict = result.verdict
    said = [] if verdict is None else [f"{one.role}: {one.critique}" for one in verdict.results if one.critique]
    if verdict is not None and verdict.escalation is not None and verdict.escalation.scored:
        said.append(f"reviewer: {verdict.escalation.verdict}")
    fixes = [f"{one.issue} - {one.fix}" for one in issues]
    return "\n".join([*said, *fixes])
