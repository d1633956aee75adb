"""The quality proxy: one number from 0 to 1 for how a search went. It tells of health, never of relevance.

`0.40 * mean score + 0.25 * top score + 0.20 * saturation + 0.15 * promptness`, where

- saturation is the number of results over 5, at most 1: five results are enough to choose from;
- promptness is 1 up to 50 ms, 0 from 500 ms on, and falls in a straight line between them.

An empty result is a result: its scores and its saturation count as 0, and what is left says how promptly nothing came.
Scores are those shown, so the proxies of two fusion methods or weights are not to be compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

MEAN_SHARE, TOP_SHARE, COUNT_SHARE, LATENCY_SHARE = 0.40, 0.25, 0.20, 0.15
ENOUGH_RESULTS = 5
PROMPT_MS, SLOW_MS = 50.0, 500.0


def quality_proxy(scores: Sequence[float], latency_ms: float) -> float:
    """The proxy of a search that showed these scores, best first, after this time."""
    mean = math.fsum(scores) / len(scores) if scores else 0.0
    top = max(scores, default=0.0)
    parts = (MEAN_SHARE * mean, TOP_SHARE * top, COUNT_SHARE * saturation(len(scores)))
    return math.fsum((*parts, LATENCY_SHARE * promptness(latency_ms)))


def saturation(count: int) -> float:
    """How near the number of results is to enough."""
    return min(count / ENOUGH_RESULTS, 1.0)


def promptness(latency_ms: float) -> float:
    """1 for an answer that nobody waits for, 0 for one that everybody does."""
    return min(max((SLOW_MS - latency_ms) / (SLOW_MS - PROMPT_MS), 0.0), 1.0)
