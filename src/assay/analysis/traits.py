"""What questions may have in common: a word, an intent, a tag, a length.

Traits are read from questions alone, never from scores, so that what is tested does not depend on what was found. Words
are compared by their stems; a word that carries no content of its own is no trait, one that negates or asks is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from assay.analysis.asked import ScoredQuestion
from assay.records.analysis import Trait, TraitKind
from assay.records.research import QuestionKind
from assay.statistics.checks import Ints
from assay.text.questions import LONGEST, NEW_WORDS, read_question
from assay.text.terms import stems_of, words
from assay.text.vocabulary import FUNCTION_WORDS, NEGATORS, words_of

MOST_TERMS = 1_000
"""Words tested at most: those in most questions."""
_SPEAKING = NEGATORS | frozenset(stems_of(words_of("how why when where who which what if")))
LENGTHS = (4, 9, 19, 39)
"""Words of the longest question of each length; the last has no end."""


NEWEST = "asks for the newest"
TIME = "speaks about time"
EXCLUDES = "rules something out"
SEVERAL = "asks several things"


class Carriers(NamedTuple):
    """The questions that have a trait. Traits of exactly the same questions cannot be told apart: they are one."""

    traits: tuple[Trait, ...]
    places: Ints


def carriers(questions: Sequence[ScoredQuestion], *, least: int) -> list[Carriers]:
    """Every trait that at least so many questions have and as many have not."""
    found: dict[Trait, list[int]] = {}
    for place, question in enumerate(questions):
        for trait in _read(question):
            found.setdefault(trait, []).append(place)
    found |= _terms(questions)
    same: dict[tuple[int, ...], list[Trait]] = {}
    for trait, places in found.items():
        if least <= len(places) <= len(questions) - least:
            same.setdefault(tuple(places), []).append(trait)
    return [Carriers(tuple(traits), np.array(places, dtype=np.int64)) for places, traits in same.items()]


def has(question: str, trait: Trait) -> bool:
    """Whether a question that was not tested has a trait; tags are not in its text."""
    if trait.kind is TraitKind.TERM:
        return not set(stems_of(words(trait.name))).isdisjoint(stems_of(words(question[:LONGEST])))
    return trait in _of_text(question, read_question(question).kind)


def _read(question: ScoredQuestion) -> Iterator[Trait]:
    yield from (Trait(TraitKind.TAG, tag) for tag in sorted(question.tags))
    yield from _of_text(question.text, question.kind)


def _of_text(text: str, kind: QuestionKind) -> Iterator[Trait]:
    yield Trait(TraitKind.LENGTH, _length(len(words(text[:LONGEST]))))
    if kind is not QuestionKind.OPEN:
        yield Trait(TraitKind.INTENT, kind.value)
    asked = read_question(text)
    marks = {
        NEWEST: not NEW_WORDS.isdisjoint(words(asked.text)),
        TIME: bool(asked.time),
        EXCLUDES: bool(asked.excluded),
        SEVERAL: len(asked.parts) > 1,
    }
    yield from (Trait(TraitKind.INTENT, name) for name, holds in marks.items() if holds)


def _length(count: int) -> str:
    least = 0
    for most in LENGTHS:
        if count <= most:
            return f"{least} to {most} words"
        least = most + 1
    return f"{least} words and more"


def _terms(questions: Sequence[ScoredQuestion]) -> dict[Trait, list[int]]:
    """Places by word; a word stands for every word of its stem."""
    places: dict[str, list[int]] = {}
    forms: dict[str, Counter[str]] = {}
    for place, question in enumerate(questions):
        written = words(question.text[:LONGEST])
        for stem, word in dict(zip(stems_of(written), written, strict=True)).items():
            if stem not in FUNCTION_WORDS or stem in _SPEAKING:
                places.setdefault(stem, []).append(place)
                forms.setdefault(stem, Counter())[word] += 1
    most = sorted(places, key=lambda stem: (-len(places[stem]), stem))[:MOST_TERMS]
    return {Trait(TraitKind.TERM, forms[stem].most_common(1)[0][0]): places[stem] for stem in most}
