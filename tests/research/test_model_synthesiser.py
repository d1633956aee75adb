"""A synthesiser by a model: every citation is checked, mended, or the rules answer instead."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judging.made import GUARD
from tests.judging.panels import PASSAGE, QUESTION

from assay.errors import EndpointUnavailable
from assay.judging.prompts import parse_prompt, read_bundled
from assay.records.research import Passage, Synthesis
from assay.research.synthesiser import ModelSynthesiser
from assay.testing import ScriptedModel

PASSAGES = (PASSAGE, Passage(number=2, text="Deploys go out before noon.", memory_id="m_2", title="Deploys"))


def said(*statements: tuple[str, list[int]], abstained: bool = False, reason: str = "") -> dict[str, Any]:
    listed = [{"text": text, "citations": citations} for text, citations in statements]
    return {"abstained": abstained, "reason": reason, "statements": listed}


def synthesise(*lines: Any, feedback: str = "") -> tuple[ScriptedModel, Synthesis]:
    model = ScriptedModel(*lines, name="qwen3:14b")
    prompt = parse_prompt("synthesiser", read_bundled("synthesiser"))
    return model, ModelSynthesiser(model, prompt, guard=GUARD).synthesise(QUESTION, PASSAGES, feedback=feedback)


GOOD = said(("It lives twelve hours.", [1]), ("Deploys are early.", [2, 2]))


def test_a_cited_answer_is_used_with_its_references() -> None:
    model, made = synthesise(GOOD)
    assert made.text == "It lives twelve hours. [1] Deploys are early. [2]"
    assert [(one.number, one.memory_id) for one in made.citations] == [(1, "m_1"), (2, "m_2")]
    assert (made.synthesiser, made.prompt, made.fallback) == ("qwen3:14b", "synthesiser@0", "")
    asked = model.asked[0].messages[1].content
    assert "[1] Cookie" in asked
    assert QUESTION in asked


@pytest.mark.parametrize("citations", [[], [7], [1, 7]])
def test_a_missing_or_foreign_citation_is_sent_back_once(citations: list[int]) -> None:
    model, made = synthesise(said(("It lives twelve hours.", citations)), GOOD)
    assert len(model.asked) == 2
    assert "passage" in model.asked[1].messages[-1].content
    assert made.fallback == ""
    assert made.statements[0].citations == (1,)


def test_what_stays_uncited_is_left_out_and_said_so() -> None:
    stubborn = said(("It lives twelve hours.", [1, 9]), ("I am sure.", []))
    _, made = synthesise(stubborn)
    assert [(one.text, one.citations) for one in made.statements] == [("It lives twelve hours.", (1,))]
    assert "not a passage" in made.fallback
    assert made.synthesiser == "qwen3:14b"


@pytest.mark.parametrize(
    "bad",
    [
        said(("I am sure.", [])),
        said(("I am sure.", [9])),
        said(),
        "It lives twelve hours.",
        {"abstained": "no"},
        EndpointUnavailable("it is down", remedy="Start it."),
    ],
)
def test_an_answer_without_any_citation_is_replaced_by_the_rules(bad: Any) -> None:
    _, made = synthesise(bad)
    assert made.synthesiser == "builtin"
    assert made.fallback
    assert made.abstained or all(one.citations for one in made.statements)
    assert "I am sure" not in made.text


def test_an_abstention_of_the_model_is_kept_with_its_reason() -> None:
    _, made = synthesise(said(abstained=True, reason="Nothing about the king."))
    assert made.abstained
    assert made.reason == "Nothing about the king."
    _, silent = synthesise(said(abstained=True))
    assert silent.reason


def test_feedback_on_an_earlier_answer_is_shown() -> None:
    model, _ = synthesise(GOOD, feedback="faithfulness_judge: it made up a number")
    assert "it made up a number" in model.asked[0].messages[1].content


def test_without_passages_no_model_is_asked() -> None:
    model = ScriptedModel(GOOD)
    prompt = parse_prompt("synthesiser", read_bundled("synthesiser"))
    made = ModelSynthesiser(model, prompt, guard=GUARD).synthesise(QUESTION, ())
    assert made.abstained
    assert model.asked == []
