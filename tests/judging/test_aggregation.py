"""From roles to one number: weights, confidence, owners, and what is left when an owner gave nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judging.panels import alike, lost, result

from assay.errors import BadValue
from assay.judging.panel_options import BARS, WEIGHTS, PanelOptions, aggregate_scores, below, mean_by_weight, within
from assay.records.research import DIMENSIONS, OWNERS, Checkpoint, Dimension, Role, roles_at

SHARES = st.floats(0, 1, allow_nan=False)
OPTIONS = PanelOptions()
INTENT, COVERAGE = Role.INTENT_ANALYST, Role.COVERAGE_CHECKER


def plan_scores(intent: float, coverage: float, scope: float) -> dict[str, float]:
    return {"intent_alignment": intent, "query_coverage": coverage, "scope_appropriateness": scope}


def test_the_weights_are_those_of_the_design_and_add_up_at_each_checkpoint() -> None:
    assert [WEIGHTS[one] for one in DIMENSIONS[Checkpoint.PLAN]] == [0.50, 0.35, 0.15]
    assert [WEIGHTS[one] for one in DIMENSIONS[Checkpoint.RETRIEVAL]] == [0.40, 0.35, 0.25]
    assert [WEIGHTS[one] for one in DIMENSIONS[Checkpoint.ANSWER]] == [0.30, 0.25, 0.20, 0.15, 0.10]
    for checkpoint in Checkpoint:
        assert sum(WEIGHTS[one] for one in DIMENSIONS[checkpoint]) == pytest.approx(1.0)
    assert [BARS[one] for one in DIMENSIONS[Checkpoint.PLAN]] == [0.7, 0.6, 0.5]


def test_the_owner_of_a_dimension_counts_and_the_others_make_the_spread() -> None:
    intent = result(INTENT, plan_scores(0.8, 0.1, 0.6), confidence=1.0)
    coverage = result(COVERAGE, plan_scores(0.2, 0.4, 0.0), confidence=0.5)
    found = aggregate_scores(Checkpoint.PLAN, [intent, coverage], OPTIONS)
    assert found.scores == plan_scores(0.8, 0.4, 0.6)
    assert found.spread == pytest.approx(plan_scores(0.6, 0.3, 0.6))
    above = 0.50 * 1.0 * 0.8 + 0.35 * 0.5 * 0.4 + 0.15 * 1.0 * 0.6
    assert found.value == pytest.approx(above / (0.50 + 0.35 * 0.5 + 0.15))


def test_a_measured_reliability_scales_a_roles_confidence() -> None:
    said = [result(INTENT, plan_scores(1, 1, 1), 1.0), result(COVERAGE, plan_scores(0, 0, 0), 1.0)]
    trusting = PanelOptions(reliability={"intent_analyst": 0.0})
    assert aggregate_scores(Checkpoint.PLAN, said, OPTIONS).value == pytest.approx(0.65)
    assert aggregate_scores(Checkpoint.PLAN, said, trusting).value == pytest.approx(0.0)


def test_a_missing_owner_is_stood_in_for_and_named() -> None:
    found = aggregate_scores(Checkpoint.PLAN, [lost(INTENT), result(COVERAGE, plan_scores(0.2, 0.4, 0.6))], OPTIONS)
    assert [name for name, one in found.counted.items() if one.stood_in] == [
        "intent_alignment",
        "scope_appropriateness",
    ]
    assert found.scores == pytest.approx(plan_scores(0.2, 0.4, 0.6))


def test_nothing_to_weigh_by_is_no_number() -> None:
    assert mean_by_weight([]) is None
    assert mean_by_weight([(0.5, 0.0, 0.9)]) is None
    assert aggregate_scores(Checkpoint.PLAN, alike(Checkpoint.PLAN, 0.9, confidence=0.0), OPTIONS).value is None
    assert aggregate_scores(Checkpoint.PLAN, [lost(INTENT), lost(COVERAGE)], OPTIONS).value is None


def test_roles_of_two_minds_are_counted_as_votes() -> None:
    said = [result(INTENT, plan_scores(0.9, 0.9, 0.9)), result(COVERAGE, plan_scores(0.1, 0.1, 0.1))]
    assert aggregate_scores(Checkpoint.PLAN, said, OPTIONS).votes == (1, 1)


@given(st.data(), st.sampled_from(list(Checkpoint)))
def test_the_aggregate_lies_between_the_owners_lowest_and_highest(data: st.DataObject, checkpoint: Checkpoint) -> None:
    said = [
        result(role, {one.value: data.draw(SHARES) for one in DIMENSIONS[checkpoint]}, data.draw(st.floats(0.01, 1)))
        for role in roles_at(checkpoint)
    ]
    owners = {one.role: one for one in said}
    scores = [owners[OWNERS[one].value].scores[one.value] for one in DIMENSIONS[checkpoint]]
    value = aggregate_scores(checkpoint, said, OPTIONS).value
    assert value is not None
    assert min(scores) - 1e-9 <= value <= max(scores) + 1e-9


@given(SHARES, st.sampled_from(list(Checkpoint)))
def test_one_opinion_is_the_aggregate_whatever_the_weights(score: float, checkpoint: Checkpoint) -> None:
    assert aggregate_scores(checkpoint, alike(checkpoint, score), OPTIONS).value == pytest.approx(score)


@pytest.mark.parametrize(
    ("score", "bar", "fails"),
    [(0.7, 0.7, False), (0.6999999, 0.7, True), (0.3, 0.1 + 0.2, False)],
)
def test_a_score_at_its_bar_is_not_below_it(score: float, bar: float, fails: bool) -> None:
    assert below(score, bar) is fails


def test_distances_are_those_of_people_and_not_of_floats() -> None:
    assert within(0.75, 0.7, 0.05)
    assert within(0.65, 0.7, 0.05)
    assert not within(0.7501, 0.7, 0.05)


def test_options_refuse_what_no_weight_can_be() -> None:
    with pytest.raises(BadValue, match=r"weights\.coherence"):
        PanelOptions(weights={"coherence": 1.5})
    with pytest.raises(BadValue, match="every weight of the plan"):
        PanelOptions(weights={one.value: 0.0 for one in Dimension} | {"faithfulness": 1.0, "source_quality": 1.0})


def answers(score: float) -> dict[str, float]:
    return {one.value: score for one in DIMENSIONS[Checkpoint.ANSWER]}


def test_an_owner_that_objects_without_confidence_still_counts() -> None:
    fact_checker, judge = Role.FACT_CHECKER, Role.FAITHFULNESS_JUDGE
    said = [
        result(judge, {**answers(0.95), "faithfulness": 0.0}, confidence=0.0),
        result(fact_checker, {**answers(0.95), "factual_accuracy": 0.0}, confidence=0.0),
        *(
            result(role, answers(0.95), confidence=0.9)
            for role in roles_at(Checkpoint.ANSWER)
            if role not in {fact_checker, judge}
        ),
    ]
    found = aggregate_scores(Checkpoint.ANSWER, said, OPTIONS)
    assert {name for name, one in found.counted.items() if one.quiet} == {"faithfulness", "factual_accuracy"}
    assert found.value is not None
    assert found.value < OPTIONS.thresholds[Checkpoint.ANSWER]
    sure = [result(Role(one.role), one.scores, confidence=0.9) for one in said]
    assert found.value == pytest.approx(aggregate_scores(Checkpoint.ANSWER, sure, OPTIONS).value)


def test_praise_without_confidence_counts_for_nothing() -> None:
    intent = result(INTENT, plan_scores(1.0, 1.0, 1.0), confidence=0.0)
    coverage = result(COVERAGE, plan_scores(0.2, 0.2, 0.2), confidence=0.9)
    found = aggregate_scores(Checkpoint.PLAN, [intent, coverage], OPTIONS)
    assert found.value == pytest.approx(0.2)
    assert not any(one.quiet for one in found.counted.values())


def test_a_role_that_was_measured_to_be_unreliable_stays_silent() -> None:
    intent = result(INTENT, plan_scores(0.0, 0.0, 0.0), confidence=0.0)
    coverage = result(COVERAGE, plan_scores(0.9, 0.9, 0.9), confidence=0.9)
    unreliable = PanelOptions(reliability={"intent_analyst": 0.0})
    assert aggregate_scores(Checkpoint.PLAN, [intent, coverage], unreliable).value == pytest.approx(0.9)
