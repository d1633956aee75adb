"""Patterns: traits of questions that go with lower scores, tested so that chance is seldom reported.

Every trait that enough questions have is tested on every dimension that was scored, one-sided, against all questions
with that score (`testing`). P-values are adjusted by Benjamini-Hochberg over all that was tested; a drop too small to
matter is not reported either. Of patterns that speak of the same questions the strongest is told, and the others are
named with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.analysis.asked import ScoredQuestion, distinct_questions
from assay.analysis.suggestions import suggest
from assay.analysis.testing import TestedTrait, column_of, sharpened, tested_on
from assay.analysis.traits import carriers
from assay.records.analysis import AffectedQuestion, Impact, Pattern, PatternOptions, Patterns
from assay.records.research_log import ResearchSession
from assay.statistics.checks import Ints
from assay.statistics.effect_size import hedges_factor
from assay.statistics.multiple import benjamini_hochberg

HIGH_DROP, MEDIUM_DROP = 0.20, 0.10
HIGH_LOSS, MEDIUM_LOSS = 0.03, 0.01


def find_patterns(
    sessions: Iterable[ResearchSession],
    options: PatternOptions | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> Patterns:
    """Look for traits of questions that go with lower scores; without a generator, the same draws each time."""
    options = options or PatternOptions()
    questions = distinct_questions(sessions)
    groups = carriers(questions, least=options.least_support)
    names = sorted({name for one in questions for name in one.scores})
    bounded = [
        one
        for name in names
        for one in tested_on(column_of(questions, name), groups, least_support=options.least_support)
    ]
    tested = sharpened(bounded, fdr=options.fdr, rng=rng or np.random.default_rng(0))
    adjusted = benjamini_hochberg([one.p for one in tested])
    kept = [
        (one, float(p))
        for one, p in zip(tested, adjusted, strict=True)
        if p <= options.fdr and one.drop >= options.least_drop
    ]
    found = [_pattern(questions, one, p) for one, p in kept]
    return Patterns(
        found=tuple(sorted(_pick_strongest(found, options), key=lambda one: (-one.loss, one.dimension, one.trait))),
        questions=len(questions),
        sessions=sum(len(one.log_ids) for one in questions),
        traits=len(groups),
        tested=len(tested),
        options=options,
    )


def _pattern(questions: Sequence[ScoredQuestion], one: TestedTrait, p_adjusted: float) -> Pattern:
    trait, *same = sorted(one.group.traits)
    name = one.column.dimension
    affected = [AffectedQuestion(found.text, found.scores[name], found.log_ids) for found in _at(questions, one.places)]
    loss = one.drop * len(one.places) / int(one.column.scored.sum())
    return Pattern(
        trait=trait,
        same_as=tuple(same),
        dimension=name,
        mean=one.mean,
        mean_of_others=one.others,
        drop=one.drop,
        effect=_effect(one),
        p=one.p,
        p_adjusted=p_adjusted,
        affected=tuple(sorted(affected, key=lambda found: (found.score, found.text))),
        loss=loss,
        impact=_impact(one.drop, loss),
        sentence=f"{len(affected)} questions with {trait} score {one.mean:.2f} on {name}; "
        f"the others score {one.others:.2f}.",
        suggestion=suggest(trait, name),
    )


def _impact(drop: float, loss: float) -> Impact:
    if drop >= HIGH_DROP or loss >= HIGH_LOSS:
        return Impact.HIGH
    return Impact.MEDIUM if drop >= MEDIUM_DROP or loss >= MEDIUM_LOSS else Impact.LOW


def _at(questions: Sequence[ScoredQuestion], places: Ints) -> Iterator[ScoredQuestion]:
    return (questions[int(place)] for place in places)


def _effect(one: TestedTrait) -> float | None:
    others = one.column.scored.copy()
    others[one.places] = False
    inside, outside = one.column.values[one.places], one.column.values[others]
    df = len(inside) + len(outside) - 2
    squares = float(((inside - one.mean) ** 2).sum() + ((outside - one.others) ** 2).sum())
    return None if squares < 1e-18 else one.drop / float(np.sqrt(squares / df)) * hedges_factor(df)


def _pick_strongest(found: Sequence[Pattern], options: PatternOptions) -> Iterator[Pattern]:
    """The strongest of each dimension; one that says nothing beyond a stronger one is named with it."""
    by_dimension: dict[str, list[Pattern]] = {}
    for pattern in sorted(found, key=lambda one: (one.p, one.trait)):
        told = by_dimension.setdefault(pattern.dimension, [])
        known = _find_explanation(pattern, told, options)
        if known is None:
            told.append(pattern)
        else:
            told[known] = replace(told[known], also=(*told[known].also, pattern.trait, *pattern.same_as))
    return (pattern for told in by_dimension.values() for pattern in told)


def _find_explanation(pattern: Pattern, told: Sequence[Pattern], options: PatternOptions) -> int | None:
    """Which told pattern this one is, seen from another side: without its questions too little is left."""
    for place, known in enumerate(told):
        others = {one.log_ids for one in known.affected}
        rest = [one.score for one in pattern.affected if one.log_ids not in others]
        if len(rest) == len(pattern.affected):
            continue
        low = sum(pattern.mean_of_others - score for score in rest)
        if len(rest) < options.least_support or low / len(rest) < options.least_drop:
            return place
    return None
