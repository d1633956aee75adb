"""Scores that know their scale. A threshold is bound to one scale and refuses every other.

Each channel scores on a scale of its own (`CHANNEL_SCALES`); `scaled` brings a channel's scores to [0, 1] for convex
fusion. BM25 has no upper end and is divided by the query's best score. A cosine is clipped at 0: texts that point apart
are not less related than texts that have nothing to do with each other. Precise, trigger and graph scores are made in
[0, 1] and stay as they are, so that a lone weak match is not taken for a perfect one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from assay.errors import BadValue
from assay.records import Channel, FusionMethod


class Scale(StrEnum):
    """What a number is measured in."""

    BM25 = "bm25"
    COSINE = "cosine"
    PRECISE = "precise"
    TRIGGER = "trigger"
    GRAPH = "graph"
    CONVEX = "convex"
    RRF = "rrf"
    SHOWN = "shown"
    """What a caller sees, 0 to 1."""


CHANNEL_SCALES: Mapping[Channel, Scale] = MappingProxyType(
    {
        Channel.VECTOR: Scale.COSINE,
        Channel.FTS5: Scale.PRECISE,
        Channel.BM25: Scale.BM25,
        Channel.GRAPH: Scale.GRAPH,
        Channel.TRIGGER: Scale.TRIGGER,
    }
)
FUSION_SCALES: Mapping[FusionMethod, Scale] = MappingProxyType(
    {FusionMethod.CONVEX: Scale.CONVEX, FusionMethod.RRF: Scale.RRF}
)


class Score(NamedTuple):
    """A number with its scale."""

    scale: Scale
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """The least score that passes, on one scale."""

    scale: Scale
    value: float

    def passes(self, score: Score) -> bool:
        """Whether a score reaches it; a score of another scale is refused."""
        if score.scale is not self.scale:
            raise BadValue(
                f"a threshold on the scale {self.scale} cannot be applied to a score on the scale {score.scale}",
                remedy=f"Give a score on the scale {self.scale}, or a threshold made for {score.scale}.",
            )
        return score.value >= self.value


def scaled(channel: Channel, scores: Sequence[float]) -> list[float]:
    """A channel's scores in [0, 1], in the order given."""
    best = max(scores, default=0.0) if channel is Channel.BM25 else 1.0
    if best <= 0.0:
        return [0.0] * len(scores)
    return [0.0 if score < 0.0 else 1.0 if score > best else score / best for score in scores]


def shown(score: float, *, ceiling: float, factor: float = 1.0) -> float:
    """A memory's score as a caller sees it. Rank by what stood before the clamp: it can make equals of the first."""
    return min(max(score / ceiling * factor, 0.0), 1.0)
