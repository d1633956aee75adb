"""Spans of answered questions as a collector gets them: one for each step, scores as events, no text unless asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.judging.panels import PASSAGE
from tests.research.made import Planning, Script, pipeline, scores

from assay.records import Draft, Scope
from assay.records.research import Checkpoint
from assay.records.research_log import TracedAnswer
from assay.research.pipeline import ResearchPipeline
from assay.settings import Settings
from assay.storage import Store, open_store
from assay.testing import FixedClock
from assay.tracing.spans import KIND, ResearchSpans, Spans
from assay.wiring import open_engine, open_research
from assay.wiring.tracing import watch

QUESTION = "How long does the session cookie live?"


class Collector:
    """What a collector has received."""

    def __init__(self, *, texts: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.spans = Spans(provider.get_tracer("assay"), clock=FixedClock(), texts=texts)

    @property
    def received(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [one for one in self.received if one.name == name]


@pytest.fixture
def local(tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    with open_store(str(tmp_path / "notes.db"), clock=clock) as store:
        yield store


def asked(store: Store, collector: Collector, script: Script, **parts: Any) -> TracedAnswer:
    watched: ResearchPipeline = pipeline(store, script, observe=ResearchSpans(collector.spans).on_answer, **parts)
    return watched.ask(Scope(), QUESTION, session_id="s1")


def events(span: ReadableSpan) -> list[dict[str, Any]]:
    return [dict(one.attributes or {}) for one in span.events]


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_an_answer_is_research_with_a_child_for_each_step_in_order(local: Store) -> None:
    collector = Collector()
    answer = asked(local, collector, scores(plan=(0.4, 0.9)))
    (research,) = collector.named("research")
    children = [one for one in collector.received if one.parent and one.parent.span_id == research.context.span_id]
    assert [one.name for one in children] == ["plan", "plan", "retrieval", "answer"]
    assert [told(one)["assay.attempt"] for one in children] == [1, 2, 1, 1]
    assert told(research)["assay.log_id"] == answer.log_id
    assert told(research)["session.id"] == "s1"
    assert told(research)["assay.iterations"] == 2
    assert told(research)["assay.passed"] is True
    assert told(children[0])["assay.iteration_mode"] == answer.plan_attempts[0].decision.mode.value  # type: ignore[union-attr]
    assert "assay.iteration_mode" not in told(children[1])


def test_every_score_is_an_event_and_the_checkpoints_own_comes_last(local: Store) -> None:
    collector = Collector()
    answer = asked(local, collector, scores(plan=(0.4, 0.9)))
    failed, passed = collector.named("plan")
    assert [one["gen_ai.evaluation.name"] for one in events(failed)] == [*answer.plan_attempts[0].result.scores, "plan"]
    assert events(failed)[-1]["gen_ai.evaluation.score.label"] == "fail"
    assert events(failed)[-1]["gen_ai.evaluation.score.value"] == pytest.approx(0.4)
    assert events(passed)[-1]["gen_ai.evaluation.score.label"] == "pass"
    assert failed.status.status_code is not StatusCode.ERROR


def test_retrieval_names_what_was_found_and_the_searches_that_found_it(local: Store) -> None:
    collector = Collector()
    asked(local, collector, scores())
    (span,) = collector.named("retrieval")
    assert told(span)[KIND] == "RETRIEVER"
    assert told(span)["retrieval.documents.0.document.id"] == PASSAGE.memory_id
    assert told(span)["assay.query_ids"] == "q_1"


def test_a_checkpoint_nobody_could_evaluate_has_no_value_and_is_an_error(local: Store) -> None:
    collector = Collector()
    asked(local, collector, scores(), seats={Checkpoint.PLAN: ()})
    (span,) = collector.named("plan")
    assert events(span) == [
        {"gen_ai.evaluation.name": "plan", "gen_ai.evaluation.score.label": "skipped"},
    ]
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "skipped"


@pytest.mark.parametrize("texts", [False, True])
def test_questions_answers_and_passages_leave_only_when_asked_for(local: Store, texts: bool) -> None:
    collector = Collector(texts=texts)
    answer = asked(local, collector, scores(plan=(0.4, 0.9)))
    everything = str([(told(one), events(one)) for one in collector.received])
    assert (QUESTION in everything) is texts
    assert (answer.text in everything) is texts
    assert (PASSAGE.text in everything) is texts


def test_an_observer_that_raises_takes_nothing_from_the_answer(local: Store) -> None:
    heard = []

    def observe(*given: Any) -> None:
        heard.append(given)
        raise RuntimeError("the collector is gone")

    answer = pipeline(local, observe=observe).ask(Scope(), QUESTION)
    assert len(heard) == 1
    assert answer.kept


def test_a_planner_that_fails_in_between_still_leaves_one_span_for_each_plan_there_is(local: Store) -> None:
    collector = Collector()
    asked(local, collector, scores(plan=(0.4,)), planner=Planning(2))
    assert len(collector.named("plan")) == 1


@pytest.mark.parametrize("traced", [True, False])
def test_questions_asked_of_a_watched_memory_are_told(tmp_path: Path, traced: bool) -> None:
    settings = Settings(db=str(tmp_path / "notes.db"), embedder="none", index_folder=tmp_path / "indexes")
    collector = Collector()
    with open_engine(settings, run_once=True) as engine:
        engine.saver.save(Scope(), Draft(title="Cookie", body="The session cookie lives for twelve hours."))
        if traced:
            watch(engine, collector.spans)
        answer = open_research(settings, engine, Scope()).ask(Scope(), QUESTION)
    names = [one.name for one in collector.received]
    assert ("research" in names) is traced
    if traced:
        (research,) = collector.named("research")
        (retrieval,) = collector.named("retrieval")[-1:]
        assert told(research)["assay.log_id"] == answer.log_id
        searches = {told(one)["assay.query_id"] for one in collector.named("search_memory")}
        assert set(told(retrieval)["assay.query_ids"].split(",")) <= searches
