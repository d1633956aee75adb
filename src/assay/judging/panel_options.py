"""Every number that moves a panel's verdict: weights, bars, thresholds, when to escalate, how many make a quorum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.errors import BadValue
from assay.records import values
from assay.records.checked import require
from assay.records.research import DIMENSIONS, Checkpoint, Dimension

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
_ROUNDED = 9
"""Decimals compared: 0.8 - 0.5 is more than 0.3 to a computer and to nobody else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelOptions:
    """How a panel weighs and when it is unsure of itself."""

    weights: Mapping[str, float] = field(default_factory=lambda: {key.value: one for key, one in WEIGHTS.items()})
    """By dimension, custom ones included."""
    thresholds: Mapping[Checkpoint, float] = field(default_factory=lambda: dict(THRESHOLDS))
    bars: Mapping[str, float] = field(default_factory=lambda: {key.value: one for key, one in BARS.items()})
    sure_from: float = 0.6
    """When every role is less confident than this, a larger model is asked."""
    most_apart: float = 0.3
    """Scores of one dimension that differ by more are a disagreement."""
    borderline: float = 0.05
    """An aggregate this near to its threshold is one."""
    quorum: float = 0.5
    """The share of the roles present that has to score."""
    reliability: Mapping[str, float] = field(default_factory=dict)
    """What a role's confidence is multiplied by, where it was measured; 1 for the others."""
    threads: int = 8
    """Roles that are asked at the same time, over all panels of a process."""

    def __post_init__(self) -> None:
        require(self, values.share, "sure_from", "most_apart", "borderline", "quorum")
        for name in ("weights", "bars", "reliability", "thresholds"):
            checked = {key: values.share(one, f"{name}.{key}") for key, one in getattr(self, name).items()}
            object.__setattr__(self, name, checked)
        for checkpoint, dimensions in DIMENSIONS.items():
            if not any(self.weights.get(one, 0.0) for one in dimensions):
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


def within(one: float, other: float, distance: float) -> bool:
    """Whether two numbers are at most so far apart, as people count."""
    return round(abs(one - other), _ROUNDED) <= round(distance, _ROUNDED)
