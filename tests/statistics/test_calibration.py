"""Do the statistics keep what they promise? A quick look in every run, the whole of it under `slow`."""

from __future__ import annotations

import numpy as np
import pytest
from bench.calibration import (
    NULLS,
    Scenario,
    coverage_lines,
    e_process,
    measure,
    null_lines,
    permutation_lines,
    play,
    published_sprt,
    replay,
)

from assay.statistics import EProcessRule, compare, ppi_mean
from assay.statistics.comparison import Rules


@pytest.mark.parametrize("scenario", NULLS, ids=[scenario.name for scenario in NULLS])
def test_without_a_difference_few_experiments_are_decided(scenario: Scenario, rng: np.random.Generator) -> None:
    found = play(scenario, 400, rng)
    # 5 % and four standard errors of 400 experiments.
    assert found.shares.ever <= 0.05 + 4 * (0.05 * 0.95 / 400) ** 0.5
    assert found.shares.published > 0.20
    assert found.disagreements == 0


@pytest.mark.parametrize("scenario", NULLS, ids=[scenario.name for scenario in NULLS])
def test_every_scenario_has_mean_zero_its_sigma_and_votes_in_range(
    scenario: Scenario, rng: np.random.Generator
) -> None:
    votes = scenario.draw(rng, (1_000, 400))
    assert abs(votes.mean()) < 4 * scenario.sigma / 632
    assert votes.std() == pytest.approx(scenario.sigma, rel=0.02)
    assert np.abs(votes).max() <= 1.0


def test_a_gain_of_the_effect_is_mostly_seen_within_200_queries(rng: np.random.Generator) -> None:
    ends = e_process(np.clip(rng.normal(0.05, 0.15, (2_000, 200)), -1, 1), EProcessRule())
    # 90 % less four standard errors of 2,000 experiments.
    assert ends.won.mean() >= 0.90 - 4 * (0.09 / 2_000) ** 0.5


def test_the_published_rule_does_not_change_with_its_effect_size(rng: np.random.Generator) -> None:
    """Only the drift of -effect^2/2 is left of it: a tenfold effect size decides nearly the same experiments."""
    votes = NULLS[0].draw(rng, (200, 1_000))
    tiny, usual = published_sprt(votes, effect=0.001), published_sprt(votes, effect=0.01)
    assert np.mean(tiny.up == usual.up) > 0.99


def test_the_replay_notices_a_simulator_of_another_rule(rng: np.random.Generator) -> None:
    votes = NULLS[0].draw(rng, (20, 400))
    assert replay(votes, e_process(votes, EProcessRule(effect=0.2)), EProcessRule()) > 0


def test_permutation_p_is_uniform_without_a_difference(rng: np.random.Generator) -> None:
    assert [line.what for line in permutation_lines(300, rng) if not line.held] == []


def test_intervals_cover_about_what_they_say(rng: np.random.Generator) -> None:
    covered = {line.what: float(line.seen.rstrip("%")) for line in coverage_lines(100, rng)}
    assert len(covered) == 4
    # 95 % less four standard errors of 100 samples.
    assert min(covered.values()) >= 95 - 400 * (0.05 * 0.95 / 100) ** 0.5


def test_verdicts_on_equal_systems_are_mostly_silent(rng: np.random.Generator) -> None:
    rules = Rules(resamples=100, flips=400)
    verdicts = [compare(np.zeros(30), rng.normal(0.0, 0.15, 30), rng=rng, rules=rules).verdict for _ in range(60)]
    assert verdicts.count("better") + verdicts.count("worse") <= 0.05 * 60 + 4 * (0.05 * 0.95 * 60) ** 0.5


def test_a_biased_judge_does_not_bias_the_prediction_powered_mean(rng: np.random.Generator) -> None:
    hits = 0
    for _ in range(120):
        truth = (rng.random(600) < 0.6).astype(float)
        kind = np.where(rng.random(600) < 0.2, 1.0, truth)
        hits += ppi_mean(truth[:60], kind[:60], kind[60:]).interval.contains(0.6)
    assert hits / 120 >= 0.95 - 4 * (0.05 * 0.95 / 120) ** 0.5


@pytest.mark.slow
def test_all_promises_hold_over_ten_thousand_experiments() -> None:
    lines = measure(10_000, seed=1)
    assert [line for line in lines if not line.held] == []


@pytest.mark.slow
def test_false_decisions_stay_below_five_percent_with_another_seed() -> None:
    lines = list(null_lines(10_000, np.random.default_rng(2)))
    assert [line for line in lines if not line.held] == []
