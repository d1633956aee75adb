"""Sequential tests in the store: one vote a query, restarts and two processes change nothing, and what pauses one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from tests.memory.engines import engine_at, settings_of
from tests.online.conftest import Online
from tests.storage.homes import Home

from assay.errors import InputError, UnknownFlag
from assay.online.trials import Trials, state_hash
from assay.records import AbTestStatus, Scope
from assay.records.flags import Arm, Step, StepOutcome, VoteKind
from assay.statistics.sequential import EProcess
from assay.wiring import ladder_of

FLAG = "docscore_aggregation"


@pytest.fixture
def trials(online: Online) -> Trials:
    trials = online.ladder.trials
    trials.begin(online.scope, FLAG, kind=VoteKind.PAIRED)
    return trials


def differences(n: int, mean: float, seed: int = 1) -> Iterator[tuple[str, float]]:
    rng = np.random.default_rng(seed)
    for at in range(n):
        yield f"query number {at}", float(np.clip(rng.normal(mean, 0.3), -1.0, 1.0))


def test_a_better_treatment_is_found_and_votes_after_that_change_nothing(online: Online, trials: Trials) -> None:
    voted = [trials.vote(online.scope, FLAG, query, d, arm=Arm.BOTH) for query, d in differences(400, 0.3)]
    decided = next(one for one in voted if one.decision is not None)
    assert decided.decision == "better"
    assert decided.test.log_likelihood_ratio >= decided.test.upper_bound
    assert not voted[-1].counted
    assert "decided (better)" in voted[-1].reason
    assert voted[-1].test == decided.test


def test_a_worse_treatment_is_rejected_and_the_step_says_so(online: Online, trials: Trials) -> None:
    for query, d in differences(400, -0.3):
        trials.vote(online.scope, FLAG, query, d, arm=Arm.BOTH)
    with online.engine.store.reading(online.scope) as work:
        test = work.ab_tests.latest(FLAG)
        steps = work.ladder_steps.of(FLAG)
    assert test.status is AbTestStatus.REJECTED
    assert [one.step for one in steps] == [Step.AB_TEST, Step.AB_TEST]
    # Ruling out a gain takes fewer votes than proving a loss, so that is what mostly ends such a test.
    assert steps[-1].outcome in (StepOutcome.FAILED, StepOutcome.INCONCLUSIVE)
    assert steps[-1].detail["votes"] == test.sample_count < 400


def test_a_query_votes_once_however_it_is_spelt(online: Online, trials: Trials) -> None:
    first = trials.vote(online.scope, FLAG, "Small  kitchen", 0.5, arm=Arm.BOTH)
    again = trials.vote(online.scope, FLAG, "small kitchen ", 0.9, arm=Arm.BOTH)
    assert first.counted
    assert not again.counted
    assert again.reason == "this query has voted"
    assert again.test == replace(first.test, state_json={**first.test.state_json, "repeats": 1, "repeated_until": ""})


def test_a_restart_changes_nothing(home: Home, scope: Scope) -> None:
    votes = list(differences(60, 0.1))
    with engine_at(home) as engine:
        trials = ladder_of(engine).trials
        trials.begin(scope, FLAG, kind=VoteKind.PAIRED)
        for query, d in votes[:30]:
            before = trials.vote(scope, FLAG, query, d, arm=Arm.BOTH).test
    with engine_at(home) as engine:
        trials = ladder_of(engine).trials
        with engine.store.reading(scope) as work:
            assert state_hash(work.ab_tests.latest(FLAG)) == state_hash(before)
        for query, d in votes[30:]:
            after = trials.vote(scope, FLAG, query, d, arm=Arm.BOTH).test
    whole = EProcess().update([d for _, d in votes])
    assert EProcess.from_json(after.state_json["process"]) == whole
    assert after.sample_count == 60


VOTER = """
import json, sys
from assay.settings import Settings
from assay.wiring import open_store, flags_of
from assay.clock import SystemClock
from assay.online.trials import Trials
from assay.records import Scope
from assay.records.flags import Arm
settings = Settings(**json.loads(sys.argv[1]))
with open_store(settings) as store:
    trials = Trials(store=store, flags=flags_of(settings), clock=SystemClock())
    for at in range(15):
        trials.vote(Scope(tenant="acme", principal="p"), sys.argv[2], f"{sys.argv[3]} {at}", 0.03, arm=Arm.BOTH)
        trials.vote(Scope(tenant="acme", principal="p"), sys.argv[2], f"shared {at}", 0.03, arm=Arm.BOTH)
"""


@pytest.mark.slow
def test_two_processes_lose_no_vote(home: Home, online: Online, trials: Trials) -> None:
    import json  # noqa: PLC0415 - only here

    settings = settings_of(home)
    given = {
        "db": settings.db,
        "tenant": settings.tenant,
        "postgres_schema": settings.postgres_schema,
    }
    voters = [subprocess.Popen([sys.executable, "-c", VOTER, json.dumps(given), FLAG, name]) for name in ("one", "two")]
    assert [voter.wait() for voter in voters] == [0, 0]
    standing = trials.standing(online.scope, FLAG, rng=np.random.default_rng(0))
    assert standing.votes == 45
    assert len(standing.path) == 45
    with online.engine.store.reading(online.scope) as work:
        state = work.ab_tests.latest(FLAG).state_json
    assert EProcess.from_json(state["process"]).votes == 45


def test_a_flag_switched_in_the_middle_pauses_the_test_and_a_new_attempt_begins_anew(
    online: Online, trials: Trials
) -> None:
    engine, scope = online.engine, online.scope
    trials.vote(scope, FLAG, "first", 0.2, arm=Arm.BOTH)
    engine.flags.turn(engine.store, scope, FLAG, "on")
    voted = trials.vote(scope, FLAG, "second", 0.2, arm=Arm.BOTH)
    assert not voted.counted
    assert voted.reason == "The flag was on for 0 % when it began and is on for 100 % now."
    assert voted.test.status is AbTestStatus.PAUSED
    assert "paused" in trials.vote(scope, FLAG, "third", 0.2, arm=Arm.BOTH).reason
    with pytest.raises(InputError, match="a paired test compares it with searches without it"):
        trials.begin(scope, FLAG, kind=VoteKind.PAIRED)
    engine.flags.turn(engine.store, scope, FLAG, "off")
    begun = trials.begin(scope, FLAG, kind=VoteKind.PAIRED)
    assert begun.attempt == 2
    assert trials.vote(scope, FLAG, "first", 0.2, arm=Arm.BOTH).test.sample_count == 1


def test_an_arm_starved_of_traffic_pauses_a_split(online: Online) -> None:
    engine, scope, trials = online.engine, online.scope, online.ladder.trials
    engine.flags.turn(engine.store, scope, "mmr", "50%")
    trials.begin(scope, "mmr", kind=VoteKind.SPLIT)
    for at in range(40):
        arm = Arm.CONTROL if at % 8 else Arm.TREATMENT
        voted = trials.vote(scope, "mmr", f"query {at}", 0.0, arm=arm)
    assert voted.test.status is AbTestStatus.PAUSED
    with engine.store.reading(scope) as work:
        assert "not a fair split" in work.ladder_steps.of("mmr")[-1].sentence


def test_a_split_needs_half_of_the_sessions(online: Online) -> None:
    with pytest.raises(InputError, match="on for 100 % of sessions"):
        online.ladder.trials.begin(online.scope, "mmr", kind=VoteKind.SPLIT)


def test_a_split_bets_on_half_the_effect_and_shows_the_whole_gain(online: Online) -> None:
    engine, scope, trials = online.engine, online.scope, online.ladder.trials
    engine.flags.turn(engine.store, scope, "mmr", "50%")
    begun = trials.begin(scope, "mmr", kind=VoteKind.SPLIT)
    assert begun.state_json["process"]["rule"]["effect"] == 0.025
    for at in range(20):
        arm, outcome = (Arm.TREATMENT, 0.6) if at % 2 else (Arm.CONTROL, -0.4)
        trials.vote(scope, "mmr", f"query {at}", outcome, arm=arm)
    standing = trials.standing(scope, "mmr", rng=np.random.default_rng(0))
    assert standing.mean == pytest.approx(0.2)
    assert standing.split is not None
    assert standing.split.p == pytest.approx(1.0)


def test_a_clock_that_goes_back_takes_no_test_with_it(online: Online, trials: Trials) -> None:
    before = trials.vote(online.scope, FLAG, "first", 0.1, arm=Arm.BOTH).test
    online.clock.jump(online.clock.now() - timedelta(days=400))
    after = trials.vote(online.scope, FLAG, "second", 0.1, arm=Arm.BOTH)
    assert after.counted
    assert after.test.updated_at == before.updated_at


def test_a_second_test_of_a_running_one_is_refused(online: Online, trials: Trials) -> None:
    with pytest.raises(InputError, match="attempt 1 at docscore_aggregation is still running"):
        trials.begin(online.scope, FLAG, kind=VoteKind.PAIRED)


def test_a_feature_that_is_no_flag_is_refused(online: Online) -> None:
    with pytest.raises(UnknownFlag, match="docscore"):
        online.ladder.trials.begin(online.scope, "docscore", kind=VoteKind.PAIRED)


def test_views_beside_the_test_say_the_same(online: Online, trials: Trials) -> None:
    for query, d in differences(80, 0.2):
        trials.vote(online.scope, FLAG, query, d, arm=Arm.BOTH)
    standing = trials.standing(online.scope, FLAG, rng=np.random.default_rng(3))
    assert standing.interval is not None
    assert standing.interval.low is not None
    assert standing.interval.low > 0.0
    assert standing.treatment_better is not None
    assert standing.treatment_better > 0.95
    assert standing.path[-1][1] == pytest.approx(standing.log_evidence)
