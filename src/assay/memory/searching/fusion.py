"""Fusion: the channels' lists become one list of passages, each with the votes that make its score.

`convex` adds up weight times scaled score. `rrf` adds up weight / (k + rank), rank from 1 (Cormack, Clarke and
Buettcher, SIGIR 2009). A channel that did not run is left out and its weight goes to nobody: the highest score possible
(`ceiling`) is then lower, so that a shown score, divided by it, still lies in [0, 1].

Order: best first. Passages a channel scores alike are ranked by key. Fused scores that are equal keep the order of the
channels (as `Channel` lists them) and of the ranks in them, which needs no key; so `replay`, which knows only ids,
gives the order that the search gave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, repeat
from operator import attrgetter, itemgetter
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from assay.errors import BadValue
from assay.memory.searching.scales import scaled
from assay.records import Channel, ChannelCandidates, FusionMethod, Vote
from assay.records.searching import in_channel_order


class Ordered(Protocol):
    """A key of passages: a number or an id."""

    def __lt__(self, other: Self, /) -> bool: ...
    def __hash__(self) -> int: ...


Key = TypeVar("Key", bound=Ordered)

_KEY, _FUSED = itemgetter(0), attrgetter("fused")


Ballot = tuple[Channel, int, float, float, float]
"""A vote's channel, rank, score, scaled score and weight. A thousand are cast in a search and a few dozen are shown."""


class FusedPassage(NamedTuple, Generic[Key]):
    """One passage with its fused score."""

    number: Key
    fused: float
    ballots: tuple[Ballot, ...]

    @property
    def votes(self) -> tuple[Vote, ...]:
        """What each channel said of it, in the order of the channels."""
        return tuple(_vote(*ballot) for ballot in self.ballots)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Which channels found it, in their order."""
        return tuple([ballot[0] for ballot in self.ballots])


Passages = Mapping[Key, FusedPassage[Key]]


def fuse(
    lists: Mapping[Channel, Iterable[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> list[FusedPassage[Key]]:
    """All passages of all lists, best first. The order within each list given does not matter."""
    return best_first(joined({}, lists, method, weights, rrf_k))


def joined(
    before: Passages[Key],
    lists: Mapping[Channel, Iterable[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> Passages[Key]:
    """Passages by key, in the order they were first met: those of earlier channels with what further ones say."""
    ranked = {channel: ordered(lists[channel]) for channel in in_channel_order(lists)}
    return _joined(before, ranked, method, weights, rrf_k)


def best_first(passages: Passages[Key]) -> list[FusedPassage[Key]]:
    """By score; stable, so that the order in which they were first met, by channel and rank, parts equals."""
    return sorted(passages.values(), key=_FUSED, reverse=True)


def replay(
    candidates: Sequence[ChannelCandidates],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> list[FusedPassage[str]]:
    """The same from what was logged, best first as `ordered` gave it: what would another method have done?"""
    logged = {Channel(one.channel): list(zip(one.ids, one.scores, strict=True)) for one in candidates}
    ranked = {channel: logged[channel] for channel in in_channel_order(logged)}
    return best_first(_joined({}, ranked, method, weights, rrf_k))


def ordered(found: Iterable[tuple[Key, float]]) -> list[tuple[Key, float]]:
    """A channel's list as fusion ranks it: by score, then by key; a passage found twice counts once, at its best."""
    by_score = sorted(found, key=_best_first)
    best = dict(reversed(by_score))
    return by_score if len(best) == len(by_score) else sorted(best.items(), key=_best_first)


def _best_first(one: tuple[Key, float]) -> tuple[float, Key]:
    return -one[1], one[0]


def ceiling(ran: Iterable[Channel], method: FusionMethod, weights: Mapping[Channel, float], rrf_k: int = 60) -> float:
    """The highest fused score possible when these channels ran, with or without hits."""
    total = math.fsum(_weight(channel, weights) for channel in set(ran))
    return total if method is FusionMethod.CONVEX else total / (rrf_k + 1)


def _joined(
    before: Passages[Key],
    ranked: Mapping[Channel, Sequence[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int,
) -> Passages[Key]:
    ballots: dict[Key, tuple[Ballot, ...]] = {}
    for channel, found in ranked.items():
        for key, ballot in zip(map(_KEY, found), _cast(channel, found, method, weights, rrf_k), strict=True):
            known = ballots.get(key)
            if known is None:
                known = before[key].ballots if key in before else ()
            ballots[key] = (*known, ballot)
    # Hundreds are made in a search, most of one ballot: without a call in Python for each, in half the time.
    new = tuple.__new__
    return {
        **before,
        **{
            key: new(FusedPassage, (key, cast[0][3] * cast[0][4] if len(cast) == 1 else _total(cast), cast))
            for key, cast in ballots.items()
        },
    }


def _cast(
    channel: Channel,
    found: Sequence[tuple[Key, float]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int,
) -> Iterable[Ballot]:
    """A channel's votes, in the order of its list."""
    scores = [score for _, score in found]
    values = _values(channel, scores, method, rrf_k)
    columns = (repeat(channel), count(1), scores, values, repeat(_weight(channel, weights)))
    return zip(*columns, strict=False)


def _values(channel: Channel, scores: Sequence[float], method: FusionMethod, rrf_k: int) -> Sequence[float]:
    if method is FusionMethod.CONVEX:
        return scaled(channel, scores)
    return [1.0 / (rrf_k + rank) for rank in range(1, len(scores) + 1)]


def _total(ballots: Sequence[Ballot]) -> float:
    return math.fsum([weight * value for _, _, _, value, weight in ballots])


def _vote(channel: Channel, rank: int, score: float, value: float, weight: float) -> Vote:
    return Vote(channel=channel, rank=rank, score=score, scaled=value, weight=weight)


def _weight(channel: Channel, weights: Mapping[Channel, float]) -> float:
    try:
        return weights[channel]
    except KeyError as missing:
        raise BadValue(f"there is no weight for channel {channel}", remedy="Give every channel a weight.") from missing
