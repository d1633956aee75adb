"""Metrics that are one test under several names.

With one gold document a query, `precision@5` is `recall@5` divided by 5, and `mrr` is `mrr@10` whenever nothing stands
below place 10. Such metrics are the same hypothesis: counted several times, they would make Holm's correction stricter
without anything more being asked. Two metrics are one test when, over the same queries, the values of one are an
increasing linear function of the other's on both sides (a decreasing one where less is better). Where it is not said
which queries they are over, metrics are never taken for one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.checks import Floats

_DIGITS = 9
"""Decimals in which standardised values must agree; computing a value two ways loses no more."""


class PairedValues(Protocol):
    """What is looked at of the pairs of one metric."""

    @property
    def control(self) -> ArrayLike: ...  # noqa: D102 - as in Pairs
    @property
    def treatment(self) -> ArrayLike: ...  # noqa: D102 - as in Pairs
    @property
    def higher_is_better(self) -> bool: ...  # noqa: D102 - as in Pairs
    @property
    def over(self) -> Hashable: ...  # noqa: D102 - as in Pairs


def first_of_each_test(metrics: Mapping[str, PairedValues]) -> dict[str, str]:
    """Each metric with the first metric that is the same test; one that is no other's has its own name."""
    firsts: dict[Hashable, str] = {}
    return {
        name: name if pairs.over is None else firsts.setdefault(_standardise(pairs), name)
        for name, pairs in metrics.items()
    }


def _standardise(pairs: PairedValues) -> Hashable:
    """Which queries, and the values of both sides moved and scaled so that linear functions of each other are equal."""
    values: Floats = np.concatenate([np.asarray(pairs.control, dtype=float), np.asarray(pairs.treatment, dtype=float)])
    if not len(values):
        return pairs.over, b""
    oriented = values if pairs.higher_is_better else -values
    moved = oriented - oriented.min()
    spread = float(moved.max())
    scaled = moved / spread if spread > 0 else moved
    # Adding 0.0 turns -0.0 into 0.0: their bytes differ.
    return pairs.over, (np.round(scaled, _DIGITS) + 0.0).tobytes()
