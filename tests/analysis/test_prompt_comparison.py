"""Two versions side by side: as pairs where the questions are the same, and nothing is said from too little."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis.made import session

from assay.analysis.prompt_comparison import (
    LEAST_PAIRS,
    compare_versions,
)
from assay.records.analysis import PromptComparison, PromptMetric, PromptVerdict
from assay.records.research_log import ResearchSession


def sessions(numbers: range, mean: float, seed: int, iterations: int = 1) -> list[ResearchSession]:
    rng = np.random.default_rng(seed)
    return [
        session(
            number,
            scores={"coherence": float(np.clip(rng.normal(mean, 0.1), 0, 1))},
            overall_score=float(np.clip(rng.normal(mean, 0.1), 0, 1)),
            iterations=iterations,
        )
        for number in numbers
    ]


def compared(first: list[ResearchSession], second: list[ResearchSession]) -> PromptComparison:
    return compare_versions(("planner@0", first), ("planner@1", second), rng=np.random.default_rng(0))


def metric(found: PromptComparison, name: str) -> PromptMetric:
    return next(one for one in found.metrics if one.metric == name)


def test_a_better_prompt_is_seen_on_the_same_questions() -> None:
    found = compared(sessions(range(40), 0.6, 1), sessions(range(40), 0.75, 2))
    assert (found.paired, found.shared) == (True, 40)
    overall = metric(found, "overall")
    assert overall.verdict is PromptVerdict.BETTER
    assert overall.low is not None
    assert overall.high is not None
    assert overall.low < 0.15 < overall.high
    assert metric(found, "coherence").verdict is PromptVerdict.BETTER
    assert metric(found, "iterations").verdict is PromptVerdict.NO_DIFFERENCE_SEEN


def test_other_questions_give_no_verdict_and_the_reason() -> None:
    found = compared(sessions(range(40), 0.6, 3), sessions(range(100, 140), 0.95, 4))
    assert (found.paired, found.shared, found.questions) == (False, 0, (40, 40))
    overall = metric(found, "overall")
    assert (overall.verdict, overall.p, overall.looked_at) == (PromptVerdict.WITHHELD, None, None)
    assert overall.delta is not None
    assert overall.delta > 0.2
    assert not any(one.verdict in {PromptVerdict.BETTER, PromptVerdict.WORSE} for one in found.metrics)
    assert "0 questions were asked under both versions, 10 are needed" in found.caution
    assert "assay prompts split planner 1" in found.caution


def test_a_worse_prompt_is_seen_on_the_same_questions() -> None:
    found = compared(sessions(range(40), 0.8, 3), sessions(range(40), 0.6, 4, iterations=3))
    assert metric(found, "overall").verdict is PromptVerdict.WORSE
    assert metric(found, "iterations").verdict is PromptVerdict.WORSE
    assert metric(found, "overall").looked_at == 40
    assert "The last look took in 40 pairs" in found.caution


@pytest.mark.slow
def test_looking_again_and_again_does_not_make_a_difference_of_chance() -> None:
    alarms = 0
    for seed in range(60):
        first, second = sessions(range(40), 0.7, 2 * seed), sessions(range(40), 0.7, 2 * seed + 1)
        alarms += any(
            row.verdict in {PromptVerdict.BETTER, PromptVerdict.WORSE}
            for count in range(10, 41, 3)
            for row in compared(first[:count], second[:count]).metrics
        )
    assert alarms <= 4


def test_what_a_look_said_stays() -> None:
    first, second = sessions(range(40), 0.6, 1), sessions(range(40), 0.9, 2)
    early = compared(first[:10], second[:10])
    assert metric(early, "overall").verdict is PromptVerdict.BETTER
    later = compared([*first[:10], *first[10:19]], [*second[:10], *sessions(range(10, 19), 0.2, 9)])
    assert metric(later, "overall").looked_at == 10
    assert metric(later, "overall").p == metric(early, "overall").p


def test_pairs_leave_out_what_only_one_version_was_asked() -> None:
    first = sessions(range(LEAST_PAIRS), 0.7, 5)
    found = compared(first, [*sessions(range(LEAST_PAIRS), 0.7, 5), *sessions(range(100, 160), 0.1, 6)])
    overall = metric(found, "overall")
    assert found.paired
    assert overall.delta == 0.0
    assert overall.verdict is PromptVerdict.NO_DIFFERENCE_SEEN
    assert overall.questions == (LEAST_PAIRS, LEAST_PAIRS)


def test_the_same_question_again_and_again_is_one_value() -> None:
    often = [session(number, "Who seals the vault?", overall_score=0.1) for number in range(50)]
    found = compared(sessions(range(10), 0.8, 7), often)
    assert metric(found, "overall").questions == (10, 1)
    assert metric(found, "overall").verdict is PromptVerdict.TOO_FEW


def test_nothing_is_said_of_what_was_not_scored() -> None:
    found = compared(sessions(range(20), 0.8, 8), [session(number) for number in range(100, 120)])
    overall = metric(found, "overall")
    assert (overall.second, overall.delta, overall.p, overall.verdict) == (None, None, None, PromptVerdict.TOO_FEW)
    assert metric(found, "pass rate").first is None


def test_equal_versions_are_seldom_called_different() -> None:
    alarms = 0
    for seed in range(60):
        found = compared(sessions(range(20), 0.7, 2 * seed), sessions(range(20), 0.7, 2 * seed + 1))
        alarms += any(one.verdict in {PromptVerdict.BETTER, PromptVerdict.WORSE} for one in found.metrics)
    assert alarms <= 8


def test_p_values_are_adjusted_over_all_metrics() -> None:
    found = compared(sessions(range(40), 0.6, 1), sessions(range(40), 0.75, 2))
    tested = [one for one in found.metrics if one.p is not None]
    smallest = min(tested, key=lambda one: one.p or 0.0)
    assert smallest.p_adjusted == pytest.approx((smallest.p or 0.0) * len(tested))
