"""Suggestions: every dimension and every kind of trait has a sentence for the prompt that can mend it."""

from __future__ import annotations

import pytest

from assay.analysis.patterns import suggest
from assay.analysis.traits import EXCLUDES
from assay.judging.prompts import PLANNER, PROMPT_IDS, SYNTHESISER
from assay.records.analysis import Trait, TraitKind
from assay.records.research import DIMENSIONS, Checkpoint, Dimension, QuestionKind

TRAITS = [
    Trait(TraitKind.TERM, "latest"),
    Trait(TraitKind.TAG, "legal"),
    Trait(TraitKind.LENGTH, "20 to 39 words"),
    Trait(TraitKind.INTENT, EXCLUDES),
    *(Trait(TraitKind.INTENT, kind.value) for kind in QuestionKind),
]


@pytest.mark.parametrize("dimension", list(Dimension))
def test_every_dimension_and_trait_has_a_sentence_for_a_prompt_that_is(dimension: Dimension) -> None:
    for trait in TRAITS:
        found = suggest(trait, dimension)
        assert found.prompt_id == (SYNTHESISER if dimension in DIMENSIONS[Checkpoint.ANSWER] else PLANNER)
        assert found.prompt_id in PROMPT_IDS
        assert found.sentence.startswith("When the question ")
        assert found.sentence.endswith(".")
        assert found.by == "builtin"


def test_what_is_low_decides_for_a_word_and_what_is_asked_for_an_intent() -> None:
    assert suggest(TRAITS[0], "faithfulness").sentence != suggest(TRAITS[0], "coherence").sentence
    assert "legal" in suggest(TRAITS[1], "faithfulness").sentence
    assert "rules out" in suggest(TRAITS[3], "faithfulness").sentence
