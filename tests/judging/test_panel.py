"""The panel: everybody asked at once, whatever one of them does, and how much stands behind a verdict."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from tests.judging.panels import PassingClock, Told, alike, lost, material, panel, result, saying

from assay.judging.panel_options import WEIGHTS
from assay.judging.roles import builtin_members
from assay.records.judging import EscalationResult, PanelState, PanelVerdict, RoleOutcome, RoleResult, Trigger
from assay.records.research import (
    BUILTIN_CHECK,
    DIMENSIONS,
    Checkpoint,
    Dimension,
    Material,
    Plan,
    PlannedQuery,
    Role,
    Synthesis,
    roles_at,
)

PLAN, ANSWER = Checkpoint.PLAN, Checkpoint.ANSWER


class Reviewing:
    """A reviewer that gives one score to everything, or raises."""

    name = "large"

    def __init__(self, says: float | Exception) -> None:
        self._says = says
        self.asked: list[tuple[Trigger, ...]] = []

    def review(
        self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger], deadline_s: float
    ) -> EscalationResult:
        assert deadline_s > 0
        self.asked.append(tuple(triggers))
        if isinstance(self._says, Exception):
            raise self._says
        scores = {one.value: self._says for one in DIMENSIONS[material.checkpoint]}
        trust = {one.role: 0.5 for one in verdict.results}
        return EscalationResult(
            triggers=tuple(triggers), outcome=RoleOutcome.SCORED, model=self.name, trust=trust, scores=scores
        )


def test_every_role_present_scores_every_dimension_of_the_checkpoint() -> None:
    assert [len(roles_at(one)) for one in Checkpoint] == [2, 3, 5]
    for checkpoint in Checkpoint:
        verdict = panel({checkpoint: saying(alike(checkpoint, 0.9))}).judge(material(checkpoint), deadline_s=20)
        assert verdict.state is PanelState.FULL
        assert verdict.aggregate == pytest.approx(0.9)
        assert set(verdict.scores) == {one.value for one in DIMENSIONS[checkpoint]}
        assert [one.role for one in verdict.results] == [one.value for one in roles_at(checkpoint)]
        assert verdict.triggers == ()


def test_a_role_that_raises_is_an_outcome_and_the_others_count() -> None:
    first, second = alike(PLAN, 0.9)
    members = [Told(Role(first.role), first), Told(Role(second.role), ZeroDivisionError("oh"))]
    verdict = panel({PLAN: members}).judge(material(), deadline_s=20)
    assert verdict.state is PanelState.DEGRADED
    assert verdict.results[1].outcome is RoleOutcome.FAILED
    assert "ZeroDivisionError" in verdict.results[1].reason
    assert verdict.stood_in == ("query_coverage",)
    assert verdict.aggregate == pytest.approx(0.9)


def test_a_role_that_hangs_times_out_and_the_others_count() -> None:
    never = threading.Event()
    first, second = alike(PLAN, 0.9)
    members = [Told(Role(first.role), first), Told(Role(second.role), never)]
    verdict = panel({PLAN: members}, clock=PassingClock(40)).judge(material(), deadline_s=60)
    never.set()
    assert [one.outcome for one in verdict.results] == [RoleOutcome.SCORED, RoleOutcome.TIMED_OUT]
    assert verdict.state is PanelState.DEGRADED


def test_hanging_roles_take_their_places_and_nothing_more() -> None:
    never = threading.Event()
    hanging = panel({PLAN: [Told(one, never) for one in roles_at(PLAN)]}, threads=1)
    assert hanging.judge(material(), deadline_s=0.05).state is PanelState.NO_QUORUM
    again = hanging.judge(material(), deadline_s=0.05)
    never.set()
    assert {one.outcome for one in again.results} == {RoleOutcome.TIMED_OUT}


@pytest.mark.parametrize(
    ("scoring", "state"), [(5, PanelState.FULL), (3, PanelState.DEGRADED), (2, PanelState.NO_QUORUM)]
)
def test_half_of_the_roles_are_a_quorum(scoring: int, state: PanelState) -> None:
    said = alike(ANSWER, 0.9)[:scoring] + [lost(one) for one in roles_at(ANSWER)[scoring:]]
    verdict = panel({ANSWER: saying(said)}).judge(material(ANSWER), deadline_s=20)
    assert verdict.state is state
    assert (verdict.aggregate is None) is (state is PanelState.NO_QUORUM)
    assert Trigger.LOW_CONFIDENCE not in verdict.triggers


def test_no_confidence_at_all_is_a_state_of_its_own() -> None:
    verdict = panel({PLAN: saying(alike(PLAN, 0.9, confidence=0.0))}).judge(material(), deadline_s=20)
    assert verdict.state is PanelState.NO_CONFIDENCE
    assert verdict.aggregate is None
    assert verdict.escalation is not None
    assert verdict.escalation.outcome is RoleOutcome.UNAVAILABLE


def test_a_larger_model_gives_what_confidence_could_not() -> None:
    sure = panel({PLAN: saying(alike(PLAN, 0.9, confidence=0.0))}, reviewer=Reviewing(0.3))
    verdict = sure.judge(material(), deadline_s=20)
    assert verdict.state is PanelState.DEGRADED
    assert verdict.aggregate == pytest.approx(0.3)


def test_an_escalation_takes_the_place_of_the_scores() -> None:
    reviewer = Reviewing(0.2)
    verdict = panel({PLAN: saying(alike(PLAN, 0.72))}, reviewer=reviewer).judge(material(), deadline_s=20)
    assert reviewer.asked == [(Trigger.BORDERLINE,)]
    assert verdict.aggregate == pytest.approx(0.2)
    assert verdict.escalation is not None
    assert verdict.escalation.trust == {"intent_analyst": 0.5, "coverage_checker": 0.5}


def test_a_reviewer_that_raises_changes_nothing() -> None:
    failing = panel({PLAN: saying(alike(PLAN, 0.72))}, reviewer=Reviewing(OSError("no route")))
    verdict = failing.judge(material(), deadline_s=20)
    assert verdict.aggregate == pytest.approx(0.72)
    assert verdict.escalation is not None
    assert verdict.escalation.outcome is RoleOutcome.FAILED
    assert "no route" in verdict.escalation.reason


def test_roles_that_contradict_each_other_are_contested_until_somebody_settles_it() -> None:
    def apart() -> list[RoleResult]:
        high, low = ({one.value: score for one in DIMENSIONS[PLAN]} for score in (1.0, 0.2))
        return [result(Role.INTENT_ANALYST, high), result(Role.COVERAGE_CHECKER, low)]

    alone = panel({PLAN: saying(apart())}).judge(material(), deadline_s=20)
    assert alone.contested
    assert alone.tied
    settled = panel({PLAN: saying(apart())}, reviewer=Reviewing(0.9)).judge(material(), deadline_s=20)
    assert not settled.contested


def test_nobody_on_the_panel_is_no_verdict() -> None:
    assert panel({}).judge(material(), deadline_s=20).state is PanelState.NO_QUORUM


def test_tokens_are_counted_only_when_every_model_counted() -> None:
    counted = [result(one, {}, kind="model", tokens=5) for one in roles_at(PLAN)]
    verdict = PanelVerdict(checkpoint=PLAN, state=PanelState.FULL, results=tuple(counted))
    assert verdict.tokens == 10
    silent = PanelVerdict(checkpoint=PLAN, state=PanelState.FULL, results=(counted[0], lost(Role.COVERAGE_CHECKER)))
    assert silent.tokens is None


# --- Without a model: one built-in check ---


@pytest.mark.parametrize("checkpoint", Checkpoint)
def test_one_check_owns_what_it_scores_and_there_is_no_spread(checkpoint: Checkpoint) -> None:
    verdict = panel(builtin_members()).judge(material(checkpoint), deadline_s=20)
    assert verdict.state is PanelState.FULL
    assert [result.role for result in verdict.results] == [BUILTIN_CHECK]
    assert verdict.scores == verdict.results[0].scores
    assert (verdict.spread, verdict.stood_in, verdict.quiet, verdict.disagreement) == ({}, (), (), "")
    assert sum(verdict.votes) == 1


def test_coherence_is_in_no_aggregate_of_the_built_in_check() -> None:
    verdict = panel(builtin_members()).judge(material(ANSWER), deadline_s=20)
    assert list(verdict.not_measured) == [Dimension.COHERENCE.value]
    assert verdict.aggregate == pytest.approx(
        sum(WEIGHTS[Dimension(name)] * score for name, score in verdict.scores.items())
        / sum(WEIGHTS[Dimension(name)] for name in verdict.scores)
    )


@pytest.mark.parametrize(
    "given",
    [
        material(PLAN, question="???", plan=Plan(question="???", queries=(PlannedQuery(text="zxcv"),))),
        material(ANSWER, synthesis=Synthesis(text="Not known.", abstained=True, reason="nothing was found")),
    ],
    ids=["unreadable question", "refusal"],
)
def test_what_cannot_be_measured_has_no_verdict_and_asks_nobody_else(given: Material) -> None:
    reviewer = Reviewing(0.9)
    verdict = panel(builtin_members(), reviewer=reviewer).judge(given, deadline_s=20)
    assert verdict.state is PanelState.NOT_MEASURED
    assert set(verdict.not_measured) == {dimension.value for dimension in DIMENSIONS[given.checkpoint]}
    assert (verdict.scores, verdict.aggregate, verdict.triggers) == ({}, None, ())
    assert reviewer.asked == []
