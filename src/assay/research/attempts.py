"""Attempts at a plan: when to try again, and which plan and answer are chosen.

- Choosing a plan and an answer.
- Deciding on and preparing the next attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.judging.panel_options import PanelOptions, below
from assay.records.judging import CheckpointResult, CheckpointState, IterationDecision, PanelVerdict
from assay.records.research import Dimension, Issue, IterationMode, Plan, PlanFeedback

if TYPE_CHECKING:
    from assay.records.research_log import PlanAttempt

# --- Choosing a plan and an answer ---
#
# The pipeline chooses while it runs and stores the number of the choice in the record. Everything that later speaks of
# "the" plan or "the" answer of a record (ratings, pages, retries) reads that number through `chosen_plan_in` and
# `find_chosen_answer`. Records written before the number existed are chosen from here by the same rule.

Recorded = Mapping[str, Any]
"""A part of a record as JSON."""

CHOSEN = "chosen"
"""The field of `plan_evaluation` and `answer_evaluation` that holds the number of the attempt that was used."""


class AttemptStanding(NamedTuple):
    """What counts of an attempt when one of several is chosen."""

    passed: bool | None
    score: float | None

    @property
    def rank(self) -> float:
        """The score; an attempt without one ranks below every other."""
        return -1.0 if self.score is None else self.score


def standing_of(result: CheckpointResult) -> AttemptStanding:
    """What counts of an attempt that was just made."""
    return AttemptStanding(result.passed, result.score)


def choose_plan(standings: Sequence[AttemptStanding]) -> int:
    """Return the position of the plan to use: the last that passed, else the highest score, the earlier of equals."""
    passed = [position for position, standing in enumerate(standings) if standing.passed]
    return passed[-1] if passed else _highest(standings)


def choose_answer(standings: Sequence[AttemptStanding]) -> int:
    """Return the position of the answer to show: the last one that did not fail, else the highest score.

    An answer that could not be evaluated counts as not failed; of equal scores the earlier is shown.
    """
    through = [position for position, standing in enumerate(standings) if standing.passed is not False]
    return through[-1] if through else _highest(standings)


def find_chosen_plan(trace: Recorded) -> Recorded | None:
    """Return the plan attempt of a record that was searched with; None where there is none."""
    return _choose_in(trace.get("plan_evaluation", {}), choose_plan)


def find_chosen_answer(trace: Recorded) -> Recorded | None:
    """Return the answer attempt of a record that was shown; None where there is none."""
    return _choose_in(trace.get("answer_evaluation", {}), choose_answer)


def _choose_in(part: Recorded, choose: Callable[[Sequence[AttemptStanding]], int]) -> Recorded | None:
    attempts: Sequence[Recorded] = part.get("attempts", [])
    if not attempts:
        return None
    if part.get(CHOSEN) is None:
        return attempts[choose([_standing_in(attempt["result"]) for attempt in attempts])]
    return next(attempt for attempt in attempts if attempt["number"] == part[CHOSEN])


def _standing_in(result: Recorded) -> AttemptStanding:
    """Read what `CheckpointResult.score` gives from the JSON of a result."""
    scored = result["state"] == CheckpointState.SCORED.value and result["verdict"] is not None
    return AttemptStanding(result["passed"], result["verdict"]["aggregate"] if scored else None)


def _highest(standings: Sequence[AttemptStanding]) -> int:
    return max(range(len(standings)), key=lambda position: standings[position].rank)


# --- Deciding on and preparing the next attempt ---
#
# After the first failed attempt the critic's mode is used; after the second everything is planned anew; when the last
# one allowed fails, the larger model looks at it and the best attempt is used. A planner that raises ends the loop.

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
"""From this failed attempt on, the plan is made anew instead of as recommended."""


def failure_of(result: CheckpointResult) -> str:
    """What a plan that did not pass failed by."""
    failed = set(result.failed_dimensions)
    return next((name for dimension, name in FAILURES.items() if dimension.value in failed), LOW_SCORE)


def decide(result: CheckpointResult, *, attempt: int, options: PanelOptions) -> IterationDecision:
    """What the critic makes of an attempt that failed."""
    verdict = result.verdict
    issues = () if verdict is None else _issues(verdict)
    forced = attempt >= ANEW_AFTER
    mode = IterationMode.FULL_REGENERATION if forced else recommend_mode(result, options)
    return IterationDecision(
        mode=mode, failure_type=failure_of(result), issues=issues, feedback=_feedback(result, issues), forced=forced
    )


def recommend_mode(result: CheckpointResult, options: PanelOptions) -> IterationMode:
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
        (result for result in verdict.results if result.scored),
        key=lambda role_result: min(role_result.scores.values(), default=1.0),
    )
    found: dict[str, Issue] = {}
    for issue in (issue for role in roles for issue in role.issues):
        found.setdefault(issue.issue, issue)
    return tuple(found.values())[:MOST_ISSUES]


def _feedback(result: CheckpointResult, issues: Sequence[Issue]) -> str:
    verdict = result.verdict
    said = (
        []
        if verdict is None
        else [f"{result.role}: {result.critique}" for result in verdict.results if result.critique]
    )
    if verdict is not None and verdict.escalation is not None and verdict.escalation.scored:
        said.append(f"reviewer: {verdict.escalation.verdict}")
    fixes = [f"{issue.issue} - {issue.fix}" for issue in issues]
    return "\n".join([*said, *fixes])
