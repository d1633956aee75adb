"""A split test looks at its sample ratio before it decides, and compares the outcomes of its sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.online.conftest import Online

from assay.errors import InputError
from assay.online.trials import VoteResult
from assay.records import AbTestStatus
from assay.records.flags import Arm, TrialStanding, VoteKind
from assay.statistics.online_tests import FEWEST_PER_ARM

FLAG = "mmr"
CONTROL, TREATMENT = Arm.CONTROL, Arm.TREATMENT


def begin(online: Online) -> None:
    online.engine.flags.turn(online.engine.store, online.scope, FLAG, "50%")
    online.ladder.trials.begin(online.scope, FLAG, kind=VoteKind.SPLIT)


def vote(online: Online, votes: Sequence[tuple[Arm, float]]) -> VoteResult:
    """Cast outcomes of the sides, each of a query of its own."""
    for place, (arm, outcome) in enumerate(votes):
        signed = outcome if arm is TREATMENT else -outcome
        voted = online.ladder.trials.vote(online.scope, FLAG, f"query {place}", signed, arm=arm)
    return voted


def standing(online: Online) -> TrialStanding:
    return online.ladder.trials.standing(online.scope, FLAG, rng=np.random.default_rng(0))


def test_a_dead_arm_decides_nothing(online: Online) -> None:
    begin(online)
    voted = vote(online, [(TREATMENT, 1.0)] * 8)
    assert voted.decision is None
    assert standing(online).withheld.startswith(
        "No decision: 0 votes of the control to 8 of the treatment (p = 0.0078)"
    )


def test_six_to_one_decides_nothing(online: Online) -> None:
    begin(online)
    voted = vote(online, [*[(CONTROL, 1.0)] * 6, (TREATMENT, 0.0)])
    assert voted.decision is None
    assert voted.test.status is AbTestStatus.RUNNING
    shown = standing(online)
    assert shown.split is not None
    assert shown.split.p == pytest.approx(0.125)
    assert shown.withheld.startswith(f"No decision before each side has {FEWEST_PER_ARM} votes: 6 votes of the control")


def test_a_split_decides_by_all_its_evidence_once_the_ratio_allows_it(online: Online) -> None:
    begin(online)
    even = [(CONTROL, 0.0), (TREATMENT, 1.0)] * FEWEST_PER_ARM
    # One vote short of the least number of each side nothing is decided, whatever the evidence.
    before = vote(online, even[:-1])
    assert before.test.log_likelihood_ratio > before.test.upper_bound
    assert before.decision is None
    assert vote(online, even).decision == "better"
    assert standing(online).withheld == ""


@pytest.mark.parametrize(
    ("arms", "outcomes", "expected"),
    [
        ((20, 10), (0.05, 0.95), "treatment"),
        ((10, 20), (0.95, 0.05), "control"),
        ((10, 20), (0.5, 0.5), "neither"),
    ],
)
def test_the_chance_that_treatment_is_ahead_compares_outcomes_not_the_size_of_the_arms(
    online: Online, arms: tuple[int, int], outcomes: tuple[float, float], expected: str
) -> None:
    begin(online)
    votes = [(CONTROL, outcomes[0])] * arms[0] + [(TREATMENT, outcomes[1])] * arms[1]
    order = np.random.default_rng(3).permutation(len(votes))
    vote(online, [votes[place] for place in order])
    shown = standing(online)
    assert shown.treatment_better is not None
    assert shown.mean is not None
    assert shown.treatment_better_means == "P(treatment's mean outcome is higher)"
    if expected == "treatment":
        assert shown.treatment_better > 0.99
    elif expected == "control":
        assert shown.treatment_better < 0.01
    else:
        assert shown.treatment_better == pytest.approx(0.5, abs=0.02)
        assert shown.mean == pytest.approx(0.0)


def test_equal_outcomes_of_each_side_do_not_make_the_gain_certain(online: Online) -> None:
    begin(online)
    vote(online, [(CONTROL, 0.05), (TREATMENT, 0.95)] * FEWEST_PER_ARM)
    shown = standing(online)
    assert shown.mean == pytest.approx(0.9)
    assert shown.interval is None


def test_a_side_without_votes_leaves_gain_and_chance_open(online: Online) -> None:
    begin(online)
    vote(online, [(TREATMENT, 1.0)] * 3)
    shown = standing(online)
    assert (shown.mean, shown.interval, shown.treatment_better) == (None, None, None)


def test_a_paired_test_without_votes_says_nothing_of_who_wins(online: Online) -> None:
    online.ladder.trials.begin(online.scope, "docscore_aggregation", kind=VoteKind.PAIRED)
    shown = online.ladder.trials.standing(online.scope, "docscore_aggregation", rng=np.random.default_rng(0))
    assert shown.treatment_better is None
    assert shown.treatment_better_means == "P(treatment wins more often)"
    assert shown.split is None


def test_a_paused_test_is_resumed_with_its_votes(online: Online) -> None:
    begin(online)
    trials = online.ladder.trials
    vote(online, [(CONTROL, 0.5), (TREATMENT, 0.5)])
    trials.pause(online.scope, FLAG, "for lunch")
    online.clock.advance(hours=1)
    resumed = trials.resume(online.scope, FLAG)
    assert (resumed.attempt, resumed.status, resumed.sample_count) == (1, AbTestStatus.RUNNING, 2)
    assert trials.vote(online.scope, FLAG, "another", 0.5, arm=TREATMENT).test.sample_count == 3


def test_a_test_whose_flag_was_switched_or_whose_split_is_unfair_is_not_resumed(online: Online) -> None:
    begin(online)
    engine, trials = online.engine, online.ladder.trials
    with pytest.raises(InputError, match="is running, not paused"):
        trials.resume(online.scope, FLAG)
    vote(online, [(CONTROL, 0.0)] * 30)
    with pytest.raises(InputError, match="20 votes of the control to 0 of the treatment"):
        trials.resume(online.scope, FLAG)
    engine.flags.turn(engine.store, online.scope, FLAG, "on")
    with pytest.raises(InputError, match="on for 50 % when the test began and is on for 100 % now"):
        trials.resume(online.scope, FLAG)
