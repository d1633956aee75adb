"""Patterns as a planner can use them: for a new question, what questions like it failed by, and words that would help.

Only patterns of plans and of what they found are kept: a planner can do nothing about a careless answer. A tag is no
part of a question, so patterns of tags are not kept either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.traits import EXCLUDES, NEWEST, TIME, has
from assay.judging.prompts import PLANNER
from assay.records.analysis import Pattern, Patterns, Trait, TraitKind
from assay.records.research import Issue, QuestionKind
from assay.text.questions import read_question

MOST_KEPT = 20
MOST_TOLD = 3
"""Of one question: a plan has few queries, and the costliest patterns come first."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    NEWEST: ("latest", "current"),
    EXCLUDES: ("alternatives",),
    QuestionKind.COMPARISON: ("differences",),
    QuestionKind.PROCEDURE: ("requirements", "steps"),
    QuestionKind.REASON: ("cause",),
    QuestionKind.LIST: ("all",),
    QuestionKind.QUANTITY: ("number",),
    QuestionKind.TIME: ("date",),
    QuestionKind.DEFINITION: ("meaning",),
}
"""Words that texts with such an answer often have, for a search of their own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caution:
    """One known weakness."""

    kind: TraitKind
    name: str
    found: str
    """What was found, for people."""
    advice: str

    @property
    def trait(self) -> Trait:
        """What a question has to have."""
        return Trait(self.kind, self.name)


def cautions_of(patterns: Patterns) -> tuple[Caution, ...]:
    """What a planner can heed, the costliest first."""
    kept = (
        Caution(kind=trait.kind, name=trait.name, found=one.sentence, advice=one.suggestion.sentence)
        for one in patterns.found
        if one.suggestion.prompt_id == PLANNER and (trait := _of_text(one)) is not None
    )
    return tuple(kept)[:MOST_KEPT]


def _of_text(pattern: Pattern) -> Trait | None:
    """The first of a pattern's traits that a question's text can have."""
    return next((one for one in (pattern.trait, *pattern.same_as) if one.kind is not TraitKind.TAG), None)


def issues_for(question: str, cautions: Sequence[Caution]) -> tuple[Issue, ...]:
    """What a planner is told of a new question."""
    fitting = [one for one in cautions if has(question, one.trait)]
    return tuple(Issue(issue=one.found, fix=one.advice, terms=_terms(question, one)) for one in fitting[:MOST_TOLD])


def _terms(question: str, caution: Caution) -> tuple[str, ...]:
    """What a search for the weak spot has to have beside the question's first words."""
    if caution.kind is TraitKind.TERM:
        return (caution.name,)
    asked = read_question(question)
    if caution.name == TIME:
        return asked.time
    return _WORDS.get(caution.name) or asked.keys[4:8]
