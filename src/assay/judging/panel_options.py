"""Options of the panel, and how scores of its roles become one number.

- Options.
- Aggregation of scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import require
from assay.records.research import BUILTIN_CHECK, DIMENSIONS, OWNERS, Checkpoint, Dimension

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.records.judging import RoleResult

# --- Options ---

WEIGHTS: Mapping[Dimension, float] = {
    Dimension.INTENT_ALIGNMENT: 0.50,
    Dimension.QUERY_COVERAGE: 0.35,
    Dimension.SCOPE_APPROPRIATENESS: 0.15,
    Dimension.CONTEXT_RECALL: 0.40,
    Dimension.CONTEXT_PRECISION: 0.35,
    Dimension.SOURCE_QUALITY: 0.25,
    Dimension.FAITHFULNESS: 0.30,
    Dimension.RELEVANCE: 0.25,
    Dimension.FACTUAL_ACCURACY: 0.20,
    Dimension.COMPLETENESS: 0.15,
    Dimension.COHERENCE: 0.10,
}
"""What a dimension weighs at its checkpoint."""
THRESHOLDS: Mapping[Checkpoint, float] = {
    Checkpoint.PLAN: 0.7,
    Checkpoint.RETRIEVAL: 0.5,
    Checkpoint.ANSWER: 0.5,
}
"""The aggregate from which a checkpoint passes."""
BARS: Mapping[Dimension, float] = {
    Dimension.INTENT_ALIGNMENT: 0.7,
    Dimension.QUERY_COVERAGE: 0.6,
    Dimension.SCOPE_APPROPRIATENESS: 0.5,
    Dimension.CONTEXT_RECALL: 0.5,
}
"""Below it a dimension has failed; one without a bar of its own fails below its checkpoint's threshold."""
EVIDENCE_FROM = 0.35
"""The chance that the passages answer the question from which on they count as evidence: a refusal is then one despite
evidence, and an answer below it is one without evidence."""
_ROUNDED = 9
"""Decimals compared: in floating point, 0.8 - 0.5 is greater than 0.3."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelOptions:
    """How a panel weighs and when it is unsure of itself."""

    weights: Mapping[str, float] = field(default_factory=lambda: {key.value: weight for key, weight in WEIGHTS.items()})
    """By dimension, custom ones included."""
    thresholds: Mapping[Checkpoint, float] = field(default_factory=lambda: dict(THRESHOLDS))
    bars: Mapping[str, float] = field(default_factory=lambda: {key.value: bar for key, bar in BARS.items()})
    sure_from: float = 0.6
    """When every role is less confident than this, the panel escalates."""
    most_apart: float = 0.3
    """Scores of one dimension that differ by more are a disagreement."""
    borderline: float = 0.05
    """An aggregate this near to its threshold is one."""
    quorum: float = 0.5
    """The share of the roles present that has to score."""
    reliability: Mapping[str, float] = field(default_factory=dict)
    """What a role's confidence is multiplied by, where it was measured; 1 for the others."""
    evidence_from: float = EVIDENCE_FROM
    """From this chance on, passages count as evidence for an answer."""
    threads: int = 8
    """Roles that evaluate at the same time, over all panels of a process."""

    def __post_init__(self) -> None:
        require(self, values.share, "sure_from", "most_apart", "borderline", "quorum", "evidence_from")
        for name in ("weights", "bars", "reliability", "thresholds"):
            checked = {key: values.share(value, f"{name}.{key}") for key, value in getattr(self, name).items()}
            object.__setattr__(self, name, checked)
        for checkpoint, dimensions in DIMENSIONS.items():
            if not any(self.weights.get(dimension, 0.0) for dimension in dimensions):
                raise BadValue(
                    f"every weight of the {checkpoint} checkpoint is 0", remedy="Give one of its dimensions a weight."
                )

    def bar(self, checkpoint: Checkpoint, dimension: str) -> float:
        """Below it a dimension has failed."""
        return self.bars.get(dimension, self.thresholds[checkpoint])

    def weight(self, dimension: str) -> float:
        """What a dimension weighs; a custom one that names no weight weighs nothing."""
        return self.weights.get(dimension, 0.0)


def below(score: float, bar: float) -> bool:
    """Whether a score is below a bar, as people count."""
    return round(score, _ROUNDED) < round(bar, _ROUNDED)


def within(score: float, other: float, distance: float) -> bool:
    """Whether two numbers are at most so far apart, as people count."""
    return round(abs(score - other), _ROUNDED) <= round(distance, _ROUNDED)


# --- Aggregation of scores ---
#
# aggregate = sum(weight x confidence x score) / sum(weight x confidence). The other roles' scores of a dimension make
# its spread. An owner that gave nothing is stood in for by the others, weighed by their confidence, and the verdict
# says so. An owner with next to no confidence that scores lower than the others does not vanish: its score counts with
# their mean confidence (`quiet`), so that nothing passes because whoever objected was unsure.

QUIET = 0.2
"""An owner that is less confident than this is quiet: by its own confidence alone its score would hardly count."""


class CountedScore(NamedTuple):
    """One dimension as it enters the aggregate."""

    score: float
    confidence: float
    stood_in: bool
    quiet: bool = False
    """The owner had next to no confidence and scored lower than the others, whose confidence counts instead."""


class AggregatedScores(NamedTuple):
    """All dimensions together."""

    value: float | None
    """None: no dimension has a score, or no owner any confidence."""
    counted: Mapping[str, CountedScore]
    spread: Mapping[str, float]
    votes: tuple[int, int]
    not_measured: Mapping[str, str] = {}
    """Why a dimension has no score, by dimension."""

    @property
    def scores(self) -> dict[str, float]:
        """By dimension."""
        return {name: counted.score for name, counted in self.counted.items()}


def aggregate_scores(checkpoint: Checkpoint, results: Sequence[RoleResult], options: PanelOptions) -> AggregatedScores:
    """What the roles that scored come to."""
    scored = [result for result in results if result.scored]
    counted = {}
    for dimension in dimensions_of(checkpoint, scored):
        found = _count_dimension(dimension, scored, options, bar=options.bar(checkpoint, dimension))
        if found is not None:
            counted[dimension] = found
    value = mean_by_weight([(options.weight(name), entry.confidence, entry.score) for name, entry in counted.items()])
    votes = _votes(checkpoint, scored, options)
    return AggregatedScores(value, counted, _spread(counted, scored), votes, _not_measured(counted, scored))


def mean_by_weight(parts: Sequence[tuple[float, float, float]]) -> float | None:
    """Sum of weight x confidence x score over sum of weight x confidence; None when that is nothing."""
    below_line = math.fsum(weight * confidence for weight, confidence, _ in parts)
    if below_line <= 0.0:
        return None
    value = math.fsum(weight * confidence * score for weight, confidence, score in parts) / below_line
    return min(max(value, 0.0), 1.0)


def dimensions_of(checkpoint: Checkpoint, results: Sequence[RoleResult]) -> list[str]:
    """Return the dimensions of the checkpoint, then custom ones that were scored."""
    own = [dimension.value for dimension in DIMENSIONS[checkpoint]]
    return list(dict.fromkeys([*own, *(name for result in results for name in result.scores)]))


def _count_dimension(
    dimension: str, scored: Sequence[RoleResult], options: PanelOptions, *, bar: float
) -> CountedScore | None:
    gave = [
        (result, result.scores[dimension], _confidence(result, options))
        for result in scored
        if dimension in result.scores
    ]
    owner = OWNERS[Dimension(dimension)].value if dimension in OWNERS else None
    own = next((given for given in gave if owner is None or given[0].role in {owner, BUILTIN_CHECK}), None)
    if own is not None:
        result, own_score, confidence = own
        others = [given for given in gave if given[0] is not result]
        elsewhere = mean_by_weight([(1.0, sure, view) for _, view, sure in others])
        if (result.confidence or 0.0) < QUIET and below(own_score, bar if elsewhere is None else elsewhere):
            surer = _mean_confidence([result for result in scored if (result.confidence or 0.0) >= QUIET])
            # Where nobody is surer, the objection still has the little confidence of its own.
            sure = max(surer, result.confidence or 0.0)
            return CountedScore(own_score, sure * options.reliability.get(result.role, 1.0), stood_in=False, quiet=True)
        return CountedScore(own_score, confidence, stood_in=False)
    score = mean_by_weight([(1.0, confidence, score) for _, score, confidence in gave])
    if score is None:
        return None
    return CountedScore(score, math.fsum(confidence for *_, confidence in gave) / len(gave), stood_in=True)


def _mean_confidence(results: Sequence[RoleResult]) -> float:
    return math.fsum(result.confidence or 0.0 for result in results) / len(results) if results else 0.0


def _confidence(result: RoleResult, options: PanelOptions) -> float:
    return (result.confidence or 0.0) * options.reliability.get(result.role, 1.0)


def _spread(counted: Mapping[str, CountedScore], scored: Sequence[RoleResult]) -> dict[str, float]:
    """Return how far apart the roles are on each dimension that several of them scored."""
    found = {}
    for name in counted:
        gave = [result.scores[name] for result in scored if name in result.scores]
        if len(gave) > 1:
            found[name] = max(gave) - min(gave)
    return found


def _not_measured(counted: Mapping[str, CountedScore], scored: Sequence[RoleResult]) -> dict[str, str]:
    """Return why dimensions have no score, by dimension; one that some role could score is measured."""
    reasons: dict[str, str] = {}
    for name, why in (entry for result in scored for entry in result.not_measured.items()):
        if name not in counted:
            reasons.setdefault(name, why)
    return reasons


def _votes(checkpoint: Checkpoint, scored: Sequence[RoleResult], options: PanelOptions) -> tuple[int, int]:
    """How many roles' own views pass, and how many do not."""
    views = [
        mean_by_weight([(options.weight(name), 1.0, score) for name, score in result.scores.items()])
        for result in scored
    ]
    told = [not below(view, options.thresholds[checkpoint]) for view in views if view is not None]
    return sum(told), len(told) - sum(told)
