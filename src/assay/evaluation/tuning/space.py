"""Which ways to fuse are tried: what is in force first, then weights drawn over their ranges, method by method.

Weights are drawn evenly on the scale of their logarithms, since halving one and doubling it are equally far. What is in
force always stands first, so that choosing among the space can always come to "keep it".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from assay.errors import BadValue
from assay.evaluation.tuning.choices import FusionChoice
from assay.records import Channel, FusionMethod

FOLD = 8.0
"""A weight is tried from an eighth of what it is to eight times that."""
MOST = 200_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """What may be tried."""

    methods: tuple[FusionMethod, ...] = tuple(FusionMethod)
    rrf_ks: tuple[int, ...] = (10, 30, 60, 100)
    coefficients: tuple[float, ...] = ()
    """Empty: as in force."""
    ranges: Mapping[Channel, tuple[float, float]] = field(default_factory=dict)
    """The least and the most of a weight, where it is not around what is in force."""
    count: int = 2_000

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise BadValue(f"{self.count} configurations are not from 1 to {MOST:,}", remedy="Try some thousands.")
        if not self.methods:
            raise BadValue("the space has no method", remedy="Name convex, rrf or both.")
        for channel, (least, most) in self.ranges.items():
            if not 0.0 < least <= most < np.inf:
                raise BadValue(
                    f"the range {least:g} to {most:g} of {channel} cannot be drawn from",
                    remedy="Give two numbers above 0, the lower one first.",
                )


def space_of(incumbent: FusionChoice, space: Space, rng: np.random.Generator) -> list[FusionChoice]:
    """What is in force, then `count` others, each once."""
    ranges = [space.ranges.get(one, _around(incumbent.weights[one])) for one in Channel]
    low, high = np.log(np.array(ranges)).T
    drawn = np.exp(rng.uniform(low, high, size=(space.count, len(Channel))))
    if not space.ranges:
        # Only proportions count; with the sum that is in force, weights can be compared by eye.
        drawn *= sum(incumbent.weights.values()) / drawn.sum(axis=1, keepdims=True)
    coefficients = space.coefficients or (incumbent.coefficient,)
    found: dict[str, FusionChoice] = {}
    for number, weights in enumerate(drawn):
        one = FusionChoice(
            method=space.methods[number % len(space.methods)],
            weights=_readable(weights),
            rrf_k=int(rng.choice(space.rrf_ks)),
            coefficient=float(rng.choice(coefficients)),
        )
        found[repr(one)] = one
    return [incumbent, *(one for one in found.values() if one != incumbent)]


def _around(weight: float) -> tuple[float, float]:
    return weight / FOLD, weight * FOLD


def _readable(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> dict[Channel, float]:
    """Three digits: nobody can tell more apart, and people will read them in a settings file."""
    return {channel: float(f"{weight:.3g}") for channel, weight in zip(Channel, weights.tolist(), strict=True)}
