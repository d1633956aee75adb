"""From what roles say to one number: the owner of a dimension counts, by its weight and its confidence.

aggregate = sum(weight x confidence x score) / sum(weight x confidence). The other roles' scores of a dimension make its
spread. An owner that gave nothing is stood in for by the others, weighed by their confidence, and the verdict says so.
An owner with next to no confidence that scores lower than the others does not vanish: its score counts with their mean
confidence (`quiet`), so that nothing passes because whoever objected was unsure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.judging.panel_options import PanelOptions, below
from assay.records.panel import RoleResult
from assay.records.research import DIMENSIONS, OWNERS, Checkpoint, Dimension

QUIET = 0.2
"""An owner that is less confident than this is quiet: by its own confidence alone its score would hardly count."""


class Counted(NamedTuple):
    """One dimension as it enters the aggregate."""

    score: float
    confidence: float
    stood_in: bool
    quiet: bool = False
    """The owner had next to no confidence and scored lower than the others, whose confidence counts instead."""


class Aggregated(NamedTuple):
    """All dimensions together."""

    value: float | None
    """None: no dimension has a score, or no owner any confidence."""
    counted: Mapping[str, Counted]
    spread: Mapping[str, float]
    votes: tuple[int, int]

    @property
    def scores(self) -> dict[str, float]:
        """By dimension."""
        return {name: one.score for name, one in self.counted.items()}


def aggregated(checkpoint: Checkpoint, results: Sequence[RoleResult], options: PanelOptions) -> Aggregated:
    """What the roles that scored come to."""
    scored = [one for one in results if one.scored]
    counted = {}
    for dimension in dimensions_of(checkpoint, scored):
        found = _counted(dimension, scored, options, bar=options.bar(checkpoint, dimension))
        if found is not None:
            counted[dimension] = found
    value = weighed([(options.weight(name), one.confidence, one.score) for name, one in counted.items()])
    return Aggregated(value, counted, _spread(counted, scored), _votes(checkpoint, scored, options))


def weighed(parts: Sequence[tuple[float, float, float]]) -> float | None:
    """Sum of weight x confidence x score over sum of weight x confidence; None when that is nothing."""
    below_line = math.fsum(weight * confidence for weight, confidence, _ in parts)
    if below_line <= 0.0:
        return None
    value = math.fsum(weight * confidence * score for weight, confidence, score in parts) / below_line
    return min(max(value, 0.0), 1.0)


def dimensions_of(checkpoint: Checkpoint, results: Sequence[RoleResult]) -> list[str]:
    """Those of the checkpoint, then whatever custom ones were scored."""
    own = [one.value for one in DIMENSIONS[checkpoint]]
    return list(dict.fromkeys([*own, *(name for result in results for name in result.scores)]))


def _counted(dimension: str, scored: Sequence[RoleResult], options: PanelOptions, *, bar: float) -> Counted | None:
    gave = [(one, one.scores[dimension], _confidence(one, options)) for one in scored if dimension in one.scores]
    owner = OWNERS[Dimension(dimension)].value if dimension in OWNERS else None
    own = next((one for one in gave if owner is None or one[0].role == owner), None)
    if own is not None:
        result, own_score, confidence = own
        others = [one for one in gave if one[0] is not result]
        elsewhere = weighed([(1.0, sure, view) for _, view, sure in others])
        if (result.confidence or 0.0) < QUIET and below(own_score, bar if elsewhere is None else elsewhere):
            surer = _mean_confidence([one for one in scored if (one.confidence or 0.0) >= QUIET])
            # Where nobody is surer, the objection still has the little confidence of its own.
            sure = max(surer, result.confidence or 0.0)
            return Counted(own_score, sure * options.reliability.get(result.role, 1.0), stood_in=False, quiet=True)
        return Counted(own_score, confidence, stood_in=False)
    score = weighed([(1.0, confidence, score) for _, score, confidence in gave])
    if score is None:
        return None
    return Counted(score, math.fsum(confidence for *_, confidence in gave) / len(gave), stood_in=True)


def _mean_confidence(results: Sequence[RoleResult]) -> float:
    return math.fsum(one.confidence or 0.0 for one in results) / len(results) if results else 0.0


def _confidence(result: RoleResult, options: PanelOptions) -> float:
    return (result.confidence or 0.0) * options.reliability.get(result.role, 1.0)


def _spread(counted: Mapping[str, Counted], scored: Sequence[RoleResult]) -> dict[str, float]:
    found = {}
    for name in counted:
        gave = [one.scores[name] for one in scored if name in one.scores]
        found[name] = max(gave) - min(gave)
    return found


def _votes(checkpoint: Checkpoint, scored: Sequence[RoleResult], options: PanelOptions) -> tuple[int, int]:
    """How many roles' own views pass, and how many do not."""
    views = [weighed([(options.weight(name), 1.0, score) for name, score in one.scores.items()]) for one in scored]
    told = [not below(view, options.thresholds[checkpoint]) for view in views if view is not None]
    return sum(told), len(told) - sum(told)
