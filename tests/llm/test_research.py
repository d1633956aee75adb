"""The panel, escalation and a whole question against a real model on this machine; `make test-llm` starts it.

How good so small a model is, is not asked here: whatever it does must be a result that was read, or a named failure.
Tests share one store, so that a reply that one of them paid for is there for the next.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from assay.judging.panel import ModelReviewer, Panel
from assay.judging.panel_options import PanelOptions
from assay.judging.persistence import guard_of
from assay.judging.prompts import REVIEWER, prompts_in_use
from assay.judging.roles import model_members
from assay.memory.engine import Engine
from assay.records import Draft, Scope
from assay.records.judging import CheckpointResult, CheckpointState, RoleOutcome, RoleResult
from assay.records.research import (
    DIMENSIONS,
    Checkpoint,
    Citation,
    Material,
    Passage,
    Role,
    Statement,
    Synthesis,
)
from assay.records.research_log import EvaluatedBy, ResearchStatus, TracedAnswer
from assay.research.checkpoints import CheckpointEvaluator
from assay.settings import Settings
from assay.wiring import open_engine, open_research
from assay.wiring.models import open_model
from assay.wiring.research import research_options

URL = os.environ.get("LOCAL_MODEL_URL", "")
NAME = os.environ.get("LOCAL_MODEL_NAME", "")
PATIENCE_S = 1_800.0
"""Of every deadline: a loaded machine is slow, and slowness is not what is tested."""
SCOPE = Scope(tenant="acme", principal="ada")
QUESTION = "How long does the session cookie live?"
NOTES = {
    "Cookie": "The session cookie lives for twelve hours. It is renewed with every request.",
    "Database": "The database moved from MySQL to PostgreSQL in March 2024.",
    "Deploys": "Deploys go out before noon, never on a Friday.",
}
ANSWERED = Material(
    checkpoint=Checkpoint.ANSWER,
    question=QUESTION,
    passages=(Passage(number=1, title="Cookie", text=NOTES["Cookie"]),),
    synthesis=Synthesis(
        text="The session cookie lives for twelve hours. [1]",
        statements=(Statement(text="The session cookie lives for twelve hours.", citations=(1,)),),
        citations=(Citation(number=1, title="Cookie"),),
    ),
)
LOST = frozenset(RoleOutcome) - {RoleOutcome.SCORED}

pytestmark = pytest.mark.skipif(not URL, reason="needs a local model: make test-llm")


class Bench(NamedTuple):
    """A memory with a few notes, and settings that name the model."""

    settings: Settings
    engine: Engine

    def checkpoints(self, panel: PanelOptions | None = None) -> CheckpointEvaluator:
        """Every seat taken by the model, escalation too."""
        options, store = research_options(self.settings), self.engine.store
        options = replace(options, panel=panel or options.panel)
        model = open_model(self.settings, store, SCOPE)
        prompts, guard, most = prompts_in_use({}), guard_of(store, SCOPE), self.settings.model_max_tokens
        members = model_members(dict.fromkeys(Role, model), prompts, guard=guard, max_tokens=most)
        reviewer = ModelReviewer(model, prompts[REVIEWER], guard=guard, max_tokens=most)
        seated = Panel(members, clock=self.engine.clock, options=options.panel, reviewer=reviewer)
        return CheckpointEvaluator(seated, options=options, clock=self.engine.clock)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    home = tmp_path_factory.mktemp("research")
    settings = Settings(
        db=str(home / "notes.db"),
        embedder="none",
        index_folder=home / "indexes",
        model_url=URL,
        model_name=NAME,
        model_deadline_s=PATIENCE_S,
        model_concurrency=1,
        model_max_tokens=300,
        research={
            "results": 2,
            "passages": 2,
            "max_attempts": 2,
            "regenerate": False,
            "synthesis_s": PATIENCE_S,
            **{one.value: {"timeout_s": PATIENCE_S} for one in Checkpoint},
        },
    )
    with open_engine(settings, run_once=True) as engine:
        for title, body in NOTES.items():
            engine.saver.save(SCOPE, Draft(title=title, body=body))
        yield Bench(settings, engine)


def test_every_role_of_the_panel_is_read_or_lost_for_a_named_reason(bench: Bench) -> None:
    result = bench.checkpoints().evaluate(ANSWERED)
    assert result.verdict is not None
    assert [one.role for one in result.verdict.results] == [role.value for role in Role]
    for one in result.verdict.results:
        assert_read_or_lost(one, Checkpoint.ANSWER)
    assert any(one.scored for one in result.verdict.results)
    assert_told(result)


def test_a_panel_that_is_always_borderline_asks_the_model_for_escalation(bench: Bench) -> None:
    always = PanelOptions(borderline=1.0, quorum=0.01)
    verdict = bench.checkpoints(always).evaluate(ANSWERED).verdict
    assert verdict is not None
    assert verdict.triggers
    said = verdict.escalation
    assert said is not None
    assert (said.model, said.prompt, said.triggers) == (NAME, f"{REVIEWER}@0", verdict.triggers)
    if not said.scored:
        assert said.reason
        assert not said.scores
        return
    assert set(said.trust) == {one.role for one in verdict.results if one.scored}
    assert set(said.scores) == {one.value for one in DIMENSIONS[Checkpoint.ANSWER]}
    assert verdict.scores == said.scores  # its scores count from here on
    assert said.verdict
    assert said.raw


def test_a_whole_question_ends_with_citations_or_an_abstention_and_its_record(bench: Bench) -> None:
    answer = open_research(bench.settings, bench.engine, SCOPE).ask(SCOPE, QUESTION)
    assert (answer.plan.planner, answer.plan.prompt) == (NAME, "planner@0")
    assert answer.synthesis.synthesiser == NAME or answer.synthesis.fallback
    assert_cited_or_abstained(answer)
    for result in results_of(answer):
        assert_told(result)
    assert answer.session.evaluated_by in {EvaluatedBy.MODEL, EvaluatedBy.NOBODY}
    scores = [one.score for one in results_of(answer) if one.score is not None]
    assert (answer.session.overall_score is None) == (not scores)
    assert answer.kept
    with bench.engine.store.reading(SCOPE) as work:
        stored = work.research.get(answer.log_id)
    session, trace = stored.session, stored.trace
    assert session == answer.session
    assert trace is not None


def assert_read_or_lost(one: RoleResult, checkpoint: Checkpoint) -> None:
    if one.outcome in LOST:
        assert one.reason
        assert not one.scores
        return
    assert set(one.scores) == {dimension.value for dimension in DIMENSIONS[checkpoint]}
    assert one.confidence is not None
    assert one.raw
    assert one.tokens


def assert_told(result: CheckpointResult) -> None:
    """Either a finite score, or why there is none."""
    if result.state is CheckpointState.SCORED:
        assert result.score is not None
        assert math.isfinite(result.score)
        assert result.passed is not None
    else:
        assert result.state in {CheckpointState.JUDGE_FAILED, CheckpointState.SKIPPED}
        assert result.reason
        assert result.passed is None


def assert_cited_or_abstained(answer: TracedAnswer) -> None:
    if answer.status is ResearchStatus.ABSTAINED:
        assert answer.synthesis.reason
        assert not answer.synthesis.citations
        return
    assert answer.status is ResearchStatus.ANSWERED
    found = {one.number: one.memory_id for one in answer.passages}
    assert answer.synthesis.citations
    assert all(found[one.number] == one.memory_id for one in answer.synthesis.citations)
    assert all(one.citations for one in answer.synthesis.statements)


def results_of(answer: TracedAnswer) -> list[CheckpointResult]:
    return [
        *(one.result for one in answer.plan_attempts),
        answer.retrieval,
        *(one.result for one in answer.answer_attempts),
    ]
