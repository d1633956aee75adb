"""The labelled plans themselves, and that the rule of the benchmark is the pipeline's."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.intent import load_plans, needs_another_attempt

from assay.records.research import Dimension, Role, RoleScores

LABELS = {
    "aligned",
    "lost_exclusion",
    "lost_time",
    "missing_part",
    "missing_side",
    "other_subject",
    "reversed",
    "too_broad",
    "too_narrow",
    "wrong_entity",
    "wrong_kind",
    "wrong_time",
}


def test_there_are_enough_plans_of_every_label_in_both_splits() -> None:
    plans = load_plans()
    assert len(plans) >= 120
    counted = Counter((one.split, one.label) for one in plans)
    assert set(counted) == {(split, label) for split in ("development", "held_out") for label in LABELS}
    assert min(counted.values()) >= 3
    assert len({one.id for one in plans}) == len(plans)


def test_a_question_stands_in_one_split_only_and_half_of_its_plans_are_aligned() -> None:
    plans = load_plans()
    splits = {(one.question, one.split) for one in plans}
    assert len(splits) == len({question for question, _ in splits})
    assert sum(one.label == "aligned" for one in plans) * 2 == len(plans)


def scores(intent: float, coverage: float, scope: float) -> dict[Role, RoleScores]:
    given = {
        Dimension.INTENT_ALIGNMENT: intent,
        Dimension.QUERY_COVERAGE: coverage,
        Dimension.SCOPE_APPROPRIATENESS: scope,
    }
    return {role: RoleScores(scores=given, confidence=0.8) for role in (Role.INTENT_ANALYST, Role.COVERAGE_CHECKER)}


@pytest.mark.parametrize(
    ("given", "again"),
    [
        ((0.7, 0.7, 0.7), False),
        ((0.69, 1.0, 1.0), True),
        ((1.0, 0.59, 1.0), True),
        ((1.0, 0.6, 0.5), False),
        ((1.0, 0.6, 0.0), True),  # 0.71 in all, within 0.05 of the threshold
        ((0.7, 0.6, 0.5), True),
        ((0.9, 0.9, 0.4), False),
        ((0.8, 0.8, 0.4), True),  # 0.74
    ],
)
def test_a_plan_is_sent_back_below_any_of_its_thresholds(given: tuple[float, float, float], again: bool) -> None:
    assert needs_another_attempt(scores(*given)) is again
