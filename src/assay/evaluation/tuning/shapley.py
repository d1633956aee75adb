"""What each channel is worth: its Shapley value, over all sets of channels, exactly.

The worth of a set is the metric with only its channels asked, weighed as in force; of no channel it is 0. A channel's
value is what it adds to a set, averaged over all orders in which channels could join. The values add up to the metric
with all channels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from assay.evaluation.tuning.choices import FusionChoice
from assay.evaluation.tuning.replaying import Replay
from assay.records import Channel

Player = TypeVar("Player")


class ChannelValue(NamedTuple):
    """One channel."""

    channel: Channel
    value: float
    """Its share of the metric."""
    alone: float
    """The metric with this channel only."""
    without: float
    """The metric with all the others."""


def channel_values(replay: Replay, choice: FusionChoice) -> list[ChannelValue]:
    """Every channel, the most valuable first."""
    worths: dict[frozenset[Channel], float] = {frozenset(): 0.0}
    for size in range(1, len(Channel) + 1):
        for some in combinations(Channel, size):
            worths[frozenset(some)] = float(replay.measure([choice], channels=some).mean())
    everybody = frozenset(Channel)
    values = shapley(tuple(Channel), lambda some: worths[frozenset(some)])
    found = [
        ChannelValue(one, value, worths[frozenset({one})], worths[everybody - {one}]) for one, value in values.items()
    ]
    return sorted(found, key=lambda one: one.value, reverse=True)


def shapley(players: Sequence[Player], worth: Callable[[Collection[Player]], float]) -> Mapping[Player, float]:
    """The Shapley value of each player; `worth` is asked for every set of them."""
    count = len(players)
    found: dict[Player, float] = {}
    for player in players:
        others = [one for one in players if one != player]
        added = []
        for size in range(count):
            share = 1.0 / (count * math.comb(count - 1, size))
            added += [share * (worth((*some, player)) - worth(some)) for some in combinations(others, size)]
        found[player] = math.fsum(added)
    return found
