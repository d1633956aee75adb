"""Evaluations are taken over for questions alike, of the same things, before the same panel, and for nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.judging.panels import ANSWER, PASSAGE, PLAN, QUESTION, material
from tests.research.made import members, scores

from assay.judging.builtin.similar_questions import AlikeQuestions
from assay.judging.panel import Panel
from assay.judging.panel_options import PanelOptions
from assay.records.judging import CheckpointState
from assay.records.research import Checkpoint, PlannedQuery
from assay.research.checkpoints import TAKEN_OVER, CheckpointEvaluator, SimilarEvaluations
from assay.research.options import ResearchOptions
from assay.testing import FixedClock

ALIKE = "For how long does the session cookie live?"


def checkpoints(similar: SimilarEvaluations | None, score: float = 0.9, **panel: Any) -> CheckpointEvaluator:
    """Checkpoints of a pipeline of their own; only what they are given is shared."""
    options = ResearchOptions(panel=PanelOptions(**panel))
    script = scores(plan=(score,), retrieval=score, answer=(score,))
    clock = FixedClock()
    return CheckpointEvaluator(
        Panel(members(script), clock=clock, options=options.panel), options=options, clock=clock, similar=similar
    )


@pytest.fixture
def similar() -> SimilarEvaluations:
    return SimilarEvaluations(AlikeQuestions())


@pytest.mark.parametrize("checkpoint", Checkpoint)
def test_a_question_alike_gets_what_was_said_of_the_first_and_the_record_says_so(
    similar: SimilarEvaluations, checkpoint: Checkpoint
) -> None:
    plan = replace(PLAN, question=ALIKE, queries=(PlannedQuery(text="the session cookie life"),))
    first = checkpoints(similar, 0.9).evaluate(material(checkpoint))
    later = checkpoints(similar, 0.2).evaluate(material(checkpoint, question=ALIKE, plan=plan))
    assert later.score == first.score == pytest.approx(0.9)
    assert (later.cached, later.reason) == (True, TAKEN_OVER)
    assert later.state is CheckpointState.SCORED
    assert not first.cached


def test_without_the_flag_it_is_evaluated() -> None:
    assert checkpoints(None, 0.9).evaluate(material()).score == pytest.approx(0.9)
    later = checkpoints(None, 0.2).evaluate(material(question=ALIKE))
    assert later.score == pytest.approx(0.2)
    assert not later.cached


OTHERS: dict[str, dict[str, Any]] = {
    "another question": {"question": "Who bakes the session cookie?"},
    "other passages": {"passages": (replace(PASSAGE, text="The cookie lives for a year."),)},
    "a superseded source": {"passages": (replace(PASSAGE, superseded=True),)},
    "another answer": {"synthesis": replace(ANSWER, text="A year. [1]")},
    "another day": {"now": datetime(2026, 1, 2, tzinfo=UTC)},
}


@pytest.mark.parametrize("other", OTHERS)
def test_whatever_else_differs_is_evaluated(similar: SimilarEvaluations, other: str) -> None:
    first = {"now": datetime(2026, 1, 1, tzinfo=UTC)}
    checkpoints(similar, 0.9).evaluate(material(Checkpoint.ANSWER, **first))
    asked = material(Checkpoint.ANSWER, **{**first, "question": ALIKE, **OTHERS[other]})
    assert checkpoints(similar, 0.2).evaluate(asked).score == pytest.approx(0.2)


def test_how_well_a_passage_matched_is_the_questions_own(similar: SimilarEvaluations) -> None:
    checkpoints(similar, 0.9).evaluate(material(Checkpoint.RETRIEVAL))
    asked = material(Checkpoint.RETRIEVAL, question=ALIKE, passages=(replace(PASSAGE, score=0.123),))
    assert checkpoints(similar, 0.2).evaluate(asked).cached


def test_other_thresholds_are_another_panel(similar: SimilarEvaluations) -> None:
    checkpoints(similar, 0.9).evaluate(material())
    strict = {Checkpoint.PLAN: 0.95, Checkpoint.RETRIEVAL: 0.5, Checkpoint.ANSWER: 0.5}
    assert not checkpoints(similar, 0.9, thresholds=strict).evaluate(material(question=ALIKE)).cached


def test_only_so_many_are_remembered() -> None:
    few = SimilarEvaluations(AlikeQuestions(), size=1)
    checkpoints(few, 0.9).evaluate(material(question=QUESTION))
    checkpoints(few, 0.9).evaluate(material(question="Where is the tea?"))
    assert not checkpoints(few, 0.2).evaluate(material(question=ALIKE)).cached


def test_questions_that_cannot_be_compared_are_evaluated() -> None:
    def broken(one: str, other: str) -> bool:
        raise RuntimeError(f"no vectors for {one} and {other}")

    similar = SimilarEvaluations(broken)
    checkpoints(similar, 0.9).evaluate(material())
    later = checkpoints(similar, 0.2).evaluate(material(question=ALIKE))
    assert later.state is CheckpointState.SCORED
    assert later.score == pytest.approx(0.2)
