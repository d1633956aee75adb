"""A question from plan to answer: the loop, the flags, and what the record says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.judging.panels import ANSWER, QUESTION, alike, lost
from tests.judging.test_panel import Reviewing
from tests.research.made import Answering, Finding, Planning, pipeline, scores

from assay.errors import BadValue, RecordNotFound
from assay.records import Scope
from assay.records.judging import CheckpointState, RoleOutcome, RoleResult, Trigger
from assay.records.research import Checkpoint, IterationMode, Material, roles_at
from assay.records.research_log import EvaluatedBy, NoticeKind, ResearchStatus
from assay.research.events import EventKind, StageEvent
from assay.research.options import CheckpointOptions, FailAction, ResearchOptions
from assay.research.search import FoundPassages
from assay.storage import Store

PLAN, RETRIEVAL, ANSWERED = Checkpoint


def test_a_plan_that_passes_is_made_once_and_everything_is_kept(local: Store, scope: Scope) -> None:
    planner = Planning()
    answer = pipeline(local, scores((0.8,), 0.7, (0.9,)), planner=planner).ask(scope, QUESTION, tags=("a",))
    assert answer.status is ResearchStatus.ANSWERED
    assert answer.text == "Answer 1. [1]"
    assert len(planner.feedback) == 1
    session = answer.session
    assert (session.plan_score, session.retrieval_score, session.answer_score) == pytest.approx((0.8, 0.7, 0.9))
    assert session.overall_score == pytest.approx(0.8)
    assert (session.passed, session.iterations, session.failure_type) == (True, 1, "")
    assert session.evaluated_by is EvaluatedBy.BUILTIN
    assert answer.kept
    with local.reading(scope) as work:
        stored = work.research.get(answer.log_id)
    assert stored.session == session
    assert stored.trace == answer.trace


@pytest.mark.parametrize(
    ("plans", "made", "modes"),
    [
        ((0.7,), 1, [None]),
        ((0.5, 0.8), 2, [None, IterationMode.FULL_REGENERATION]),
        (({"intent_alignment": 0.69, "query_coverage": 1.0, "scope_appropriateness": 1.0}, 0.9), 2, None),
        ((0.5, 0.5, 0.8), 3, [None, IterationMode.FULL_REGENERATION, IterationMode.FULL_REGENERATION]),
    ],
)
def test_a_plan_is_made_again_until_it_passes(
    local: Store, scope: Scope, plans: Sequence[Any], made: int, modes: Sequence[Any] | None
) -> None:
    planner = Planning()
    answer = pipeline(local, scores(plans), planner=planner).ask(scope, QUESTION)
    assert len(planner.feedback) == answer.session.iterations == made
    assert modes is None or planner.modes == list(modes)
    assert answer.plan.texts == (f"query {made}",)
    assert not answer.session.exhausted


def test_one_fault_is_mended_and_a_second_failure_plans_anew(local: Store, scope: Scope) -> None:
    weak = {"intent_alignment": 0.65, "query_coverage": 0.9, "scope_appropriateness": 0.9}
    planner = Planning()
    answer = pipeline(local, scores((weak, weak, 0.9)), planner=planner).ask(scope, QUESTION)
    assert planner.modes == [None, IterationMode.TARGETED_FIX, IterationMode.FULL_REGENERATION]
    assert answer.session.failure_type == "intent_misalignment"
    assert [one.decision.forced for one in answer.plan_attempts if one.decision] == [False, True]


def test_after_three_failures_the_larger_model_is_asked_and_the_best_attempt_used(local: Store, scope: Scope) -> None:
    planner, find, reviewer = Planning(), Finding(), Reviewing(0.1)
    answer = pipeline(local, scores((0.3, 0.6, 0.4)), planner=planner, find=find, reviewer=reviewer).ask(
        scope, QUESTION
    )
    assert len(planner.feedback) == 3
    assert reviewer.asked[-1] == (Trigger.EXHAUSTED,)
    assert answer.session.exhausted
    assert answer.session.escalated
    assert answer.session.passed is False
    assert answer.plan.texts == find.wanted[0][0].texts == ("query 2",)
    assert answer.session.plan_score == pytest.approx(0.6)
    assert answer.status is ResearchStatus.ANSWERED


def test_without_iteration_one_plan_is_made(local: Store, scope: Scope) -> None:
    planner = Planning()
    answer = pipeline(local, scores((0.1,)), planner=planner, options=ResearchOptions(iterate=False)).ask(
        scope, QUESTION
    )
    assert len(planner.feedback) == 1
    assert answer.session.exhausted


def test_weak_retrieval_is_flagged_and_the_answer_arrives(local: Store, scope: Scope) -> None:
    weak = {"context_recall": 0.42, "context_precision": 0.9, "source_quality": 0.9}
    answer = pipeline(local, scores(retrieval=weak)).ask(scope, QUESTION)
    assert answer.session.severe
    assert answer.session.failure_type == "weak_retrieval"
    assert answer.session.failed_dimensions == ("context_recall",)
    severe = [one for one in answer.notices if one.kind is NoticeKind.SEVERE]
    assert "context_recall 0.42" in severe[0].message
    assert answer.status is ResearchStatus.ANSWERED


@pytest.mark.parametrize(("answers", "used", "made"), [((0.5,), 1, 1), ((0.49, 0.8), 2, 2), ((0.4, 0.3), 1, 2)])
def test_an_answer_below_the_bar_is_made_once_more_and_the_better_one_used(
    local: Store, scope: Scope, answers: Sequence[float], used: int, made: int
) -> None:
    synthesiser = Answering()
    answer = pipeline(local, scores(answer=answers), synthesiser=synthesiser).ask(scope, QUESTION)
    assert answer.text == f"Answer {used}. [1]"
    assert len(synthesiser.feedback) == made
    assert answer.session.regenerated is (made == 2)
    assert made == 1 or "has spoken" in synthesiser.feedback[1]


def test_regeneration_can_be_switched_off(local: Store, scope: Scope) -> None:
    off = ResearchOptions(regenerate=False)
    answer = pipeline(local, scores(answer=(0.1,)), options=off).ask(scope, QUESTION)
    assert (len(answer.answer_attempts), answer.session.regenerated, answer.session.passed) == (1, False, False)


def acting(action: FailAction, checkpoint: Checkpoint) -> ResearchOptions:
    options = ResearchOptions()
    changed = replace(options.checkpoints[checkpoint], fail_action=action)
    return replace(options, checkpoints={**options.checkpoints, checkpoint: changed})


@pytest.mark.parametrize("checkpoint", list(Checkpoint))
def test_each_fail_action_does_what_it_says(local: Store, scope: Scope, checkpoint: Checkpoint) -> None:
    failing = scores(
        (0.3 if checkpoint is PLAN else 0.9,),
        0.3 if checkpoint is RETRIEVAL else 0.9,
        (0.3 if checkpoint is ANSWERED else 0.9,),
    )
    going_on = pipeline(local, failing).ask(scope, QUESTION)
    assert going_on.status is ResearchStatus.ANSWERED
    warned = pipeline(local, failing, options=acting(FailAction.WARN, checkpoint)).ask(scope, QUESTION)
    assert warned.status is ResearchStatus.ANSWERED
    assert [one.checkpoint for one in warned.notices if one.kind is NoticeKind.NOT_PASSED] == [checkpoint]
    blocked = pipeline(local, failing, options=acting(FailAction.BLOCK, checkpoint)).ask(scope, QUESTION)
    assert blocked.status is ResearchStatus.WITHHELD
    assert blocked.synthesis.abstained
    assert "Answer" not in blocked.text
    assert str(checkpoint) in blocked.text


def test_what_could_not_be_scored_never_blocks(local: Store, scope: Scope) -> None:
    def down(material: Material, number: int) -> list[RoleResult]:
        return [lost(one) for one in roles_at(material.checkpoint)]

    answer = pipeline(local, down, options=acting(FailAction.BLOCK, ANSWERED)).ask(scope, QUESTION)
    assert answer.status is ResearchStatus.ANSWERED
    assert answer.session.skipped


def test_the_overall_score_is_the_mean_of_what_was_scored(local: Store, scope: Scope) -> None:
    def some(material: Material, number: int) -> list[RoleResult]:
        if material.checkpoint is RETRIEVAL:
            return [lost(one, RoleOutcome.TIMED_OUT) for one in roles_at(RETRIEVAL)]
        return alike(material.checkpoint, 0.8 if material.checkpoint is PLAN else 0.6)

    session = pipeline(local, some).ask(scope, QUESTION).session
    assert session.overall_score == pytest.approx(0.7)
    assert session.retrieval_score is None
    assert session.passed is None
    assert session.skipped
    assert "retrieval: 3 timed_out" in session.skip_reason


def test_an_abstention_is_a_status_and_never_passes(local: Store, scope: Scope) -> None:
    answer = pipeline(local, synthesiser=Answering(abstains=True)).ask(scope, QUESTION)
    assert answer.status is ResearchStatus.ABSTAINED
    assert answer.synthesis.reason == "nothing says so"
    assert answer.session.passed is False


@pytest.mark.parametrize("find", [Finding(OSError("disk")), Finding(FoundPassages(problems=("locked",), failed=True))])
def test_a_search_that_fails_ends_in_words_and_is_kept(local: Store, scope: Scope, find: Finding) -> None:
    answer = pipeline(local, find=find).ask(scope, QUESTION)
    assert answer.status is ResearchStatus.FAILED
    assert answer.synthesis.abstained
    assert any(one.kind is NoticeKind.SEARCH for one in answer.notices)
    assert answer.kept
    assert answer.answer_attempts == ()


def test_steps_are_told_while_they_happen(local: Store, scope: Scope) -> None:
    heard: list[StageEvent] = []
    pipeline(local, scores((0.5, 0.9), 0.3, (0.3, 0.9))).ask(scope, QUESTION, listen=heard.append)
    told = [(one.stage.value, one.kind, one.attempt, one.of) for one in heard]
    assert told[:5] == [
        ("plan", EventKind.STARTED, 1, 3),
        ("plan", EventKind.EVALUATING, 1, 3),
        ("plan", EventKind.EVALUATED, 1, 3),
        ("plan", EventKind.ITERATING, 1, 3),
        ("plan", EventKind.STARTED, 2, 3),
    ]
    kinds = [one.kind for one in heard]
    assert EventKind.SEVERE in kinds
    assert EventKind.REGENERATING in kinds
    assert told[-1][:2] == ("answer", EventKind.FINISHED)
    assert heard[-1].data["status"] == "answered"
    with local.reading(scope) as work:
        assert work.research.get(heard[-1].log_id).trace
    scored = next(one for one in heard if one.kind is EventKind.EVALUATED).as_json()
    assert scored["data"]["score"] == pytest.approx(0.5)
    assert scored["data"]["scores"]["intent_alignment"] == pytest.approx(0.5)


def test_a_widened_search_is_a_new_session_that_names_the_first(local: Store, scope: Scope) -> None:
    find, planner = Finding(), Planning()
    asked = pipeline(local, scores((0.3, 0.8)), find=find, planner=planner)
    first = asked.ask(scope, QUESTION, session_id="s", tags=("t",))
    again = asked.retry_search(scope, first.log_id)
    assert again.session.retry_of == first.log_id != again.log_id
    assert (again.session.session_id, again.session.tags) == ("s", ("t",))
    assert len(planner.feedback) == 2
    assert again.plan == first.plan
    wanted = find.wanted[-1][1]
    assert wanted.widened
    assert wanted.passages > find.wanted[0][1].passages
    with pytest.raises(RecordNotFound):
        asked.retry_search(scope, "r_none")


def test_disabled_checkpoints_leave_no_scores_and_no_verdict(local: Store, scope: Scope) -> None:
    off = {one: CheckpointOptions(timeout_s=1, enabled=False) for one in Checkpoint}
    session = pipeline(local, options=ResearchOptions(checkpoints=off)).ask(scope, QUESTION).session
    assert (session.overall_score, session.passed, session.skipped) == (None, None, False)
    assert session.evaluated_by is EvaluatedBy.NOBODY


@pytest.mark.parametrize("question", ["", "   ", "a" * 100_001, "a\x00b"])
def test_a_question_that_is_none_is_refused(local: Store, scope: Scope, question: str) -> None:
    with pytest.raises(BadValue, match="question"):
        pipeline(local).ask(scope, question)


def test_every_answer_cites_or_abstains(local: Store, scope: Scope) -> None:
    answer = pipeline(local).ask(scope, QUESTION)
    assert answer.synthesis.citations == ANSWER.citations
    assert answer.passages[0].number == answer.synthesis.statements[0].citations[0]


def test_confidence_and_critique_of_each_role_are_in_the_record(local: Store, scope: Scope) -> None:
    def script(material: Material, number: int) -> list[RoleResult]:
        return [replace(one, confidence=0.7, raw=("raw",)) for one in alike(material.checkpoint, 0.9)]

    trace = pipeline(local, script).ask(scope, QUESTION).trace
    role = trace["plan_evaluation"]["attempts"][0]["result"]["verdict"]["results"][0]
    assert (role["role"], role["confidence"], role["raw"]) == ("intent_analyst", 0.7, ["raw"])
    assert trace["answer_evaluation"]["attempts"][0]["result"]["state"] == CheckpointState.SCORED.value
    assert trace["settings"]["panel"]["weights"]["intent_alignment"] == 0.5


def test_an_objection_without_confidence_does_not_vanish(local: Store, scope: Scope) -> None:
    def objecting(material: Material, number: int) -> list[RoleResult]:
        said = alike(material.checkpoint, 0.95)
        if material.checkpoint is not ANSWERED:
            return said
        quiet = {"faithfulness_judge": "faithfulness", "fact_checker": "factual_accuracy"}
        return [
            replace(one, scores={**one.scores, quiet[one.role]: 0.0}, confidence=0.0) if one.role in quiet else one
            for one in said
        ]

    answer = pipeline(local, objecting).ask(scope, QUESTION)
    assert answer.session.passed is False
    assert answer.session.answer_score == pytest.approx(0.475)
    (notice,) = [one for one in answer.notices if one.kind is NoticeKind.DISAGREEMENT]
    assert notice.checkpoint is ANSWERED
    assert "faithfulness from 0.00 to 0.95 (its owner is unsure of its 0.00, which counts" in notice.message
    assert "evaluators_disagree" in str(answer.trace)
