"""A model may word a suggestion and do no more; without a usable reply the tables' own stays, with the reason."""

from __future__ import annotations

import pytest
from tests.analysis.made import scored

from assay.analysis.patterns import LONGEST_SENTENCE, find_patterns, word_suggestion
from assay.errors import EndpointUnavailable
from assay.records.analysis import Pattern
from assay.testing import ScriptedModel


@pytest.fixture
def pattern() -> Pattern:
    return find_patterns(scored(240, seed=1, lowered=lambda number: number % 8 == 0)).found[0]


def test_a_model_words_it_and_is_named(pattern: Pattern) -> None:
    model = ScriptedModel({"sentence": "Put the year\n into a query."}, name="small:1b")
    found = word_suggestion(pattern, "THE PROMPT", model)
    assert (found.sentence, found.by, found.prompt_id) == ("Put the year into a query.", "small:1b", "planner")
    shown = model.asked[0].messages[-1].content
    assert "THE PROMPT" in shown
    assert pattern.affected[0].text in shown


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("I would rather not.", "no JSON object"),
        ({"sentence": "x" * (LONGEST_SENTENCE + 1)}, "sentence must be"),
        ({"sentence": " "}, "sentence must be"),
        (EndpointUnavailable("the model is down", remedy="Start it."), "the model is down"),
    ],
)
def test_a_model_that_gives_nothing_leaves_the_tables_and_the_reason(pattern: Pattern, line: object, why: str) -> None:
    found = word_suggestion(pattern, "THE PROMPT", ScriptedModel(line))  # type: ignore[arg-type] # each kind of line in turn
    assert (found.sentence, found.by) == (pattern.suggestion.sentence, "builtin")
    assert why in found.problem
