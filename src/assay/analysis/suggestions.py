"""What to change where a pattern was found: a sentence to add to a prompt, and to which.

It is read from two tables: what a trait calls for, and what a dimension calls for. A model may be asked to word it for
the prompt as it stands (`wording`). Either way it is a proposal: nothing changes a prompt but a person, or whoever a
person told to.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.analysis.traits import EXCLUDES, NEWEST, SEVERAL, TIME
from assay.judging.prompts import PLANNER, SYNTHESISER
from assay.records.analysis import Suggestion, Trait, TraitKind
from assay.records.research import DIMENSIONS, Checkpoint, Dimension, QuestionKind

_BY_DIMENSION: Mapping[str, str] = {
    Dimension.INTENT_ALIGNMENT: (
        "restate in the plan what the user wants to know, and make every query serve that and nothing else."
    ),
    Dimension.QUERY_COVERAGE: "list the aspects of the question first, and write at least one query for each of them.",
    Dimension.SCOPE_APPROPRIATENESS: "keep the plan as wide as the question: no wider subject, no single detail of it.",
    Dimension.CONTEXT_RECALL: "add queries in other words, to find sources that name the subject differently.",
    Dimension.CONTEXT_PRECISION: "put the words that tell the subject from its neighbours into every query.",
    Dimension.SOURCE_QUALITY: "prefer sources that are current and are about the subject itself.",
    Dimension.FAITHFULNESS: "state only what a passage says, cite it, and leave out what no passage supports.",
    Dimension.RELEVANCE: "begin with what was asked for, and leave out what was not.",
    Dimension.FACTUAL_ACCURACY: "copy names, numbers and dates from the passages, and check each against its source.",
    Dimension.COMPLETENESS: "answer every part of the question, and say which part the passages do not answer.",
    Dimension.COHERENCE: "give the answer an order: the direct answer, then its grounds, then what limits it.",
}
_FOR_PLANS: Mapping[str, str] = {
    NEWEST: "put the current year and a word for the newest state into at least one query, and prefer newer sources.",
    TIME: "keep the time the question names in every query.",
    EXCLUDES: "do not search for what the question rules out, and say in the plan that it is ruled out.",
    SEVERAL: "split the question into its parts, and plan a query of its own for each.",
    QuestionKind.COMPARISON: "plan the same queries for each side of the comparison, and one for both together.",
    QuestionKind.PROCEDURE: "search for the steps, for what is needed before them, and for what goes wrong.",
    QuestionKind.REASON: "search for causes and not only for the thing itself.",
    QuestionKind.LIST: "search for the whole list as well as for single members of it.",
    QuestionKind.QUANTITY: "put the unit or the thing counted into at least one query.",
}
_FOR_ANSWERS: Mapping[str, str] = {
    NEWEST: "say of which date the newest source is, and do not give an older state as the present one.",
    TIME: "give the time that each statement is about.",
    EXCLUDES: "leave out what the question rules out.",
    SEVERAL: "answer the parts one after the other, and name a part that stays open.",
    QuestionKind.COMPARISON: "say the same things of each side, and then what differs.",
    QuestionKind.PROCEDURE: "give numbered steps in the order of doing.",
    QuestionKind.REASON: "name the causes that a passage names, and no others.",
    QuestionKind.LIST: "give every member that the passages name, and say whether the list is complete.",
    QuestionKind.QUANTITY: "give the number with its unit and the date it was true.",
}


def suggest(trait: Trait, dimension: str) -> Suggestion:
    """What the tables say of a trait that lowers a dimension."""
    plans = _is_about_plans(dimension)
    sentence = f"{_when(trait)}, {_what(trait, dimension, plans=plans)}"
    return Suggestion(prompt_id=PLANNER if plans else SYNTHESISER, sentence=sentence)


def _what(trait: Trait, dimension: str, *, plans: bool) -> str:
    if dimension not in _BY_DIMENSION:
        return f"look after {dimension.replace('_', ' ')}."
    by_trait = (_FOR_PLANS if plans else _FOR_ANSWERS).get(trait.name) if trait.kind is TraitKind.INTENT else None
    return by_trait or _BY_DIMENSION[dimension]


def _is_about_plans(dimension: str) -> bool:
    """What is found follows from what was searched: a low retrieval score calls for another plan too."""
    return dimension in DIMENSIONS[Checkpoint.PLAN] or dimension in DIMENSIONS[Checkpoint.RETRIEVAL]


_WHEN = {
    NEWEST: "When the question asks for the newest state of something",
    TIME: "When the question names a time",
    EXCLUDES: "When the question rules something out",
    SEVERAL: "When the question asks several things",
}


def _when(trait: Trait) -> str:
    if trait.kind is TraitKind.TERM:
        return f'When the question has the word "{trait.name}"'
    if trait.kind is TraitKind.TAG:
        return f'When the question is tagged "{trait.name}"'
    if trait.kind is TraitKind.LENGTH:
        return f"When the question has {trait.name}"
    return _WHEN.get(trait.name, f"When the question asks for a {trait.name.replace('_', '/')}")
