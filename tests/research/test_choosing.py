"""One plan and one answer of a record are "the" ones, and everything that speaks of them names the same."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.judging.panels import ANSWER, QUESTION
from tests.research.made import Planning, pipeline, scores

from assay.records import Scope
from assay.records.research import Citation, Passage, Plan, Statement, Synthesis
from assay.records.research_log import StoredResearch, TracedAnswer
from assay.research.attempts import AttemptStanding, choose_answer, choose_plan, find_chosen_answer, find_chosen_plan
from assay.research.options import CheckpointOptions, FailAction, ResearchOptions
from assay.research.rating import find_citations
from assay.research.record import plan_in
from assay.research.search import FoundPassages
from assay.server.pages.answers import describe_session
from assay.storage import Store

BOTH = tuple(Passage(number=number, text=f"Passage {number}.", memory_id=f"m_{number}") for number in (1, 2))


class CitingInTurn:
    """Answers that cite passage 1, then passage 2."""

    def __init__(self) -> None:
        self._made = 0

    def synthesise(
        self, question: str, passages: Sequence[Passage], *, plan: Plan | None = None, feedback: str = ""
    ) -> Synthesis:
        self._made += 1
        number = self._made
        return replace(
            ANSWER,
            text=f"Answer {number}. [{number}]",
            statements=(Statement(text=f"Answer {number}.", citations=(number,)),),
            citations=(Citation(number=number, memory_id=f"m_{number}"),),
        )


def ask(store: Store, scope: Scope, answers: Sequence[Any], **given: Any) -> TracedAnswer:
    script = scores(given.pop("plans", (0.9,)), 0.9, answers)
    find = given.pop("find", None) or (lambda *_: FoundPassages(passages=BOTH, query_ids=("q_1",)))
    return pipeline(store, script, synthesiser=CitingInTurn(), find=find, **given).ask(scope, QUESTION)


def without_choice(trace: dict[str, Any]) -> dict[str, Any]:
    """The record as it was written before the choice was stored in it."""
    old = copy.deepcopy(trace)
    for part in ("plan_evaluation", "answer_evaluation"):
        del old[part]["chosen"]
    return old


@pytest.mark.parametrize(
    ("answers", "shown"),
    [((0.9,), 1), ((0.4, 0.2), 1), ((0.2, 0.4), 2), ((0.3, 0.3), 1), ((0.2, 0.9), 2)],
)
def test_the_record_the_page_and_the_rating_speak_of_the_answer_that_was_shown(
    local: Store, scope: Scope, answers: Sequence[float], shown: int
) -> None:
    answer = ask(local, scope, answers)
    assert answer.text == f"Answer {shown}. [1]", "what is cited first is the first passage"
    assert answer.trace["answer_evaluation"]["chosen"] == shown
    for trace in (dict(answer.trace), without_choice(dict(answer.trace))):
        assert find_citations(trace) == (f"m_{shown}",)
        page = describe_session(StoredResearch(session=answer.session, trace=trace))
        assert page["answer"]["text"] == answer.text
        assert page["stages"][-1]["chosen"]["number"] == shown


@pytest.mark.parametrize(("plans", "used"), [((0.5, 0.6, 0.3), 2), ((0.4, 0.9), 2), ((0.5, 0.5, 0.5), 1)])
def test_a_retry_and_the_page_use_the_plan_that_was_searched_with(
    local: Store, scope: Scope, plans: Sequence[float], used: int
) -> None:
    answer = ask(local, scope, (0.9,), plans=plans, planner=Planning())
    assert answer.plan.queries[0].text == f"query {used}"
    assert answer.trace["plan_evaluation"]["chosen"] == used
    for trace in (dict(answer.trace), without_choice(dict(answer.trace))):
        assert plan_in(trace) == answer.plan
        assert (
            describe_session(StoredResearch(session=answer.session, trace=trace))["stages"][0]["chosen"]["number"]
            == used
        )


def test_the_stored_choice_is_read_and_not_made_again(local: Store, scope: Scope) -> None:
    trace = dict(ask(local, scope, (0.4, 0.2)).trace)
    trace["answer_evaluation"]["chosen"] = 2
    assert find_citations(trace) == ("m_2",)


def test_an_answer_that_was_withheld_cites_nothing(local: Store, scope: Scope) -> None:
    blocking = {
        checkpoint: replace(CheckpointOptions(timeout_s=10), fail_action=FailAction.BLOCK)
        for checkpoint in ResearchOptions().checkpoints
    }
    answer = ask(local, scope, (0.1, 0.1), options=ResearchOptions(checkpoints=blocking))
    assert answer.status.value == "withheld"
    assert find_citations(answer.trace) == ()


def test_a_record_without_attempts_has_no_choice() -> None:
    assert find_chosen_plan({}) is None
    assert find_chosen_answer({"answer_evaluation": {"attempts": []}}) is None


def test_an_answer_nobody_could_evaluate_is_not_a_failed_one_and_a_plan_without_verdict_has_not_passed() -> None:
    unknown, low, high = AttemptStanding(None, None), AttemptStanding(False, 0.2), AttemptStanding(False, 0.6)
    assert choose_answer([high, unknown]) == 1
    assert choose_plan([low, unknown, high]) == 2
    assert choose_plan([unknown, unknown]) == 0
