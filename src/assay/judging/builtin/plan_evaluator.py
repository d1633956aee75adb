"""The plan checkpoint without a model: intent analyst and coverage checker, each with its own reading of one analysis.

The owner of a dimension gives the whole reading; the other role gives what shows from where it stands: words to one,
meaning to the other. Their spread is small when a plan is plainly right or wrong, and wide when words and meaning
part.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.judging.builtin.plan_reading import PlanReading, first_issue
from assay.records.judging import JudgeKind
from assay.records.research import Checkpoint, Dimension, Issue, Material, Role, RoleScores

VERSION = "1"
SURE, UNSURE = 0.9, 0.65
"""Confidence far from the threshold and right at it; English is required for either."""
FOREIGN = 0.4
"""Confidence about a question whose language the rules do not read."""
PASS = 0.7


class BuiltinPlanEvaluator:
    """One role at the plan checkpoint."""

    kind: JudgeKind = "builtin"
    checkpoint = Checkpoint.PLAN
    name = f"builtin-plan/{VERSION}"

    def __init__(self, role: Role, read: Callable[[Material], PlanReading]) -> None:
        self.role = role
        self._read = read

    def evaluate(self, material: Material) -> RoleScores:
        """Score intent alignment, query coverage and scope."""
        reading = self._read(material)
        scores = _intent_view(reading) if self.role is Role.INTENT_ANALYST else _coverage_view(reading)
        return RoleScores(
            scores=scores,
            confidence=_confidence(reading, min(scores.values())),
            critique=_critique(reading),
            issues=_issues(reading),
        )


def _intent_view(reading: PlanReading) -> dict[Dimension, float]:
    """Owns intent and scope; sees of coverage how much of the key words is searched, beside its aspects."""
    return {
        Dimension.INTENT_ALIGNMENT: reading.intent,
        Dimension.QUERY_COVERAGE: (reading.coverage + max(reading.kept, reading.nearness)) / 2,
        Dimension.SCOPE_APPROPRIATENESS: reading.scope,
    }


def _coverage_view(reading: PlanReading) -> dict[Dimension, float]:
    """Owns coverage; sees of intent the words that were kept, and what was lost."""
    return {
        Dimension.INTENT_ALIGNMENT: (reading.intent + reading.kept) / 2
        if reading.kept < reading.intent
        else reading.intent,
        Dimension.QUERY_COVERAGE: reading.coverage,
        Dimension.SCOPE_APPROPRIATENESS: (reading.scope + reading.coverage) / 2,
    }


def _confidence(reading: PlanReading, score: float) -> float:
    if not reading.is_english:
        return FOREIGN
    return min(SURE, UNSURE + abs(score - PASS))


def _critique(reading: PlanReading) -> str:
    said = first_issue(reading, reading.findings)
    if said:
        return said
    return "the plan asks what was asked" if reading.intent >= PASS else "the queries are about something else"


def _issues(reading: PlanReading) -> tuple[Issue, ...]:
    """What to mend, gravest first."""
    found = [one.issue for one in sorted(reading.findings, key=lambda one: one.factor)]
    found += [
        Issue(issue=f"no query covers {aspect!r}", fix=f"add a query for {aspect}", terms=(aspect,))
        for aspect in reading.missing
    ]
    if reading.nearness < 0.5 and reading.kept < 0.5:
        found.append(Issue(issue="the queries are about something else", fix="search the question's own words"))
    if reading.scope < 0.5:
        found.append(Issue(issue="the queries are too broad or too narrow", fix="stay with the words of the question"))
    return tuple(found)
