"""Traits of questions, and tests of whether a trait goes with lower scores.

- Traits: words, intents, tags and lengths that questions share.
- Tests of traits against draws from all questions.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.records.analysis import Trait, TraitKind
from assay.records.research import QuestionKind
from assay.statistics.independent_samples import LowerMean
from assay.text.questions import LONGEST, NEW_WORDS, read_question
from assay.text.terms import stems_of, words
from assay.text.wording import FUNCTION_WORDS, NEGATORS, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from assay.analysis.questions import ScoredQuestion
    from assay.statistics.inputs import Floats, Ints

# --- Traits: words, intents, tags and lengths that questions share ---
#
# Traits are read from questions alone, never from scores, so that what is tested does not depend on what was found.
# Words are compared by their stems; a word that carries no content of its own is no trait, one that negates or asks
# is.

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
    """The questions that have a trait. Traits of exactly the same questions are one group."""

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
    """Return positions by term; terms with the same stem are one."""
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


# --- Tests of traits against draws from all questions ---
#
# Every trait is first held against a bound of its p-value, which is quick and never too small. Where the bound leaves
# it open whether the trait would be reported, groups are drawn: that decides more, and takes time. Which ones are
# drawn for depends on the bound alone, and the p-value that counts is never below what the permutation test itself
# would say, but for the noise of the draws.

OPEN = 100.0
"""A bound is about ten times its p-value, seldom a hundred: what is farther above what would be reported stays so."""
SURE = 0.1
"""A bound below this part of what one test alone needs is small enough."""
DRAWS = 4.0
"""Draws for each that one test alone would need."""
MOST_OPEN = 300
"""Tests that are drawn for, those with the smallest bounds."""
MOST_VALUES = 10_000_000
"""Values drawn for one test."""


class Column(NamedTuple):
    """One dimension: which questions have a score of it, and which."""

    dimension: str
    scored: NDArray[np.bool_]
    values: Floats
    """0 where there is none."""
    draw: LowerMean


class TestedTrait(NamedTuple):
    """A trait on a dimension."""

    column: Column
    group: Carriers
    places: Ints
    """Of the questions with the trait and a score."""
    mean: float
    others: float
    p: float

    @property
    def drop(self) -> float:
        """How much lower the mean is than that of the others."""
        return self.others - self.mean


def column_of(questions: Sequence[ScoredQuestion], dimension: str) -> Column:
    """The scores of a dimension that at least one question has."""
    scored = np.array([dimension in question.scores for question in questions], dtype=np.bool_)
    values = np.array([question.scores.get(dimension, 0.0) for question in questions])
    return Column(dimension, scored, values, LowerMean(values[scored]))


def test_groups(column: Column, groups: Sequence[Carriers], *, least_support: int) -> Iterator[TestedTrait]:
    """Every group that is large enough among the questions with this score, by the bound."""
    total, count = float(column.values.sum()), int(column.scored.sum())
    places = [group.places[column.scored[group.places]] for group in groups]
    enough = [
        (group, inside)
        for group, inside in zip(groups, places, strict=True)
        if least_support <= len(inside) <= count - least_support
    ]
    sizes = np.array([len(inside) for _, inside in enough], dtype=np.float64)
    sums = np.array([column.values[inside].sum() for _, inside in enough], dtype=np.float64)
    bounds = column.draw.bound(sizes, sums / sizes)
    for (group, inside), size, inner, p in zip(enough, sizes, sums, bounds, strict=True):
        mean, others = float(inner / size), float((total - inner) / (count - size))
        yield TestedTrait(column, group, inside, mean, others, float(p))


def sharpen_p_values(tested: Sequence[TestedTrait], *, fdr: float, rng: np.random.Generator) -> list[TestedTrait]:
    """The same tests, with p-values from draws where the bound does not decide."""
    needed = fdr / max(1, len(tested))
    # With every finding Benjamini-Hochberg asks less of the next.
    least = OPEN * needed * (1 + sum(test.p <= needed for test in tested))
    undecided = [place for place, test in enumerate(tested) if SURE * needed < test.p <= least]
    looked_at = set(sorted(undecided, key=lambda place: tested[place].p)[:MOST_OPEN])
    draws = int(DRAWS / needed)
    return [_draw_p_value(test, draws, rng) if place in looked_at else test for place, test in enumerate(tested)]


def _draw_p_value(test: TestedTrait, draws: int, rng: np.random.Generator) -> TestedTrait:
    size = len(test.places)
    smaller = min(size, int(test.column.scored.sum()) - size)
    p = test.column.draw.drawn_p(size, test.mean, draws=max(1, min(draws, MOST_VALUES // smaller)), rng=rng)
    return test._replace(p=min(p, test.p))
