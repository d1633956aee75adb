"""Every way in which evaluation fails, and that the answer arrives all the same."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.judging.panels import QUESTION, PassingClock, Told, alike, lost
from tests.research.made import Answering, Planning, members, pipeline, scores

from assay.errors import StoreFull
from assay.records import Scope
from assay.records.judging import CheckpointState, RoleOutcome, RoleResult
from assay.records.research import Checkpoint, Material, roles_at
from assay.records.research_log import NoticeKind, ResearchStatus
from assay.research.checkpoints import evaluate_safely, notify_safely, store_safely
from assay.research.events import StageEvent
from assay.research.options import CheckpointOptions, ResearchOptions
from assay.storage import Store, open_store
from assay.testing import FixedClock


def all_lost(outcome: RoleOutcome) -> object:
    def script(material: Material, number: int) -> list[RoleResult]:
        return [lost(one, outcome, reason="because") for one in roles_at(material.checkpoint)]

    return script


def test_an_unavailable_model_skips_the_evaluation_and_goes_on(
    local: Store, scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    planner = Planning()
    with caplog.at_level(logging.WARNING, "assay.research"):
        answer = pipeline(local, all_lost(RoleOutcome.UNAVAILABLE), planner=planner).ask(scope, QUESTION)  # type: ignore[arg-type] # a script
    assert answer.status is ResearchStatus.ANSWERED
    assert len(planner.feedback) == 1
    assert answer.session.skipped
    assert "because" in answer.session.skip_reason
    assert answer.session.overall_score is None
    assert [one.kind for one in answer.notices] == [NoticeKind.SKIPPED] * 3
    assert "plan evaluation: skipped" in caplog.text
    assert QUESTION not in caplog.text


def test_a_timeout_uses_what_came_or_skips(local: Store, scope: Scope) -> None:
    never = threading.Event()
    long = {one: CheckpointOptions(timeout_s=10_000) for one in Checkpoint}
    seats = members(scores())
    hanging = Told(roles_at(Checkpoint.PLAN)[1], never)
    partial: dict[Checkpoint, Any] = {**seats, Checkpoint.PLAN: [seats[Checkpoint.PLAN][0], hanging]}
    soon = ResearchOptions(checkpoints={**long, Checkpoint.PLAN: CheckpointOptions(timeout_s=60)})
    some = pipeline(local, seats=partial, options=soon, clock_of_panel=PassingClock(40)).ask(scope, QUESTION)
    assert some.session.plan_score == pytest.approx(0.9)
    assert not some.session.skipped
    nobody: dict[Checkpoint, Any] = {**seats, Checkpoint.PLAN: [Told(one, never) for one in roles_at(Checkpoint.PLAN)]}
    at_once = ResearchOptions(checkpoints={**long, Checkpoint.PLAN: CheckpointOptions(timeout_s=0.2)})
    none = pipeline(local, seats=nobody, options=at_once).ask(scope, QUESTION)
    never.set()
    assert none.session.plan_score is None
    assert none.session.skipped
    assert "timed_out" in none.session.skip_reason
    assert none.status is ResearchStatus.ANSWERED


def test_unreadable_scores_are_let_pass_and_stay_out_of_the_pass_rate(local: Store, scope: Scope) -> None:
    planner = Planning()
    answer = pipeline(local, all_lost(RoleOutcome.UNREADABLE), planner=planner).ask(scope, QUESTION)  # type: ignore[arg-type] # a script
    assert answer.status is ResearchStatus.ANSWERED
    assert len(planner.feedback) == 1
    assert answer.session.judge_failed
    assert answer.session.passed is None
    assert not answer.session.skipped
    with local.reading(scope) as work:
        totals = work.research.totals()
    assert (totals.sessions, totals.judged, totals.judge_failed) == (1, 0, 1)


@pytest.mark.parametrize(("raises_at", "made"), [(2, 1), (3, 2)])
def test_a_loop_that_fails_uses_the_best_attempt_so_far(local: Store, scope: Scope, raises_at: int, made: int) -> None:
    planner = Planning(raises_at)
    answer = pipeline(local, scores((0.5, 0.3)), planner=planner).ask(scope, QUESTION)
    assert answer.session.iterations == made
    assert answer.plan.texts == ("query 1",)
    assert answer.status is ResearchStatus.ANSWERED
    assert any("no plan" in one.message for one in answer.notices)
    assert not answer.session.exhausted


def test_a_planner_that_fails_at_once_is_replaced_by_the_rules(local: Store, scope: Scope) -> None:
    answer = pipeline(local, planner=Planning(1)).ask(scope, QUESTION)
    assert answer.plan.planner == "builtin"
    assert "no plan 1" in answer.plan.fallback
    assert answer.status is ResearchStatus.ANSWERED


@pytest.mark.parametrize("raises_at", [1, 2])
def test_a_synthesiser_that_fails_is_replaced_or_done_without(local: Store, scope: Scope, raises_at: int) -> None:
    script = scores(answer=(0.9,) if raises_at == 1 else (0.3, 0.9))
    answer = pipeline(local, script, synthesiser=Answering(raises_at)).ask(scope, QUESTION)
    assert answer.status is ResearchStatus.ANSWERED
    assert ("twelve hours" in answer.text) is (raises_at == 1)
    assert any(one.kind is NoticeKind.FALLBACK for one in answer.notices)


def test_a_record_that_cannot_be_kept_loses_nothing_but_itself(tmp_path: Path, scope: Scope, clock: FixedClock) -> None:
    with open_store(str(tmp_path / "notes.db"), clock=clock) as store:
        asked = pipeline(store)
    answer = asked.ask(scope, QUESTION)
    assert answer.status is ResearchStatus.ANSWERED
    assert answer.text == "Answer 1. [1]"
    assert answer.session.overall_score == pytest.approx(0.9)
    assert not answer.kept
    assert answer.notices[-1].kind is NoticeKind.NOT_KEPT


def test_a_listener_that_raises_is_told_no_more(local: Store, scope: Scope) -> None:
    heard: list[StageEvent] = []

    def listen(event: StageEvent) -> None:
        heard.append(event)
        raise ValueError(event.message)

    answer = pipeline(local).ask(scope, QUESTION, listen=listen)
    assert len(heard) == 1
    assert answer.status is ResearchStatus.ANSWERED


def test_an_evaluation_that_raises_is_skipped_with_the_reason() -> None:
    def broken() -> object:
        raise KeyError("gone")

    result = evaluate_safely(broken, Checkpoint.PLAN)  # type: ignore[arg-type] # it never returns
    assert result.state is CheckpointState.SKIPPED
    assert "gone" in result.reason


def test_what_went_wrong_in_keeping_and_telling_is_said() -> None:
    def full() -> None:
        raise StoreFull("no space is left", remedy="Make some.")

    assert store_safely(full) == "no space is left"
    assert store_safely(lambda: None) == ""
    assert not notify_safely(full)
    assert notify_safely(lambda: None)


def test_one_role_down_leaves_a_degraded_verdict(local: Store, scope: Scope) -> None:
    def script(material: Material, number: int) -> list[RoleResult]:
        first, *others = alike(material.checkpoint, 0.9)
        return [replace(first, outcome=RoleOutcome.UNAVAILABLE, scores={}, reason="down"), *others]

    session = pipeline(local, script).ask(scope, QUESTION).session
    assert session.passed
    assert not session.skipped
