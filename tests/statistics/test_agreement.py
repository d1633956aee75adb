"""Kappa and alpha against printed examples; PPI, calibration and temperature by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import (
    Agreement,
    BrierScore,
    Interval,
    brier_score,
    calibration_error,
    cohen_kappa,
    fit_temperature,
    krippendorff_alpha,
    ppi_mean,
)
from assay.statistics.agreement import Label, Scale, Weights
from assay.statistics.calibration import Bin

_: Label | None = None
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers, twelve units.
FOUR_OBSERVERS: list[list[Label | None]] = [
    [1, 1, _, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [_, 5, 5, 5], [_, _, 1, 1], [_, 3, _, _],
]  # fmt: skip
# Wikipedia's example: three coders, fifteen units, three of them not pairable.
THREE_CODERS: list[list[Label | None]] = [
    [_, 1, _], [_, _, _], [_, 2, 2], [_, 1, 1], [_, 3, 3], [3, 3, 4], [4, 4, 4], [1, 3, _],
    [2, _, 2], [1, _, 1], [1, _, 1], [3, _, 3], [3, _, 3], [_, _, _], [3, _, 4],
]  # fmt: skip
GRADES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=25)


@pytest.mark.parametrize(("scale", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example(scale: Scale, expected: float, rng: np.random.Generator) -> None:
    found = krippendorff_alpha(FOUR_OBSERVERS, rng=rng, scale=scale)
    assert found.value == pytest.approx(expected, abs=5e-4)
    assert found.n == 11


@pytest.mark.parametrize(("scale", "expected"), [("nominal", 0.691), ("ordinal", 0.807), ("interval", 0.811)])
def test_three_coders_with_gaps(scale: Scale, expected: float, rng: np.random.Generator) -> None:
    found = krippendorff_alpha(THREE_CODERS, rng=rng, scale=scale)
    assert found.value == pytest.approx(expected, abs=5e-4)
    assert found.n == 12
    assert found.low is not None
    assert found.high is not None
    assert found.low < expected < found.high


def test_kappa_of_the_textbook_table(rng: np.random.Generator) -> None:
    # 20 both yes, 5 and 10 apart, 15 both no: (0.7 - 0.5) / (1 - 0.5)
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(first, second, rng=rng)
    # Its standard error by the usual formula is 0.127: about 0.15 to 0.65.
    assert found.value == pytest.approx(0.4)
    assert found.low == pytest.approx(0.15, abs=0.04)
    assert found.high == pytest.approx(0.65, abs=0.04)
    assert (found.method, found.n) == ("bootstrap", 50)


@pytest.mark.parametrize(("weights", "expected"), [("unweighted", 7 / 11), ("linear", 5 / 7), ("quadratic", 0.8)])
def test_weighted_kappa_by_hand(weights: Weights, expected: float, rng: np.random.Generator) -> None:
    # One of four items is one step apart. Margins 1,1,2 and 1,2,1 of 16 pairs by chance:
    # apart 16 - (1+2+2) = 11; steps 4 + 2 + 8 = 14; squares 6 + 2 + 12 = 20.
    found = cohen_kappa([1, 2, 3, 3], [1, 2, 2, 3], rng=rng, weights=weights)
    assert found.value == pytest.approx(expected)


def test_numbers_lie_as_far_apart_as_they_are(rng: np.random.Generator) -> None:
    first, second = [0, 1, 3, 3, 0], [0, 1, 3, 0, 1]
    known = cohen_kappa(first, second, rng=rng, weights="linear", categories=[0, 1, 2, 3])
    assert cohen_kappa(first, second, rng=rng, weights="linear").value == pytest.approx(known.value)


def test_words_lie_a_step_apart_in_the_order_given(rng: np.random.Generator) -> None:
    words, grades = ["bad", "fair", "good"], {"bad": 0, "fair": 1, "good": 2}
    first, second = ["bad", "fair", "good", "good"], ["bad", "good", "good", "bad"]
    by_word = cohen_kappa(first, second, rng=rng, weights="quadratic", categories=words)
    by_grade = cohen_kappa([grades[w] for w in first], [grades[w] for w in second], rng=rng, weights="quadratic")
    assert by_word.value == pytest.approx(by_grade.value)


def test_raters_who_never_disagreed_are_not_certain_to_agree(rng: np.random.Generator) -> None:
    # 20 items may have missed 1 - 0.025^(1/20) = 0.1684 of disagreement; by chance it would be 0.5.
    labels = ["yes", "no"] * 10
    found = cohen_kappa(labels, labels, rng=rng)
    assert (found.value, found.high, found.method) == (1.0, 1.0, "no_disagreement")
    assert found.low == pytest.approx(1 - 0.1684335 / 0.5, abs=1e-5)
    alpha = krippendorff_alpha([[label, label] for label in labels], rng=rng)
    assert alpha.method == "no_disagreement"
    assert (alpha.low or 0.0) < 1.0


def test_where_one_label_is_all_there_is_agreement_is_not_computable(rng: np.random.Generator) -> None:
    expected = Agreement(value=None, low=None, high=None, level=0.95, n=3, undefined=2_000, method="not_computable")
    assert cohen_kappa([1, 1, 1], [1, 1, 1], rng=rng) == expected
    assert krippendorff_alpha([[1, 1]] * 3, rng=rng) == expected


def test_resamples_without_a_value_are_counted(rng: np.random.Generator) -> None:
    found = cohen_kappa([1, 1, 2], [1, 1, 1], rng=rng)
    # All three draws from the two agreeing items: (2/3)^3 = 30 %
    assert found.undefined == pytest.approx(593, abs=100)


def test_the_same_seed_gives_the_same_interval() -> None:
    for _ in range(2):
        once, again = (krippendorff_alpha(THREE_CODERS, rng=np.random.default_rng(3)) for _ in range(2))
        assert once == again


@settings(max_examples=30)
@given(GRADES, st.sampled_from(["unweighted", "linear", "quadratic"]))
def test_kappa_is_symmetric_and_at_most_one(pairs: list[tuple[int, int]], weights: Weights) -> None:
    first, second = zip(*pairs, strict=True)
    forth = cohen_kappa(first, second, rng=np.random.default_rng(0), weights=weights, resamples=100)
    back = cohen_kappa(second, first, rng=np.random.default_rng(0), weights=weights, resamples=100)
    assert forth.value == pytest.approx(back.value) if forth.value is not None else back.value is None
    assert forth.value is None or forth.value <= 1.0


@settings(max_examples=30)
@given(GRADES, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_ignores_order_of_raters_and_items(pairs: list[tuple[int, int]], scale: Scale) -> None:
    rows: list[list[Label | None]] = [list(pair) for pair in pairs]
    turned: list[list[Label | None]] = [row[::-1] for row in reversed(rows)]
    forth = krippendorff_alpha(rows, rng=np.random.default_rng(0), scale=scale, resamples=100)
    back = krippendorff_alpha(turned, rng=np.random.default_rng(0), scale=scale, resamples=100)
    assert forth.value == pytest.approx(back.value) if forth.value is not None else back.value is None


def test_ppi_by_hand() -> None:
    # The judge says 0.75 on the rest and was 0.25 too kind where humans looked: 0.5.
    found = ppi_mean([1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0])
    assert (found.interval.estimate, found.judge_bias, found.weight) == (0.5, 0.25, 1.0)
    # Variances: corrections 0,-1,0,0 -> 0.25/4; judge 1,1,1,0 -> 0.25/4; df 6, t = 2.4469
    half = 2.446912 * math.sqrt(0.125)
    assert found.interval.high == pytest.approx(0.5 + half, abs=1e-5)
    assert (found.interval.method, found.human_only.method) == ("ppi", "t")


def test_few_or_picked_labels_are_warned_of() -> None:
    few = ppi_mean([1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0])
    assert few.labels == 4
    assert few.caution.startswith("4 labels are few: below 20")
    many = ppi_mean([1, 0] * 20, [1, 0] * 20, [1, 1, 1, 0])
    assert many.caution == "The interval holds only if the labelled cases are a random sample of all cases."


def test_a_good_judge_shortens_the_interval_and_a_bad_one_is_not_listened_to(rng: np.random.Generator) -> None:
    truth = (rng.random(2_000) < 0.6).astype(float)
    good = np.where(rng.random(2_000) < 0.95, truth, 1.0 - truth)
    noise = rng.random(2_000)
    helped = ppi_mean(truth[:100], good[:100], good[100:], tuned=True)
    alone = ppi_mean(truth[:100], noise[:100], noise[100:], tuned=True)
    assert helped.weight > 0.7
    assert alone.weight < 0.3
    assert width(helped.interval) < 0.7 * width(helped.human_only)
    assert width(alone.interval) < 1.1 * width(alone.human_only)


def width(interval: Interval) -> float:
    return (interval.high or 0.0) - (interval.low or 0.0)


def test_a_constant_judge_has_no_weight() -> None:
    assert ppi_mean([1, 0, 1], [1, 1, 1], [1, 1], tuned=True).weight == 0.0


def test_a_judge_never_seen_to_err_is_not_infallible() -> None:
    labels, rest = [1, 0] * 10, [1, 0] * 500
    assert ppi_mean(labels, labels, rest).interval.method == "not_computable"
    found = ppi_mean(labels, labels, rest, bounds=(0, 1)).interval
    assert found.method == "ppi_no_variance"
    # 20 labels may have missed 1 - 0.0125^(1/20) = 0.197 of errors, each of size up to 1.
    assert found.low == pytest.approx(0.5 - 0.1968 - 0.0355, abs=1e-3)
    assert found.high == pytest.approx(1.0 - (found.low or 0.0))


def test_calibration_error_by_hand() -> None:
    # Bins .9-1: said .95, half right, gap .45; .1-.2: said .15, never right, gap .15.
    found = calibration_error([0.95, 0.95, 0.15, 0.15], [1, 0, 0, 0])
    assert (found.ece, found.mce) == pytest.approx((0.30, 0.45))
    assert found.bins == (Bin(2, 0.15, 0.0), Bin(2, 0.95, 0.5))


def test_certainty_that_is_right_is_calibrated() -> None:
    assert calibration_error([1.0, 0.0], [1, 0]).ece == 0.0


def test_brier_by_hand() -> None:
    # (.2^2 + .8^2 + .2^2 + .2^2) / 4 = .19; bins .8: half right, .2: never. base .25
    found = brier_score([0.8, 0.8, 0.2, 0.2], [1, 0, 0, 0])
    expected = BrierScore(score=0.19, reliability=0.065, resolution=0.0625, uncertainty=0.1875, within_bin=0.0)
    for field in ("score", "reliability", "resolution", "uncertainty", "within_bin"):
        assert getattr(found, field) == pytest.approx(getattr(expected, field)), field


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_the_parts_of_brier_add_up(cases: list[tuple[float, int]]) -> None:
    confidence, correct = zip(*cases, strict=True)
    found = brier_score(confidence, correct)
    assert found.score == pytest.approx(
        found.reliability - found.resolution + found.uncertainty + found.within_bin, abs=1e-12
    )
    assert 0.0 <= calibration_error(confidence, correct).ece <= 1.0


def test_overconfident_logits_are_cooled_by_hand() -> None:
    # All logits 2 ln 3 say 0.9; three of four are right; sigmoid(ln 3) = 0.75, so T = 2.
    found = fit_temperature([2 * math.log(3)] * 100, [1, 1, 1, 0] * 25)
    assert found.value == pytest.approx(2.0, abs=1e-4)
    assert found.loss < found.loss_before
    assert not found.at_limit


def test_one_logit_and_two_columns_are_the_same() -> None:
    logits, labels = np.array([2.0, -1.0, 0.5, 3.0, -2.0]), [1, 0, 0, 1, 1]
    single = fit_temperature(logits, labels)
    columns = fit_temperature(np.column_stack([np.zeros(5), logits]), labels)
    assert single == columns


def test_three_classes_recover_the_temperature_they_were_heated_by(rng: np.random.Generator) -> None:
    logits = rng.normal(0.0, 1.5, (4_000, 3))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random((4_000, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    assert fit_temperature(3.0 * logits, labels).value == pytest.approx(3.0, rel=0.08)


def test_separable_labels_have_no_temperature_and_say_so() -> None:
    assert fit_temperature([5.0, -5.0], [1, 0]).at_limit
    assert fit_temperature([5.0, -5.0], [0, 1]).at_limit
