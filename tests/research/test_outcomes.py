"""The outcome of a question, its `passed` and its overall score: by rule, and through the whole pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.judging.panels import ANSWER, PASSAGE, QUESTION, alike, lost
from tests.research.made import Answering, Finding, pipeline, scores

from assay.judging.panel_options import EVIDENCE_FROM, PanelOptions
from assay.records import Scope
from assay.records.judging import CheckpointResult, CheckpointState, RoleResult
from assay.records.research import Checkpoint, Dimension, Material, SourceReading, Synthesis, roles_at
from assay.records.research_log import NoticeKind, QuestionOutcome, ResearchStatus
from assay.research.options import CheckpointOptions, FailAction, ResearchOptions
from assay.research.outcomes import decide_outcome, find_evidence
from assay.research.search import FoundPassages
from assay.storage import Store

OFF = {one: CheckpointOptions(timeout_s=1, enabled=False) for one in Checkpoint}
NOT_EVALUATED = CheckpointResult(checkpoint=Checkpoint.RETRIEVAL, state=CheckpointState.DISABLED)
SKIPPED = CheckpointResult(checkpoint=Checkpoint.RETRIEVAL, state=CheckpointState.SKIPPED)


def recall(score: float) -> dict[str, float]:
    """Good sources of which so much of the question is answered."""
    return {"context_recall": score, "context_precision": 0.9, "source_quality": 0.9}


@pytest.mark.parametrize(
    ("status", "evidence", "outcome"),
    [
        (ResearchStatus.ANSWERED, None, QuestionOutcome.ANSWERED),
        (ResearchStatus.ANSWERED, EVIDENCE_FROM, QuestionOutcome.ANSWERED),
        (ResearchStatus.ANSWERED, EVIDENCE_FROM - 0.01, QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE),
        (ResearchStatus.ABSTAINED, None, QuestionOutcome.REFUSED),
        (ResearchStatus.ABSTAINED, EVIDENCE_FROM - 0.01, QuestionOutcome.REFUSED),
        (ResearchStatus.ABSTAINED, EVIDENCE_FROM, QuestionOutcome.REFUSED_DESPITE_EVIDENCE),
        (ResearchStatus.WITHHELD, 0.9, QuestionOutcome.FAILED),
        (ResearchStatus.FAILED, None, QuestionOutcome.FAILED),
    ],
)
def test_the_outcome_follows_from_the_status_and_the_evidence(
    status: ResearchStatus, evidence: float | None, outcome: QuestionOutcome
) -> None:
    assert decide_outcome(status, evidence) is outcome


def test_the_threshold_of_evidence_is_an_option(local: Store, scope: Scope) -> None:
    options = ResearchOptions(panel=PanelOptions(evidence_from=0.8))
    asked = pipeline(local, scores(retrieval=recall(0.7)), options=options).ask(scope, QUESTION)
    assert asked.outcome is QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE


def test_the_builtin_synthesiser_says_its_own_evidence_and_a_model_does_not() -> None:
    sure = replace(ANSWER, confidence=0.8)
    assert find_evidence(sure, SKIPPED, passages=1) == 0.8
    assert find_evidence(replace(sure, synthesiser="some-model"), SKIPPED, passages=1) is None
    assert find_evidence(sure, NOT_EVALUATED, passages=1) is None
    assert find_evidence(sure, SKIPPED, passages=0) == 0.0


def test_an_answered_question_that_passes_has_the_mean_of_its_checkpoints(local: Store, scope: Scope) -> None:
    answer = pipeline(local, scores((0.8,), 0.7, (0.9,))).ask(scope, QUESTION)
    assert (answer.outcome, answer.session.passed) == (QuestionOutcome.ANSWERED, True)
    assert answer.session.overall_score == pytest.approx(0.8)
    assert (answer.trace["outcome"], answer.trace["evidence"]) == ("answered", pytest.approx(0.7))
    assert answer.evaluation["outcome"] == "answered"


@pytest.mark.parametrize(
    ("script", "most"),
    [
        (scores(answer=(0.3, 0.3)), 0.3),
        (scores((0.65,)), 0.65),
        (scores(retrieval=recall(0.42)), 0.42),
    ],
)
def test_an_answered_question_scores_no_higher_than_what_failed_in_it(
    local: Store, scope: Scope, script: Any, most: float
) -> None:
    session = pipeline(local, script).ask(scope, QUESTION).session
    assert (session.outcome, session.passed) == (QuestionOutcome.ANSWERED, False)
    assert session.overall_score == pytest.approx(most)


def test_a_refusal_without_evidence_is_worth_what_was_found(local: Store, scope: Scope) -> None:
    asked = pipeline(local, scores(retrieval=recall(0.2)), synthesiser=Answering(abstains=True))
    answer = asked.ask(scope, QUESTION)
    session = answer.session
    assert (session.outcome, session.status, session.passed) == (
        QuestionOutcome.REFUSED,
        ResearchStatus.ABSTAINED,
        False,
    )
    assert session.overall_score == pytest.approx(0.2)
    assert session.answer_score is None
    assert answer.answer_attempts[0].result.state is CheckpointState.NO_ANSWER
    assert not {"faithfulness", "relevance", "completeness"} & set(session.scores)


def test_an_empty_store_scores_nothing_at_all(local: Store, scope: Scope) -> None:
    session = pipeline(local, scores(retrieval=0.9), find=Finding(FoundPassages())).ask(scope, QUESTION).session
    assert (session.outcome, session.passed, session.overall_score) == (QuestionOutcome.REFUSED, False, 0.0)


@pytest.mark.parametrize("evidence", [EVIDENCE_FROM, 0.6, 1.0])
def test_a_refusal_despite_evidence_scores_below_half_and_falls_with_the_evidence(
    local: Store, scope: Scope, evidence: float
) -> None:
    synthesis = Synthesis(text="Not known.", abstained=True, reason="nothing says so", confidence=evidence)

    class Declining:
        def synthesise(self, *_: Any, **__: Any) -> Synthesis:
            return synthesis

    answer = pipeline(local, synthesiser=Declining()).ask(scope, QUESTION)
    assert (answer.outcome, answer.session.passed) == (QuestionOutcome.REFUSED_DESPITE_EVIDENCE, False)
    assert answer.session.overall_score == pytest.approx((1 - evidence) / 2)
    assert answer.trace["evidence"] == evidence


def test_an_answer_without_evidence_scores_no_higher_than_the_evidence(local: Store, scope: Scope) -> None:
    session = pipeline(local, scores(retrieval=recall(0.1))).ask(scope, QUESTION).session
    assert (session.outcome, session.passed) == (QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE, False)
    assert session.overall_score == pytest.approx(0.1)


def test_a_failed_question_has_no_score_and_did_not_pass(local: Store, scope: Scope) -> None:
    session = pipeline(local, find=Finding(OSError("disk"))).ask(scope, QUESTION).session
    assert (session.outcome, session.passed, session.overall_score) == (QuestionOutcome.FAILED, False, None)


def test_a_withheld_answer_is_a_failed_question(local: Store, scope: Scope) -> None:
    options = ResearchOptions()
    block = replace(options.checkpoints[Checkpoint.ANSWER], fail_action=FailAction.BLOCK)
    options = replace(options, checkpoints={**options.checkpoints, Checkpoint.ANSWER: block})
    answer = pipeline(local, scores(answer=(0.3, 0.3)), options=options).ask(scope, QUESTION)
    assert answer.status is ResearchStatus.WITHHELD
    assert (answer.outcome, answer.session.passed, answer.session.overall_score) == (
        QuestionOutcome.FAILED,
        False,
        None,
    )
    assert NoticeKind.ANSWER_FAILED not in [notice.kind for notice in answer.notices]


@pytest.mark.parametrize(("abstains", "outcome"), [(False, QuestionOutcome.ANSWERED), (True, QuestionOutcome.REFUSED)])
def test_without_evaluation_the_outcome_is_known_and_nothing_else(
    local: Store, scope: Scope, abstains: bool, outcome: QuestionOutcome
) -> None:
    asked = pipeline(local, synthesiser=Answering(abstains=abstains), options=ResearchOptions(checkpoints=OFF))
    session = asked.ask(scope, QUESTION).session
    assert (session.outcome, session.passed, session.overall_score) == (outcome, None, None)


def test_a_checkpoint_that_could_not_be_evaluated_leaves_passed_unknown(local: Store, scope: Scope) -> None:
    def no_retrieval(material: Material, number: int) -> list[RoleResult]:
        if material.checkpoint is Checkpoint.RETRIEVAL:
            return [lost(role) for role in roles_at(Checkpoint.RETRIEVAL)]
        return alike(material.checkpoint, 0.9)

    for abstains, outcome in ((False, QuestionOutcome.ANSWERED), (True, QuestionOutcome.REFUSED)):
        session = pipeline(local, no_retrieval, synthesiser=Answering(abstains=abstains)).ask(scope, QUESTION).session
        assert (session.outcome, session.passed) == (outcome, None)


def test_an_answer_that_failed_twice_is_shown_with_a_notice(local: Store, scope: Scope) -> None:
    answer = pipeline(local, scores(answer=(0.3, 0.2))).ask(scope, QUESTION)
    (notice,) = [notice for notice in answer.notices if notice.kind is NoticeKind.ANSWER_FAILED]
    assert notice.checkpoint is Checkpoint.ANSWER
    assert "scored 0.30, below 0.50, after 2 attempts" in notice.message
    assert "wider search" in notice.message
    assert notice.kind.value in str(answer.trace["notices"])
    mended = pipeline(local, scores(answer=(0.3, 0.9))).ask(scope, QUESTION)
    assert NoticeKind.ANSWER_FAILED not in [notice.kind for notice in mended.notices]


def test_a_dimension_that_is_not_measured_counts_nowhere(local: Store, scope: Scope) -> None:
    why = "sources have no date"

    def script(material: Material, number: int) -> list[RoleResult]:
        if material.checkpoint is not Checkpoint.RETRIEVAL:
            return alike(material.checkpoint, 0.9)
        given = alike(material.checkpoint, {"context_recall": 0.6, "context_precision": 0.6})
        return [replace(role, not_measured={"source_quality": why}) for role in given]

    answer = pipeline(local, script).ask(scope, QUESTION)
    assert answer.session.retrieval_score == pytest.approx(0.6)
    assert "source_quality" not in answer.session.scores
    verdict = answer.trace["retrieval_evaluation"]["result"]["verdict"]
    assert verdict["not_measured"] == {"source_quality": why}
    assert answer.session.passed


def test_a_checkpoint_of_which_nothing_is_measured_has_no_score_and_fails_nothing(local: Store, scope: Scope) -> None:
    def script(material: Material, number: int) -> list[RoleResult]:
        if material.checkpoint is not Checkpoint.PLAN:
            return alike(material.checkpoint, 0.8)
        reasons = {dimension.value: "no model is set up" for dimension in Dimension}
        return [replace(role, not_measured=reasons) for role in alike(Checkpoint.PLAN, {})]

    answer = pipeline(local, script).ask(scope, QUESTION)
    result = answer.plan_attempts[0].result
    assert (result.state, result.reason) == (CheckpointState.NOT_MEASURED, "no model is set up")
    assert len(answer.plan_attempts) == 1
    session = answer.session
    assert (session.plan_score, session.passed, session.skipped, session.judge_failed) == (None, True, False, False)
    assert session.overall_score == pytest.approx(0.8)
    assert answer.notices == ()


def test_what_was_found_of_each_source_is_in_the_record(local: Store, scope: Scope) -> None:
    reading = SourceReading(number=PASSAGE.number, about=False, share=0.1, problems=("superseded",))

    def script(material: Material, number: int) -> list[RoleResult]:
        given = alike(material.checkpoint, 0.9)
        if material.checkpoint is not Checkpoint.RETRIEVAL:
            return given
        return [given[0], *(replace(role, sources=(reading,)) for role in given[1:])]

    trace = pipeline(local, script).ask(scope, QUESTION).trace
    assert trace["retrieval_evaluation"]["sources"] == [
        {"number": 1, "about": False, "share": 0.1, "problems": ["superseded"]}
    ]
