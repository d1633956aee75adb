"""A change goes up when it has earned it, is turned away when not, and comes down when a guardrail breaks."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from tests.online.conftest import Online

from assay.errors import InputError
from assay.evaluation.running.own_memory import share_held
from assay.flags import find_flag
from assay.online.graduation import Gains, GraduationEvidence, all_hold, conditions
from assay.online.ladder import OfflineEvidence
from assay.records import AbTestStatus, LoggedQuery, Origin
from assay.records.datasets import Document
from assay.records.flags import Arm, Sides, StepOutcome, VoteKind

FLAG = "docscore_aggregation"
GAINS = Gains(queries=120, mean=0.05, low=0.01)
SURFACES = Sides(control=1.0, treatment=1.0, n=120)
QUICK = Sides(control=10.0, treatment=11.0, n=120)
GOOD = GraduationEvidence(gains=GAINS, decision="better", votes=90, constitutional=SURFACES, latency_p95_ms=QUICK)
OFFLINE = OfflineEvidence(
    dataset="agent-memory",
    control_run="r1",
    treatment_run="r2",
    gains=GAINS,
    constitutional=SURFACES,
    latency_p95_ms=QUICK,
    own_share=1.0,
)


def held(evidence: GraduationEvidence) -> dict[str, bool | None]:
    return {one.name: one.holds for one in conditions(find_flag(FLAG), evidence)}


def test_four_conditions_that_hold_let_a_change_through() -> None:
    assert all_hold(conditions(find_flag(FLAG), GOOD))


@pytest.mark.parametrize(
    ("changed", "name", "holds"),
    [
        ({"gains": None}, "gain", None),
        ({"gains": replace(GAINS, queries=99)}, "gain", None),
        ({"gains": replace(GAINS, queries=100)}, "gain", True),
        ({"gains": replace(GAINS, mean=0.0199)}, "gain", False),
        ({"gains": replace(GAINS, mean=0.02)}, "gain", True),
        ({"gains": replace(GAINS, low=0.0)}, "gain", False),
        ({"offline_problem": "The newest offline step failed."}, "gain", False),
        ({"foreign_corpus": "this memory holds 0 % of it."}, "gain", None),
        ({"test_problem": "No decision."}, "test", None),
        ({"decision": None}, "test", None),
        ({"decision": "futile"}, "test", False),
        ({"constitutional": None}, "constitutional", None),
        ({"constitutional": Sides(control=1.0, treatment=0.99, n=100)}, "constitutional", False),
        ({"latency_p95_ms": None}, "latency", None),
        ({"latency_p95_ms": Sides(control=10.0, treatment=11.0, n=29)}, "latency", None),
        ({"latency_p95_ms": Sides(control=10.0, treatment=12.0, n=30)}, "latency", True),
        ({"latency_p95_ms": Sides(control=10.0, treatment=12.01, n=30)}, "latency", False),
    ],
)
def test_each_condition_at_its_boundary(changed: dict[str, object], name: str, holds: bool | None) -> None:
    evidence = replace(GOOD, **changed)  # type: ignore[arg-type] # each case changes one field
    assert held(evidence)[name] is holds
    assert all_hold(conditions(find_flag(FLAG), evidence)) is (holds is True)


def test_a_change_that_does_nothing_never_passes() -> None:
    assert held(replace(GOOD, gains=Gains(queries=10_000, mean=0.0, low=0.0)))["gain"] is False


def voted(online: Online, difference: float, n: int = 200) -> None:
    trials = online.ladder.trials
    trials.begin(online.scope, FLAG, kind=VoteKind.PAIRED)
    rng = np.random.default_rng(5)
    for at in range(n):
        d = float(np.clip(rng.normal(difference, 0.2), -1.0, 1.0))
        trials.vote(online.scope, FLAG, f"query {at}", d, arm=Arm.BOTH)


def test_a_better_change_is_recommended_once_and_graduates_when_a_person_says_so(online: Online) -> None:
    ladder, scope = online.ladder, online.scope
    assert ladder.offline(scope, FLAG, OFFLINE).outcome is StepOutcome.PASSED
    assert ladder.decide(scope, FLAG) is None
    voted(online, 0.3)
    recommended = ladder.decide(scope, FLAG)
    assert recommended is not None
    assert recommended.outcome is StepOutcome.RECOMMENDED
    assert ladder.decide(scope, FLAG) is None

    graduated = ladder.graduate(scope, FLAG)

    assert graduated.detail["percent_before"] == 0
    assert online.engine.flag_states(scope)[FLAG].percent == 100
    page = ladder.page(scope, FLAG, rng=np.random.default_rng(0))
    assert page.test is not None
    assert page.test.status is AbTestStatus.GRADUATED
    assert [one.outcome for one in page.steps] == [
        StepOutcome.PASSED,
        StepOutcome.BEGUN,
        StepOutcome.PASSED,
        StepOutcome.RECOMMENDED,
        StepOutcome.GRADUATED,
    ]


def test_a_change_that_has_not_earned_it_cannot_graduate(online: Online) -> None:
    with pytest.raises(InputError, match="has not earned it: Not measured on an evaluation corpus"):
        online.ladder.graduate(online.scope, FLAG)
    assert online.engine.flag_states(online.scope)[FLAG].percent == 0


def test_a_worse_change_is_rejected_once(online: Online) -> None:
    voted(online, -0.3)
    rejected = online.ladder.decide(online.scope, FLAG)
    assert rejected is not None
    assert rejected.outcome is StepOutcome.REJECTED
    assert online.ladder.decide(online.scope, FLAG) is None


def test_a_slower_change_is_not_recommended(online: Online) -> None:
    slow = replace(OFFLINE, latency_p95_ms=Sides(control=10.0, treatment=13.0, n=100))
    assert online.ladder.offline(online.scope, FLAG, slow).outcome is StepOutcome.FAILED
    voted(online, 0.3)
    assert online.ladder.decide(online.scope, FLAG) is None


def gain_of(online: Online) -> tuple[bool | None, str]:
    page = online.ladder.page(online.scope, FLAG, rng=np.random.default_rng(0))
    found = {one.name: one for one in page.conditions}["gain"]
    return found.holds, found.sentence


def test_a_change_that_fails_the_offline_gate_does_not_graduate(online: Online) -> None:
    step = online.ladder.offline(online.scope, FLAG, replace(OFFLINE, gate_passed=False))
    assert step.outcome is StepOutcome.FAILED
    assert "does not pass the gate" in step.sentence
    voted(online, 0.3)
    with pytest.raises(InputError, match="The newest offline step failed: the treatment does not pass the gate"):
        online.ladder.graduate(online.scope, FLAG)
    assert online.ladder.decide(online.scope, FLAG) is None
    assert online.engine.flag_states(online.scope)[FLAG].percent == 0


def test_a_gain_on_the_corpus_of_another_memory_does_not_count(online: Online) -> None:
    step = online.ladder.offline(online.scope, FLAG, replace(OFFLINE, dataset="hotel", own_share=0.1))
    assert "It does not count for graduation: this memory holds 10% of the documents of hotel" in step.sentence
    holds, sentence = gain_of(online)
    assert holds is None
    assert "which does not count" in sentence
    online.ladder.offline(online.scope, FLAG, replace(OFFLINE, dataset="unknown", own_share=None))
    assert gain_of(online)[0] is None


def test_of_several_own_corpora_the_one_with_the_least_gain_counts(online: Online) -> None:
    worse = replace(GAINS, mean=-0.05, low=-0.1)
    online.ladder.offline(online.scope, FLAG, replace(OFFLINE, dataset="mine", gains=worse))
    online.ladder.offline(online.scope, FLAG, replace(OFFLINE, dataset="more of mine"))
    assert gain_of(online)[0] is False
    # The same corpus measured again replaces what it said before.
    online.ladder.offline(online.scope, FLAG, replace(OFFLINE, dataset="mine"))
    assert gain_of(online)[0] is True


def test_the_share_of_a_dataset_that_is_held_goes_by_ids_and_words(online: Online) -> None:
    with online.engine.store.reading(online.scope) as work:
        bodies = [work.memories.get(memory_id).body for memory_id in online.ids[:2]]
        held, renamed = (
            Document(id=memory_id, text=f"  {body}\n") for memory_id, body in zip(online.ids, bodies, strict=False)
        )
        elsewhere = Document(id="elsewhere", text=bodies[0])
        forged = replace(renamed, text="Other words under the same id.")
        assert share_held(work, [held, elsewhere]) == 0.5
        assert share_held(work, [held, renamed]) == 1.0
        assert share_held(work, [held, forged]) == 0.5
        assert share_held(work, []) == 0.0


def searched(online: Online, n: int, latency: float, proxy: float, at: datetime) -> None:
    rng = np.random.default_rng(int(latency))
    queries = [
        LoggedQuery(
            query_id=online.engine.store.ids.new("eq"),
            query=f"query {place}",
            tool_name="search",
            created_at=at,
            origin=Origin.USE,
            total_latency_ms=float(latency * rng.uniform(0.8, 1.2)),
            quality_proxy_score=float(proxy + rng.normal(0, 0.02)),
        )
        for place in range(n)
    ]
    with online.engine.store.writing(online.scope) as work:
        work.queries.add_many(queries)


def graduated(online: Online) -> None:
    online.ladder.offline(online.scope, FLAG, OFFLINE)
    voted(online, 0.3)
    searched(online, 80, 10.0, 0.7, online.clock.now())
    online.clock.advance(hours=1)
    online.ladder.graduate(online.scope, FLAG)
    online.clock.advance(hours=1)


@pytest.mark.parametrize(
    ("latency", "proxy", "n", "broken"),
    [
        (10.0, 0.7, 80, None),
        (11.0, 0.69, 80, None),
        (20.0, 0.7, 80, "latency"),
        (10.0, 0.5, 80, "quality proxy"),
        (20.0, 0.5, 49, None),
    ],
)
def test_a_broken_guardrail_takes_a_change_back(
    online: Online, latency: float, proxy: float, n: int, broken: str | None
) -> None:
    graduated(online)
    searched(online, n, latency, proxy, online.clock.now())
    seen = online.ladder.watch(online.scope, rng=np.random.default_rng(2))[FLAG]
    assert [one.name for one in seen if one.broken] == ([broken] if broken else [])
    assert online.engine.flag_states(online.scope)[FLAG].percent == (0 if broken else 100)
    if broken:
        with online.engine.store.reading(online.scope) as work:
            assert work.ladder_steps.of(FLAG)[-1].outcome is StepOutcome.ROLLED_BACK
        # What was taken back is not watched any more.
        assert online.ladder.watch(online.scope, rng=np.random.default_rng(2)) == {}


def test_what_has_not_graduated_cannot_be_taken_back(online: Online) -> None:
    with pytest.raises(InputError, match="has not graduated"):
        online.ladder.rollback(online.scope, FLAG, "because")
