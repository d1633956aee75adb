"""Tests of traits: is the mean of those who have it lower than that of a draw from all?

Every trait is first held against a bound of its p-value, which is quick and never too small. Where the bound leaves it
open whether the trait would be reported, groups are drawn: that decides more, and takes time. Which ones are drawn for
depends on the bound alone, and the p-value that counts is never below what the permutation test itself would say, but
for the noise of the draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.asked import ScoredQuestion
from assay.analysis.traits import Carriers
from assay.statistics.checks import Floats, Ints
from assay.statistics.lower_mean import LowerMean

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
    scored = np.array([dimension in one.scores for one in questions], dtype=np.bool_)
    values = np.array([one.scores.get(dimension, 0.0) for one in questions])
    return Column(dimension, scored, values, LowerMean(values[scored]))


def tested_on(column: Column, groups: Sequence[Carriers], *, least_support: int) -> Iterator[TestedTrait]:
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


def sharpened(tested: Sequence[TestedTrait], *, fdr: float, rng: np.random.Generator) -> list[TestedTrait]:
    """The same tests, with p-values from draws where the bound does not decide."""
    needed = fdr / max(1, len(tested))
    # With every finding Benjamini-Hochberg asks less of the next.
    least = OPEN * needed * (1 + sum(one.p <= needed for one in tested))
    undecided = [place for place, one in enumerate(tested) if SURE * needed < one.p <= least]
    looked_at = set(sorted(undecided, key=lambda place: tested[place].p)[:MOST_OPEN])
    draws = int(DRAWS / needed)
    return [_draw_p_value(one, draws, rng) if place in looked_at else one for place, one in enumerate(tested)]


def _draw_p_value(one: TestedTrait, draws: int, rng: np.random.Generator) -> TestedTrait:
    size = len(one.places)
    smaller = min(size, int(one.column.scored.sum()) - size)
    p = one.column.draw.drawn_p(size, one.mean, draws=max(1, min(draws, MOST_VALUES // smaller)), rng=rng)
    return one._replace(p=min(p, one.p))
