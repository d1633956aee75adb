"""The weights of many choices for one kind of query, as the engine would have weighed it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.tuning.choices import NEUTRAL, FusionChoice
from assay.memory.searching.options import BASE_WEIGHTS, QUICK_SHARE, WEIGHTS
from assay.records import Channel, Intent

CHANNELS = tuple(Channel)


def weights_of(choices: Sequence[FusionChoice], intent: Intent, asked: Collection[Channel]) -> NDArray[np.float64]:
    """[choice, channel]: what `SearchOptions.weights_for` gives each of them, all at once, over the sum of its base.

    Only the proportion of weights moves an order; on one scale, equal scores can be told from nearly equal ones.
    """
    base = np.array([[one.weights[channel] for channel in CHANNELS] for one in choices])
    base /= base.sum(axis=1, keepdims=True)
    weights = base if intent is NEUTRAL else base * _SHIFTS[intent]
    if Channel.BM25 not in asked:
        words = CHANNELS.index(Channel.FTS5)
        weights = weights.copy()
        weights[:, words] = np.maximum(weights[:, words], QUICK_SHARE * weights[:, CHANNELS.index(Channel.BM25)])
    return weights


_SHIFTS = {
    intent: np.array([WEIGHTS[intent][channel] / BASE_WEIGHTS[channel] for channel in CHANNELS]) for intent in Intent
}
