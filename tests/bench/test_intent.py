"""The labelled plans themselves, that the rule of the benchmark is the pipeline's, and what it measures."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from bench.fit_judge import SAME
from bench.fit_plans import WITHOUT_VECTORS, examples_of, fit_profile
from bench.intent import (
    ALIGNED,
    PLANTED,
    area_under_curve,
    halve_question,
    load_foreign,
    load_plans,
    load_two_wordings,
    main,
    measure_foreign,
    measure_planted,
    needs_another_attempt,
)

from assay.evaluation.datasets import load_dataset
from assay.judging.builtin.plan_signals import load_weights
from assay.records.research import DIMENSIONS, Checkpoint, Dimension, RoleScores

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


def scores(intent: float, coverage: float, scope: float) -> RoleScores:
    given = {
        Dimension.INTENT_ALIGNMENT: intent,
        Dimension.QUERY_COVERAGE: coverage,
        Dimension.SCOPE_APPROPRIATENESS: scope,
    }
    return RoleScores(scores=given, confidence=0.8)


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


def test_a_plan_that_is_not_measured_is_not_sent_back() -> None:
    unmeasured = dict.fromkeys(DIMENSIONS[Checkpoint.PLAN], "unreadable")
    assert not needs_another_attempt(RoleScores(scores={}, not_measured=unmeasured, confidence=0.9))


# --- Plans of another author, planted defects, and the fit ---


def test_every_question_has_a_right_and_a_wrong_plan_in_both_wordings() -> None:
    plans = load_two_wordings()
    counted = Counter((plan.question, plan.label == ALIGNED, plan.wording) for plan in plans)
    assert len(plans) == 4 * len({plan.question for plan in plans}) == len(counted)
    assert {plan.label for plan in plans} == LABELS | {"lost_constraint"}
    assert not {plan.question for plan in plans} & {plan.question for plan in load_plans()}
    assert len({plan.id for plan in plans}) == len(plans)


def test_the_weights_are_those_that_the_labelled_plans_give() -> None:
    plans = [*load_plans("development"), *load_two_wordings()]
    for profile in sorted(WITHOUT_VECTORS):
        found = fit_profile(examples_of(plans, profile, None), profile)
        stored = load_weights()[profile]
        assert tuple(found["names"]) == stored.names
        assert found["weights"] == pytest.approx(stored.weights, abs=SAME)
        assert found["bias"] == pytest.approx(stored.bias, abs=SAME)


@pytest.mark.parametrize(
    ("right", "wrong", "area"), [((2, 3), (0, 1), 1.0), ((0, 1), (2, 3), 0.0), ((1,), (1,), 0.5), ((1, 3), (2,), 0.5)]
)
def test_the_area_is_how_often_right_is_above_wrong(
    right: tuple[float, ...], wrong: tuple[float, ...], area: float
) -> None:
    assert area_under_curve(right, wrong) == area


def test_plans_of_another_author_are_measured_by_defect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "How do I repair a wooden garden chair?"
    lines: list[dict[str, object]] = [
        {"id": "a", "label": "aligned", "defect": None, "queries": ["repair a wooden garden chair"]},
        {"id": "b", "label": "misaligned", "defect": "other", "severity": "clear", "queries": ["chess openings"]},
    ]
    file = tmp_path / "plans.jsonl"
    file.write_text("\n".join(json.dumps({**line, "question": question}) for line in lines), encoding="utf-8")
    figures = measure_foreign(load_foreign(file), None)
    assert (figures.aligned, figures.misaligned, figures.area) == (1, 1, 1.0)
    assert (figures.aligned_passing, figures.misaligned_passing) == (1.0, 0.0)
    assert figures.defects["other"].startswith("1 plans, area 1.00")
    assert main(["--plans", str(file), "--words"]) == 0
    assert "area: 1.000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("question", "half"),
    [
        ("How is it built, and who pays for it?", "How is it built"),
        ("Which wooden garden chairs last longest?", "wooden garden"),
        ("Which chairs?", None),
    ],
)
def test_a_question_is_halved_by_its_parts_or_its_words(question: str, half: str | None) -> None:
    assert halve_question(question) == half


def test_each_dimension_falls_for_its_own_planted_defect_and_plans_of_the_rules_pass() -> None:
    questions = [case.query for name in PLANTED for case in load_dataset(name).cases]
    figures = measure_planted(questions, None)
    assert figures.half[Dimension.QUERY_COVERAGE] >= 0.75
    assert figures.other[Dimension.INTENT_ALIGNMENT] >= 0.75
    assert figures.passing > 0.9
