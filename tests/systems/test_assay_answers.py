"""Assay's own answers as a system: what a run gets of `assay ask`, and that no question is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.systems.sample import CASES, TEXTS, dataset

from assay import wiring
from assay.evaluation.gating import judge
from assay.evaluation.readings import reading_of
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import run
from assay.records import Scope
from assay.records.answers import RetrievedChunk
from assay.records.datasets import Case
from assay.records.evaluations import Seen
from assay.records.research import Citation, Statement, Synthesis
from assay.systems.assay_answers import AssayAnswers, StageTimes, join_seen, read_answer
from assay.systems.boundary import Asker, Terms
from assay.systems.registry import parse_spec, read_configuration

SPEC = "assay:answer,embedder.kind=none"
NOBODY = Case(id="u1", query="who painted the portrait of the founder", answerable=False)


@pytest.fixture(scope="module")
def system() -> Iterator[AssayAnswers]:
    opened = wiring.open_system(SPEC, dataset(cases=(*CASES, NOBODY)))
    assert isinstance(opened, AssayAnswers)
    yield opened
    opened.close()


def test_a_question_gives_passages_an_answer_with_references_and_the_time_of_each_stage(system: AssayAnswers) -> None:
    found = system.retrieve("when does the swimming pool open", 5, CASES[0])
    assert found.ids[0] == "pool"
    assert {chunk.rel_path for chunk in found.passages} <= set(TEXTS)
    assert found.stages.keys() == {"planning", "retrieval", "generation", "evaluation"}
    assert found.answer is not None
    assert found.answer.confidence is not None


def test_an_answer_has_references_and_marks_exactly_where_it_does_not_decline(system: AssayAnswers) -> None:
    for case in (*CASES, NOBODY):
        answer = system.retrieve(case.query, 5, case).answer
        assert answer is not None
        assert bool(answer.references) is ("[1]" in answer.text) is (not answer.abstained)


def test_what_cannot_be_answered_is_declined(system: AssayAnswers) -> None:
    answer = system.retrieve(NOBODY.query, 5, NOBODY).answer
    assert answer is not None
    assert answer.abstained
    assert answer.text
    assert answer.references == ()


def test_how_the_list_came_about_is_told(system: AssayAnswers) -> None:
    result = Asker(system, Terms(timeout_s=None)).ask(CASES[0])
    assert result.retrieved is not None
    assert result.retrieved.seen is not None
    assert "pool" in (result.retrieved.seen.channels or {})["bm25"]


def test_a_run_measures_answers_and_a_gate_looks_at_them() -> None:
    cases = tuple(replace(case, reference_answer=TEXTS[case.grades[0].document_id]) for case in CASES)
    data = dataset(cases=(*cases, NOBODY))
    opened = wiring.open_system(SPEC, data)
    try:
        result = run(data, opened, RunOptions(spec=SPEC))
    finally:
        opened.close()
    assert result.counts["ok"] == 5  # type: ignore[index] # a StrEnum
    assert result.value("abstention_accuracy") == 1.0
    assert result.value("over_abstention_rate") is not None
    assert result.value("p50(stage=generation)") is not None
    assert any(rule.rule == "answers" for rule in judge(reading_of(result), None).rules)


def test_no_question_of_a_run_is_recorded(system: AssayAnswers) -> None:
    system.retrieve("are dogs welcome", 5, CASES[3])
    engine = system._engine
    with engine.store.reading(Scope(tenant="default")) as work:
        assert work.research.count() == 0


def test_keys_of_a_configuration_reach_the_searches_of_the_pipeline() -> None:
    opened = wiring.open_system("assay:answer,mode=quick,channels=bm25,embedder.kind=none", dataset())
    assert isinstance(opened, AssayAnswers)
    try:
        opened.retrieve("are dogs welcome", 5, CASES[3])
        made = opened._made["q4"]
        assert {search.request.mode.value for search in made} == {"quick"}
        assert {search.request.channels for search in made} == {("bm25",)}
        assert {search.request.origin.value for search in made} == {"evaluation"}
        assert opened.subject()["configuration"]["answers"] is True
        assert opened.subject()["answers"]["model"] is None
    finally:
        opened.close()


def test_answer_is_the_first_word_after_assay() -> None:
    assert read_configuration("answer", Path()).answers
    found = parse_spec("assay:answer,mode=quick", Path()).configuration
    assert found is not None
    assert (found.answers, found.mode.value) == (True, "quick")
    assert found.as_json() == {"answers": True, "mode": "quick"}
    assert not read_configuration("mode=quick", Path()).answers


# --- Parts ---


@dataclass(frozen=True)
class Step:
    kind: str
    stage: str


def test_the_time_after_an_event_belongs_to_what_it_began() -> None:
    now = iter([0.0, 1.0, 3.0, 6.0, 6.5, 10.0])
    times = StageTimes(stopwatch=lambda: next(now))
    for step in (
        Step("started", "search"),
        Step("evaluating", "search"),
        Step("evaluated", "search"),
        Step("started", "answer"),
        Step("evaluating", "answer"),
    ):
        times.listen(step)
    times.stop()
    assert times.spent == {"retrieval": 4000.0, "evaluation": 5500.0, "generation": 500.0}


def chunk(number: int) -> RetrievedChunk:
    return RetrievedChunk(rel_path=f"{number}.md")


def synthesis(text: str, *numbers: int) -> Synthesis:
    return Synthesis(
        text=text,
        statements=(Statement(text=text, citations=numbers),),
        citations=tuple(Citation(number=number) for number in sorted(numbers)),
    )


@pytest.mark.parametrize(
    ("text", "cited", "expected", "order"),
    [
        ("A [3]. B [1].", (1, 3), "A [1]. B [2].", ["3.md", "1.md"]),
        ("A [3, 7]. B [1].", (1, 3, 7), "A [1, 2]. B [3].", ["3.md", "7.md", "1.md"]),
        ("See [12] of the list [5].", (5,), "See [12] of the list [1].", ["5.md"]),
        ("No mark at all.", (2, 4), "No mark at all.", ["2.md", "4.md"]),
    ],
)
def test_references_stand_in_the_order_of_the_marks_and_the_marks_count_them(
    text: str, cited: tuple[int, ...], expected: str, order: list[str]
) -> None:
    answer = read_answer(synthesis(text, *cited), chunk)
    assert answer.text == expected
    assert [reference.rel_path for reference in answer.references] == order
    assert answer.abstained is False


def test_an_abstention_keeps_its_reason_and_cites_nothing() -> None:
    answer = read_answer(Synthesis(text="Nothing.", abstained=True, reason="Nothing.", confidence=0.2), chunk)
    assert (answer.abstained, answer.text, answer.references, answer.confidence) == (True, "Nothing.", (), 0.2)


def test_searches_are_joined_found_by_any_and_left_out_by_all() -> None:
    first = Seen(indexed=("a",), channels={"bm25": ("a", "b")}, excluded=("x", "y"), shut_out=("x",), fused=("a", "b"))
    second = Seen(indexed=("a",), channels={"bm25": ("c",), "fts5": ("b",)}, excluded=("y",), fused=("c", "a"))
    joined = join_seen([first, second])
    assert joined is not None
    assert joined.channels == {"bm25": ("a", "b", "c"), "fts5": ("b",)}
    assert (joined.excluded, joined.shut_out, joined.fused) == (("y",), None, ("a", "b", "c"))
    assert join_seen([first]) is first
    assert join_seen([]) is None
