"""A test that is begun anew until it says better pays for each attempt; repeats of a query are counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.online.conftest import Online
from tests.online.test_ladder import OFFLINE

from assay.errors import BadValue
from assay.online.trials import Trials
from assay.records.flags import Arm, VoteKind
from assay.statistics import EProcess, EProcessRule, alpha_of_attempt, first_votes

FLAG = "docscore_aggregation"


def win(online: Online, n: int = 200) -> None:
    for place in range(n):
        online.ladder.trials.vote(online.scope, FLAG, f"query {place}", 0.5, arm=Arm.BOTH)


def begin_again(trials: Trials, online: Online, attempts: int) -> None:
    for attempt in range(1, attempts + 1):
        trials.begin(online.scope, FLAG, kind=VoteKind.PAIRED)
        if attempt < attempts:
            trials.pause(online.scope, FLAG, "again")


def test_all_attempts_together_call_nothing_better_by_chance_more_often_than_alpha() -> None:
    spent = [alpha_of_attempt(0.05, attempt) for attempt in range(1, 10_000)]
    assert spent[0] == 0.05
    assert spent == sorted(spent, reverse=True)
    # Better has half of the alpha of each attempt.
    assert sum(spent) / 2 < 0.05


def test_a_null_test_begun_anew_a_hundred_times_is_called_better_less_often_than_alpha() -> None:
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(60):
        rules = (EProcessRule(alpha=alpha_of_attempt(0.05, attempt)) for attempt in range(1, 101))
        found += any(EProcess(rule=rule).update(rng.choice([-1.0, 1.0], 60)).decision == "better" for rule in rules)
    assert found / 60 <= 0.05


def test_each_attempt_needs_more_evidence_and_says_which_it_is(online: Online) -> None:
    trials = online.ladder.trials
    begin_again(trials, online, 3)
    with online.engine.store.reading(online.scope) as work:
        test = work.ab_tests.latest(FLAG)
    assert test.upper_bound == pytest.approx(np.log(2 / (0.05 / 12)))
    win(online)
    page = online.ladder.page(online.scope, FLAG, rng=np.random.default_rng(0))
    sentence = {one.name: one.sentence for one in page.conditions}["test"]
    assert sentence.startswith("The sequential test (attempt 3, alpha 0.0042) says better, by ")


def test_better_at_an_attempt_that_was_not_corrected_does_not_graduate(online: Online) -> None:
    """Tests of stores written before attempts were corrected hold the full alpha at every attempt."""
    trials, store = online.ladder.trials, online.engine.store
    online.ladder.offline(online.scope, FLAG, OFFLINE)
    trials.begin(online.scope, FLAG, kind=VoteKind.PAIRED)
    win(online)
    assert online.ladder.page(online.scope, FLAG, rng=np.random.default_rng(0)).may_graduate
    with store.writing(online.scope) as work:
        first = work.ab_tests.latest(FLAG)
        work.ab_tests.put(replace(first, attempt=155))
    page = online.ladder.page(online.scope, FLAG, rng=np.random.default_rng(0))
    condition = {one.name: one for one in page.conditions}["test"]
    assert condition.holds is None
    assert "Attempt 155 was not corrected for the attempts before it" in condition.sentence


def test_repeated_searches_are_counted_once_however_often_votes_are_collected(online: Online) -> None:
    trials = online.ladder.trials
    trials.begin(online.scope, FLAG, kind=VoteKind.PAIRED)
    for _ in range(3):
        for place in range(8):
            trials.vote(online.scope, FLAG, f"query {place % 2}", 0.1, arm=Arm.BOTH, query_id=f"eq_{place}")
    standing = trials.standing(online.scope, FLAG, rng=np.random.default_rng(0))
    assert (standing.votes, standing.repeats) == (2, 6)
    trials.vote(online.scope, FLAG, "Query 1", 0.1, arm=Arm.BOTH)
    assert trials.standing(online.scope, FLAG, rng=np.random.default_rng(0)).repeats == 7


def test_first_votes_leave_out_repeats() -> None:
    assert first_votes(["a", "b", "a"], [0.1, 0.2, 0.9]) == ((0.1, 0.2), 1)
    with pytest.raises(BadValue, match="2 keys for 1 votes"):
        first_votes(["a", "b"], [0.1])
