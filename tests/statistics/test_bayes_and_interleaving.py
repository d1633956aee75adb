"""Beta-Binomial chances; team-draft lists, their credit and the sign test."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.statistics import (
    BayesResult,
    Credit,
    Drafted,
    EProcess,
    Prior,
    SignTest,
    Successes,
    beta_binomial,
    chance_of_higher_mean,
    credit,
    sign_test,
    sign_test_of,
    team_draft,
)
from assay.statistics.online_tests import chance_greater

SHAPES = st.integers(1, 300)
LISTS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


def test_chances_with_closed_forms() -> None:
    # X ~ Beta(2, 1), Y uniform: P(X > Y) = E[X] = 2/3. X ~ Beta(1, 2): 1/3.
    assert chance_greater(Prior(2, 1), Prior(1, 1)) == pytest.approx(2 / 3)
    assert chance_greater(Prior(1, 2), Prior(1, 1)) == pytest.approx(1 / 3)
    # Both Beta(n, 1): maxima of n and m uniforms, P = n / (n + m).
    assert chance_greater(Prior(7, 1), Prior(3, 1)) == pytest.approx(0.7)


def test_before_any_try_both_are_as_likely() -> None:
    assert beta_binomial(Successes(0, 0), Successes(0, 0)) == BayesResult(
        treatment_better=pytest.approx(0.5),  # type: ignore[arg-type]  # compares like a float
        control_rate=0.5,
        treatment_rate=0.5,
        threshold=0.95,
        decision="undecided",
    )


def test_a_decision_is_made_at_the_threshold_on_either_side() -> None:
    few, many = Successes(10, 100), Successes(20, 100)
    better, worse = beta_binomial(few, many), beta_binomial(many, few)
    assert (better.decision, worse.decision) == ("better", "worse")
    assert better.treatment_better == pytest.approx(1.0 - worse.treatment_better)
    assert beta_binomial(few, many, threshold=0.99).decision == "undecided"


def test_the_exact_sum_agrees_with_drawing(rng: np.random.Generator) -> None:
    drawn = np.mean(rng.beta(21, 81, 400_000) > rng.beta(11, 91, 400_000))
    assert beta_binomial(Successes(10, 100), Successes(20, 100)).treatment_better == pytest.approx(drawn, abs=0.002)


@given(SHAPES, SHAPES, SHAPES, SHAPES)
def test_one_side_and_the_other_make_certainty(a1: int, b1: int, a2: int, b2: int) -> None:
    total = chance_greater(Prior(a1, b1), Prior(a2, b2)) + chance_greater(Prior(a2, b2), Prior(a1, b1))
    assert total == pytest.approx(1.0, abs=1e-9)


def test_millions_of_tries_are_counted_quickly() -> None:
    found = beta_binomial(Successes(500_000, 1_000_000), Successes(501_500, 1_000_000))
    # z = 0.0015 / sqrt(2 * 0.25 / 1e6) = 2.12
    assert found.treatment_better == pytest.approx(0.983, abs=0.001)


@given(LISTS, LISTS, st.integers(0, 10), st.integers(0, 1000))
def test_a_merged_list_holds_each_item_once_and_nothing_else(
    control: list[str], treatment: list[str], length: int, seed: int
) -> None:
    merged = team_draft(control, treatment, length=length, rng=np.random.default_rng(seed))
    items = [drafted.item for drafted in merged]
    assert len(set(items)) == len(items) == min(length, len({*control, *treatment}))
    for drafted in merged:
        assert drafted.item in (control if drafted.team == "control" else treatment)


@given(LISTS, LISTS, st.integers(0, 1000))
def test_each_team_keeps_its_own_order(control: list[str], treatment: list[str], seed: int) -> None:
    merged = team_draft(control, treatment, length=16, rng=np.random.default_rng(seed))
    for team, ranking in (("control", control), ("treatment", treatment)):
        places = [ranking.index(drafted.item) for drafted in merged if drafted.team == team]
        assert places == sorted(places)


def test_teams_pick_in_turn_and_the_coin_is_fair(rng: np.random.Generator) -> None:
    first: collections.Counter[str] = collections.Counter()
    for _ in range(2_000):
        merged = team_draft(["a", "b"], ["x", "y"], length=4, rng=rng)
        first[merged[0].team] += 1
        assert merged[0].team != merged[1].team
        assert merged[2].team != merged[3].team
    assert first["control"] == pytest.approx(1_000, abs=100)


def test_the_same_seed_gives_the_same_list() -> None:
    once, again = (team_draft("abcd", "cdef", length=5, rng=np.random.default_rng(5)) for _ in range(2))
    assert once == again


def test_credit_goes_to_the_team_that_picked_what_was_used() -> None:
    merged = (Drafted("a", "control"), Drafted("b", "treatment"), Drafted("c", "treatment"))
    earned = credit(merged, ["b", "c", "never shown"])
    assert (earned, earned.vote) == (Credit(control=0, treatment=2), 1)
    assert credit(merged, ["a"]).vote == -1
    assert credit(merged, []).vote == 0


def test_nine_wins_and_a_loss_by_hand() -> None:
    # 2 * (C(10,9) + C(10,10)) / 2^10 = 22 / 1024
    earned = [Credit(0, 1)] * 9 + [Credit(1, 0)] + [Credit(1, 1)] * 5
    assert sign_test(earned) == SignTest(p=pytest.approx(22 / 1024), floor=2 / 1024, wins=9, losses=1, ties=5)  # type: ignore[arg-type]  # compares like a float


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (3, 3)])
def test_an_even_score_says_nothing(wins: int, losses: int) -> None:
    assert sign_test_of(wins=wins, losses=losses).p == 1.0


def test_wins_are_votes_of_the_e_process() -> None:
    assert EProcess().update([Credit(0, 1).vote] * 20).decision == "better"


def test_the_chance_of_a_higher_mean_agrees_with_the_exact_one_for_whole_outcomes() -> None:
    control, treatment = [1.0] * 3 + [0.0] * 9, [1.0] * 7 + [0.0] * 4
    exact = beta_binomial(Successes(3, 12), Successes(7, 11)).treatment_better
    assert chance_of_higher_mean(control, treatment) == pytest.approx(exact, abs=1e-6)
    assert chance_of_higher_mean(treatment, control) == pytest.approx(1.0 - exact, abs=1e-6)


def test_the_chance_of_a_higher_mean_needs_outcomes_from_zero_to_one() -> None:
    with pytest.raises(BadValue, match="outside"):
        chance_of_higher_mean([0.5], [1.5])
    with pytest.raises(BadValue):
        chance_of_higher_mean([], [0.5])
