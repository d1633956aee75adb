"""From the lists of the channels to one score for each memory.

- Scores with their scale: a threshold is bound to one scale and refuses the others.
- Fusion: the channels' lists become one list of passages, each with the votes that make its score.
- Aggregation: the passages of a memory become one score (MPAB).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import count, islice, repeat
from operator import attrgetter, itemgetter, mul
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from assay.errors import BadValue
from assay.records import Channel, ChannelCandidates, FusionMethod, Vote
from assay.records.searching import in_channel_order

# --- Scores with their scale: a threshold is bound to one scale and refuses the others ---
#
# Each channel scores on a scale of its own (`CHANNEL_SCALES`); `scaled` brings a channel's scores to [0, 1] for convex
# fusion. BM25 has no upper end and is divided by the query's best score. A cosine is clipped at 0: texts that point
# apart are not less related than texts that have nothing to do with each other. Precise, trigger and graph scores are
# made in [0, 1] and stay as they are, so that a lone weak match is not taken for a perfect one.


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


def scale_scores(channel: Channel, scores: Sequence[float]) -> list[float]:
    """Scale a channel's scores to [0, 1], in the order given."""
    best = max(scores, default=0.0) if channel is Channel.BM25 else 1.0
    if best <= 0.0:
        return [0.0] * len(scores)
    if channel is not Channel.BM25 and scores and min(scores) >= 0.0 and max(scores) <= 1.0:
        # Most lists lie within already, and dividing by 1 changes nothing.
        return [*map(float, scores)]
    return [0.0 if score < 0.0 else 1.0 if score > best else score / best for score in scores]


def to_result_score(score: float, *, ceiling: float, factor: float = 1.0) -> float:
    """Return a memory's score as callers see it, within [0, 1]. Do not rank by it: the clamp can create ties."""
    return min(max(score / ceiling * factor, 0.0), 1.0)


# --- Fusion: the channels' lists become one list of passages, each with the votes that make its score ---
#
# `convex` adds up weight times scaled score. `rrf` adds up weight / (k + rank), rank from 1 (Cormack, Clarke and
# Buettcher, SIGIR 2009). A channel that did not run is left out and its weight goes to nobody: the highest score
# possible (`ceiling`) is then lower, so that a shown score, divided by it, still lies in [0, 1].
#
# Order: best first. Passages a channel scores alike are ranked by key. Fused scores that are equal keep the order of
# the channels (as `Channel` lists them) and of the ranks in them, which needs no key; so `replay`, which knows only
# ids, gives the order that the search gave.


class Ordered(Protocol):
    """A key of passages: a number or an id."""

    def __lt__(self, other: Self, /) -> bool: ...
    def __hash__(self) -> int: ...


Key = TypeVar("Key", bound=Ordered)

_KEY, _SECOND, _FUSED = itemgetter(0), itemgetter(1), attrgetter("fused")


Ballot = tuple[Channel, int, float, float, float]
"""A vote's channel, rank, score, scaled score and weight. A thousand are cast in a search and a few dozen are shown."""


class FusedPassage(NamedTuple, Generic[Key]):
    """One passage with its fused score."""

    number: Key
    fused: float
    ballots: tuple[Ballot, ...]

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The vote of each channel, in the order of the channels."""
        return tuple(_vote(*ballot) for ballot in self.ballots)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Which channels found it, in their order."""
        return tuple([ballot[0] for ballot in self.ballots])


Passages = Mapping[Key, FusedPassage[Key]]
_new_passage: Callable[[tuple[Any, float, tuple[Ballot, ...]]], Any] = partial(tuple.__new__, FusedPassage)
"""Hundreds are made in a search: without a call in Python for each."""


def fuse(
    lists: Mapping[Channel, Iterable[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> list[FusedPassage[Key]]:
    """All passages of all lists, best first. The order within each list given does not matter."""
    return best_first(join_channels({}, lists, method, weights, rrf_k))


def join_channels(
    before: Passages[Key],
    lists: Mapping[Channel, Iterable[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> Passages[Key]:
    """Add further channels to the fused passages; keys stay in the order in which they first appeared."""
    ranked = {channel: order_channel(lists[channel]) for channel in in_channel_order(lists)}
    return _join_lists(before, ranked, method, weights, rrf_k)


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
    logged = {
        Channel(candidate.channel): list(zip(candidate.ids, candidate.scores, strict=True)) for candidate in candidates
    }
    ranked = {channel: logged[channel] for channel in in_channel_order(logged)}
    return best_first(_join_lists({}, ranked, method, weights, rrf_k))


def order_channel(found: Iterable[tuple[Key, float]]) -> list[tuple[Key, float]]:
    """Order a channel's list by score, then by key; a passage that was found twice counts once, with its best score."""
    by_score = _best_first(found)
    if len(set(map(_KEY, by_score))) == len(by_score):
        return by_score
    return _best_first(dict(reversed(by_score)).items())


def _best_first(found: Iterable[tuple[Key, float]]) -> list[tuple[Key, float]]:
    """By score, then by key: two stable sorts, since a key of both would be a call in Python for each."""
    by_key = sorted(found, key=_KEY)
    by_key.sort(key=_SECOND, reverse=True)
    return by_key


def ceiling(ran: Iterable[Channel], method: FusionMethod, weights: Mapping[Channel, float], rrf_k: int = 60) -> float:
    """The highest fused score possible when these channels ran, with or without hits."""
    total = math.fsum(_weight(channel, weights) for channel in set(ran))
    return total if method is FusionMethod.CONVEX else total / (rrf_k + 1)


def _join_lists(
    before: Passages[Key],
    ranked: Mapping[Channel, Sequence[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int,
) -> Passages[Key]:
    ballots: dict[Key, tuple[Ballot, ...]] = {}
    totals: dict[Key, float] = {}
    for channel, found in ranked.items():
        keys, scores, weight = list(map(_KEY, found)), list(map(_SECOND, found)), _weight(channel, weights)
        values = _values(channel, scores, method, rrf_k)
        # Hundreds of ballots are cast in a search: columns spare a call in Python for each.
        cast: dict[Key, Ballot] = dict(
            zip(keys, zip(repeat(channel), count(1), scores, values, repeat(weight), strict=False), strict=True)
        )
        fresh: dict[Key, tuple[Ballot, ...]] = dict(zip(cast, zip(cast.values(), strict=True), strict=True))
        worth = dict(zip(keys, map(mul, values, repeat(weight)), strict=True))
        # Only what was found before is looked at one by one.
        for key in (cast.keys() & before.keys()) - ballots.keys():
            fresh[key] = (*before[key].ballots, cast[key])
            worth[key] = _total(fresh[key])
        for key in cast.keys() & ballots.keys():
            known = ballots[key]
            fresh[key] = (*known, cast[key])
            # A sum of two is rounded once, as `fsum` rounds it.
            worth[key] = totals[key] + worth[key] if len(known) == 1 else _total(fresh[key])
        # Keys stay in the order in which they were first met.
        ballots |= fresh
        totals |= worth
    fused = map(_new_passage, zip(ballots, totals.values(), ballots.values(), strict=True))
    return {**before, **dict(zip(ballots, fused, strict=True))}


def _values(channel: Channel, scores: Sequence[float], method: FusionMethod, rrf_k: int) -> Sequence[float]:
    if method is FusionMethod.CONVEX:
        return scale_scores(channel, scores)
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


# --- Aggregation: the passages of a memory become one score (MPAB) ---
#
# With N passages: none 0, one its own score, more `best + c * sum(the others) / sqrt(N)`. The best is taken out once,
# by place, so that of two equals the other still counts.
#
# Scores stay high far down a list: by RRF rank 50 is worth more than half of rank 1, and a long memory gathers by the
# dozen what nobody would be shown. So the others count by what they have above the floor: the score of the first
# passage behind the best `COUNTED`. Where there are no more than these, everything counts.

COUNTED = 10
"""How many of the best passages can add to the score of their memory; the next one is the floor."""


class AggregatedMemory(NamedTuple):
    """One memory with its passages."""

    memory: int
    score: float
    """On the scale of the fusion; may exceed its ceiling when several passages add up."""
    ranked: tuple[FusedPassage[int], ...]
    """Its passages, best first, ties in document order."""

    @property
    def best(self) -> FusedPassage[int]:
        """Its best passage."""
        return self.ranked[0]


_new_memory: Callable[[tuple[int, float, tuple[FusedPassage[int], ...]]], AggregatedMemory] = partial(
    tuple.__new__, AggregatedMemory
)


def mpab(scores: Sequence[float], coefficient: float) -> float:
    """The score of a memory whose passages score this."""
    if not scores:
        return 0.0
    place = max(range(len(scores)), key=scores.__getitem__)
    others = [score for at, score in enumerate(scores) if at != place]
    return _join_memory(scores[place], others, coefficient)


def floor_of(fused: Sequence[FusedPassage[int]], memory_of: Mapping[int, int]) -> float:
    """What a further passage has to be above to count."""
    counting = (passage.fused for passage in fused if passage.number in memory_of)
    return next(islice(counting, COUNTED, None), 0.0)


def aggregate(
    fused: Sequence[FusedPassage[int]],
    memory_of: Mapping[int, int],
    enabled: bool,
    coefficient: float,
    *,
    floor: float = 0.0,
    position_of: Callable[[int], int] = int,
) -> list[AggregatedMemory]:
    """Memories, best first; equals by their best passage's place in `fused`.

    Passages that `memory_of` does not know were filtered out. Without `position_of`, numbers grow with the document.
    Not `enabled`: a memory scores what its best passage scores.
    """
    first: dict[int, FusedPassage[int]] = {}
    several: dict[int, list[FusedPassage[int]]] = {}
    for memory, passage in zip(map(memory_of.get, map(_KEY, fused)), fused, strict=True):
        if memory is None:
            continue
        if memory in first:
            several.setdefault(memory, [first[memory]]).append(passage)
        else:
            first[memory] = passage
    weight = coefficient if enabled else 0.0
    # Most memories are found by one passage, and hundreds are made in a search: without a call in Python for each.
    only = first.values()
    found = dict(
        zip(first, map(_new_memory, zip(first, map(_SECOND, only), zip(only, strict=True), strict=True)), strict=True)
    )
    for memory, passages in several.items():
        found[memory] = _aggregate_memory(memory, passages, weight, floor, position_of)
    # Stable: memories were met in the order of their best passages.
    return sorted(found.values(), key=_SECOND, reverse=True)


def _aggregate_memory(
    memory: int,
    passages: Sequence[FusedPassage[int]],
    coefficient: float,
    floor: float,
    position_of: Callable[[int], int],
) -> AggregatedMemory:
    in_document = sorted(passages, key=lambda one: position_of(one.number))
    ranked = sorted(in_document, key=attrgetter("fused"), reverse=True)
    score = _join_memory(ranked[0].fused, [max(passage.fused - floor, 0.0) for passage in ranked[1:]], coefficient)
    return AggregatedMemory(memory, score, tuple(ranked))


def _join_memory(best: float, others: Sequence[float], coefficient: float) -> float:
    return best + coefficient * math.fsum(others) / math.sqrt(len(others) + 1) if others else best
