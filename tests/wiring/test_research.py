"""A pipeline from settings: who plans, evaluates and answers, and that a typo is never passed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reliability.pipeline_faults import sound

from assay import Research
from assay.analysis.prompts import PromptBook
from assay.api import Memory
from assay.errors import SettingError
from assay.evaluation.harvesting import harvest
from assay.judging.prompts import version_for
from assay.memory.engine import Engine
from assay.records import Draft, Origin, Scope
from assay.records.evidence import PLANNED_SEARCH
from assay.records.research import Checkpoint, Material, Plan, PlannedQuery
from assay.records.research_log import EvaluatedBy, ResearchStatus
from assay.research.options import FailAction, ResearchOptions
from assay.research.planner import RulePlanner
from assay.research.search import MemorySearch, SearchLimits
from assay.settings import Settings, load_settings
from assay.testing.fault_server import FAULTS, serving
from assay.wiring import open_engine, open_research
from assay.wiring.research import Choice, research_options

SCOPE = Scope()
QUESTION = "How long does the session cookie live?"
QUESTION_ABOUT = "How long does cookie number {} live?"
NOTES = {
    "Cookie": "The session cookie lives for twelve hours. It is renewed with every request.",
    "Database": "The database moved from MySQL to PostgreSQL in March 2024.",
}


def kind(seen: Material) -> tuple[float, float, str]:
    """A custom dimension: whether the answer is short."""
    assert seen.synthesis is not None
    return float(len(seen.synthesis.text) < 200), 1.0, "short"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(db=str(tmp_path / "notes.db"), embedder="none", index_folder=tmp_path / "indexes")


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    with open_engine(settings, run_once=True) as engine:
        for title, body in NOTES.items():
            engine.saver.save(SCOPE, Draft(title=title, body=body))
        yield engine


def test_without_a_model_rules_do_everything(settings: Settings, engine: Engine) -> None:
    answer = open_research(settings, engine, SCOPE).ask(SCOPE, QUESTION)
    assert answer.status is ResearchStatus.ANSWERED
    assert "twelve hours" in answer.text
    assert answer.synthesis.citations[0].title == "Cookie"
    assert answer.session.evaluated_by is EvaluatedBy.BUILTIN
    assert answer.session.passed
    assert answer.session.prompt_versions == ()
    missing = open_research(settings, engine, SCOPE).ask(SCOPE, "Who was the first king of Poland?")
    assert missing.status is ResearchStatus.ABSTAINED
    assert missing.synthesis.reason


def test_with_a_model_every_seat_is_taken_by_it_and_its_prompts_are_named(settings: Settings, engine: Engine) -> None:
    with engine.store.writing(SCOPE) as work:
        work.prompts.add("planner", 'system = "You plan."\ntask = "Plan the unusual way."')
    with serving(sound) as service:
        asking = settings.change(model_url=service.url, model_name="small:1")
        answer = open_research(asking, engine, SCOPE).ask(SCOPE, QUESTION)
        asked = [str(one.body) for one in service.heard if one.method == "POST"]
        quiet = len(service.heard)
        ruled = open_research(asking, engine, SCOPE, choice=Choice(builtin=True)).ask(SCOPE, QUESTION)
        assert len(service.heard) == quiet
    assert answer.plan.planner == answer.synthesis.synthesiser == "small:1"
    assert answer.session.evaluated_by is EvaluatedBy.MODEL
    assert "planner@1" in answer.session.prompt_versions
    assert "fact_checker@0" in answer.session.prompt_versions
    assert any("Plan the unusual way." in one for one in asked)
    assert answer.session.tokens
    assert ruled.session.evaluated_by is EvaluatedBy.BUILTIN


def test_questions_are_split_between_two_versions_and_each_is_kept_with_its_own(
    settings: Settings, engine: Engine
) -> None:
    with engine.store.writing(SCOPE) as work:
        work.prompts.add("planner", 'system = "You plan."\ntask = "Plan the unusual way."', active=False)
    with serving(sound) as service:
        asking = settings.change(model_url=service.url, model_name="small:1")
        # Opened before there was a split: it deals all the same.
        research = open_research(asking, engine, SCOPE)
        split = PromptBook(engine.store).split(SCOPE, "planner", 1)
        # Which version a question is dealt hangs on the split's id, which is another one each time.
        questions = {version_for(split, question): question for question in map(QUESTION_ABOUT.format, range(100))}
        assert sorted(questions) == [0, 1]
        for version, question in questions.items():
            before = len(service.heard)
            answer = research.ask(SCOPE, question)
            own = [one for one in answer.session.prompt_versions if one.startswith("planner@")]
            assert own == [f"planner@{version}"]
            told = [str(one.body) for one in service.heard[before:] if one.method == "POST"]
            assert any("Plan the unusual way." in one for one in told) is (version == 1)
        ruled = open_research(asking, engine, SCOPE, choice=Choice(builtin=True)).ask(SCOPE, QUESTION)
    assert ruled.session.prompt_versions == ()


def test_a_version_whose_reply_cannot_be_used_is_counted_all_the_same(settings: Settings, engine: Engine) -> None:
    with engine.store.writing(SCOPE) as work:
        work.prompts.add("planner", 'system = "You plan."\ntask = "Plan the unusual way."', active=False)
    split = PromptBook(engine.store).split(SCOPE, "planner", 1)
    with serving(FAULTS["prose"]) as service:
        asking = settings.change(model_url=service.url, model_name="small:1")
        answer = open_research(asking, engine, SCOPE).ask(SCOPE, QUESTION)
    assert answer.plan.fallback
    assert f"planner@{version_for(split, QUESTION)}" in answer.session.prompt_versions


def test_no_reply_may_be_longer_than_the_settings_say_and_an_answer_twice_as_long(
    settings: Settings, engine: Engine
) -> None:
    unsure = {"escalation": {"borderline": 1.0}}
    with serving(sound) as service:
        short = settings.change(model_url=service.url, model_name="small:1", model_max_tokens=90, research=unsure)
        open_research(short, engine, SCOPE).ask(SCOPE, QUESTION)
        lengths = {_asked_for(one.body): one.body["max_tokens"] for one in service.heard if one.method == "POST"}
    assert lengths == {"plan": 90, "scores": 90, "review": 90, "answer": 180}


def _asked_for(body: Any) -> str:
    return str(body["response_format"]["json_schema"]["name"])


@pytest.mark.parametrize("how", ["builtin", "off"])
def test_who_evaluates_can_be_said(settings: Settings, engine: Engine, how: str) -> None:
    with serving(sound) as service:
        told = settings.change(model_url=service.url, model_name="small:1", research={"evaluate": how})
        answer = open_research(told, engine, SCOPE).ask(SCOPE, QUESTION)
    assert answer.plan.planner == "small:1"
    assert answer.session.evaluated_by is (EvaluatedBy.BUILTIN if how == "builtin" else EvaluatedBy.NOBODY)


def test_a_dimension_of_the_settings_weighs_in(settings: Settings, engine: Engine) -> None:
    custom = {"short": {"python": "tests.wiring.test_research:kind", "weight": 0.5, "checkpoint": "answer"}}
    answer = open_research(settings.change(research={"custom": custom}), engine, SCOPE).ask(SCOPE, QUESTION)
    assert answer.session.scores["short"] == 1.0
    assert answer.answer_attempts[0].result.verdict is not None
    assert answer.answer_attempts[0].result.verdict.results[-1].role == "custom.short"


def test_the_file_changes_numbers_and_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text(
        """
        [research]
        max_attempts = 2
        iterate = false
        [research.weights]
        coherence = 0.5
        [research.thresholds]
        plan = 0.8
        [research.answer]
        timeout_s = 5
        fail_action = "block"
        [research.escalation]
        quorum = 1.0
        """,
        encoding="utf-8",
    )
    options = research_options(load_settings(folder=tmp_path, environment={}).settings)
    assert (options.max_attempts, options.iterate, options.regenerate) == (2, False, True)
    assert options.panel.weights["coherence"] == 0.5
    assert options.panel.weights["faithfulness"] == 0.3
    assert options.panel.thresholds[Checkpoint.PLAN] == 0.8
    assert options.panel.quorum == 1.0
    assert options.checkpoints[Checkpoint.ANSWER].fail_action is FailAction.BLOCK
    assert options.checkpoints[Checkpoint.PLAN].timeout_s == 60.0


def test_the_deadlines_are_those_of_the_design() -> None:
    options = ResearchOptions()
    assert [options.checkpoints[one].timeout_s for one in Checkpoint] == [60.0, 30.0, 45.0]
    assert options.max_attempts == 3
    assert options.longest_s == 3 * 60 + 30 + 2 * (60 + 45)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_atempts": 2}, "max_atempts"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": "three"}, "max_attempts"),
        ({"evaluate": "maybe"}, "maybe"),
        ({"evaluate": "model"}, "no model"),
        ({"weights": {"charm": 0.5}}, "charm"),
        ({"weights": {"coherence": 2}}, "coherence"),
        ({"weights": 3}, "not a table"),
        ({"plan": {"timeout": 3}}, "timeout"),
        ({"plan": {"timeout_s": -1}}, "timeout_s"),
        ({"answer": {"fail_action": "panic"}}, "panic"),
        ({"thresholds": {"plans": 0.5}}, "plans"),
        ({"escalation": {"quorum": 2}}, "quorum"),
        ({"models": {"planer": "x"}}, "planer"),
        ({"custom": {"x": {"python": "no_such_module:f"}}}, "no_such_module"),
        ({"custom": {"x": {"python": "json:none"}}}, "none"),
        ({"custom": {"x": {"rubric": "/no/such/file"}}}, "such"),
        ({"custom": {"x": {}}}, "function or a rubric"),
    ],
)
def test_a_setting_that_is_none_is_named(settings: Settings, engine: Engine, given: Any, said: str) -> None:
    with pytest.raises(SettingError, match=said) as refused:
        open_research(settings.change(research=given), engine, SCOPE)
    assert refused.value.remedy


def test_what_several_queries_find_comes_first_and_is_numbered(engine: Engine) -> None:
    plan = RulePlanner().plan("When did the database move, and how long does the session cookie live?")
    found = MemorySearch(engine.searcher)(SCOPE, plan, SearchLimits(results=5, passages=2))
    assert [one.number for one in found.passages] == [1, 2]
    assert {one.title for one in found.passages} == {"Cookie", "Database"}
    assert len(found.query_ids) == len(plan.queries)
    wide = MemorySearch(engine.searcher)(SCOPE, plan, SearchLimits(results=5, passages=1, widened=True))
    assert len(wide.passages) == 1
    assert len(wide.query_ids) == len(plan.queries) + (plan.question not in plan.texts)


def test_the_public_face_asks_retries_and_reads_back(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.db", embedder="none") as memory:
        memory.save(title="Cookie", body=NOTES["Cookie"])
        research = Research(memory)
        first = research.ask(QUESTION, tags=("demo",))
        again = research.retry_search(first.log_id)
        assert research.get(again.log_id).session.retry_of == first.log_id
        assert "twelve hours" in again.text
        assert again.evaluation["plan_score"] is None


def test_a_dataset_from_use_holds_what_was_asked_and_not_what_a_planner_searched(
    settings: Settings, engine: Engine
) -> None:
    answer = open_research(settings, engine, SCOPE).ask(SCOPE, QUESTION)
    planned = {query.text for query in answer.plan.queries if query.text.rstrip("?") != QUESTION.rstrip("?")}
    assert planned
    engine.store.log.flush()
    with engine.store.reading(SCOPE) as work:
        logged = {one.query: one.tool_name for one in work.queries.recent(limit=100, origin=Origin.USE)}
        found = harvest(work)
    assert {logged[words] for words in planned} == {PLANNED_SEARCH}
    assert [one.query for one in found] == [QUESTION]
    # What was read or rated after a planned search belongs to the question.
    assert len(found[0].query_ids) > 1


def test_a_planned_search_of_which_no_session_is_left_is_not_proposed(settings: Settings, engine: Engine) -> None:
    plan = Plan(question=QUESTION, queries=(PlannedQuery(text="cookie hours"), PlannedQuery(text=QUESTION)))
    MemorySearch(engine.searcher)(SCOPE, plan, SearchLimits(results=3, passages=3))
    engine.store.log.flush()
    with engine.store.reading(SCOPE) as work:
        assert [one.query for one in harvest(work)] == [QUESTION]
