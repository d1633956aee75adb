"""The `graph` channel: memories within two edges of the best hits of the other channels.

A memory scores the strength of the path that reaches it, times how good the hit is at which the path begins, compared
with the best hit. Reached by several paths, it scores its best one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from assay.storage import Reached, Work

SEEDS = 5
"""Hits whose neighbours are looked at."""
HOPS = 2
MOST = 50
"""Neighbours of all seeds together; the strongest are kept."""


class Neighbour(NamedTuple):
    """A memory that the graph reached, and how."""

    memory_id: str
    score: float
    strength: float
    hops: int


def search(work: Work, seeds: Mapping[str, float]) -> list[Neighbour]:
    """The neighbours of seeds, best first, ties by id. Each seed has its score, above 0."""
    if not seeds:
        return []
    best_seed = max(seeds.values())
    shares = {seed: score / best_seed for seed, score in seeds.items()}
    best: dict[str, Neighbour] = {}
    for found in _scored(work.edges.around(list(seeds), hops=HOPS, limit=MOST), shares):
        if found.memory_id not in best or found.score > best[found.memory_id].score:
            best[found.memory_id] = found
    return sorted(best.values(), key=lambda one: (-one.score, one.memory_id))


def _scored(reached: Iterable[Reached], shares: Mapping[str, float]) -> Iterable[Neighbour]:
    for one in reached:
        yield Neighbour(one.memory_id, one.strength * shares[one.seed], one.strength, one.hops)
