"""The betting e-process and the Gaussian SPRT: bounds, states, and what is final."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.hashing import canonical_json
from assay.statistics import EProcess, EProcessRule, GaussianSprt, GaussianSprtRule
from assay.statistics.sequential import STAKES

VOTES = st.lists(st.floats(-1.0, 1.0), max_size=60)


def wealth(votes: list[float]) -> float:
    """K as the specification writes it."""
    return float(np.mean([math.prod(1.0 + stake * vote for vote in votes) for stake in STAKES]))


def test_the_stakes_are_those_of_the_specification() -> None:
    assert STAKES.tolist() == pytest.approx([k / 100 for k in range(5, 100, 5)])


def test_one_win_by_hand() -> None:
    # The mean of 1 + lambda is 1.5; of 1 - lambda 0.5; of 1 + lambda (0.05 - 1) 1 - 0.475
    state = EProcess().update(1.0)
    assert state.log_e_better == pytest.approx(math.log(1.5))
    assert state.log_e_worse == pytest.approx(math.log(0.5))
    assert state.log_e_futile == pytest.approx(math.log(0.525))
    assert (state.votes, state.decision) == (1, None)


def test_a_row_of_wins_is_better_as_soon_as_the_mean_wealth_is_forty() -> None:
    first = next(n for n in range(1, 50) if wealth([1.0] * n) >= 40.0)
    state = EProcess().update([1.0] * 50)
    assert (state.decision, state.votes) == ("better", first)


def test_a_row_of_losses_is_worse_at_the_mirrored_vote() -> None:
    won = EProcess(rule=EProcessRule(beta=1e-9)).update([1.0] * 50)
    lost = EProcess(rule=EProcessRule(beta=1e-9)).update([-1.0] * 50)
    assert (won.decision, lost.decision, won.votes) == ("better", "worse", lost.votes)


def test_ties_for_ever_are_futile() -> None:
    # Each tie multiplies the futility wealth by about 1 + 0.05 lambda; five is reached in the end.
    state = EProcess().update([0.0] * 1_000)
    assert state.decision == "futile"
    assert (state.log_e_better, state.log_e_worse) == (0.0, 0.0)


def test_the_bounds_follow_the_rule() -> None:
    rule = EProcessRule(alpha=0.01, beta=0.1, effect=0.02)
    assert (rule.log_bound, rule.log_futility_bound) == pytest.approx((math.log(200), math.log(10)))


@given(VOTES)
def test_wealth_is_the_mean_of_the_products(votes: list[float]) -> None:
    state = EProcess(rule=EProcessRule(alpha=1e-12, beta=1e-12)).update(votes)
    used = votes[: state.votes]
    assert state.log_e_better == pytest.approx(math.log(wealth(used)), abs=1e-9)
    assert state.log_e_worse == pytest.approx(math.log(wealth([-vote for vote in used])), abs=1e-9)
    assert state.log_e_futile == pytest.approx(math.log(wealth([0.05 - vote for vote in used])), abs=1e-9)


@given(VOTES, st.integers(0, 60))
def test_one_by_one_in_two_batches_and_at_once_are_the_same_state(votes: list[float], cut: int) -> None:
    at_once = EProcess().update(votes)
    single = EProcess()
    for vote in votes:
        single = single.update(vote)
    assert single == at_once == EProcess().update(votes[:cut]).update(votes[cut:])


def test_a_long_batch_is_the_same_as_single_votes(rng: np.random.Generator) -> None:
    votes = rng.uniform(-0.02, 0.02, 5_000)
    patient = EProcess(rule=EProcessRule(beta=1e-300))
    single = patient
    for vote in votes:
        single = single.update(vote)
    assert single == patient.update(votes)
    assert single.votes == 5_000


@given(VOTES)
def test_a_state_survives_json_bit_for_bit(votes: list[float]) -> None:
    state = EProcess(rule=EProcessRule(alpha=0.1, beta=0.3, effect=0.07)).update(votes)
    assert EProcess.from_json(json.loads(json.dumps(state.as_json()))) == state
    assert EProcess.from_json(json.loads(canonical_json(state.as_json()))) == state


@given(VOTES, VOTES)
def test_a_test_may_be_interrupted_anywhere(before: list[float], after: list[float]) -> None:
    state = EProcess().update(before)
    restored = EProcess.from_json(json.loads(json.dumps(state.as_json())))
    assert restored.update(after) == state.update(after)


@given(VOTES)
def test_a_decision_is_final(votes: list[float]) -> None:
    decided = EProcess().update([1.0] * 50)
    assert decided.update(votes) == decided


@settings(max_examples=50)
@given(VOTES)
def test_better_and_worse_are_mirror_images(votes: list[float]) -> None:
    rule = EProcessRule(beta=1e-12)
    forth, back = EProcess(rule=rule).update(votes), EProcess(rule=rule).update([-vote for vote in votes])
    mirrored = {"better": "worse", "worse": "better"}
    if forth.decision in mirrored:
        assert (back.decision, back.votes) == (mirrored[forth.decision], forth.votes)


def test_certain_losers_do_not_break_the_logarithm() -> None:
    state = EProcess(rule=EProcessRule(effect=1.0)).update([1.0] * 3 + [-1.0] * 3)
    assert all(math.isfinite(value) for value in (*state.better_logs, *state.worse_logs, *state.futile_logs))


def test_no_votes_change_nothing() -> None:
    assert EProcess().update([]) == EProcess()
    start = GaussianSprt(rule=GaussianSprtRule(sigma=0.15))
    assert start.update([]) == start


def broken(**changes: Any) -> dict[str, Any]:
    return {**EProcess().update([0.1]).as_json(), **changes}


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "e_process"},
        broken(kind="gaussian_sprt"),
        broken(votes=-1),
        broken(votes=1.5),
        broken(decision="won"),
        broken(better_logs=[0.0]),
        broken(worse_logs="none"),
        broken(futile_logs=[math.nan] * 19),
        broken(rule=None),
        broken(rule={"alpha": 0.05}),
        broken(rule={"alpha": 5.0, "beta": 0.2, "effect": 0.05}),
    ],
)
def test_what_was_not_written_by_it_is_not_read_by_it(stored: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        EProcess.from_json(stored)


def test_the_gaussian_ratio_by_hand() -> None:
    # delta / sigma^2 = 0.05 / 0.0225 = 2.2222; votes 0.2 and -0.1 less 0.025: 0.175 and -0.125
    state = GaussianSprt(rule=GaussianSprtRule(sigma=0.15)).update([0.2, -0.1])
    assert state.log_likelihood_ratio == pytest.approx(2.0 / 0.9 * (0.175 - 0.125))
    assert (state.rule.upper, state.rule.lower) == pytest.approx((math.log(16), math.log(0.2 / 0.95)))


def test_the_gaussian_test_ends_at_its_bounds_and_stays_there() -> None:
    start = GaussianSprt(rule=GaussianSprtRule(sigma=0.15))
    # 2.7726 / (2.2222 * 0.075) = 16.6 votes of 0.1; -1.5581 / (2.2222 * -0.025) = 28.05 votes of 0
    won, gave_up = start.update([0.1] * 40), start.update([0.0] * 40)
    assert (won.decision, won.votes, gave_up.decision, gave_up.votes) == ("better", 17, "futile", 29)
    assert won.update([-1.0]) == won


@given(VOTES)
def test_the_gaussian_test_is_the_same_in_any_batches_and_after_json(votes: list[float]) -> None:
    start = GaussianSprt(rule=GaussianSprtRule(sigma=0.3))
    at_once, single = start.update(votes), start
    for vote in votes:
        single = GaussianSprt.from_json(json.loads(json.dumps(single.update(vote).as_json())))
    assert single == at_once
