"""From the lists of the channels to one score for each memory.

- Scores with their scale: a threshold is bound to one scale and refuses the others.
- Fusion: the channels' lists become one list of passages, each with the votes that make its score.
- Aggregation: the passages of a memory become one score (MPAB).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count, islice, repeat
from operator import add, mul
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, Self, TypeVar, cast, overload

from assay.errors import BadValue
from assay.index import FoundPassages
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


class ChannelVotes(NamedTuple, Generic[Key]):
    """One channel's list, ranked and scaled, as columns: a search casts hundreds of votes and looks at dozens."""

    channel: Channel
    keys: list[Key]
    """Best first."""
    scores: list[float]
    values: list[float]
    """Scaled."""
    weight: float
    worth: dict[Key, float]
    """What it adds to the score of each passage: weight times value."""


class FusedPassages(Sequence[FusedPassage[Key]]):
    """The passages of all lists, best first. A passage with its ballots is made when somebody looks at it."""

    __slots__ = ("_places", "_votes", "keys", "totals")

    def __init__(self, votes: Sequence[ChannelVotes[Key]] = (), totals: dict[Key, float] | None = None) -> None:
        """`totals` are the sums of all votes, by key, in the order in which the keys were first met."""
        self._votes = votes
        self._places: list[dict[Key, int]] | None = None
        self.totals: dict[Key, float] = {} if totals is None else totals
        # Stable, so that the order in which they were first met, by channel and rank, parts equals.
        self.keys = sorted(self.totals, key=self.totals.__getitem__, reverse=True)
        """Best first."""

    @classmethod
    def of(cls, passages: Iterable[FusedPassage[Key]]) -> FusedPassages[Key]:
        """Passages that are made already, best first."""
        return _MadePassages(passages)

    def join(self, votes: Sequence[ChannelVotes[Key]]) -> FusedPassages[Key]:
        """Return these with the votes of further channels; keys stay in the order in which they were first met."""
        totals, joined = self.totals, [*self._votes]
        for vote in votes:
            totals = _add_votes(totals, joined, vote)
            joined.append(vote)
        return FusedPassages(joined, totals)

    def find(self, key: Key) -> FusedPassage[Key]:
        """The passage of a key."""
        if self._places is None:
            self._places = [dict(zip(vote.keys, count(), strict=False)) for vote in self._votes]
        ballots = []
        for vote, places in zip(self._votes, self._places, strict=True):
            place = places.get(key)
            if place is not None:
                ballots.append((vote.channel, place + 1, vote.scores[place], vote.values[place], vote.weight))
        # Without the call in Python that a named tuple makes for each.
        made: FusedPassage[Key] = tuple.__new__(FusedPassage, (key, self.totals[key], tuple(ballots)))
        return made

    @overload
    def __getitem__(self, place: int) -> FusedPassage[Key]: ...
    @overload
    def __getitem__(self, place: slice) -> list[FusedPassage[Key]]: ...
    def __getitem__(self, place: int | slice) -> FusedPassage[Key] | list[FusedPassage[Key]]:
        if isinstance(place, slice):
            return list(map(self.find, self.keys[place]))
        return self.find(self.keys[place])

    def __iter__(self) -> Iterator[FusedPassage[Key]]:
        return map(self.find, self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of every list


class _MadePassages(FusedPassages[Key]):
    """Passages that were made elsewhere."""

    __slots__ = ("_made",)

    def __init__(self, passages: Iterable[FusedPassage[Key]]) -> None:
        self._made = {passage.number: passage for passage in passages}
        super().__init__()
        self.keys = list(self._made)
        self.totals = {key: passage.fused for key, passage in self._made.items()}

    def find(self, key: Key) -> FusedPassage[Key]:
        return self._made[key]


def fuse(
    lists: Mapping[Channel, Iterable[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> list[FusedPassage[Key]]:
    """All passages of all lists, best first. The order within each list given does not matter."""
    return list(FusedPassages[Key]().join(cast_votes(lists, method, weights, rrf_k)))


def cast_votes(
    lists: Mapping[Channel, Iterable[tuple[Key, float]]],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> list[ChannelVotes[Key]]:
    """The votes of channels, in the order of the channels. The order within each list given does not matter."""
    return [
        _cast(channel, *_order_columns(lists[channel]), method=method, weights=weights, rrf_k=rrf_k)
        for channel in in_channel_order(lists)
    ]


def replay(
    candidates: Sequence[ChannelCandidates],
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int = 60,
) -> list[FusedPassage[str]]:
    """The same from what was logged, best first as `ordered` gave it: what would another method have done?"""
    logged = {Channel(candidate.channel): candidate for candidate in candidates}
    votes = [
        _cast(channel, list(found.ids), list(found.scores), method=method, weights=weights, rrf_k=rrf_k)
        for channel in in_channel_order(logged)
        for found in [logged[channel]]
    ]
    return list(FusedPassages[str]().join(votes))


def order_channel(found: Iterable[tuple[Key, float]]) -> list[tuple[Key, float]]:
    """Order a channel's list by score, then by key; a passage that was found twice counts once, with its best score."""
    return list(zip(*_order_columns(found), strict=True))


def _order_columns(found: Iterable[tuple[Key, float]]) -> tuple[list[Key], list[float]]:
    """The same as two columns."""
    keys: list[Key]
    if isinstance(found, FoundPassages):
        keys, scores = cast("list[Key]", found.numbers), found.scores
    else:
        pairs = list(found)
        keys, scores = [key for key, _ in pairs], [score for _, score in pairs]
    order = sorted(range(len(keys)), key=scores.__getitem__, reverse=True)
    if len(set(scores)) != len(scores):
        # Only equal scores need their keys. Two stable sorts: a key of both would be a call in Python for each.
        order.sort(key=keys.__getitem__)
        order.sort(key=scores.__getitem__, reverse=True)
    if len(set(keys)) != len(keys):
        # From behind: of two entries of a key, the better one is what is kept of them.
        best: dict[Key, float] = {keys[place]: scores[place] for place in reversed(order)}
        return _order_columns(best.items())
    return list(map(keys.__getitem__, order)), list(map(scores.__getitem__, order))


def ceiling(ran: Iterable[Channel], method: FusionMethod, weights: Mapping[Channel, float], rrf_k: int = 60) -> float:
    """The highest fused score possible when these channels ran, with or without hits."""
    total = math.fsum(_weight(channel, weights) for channel in set(ran))
    return total if method is FusionMethod.CONVEX else total / (rrf_k + 1)


def _cast(
    channel: Channel,
    keys: list[Key],
    scores: list[float],
    *,
    method: FusionMethod,
    weights: Mapping[Channel, float],
    rrf_k: int,
) -> ChannelVotes[Key]:
    weight = _weight(channel, weights)
    values = _values(channel, scores, method, rrf_k)
    return ChannelVotes(
        channel, keys, scores, values, weight, dict(zip(keys, map(mul, values, repeat(weight)), strict=False))
    )


def _add_votes(
    totals: dict[Key, float], earlier: Sequence[ChannelVotes[Key]], vote: ChannelVotes[Key]
) -> dict[Key, float]:
    """Return the sums with those of one more channel."""
    worth = vote.worth
    if not earlier:
        return worth
    # A sum of two is rounded once, as `fsum` rounds it; -0.0 added to a number is that number, whatever its sign.
    fresh = dict(zip(worth, map(add, map(totals.get, worth, repeat(-0.0)), worth.values()), strict=True))
    if len(earlier) > 1:
        for key in worth.keys() & totals.keys():
            parts = [other.worth[key] for other in earlier if key in other.worth]
            if len(parts) > 1:
                fresh[key] = math.fsum([*parts, worth[key]])
    # Keys stay in the order in which they were first met.
    return totals | fresh


def _values(channel: Channel, scores: Sequence[float], method: FusionMethod, rrf_k: int) -> list[float]:
    if method is FusionMethod.CONVEX:
        return scale_scores(channel, scores)
    return [1.0 / (rrf_k + rank) for rank in range(1, len(scores) + 1)]


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


class AggregatedMemory:
    """One memory with its passages, which are made when somebody looks at them: of some thirty, those of ten are."""

    __slots__ = ("_numbers", "_passages", "_ranked", "best_number", "memory", "score")

    def __init__(self, memory: int, score: float, passages: FusedPassages[int], numbers: Sequence[int]) -> None:
        """`numbers` are those of its passages, best first, ties in document order."""
        self.memory = memory
        self.score = score
        """On the scale of the fusion; may exceed its ceiling when several passages add up."""
        self.best_number = numbers[0]
        """The number of its best passage."""
        self._numbers = numbers
        self._passages = passages
        self._ranked: tuple[FusedPassage[int], ...] | None = None

    @classmethod
    def of(cls, memory: int, score: float, ranked: Sequence[FusedPassage[int]]) -> Self:
        """A memory whose passages are made already, best first."""
        return cls(memory, score, FusedPassages.of(ranked), [passage.number for passage in ranked])

    @property
    def ranked(self) -> tuple[FusedPassage[int], ...]:
        """Its passages, best first, ties in document order."""
        if self._ranked is None:
            self._ranked = tuple(map(self._passages.find, self._numbers))
        return self._ranked

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AggregatedMemory):
            return NotImplemented
        return (self.memory, self.score, self.ranked) == (other.memory, other.score, other.ranked)

    __hash__ = None  # type: ignore[assignment]  # nobody looks one up

    def __repr__(self) -> str:
        return f"AggregatedMemory({self.memory}, {self.score}, {self.ranked})"


class AggregatedMemories(Sequence[AggregatedMemory]):
    """Memories, best first. One with its passages is made when somebody looks at it: of hundreds, dozens are."""

    __slots__ = ("_first", "_fused", "_made", "_scores", "_several", "numbers")

    def __init__(
        self,
        fused: FusedPassages[int],
        scores: Mapping[int, float],
        first: Mapping[int, int],
        several: Mapping[int, Sequence[int]],
    ) -> None:
        """`first` has the best passage of each memory, `several` all passages of those with more than one."""
        self._fused = fused
        self._scores = scores
        self._first = first
        self._several = several
        self._made: dict[int, AggregatedMemory] = {}
        # Stable: memories were met in the order of their best passages.
        self.numbers = sorted(scores, key=scores.__getitem__, reverse=True)
        """Of the memories."""

    @property
    def best_passages(self) -> list[int]:
        """The number of the best passage of each."""
        return list(map(self._first.__getitem__, self.numbers))

    def drop_scoreless(self) -> None:
        """Leave those out that score 0: nothing speaks for them, such as a vector that points away."""
        numbers, scores = self.numbers, self._scores
        while numbers and not scores[numbers[-1]] > 0.0:
            numbers.pop()

    @overload
    def __getitem__(self, place: int) -> AggregatedMemory: ...
    @overload
    def __getitem__(self, place: slice) -> list[AggregatedMemory]: ...
    def __getitem__(self, place: int | slice) -> AggregatedMemory | list[AggregatedMemory]:
        if isinstance(place, slice):
            return list(map(self._find, self.numbers[place]))
        return self._find(self.numbers[place])

    def __iter__(self) -> Iterator[AggregatedMemory]:
        return map(self._find, self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of every list

    def _find(self, memory: int) -> AggregatedMemory:
        found = self._made.get(memory)
        if found is None:
            numbers = self._several.get(memory) or (self._first[memory],)
            found = self._made[memory] = AggregatedMemory(memory, self._scores[memory], self._fused, numbers)
        return found


def mpab(scores: Sequence[float], coefficient: float) -> float:
    """The score of a memory whose passages score this."""
    if not scores:
        return 0.0
    place = max(range(len(scores)), key=scores.__getitem__)
    others = [score for at, score in enumerate(scores) if at != place]
    return _join_memory(scores[place], others, coefficient)


def floor_of(fused: Sequence[FusedPassage[int]], memory_of: Mapping[int, int]) -> float:
    """What a further passage has to be above to count."""
    passages = _with_columns(fused)
    counting = filter(memory_of.__contains__, passages.keys)
    last = next(islice(counting, COUNTED, None), None)
    return 0.0 if last is None else passages.totals[last]


def aggregate(
    fused: Sequence[FusedPassage[int]],
    memory_of: Mapping[int, int],
    enabled: bool,
    coefficient: float,
    *,
    floor: float = 0.0,
    position_of: Callable[[int], int] = int,
) -> AggregatedMemories:
    """Memories, best first; equals by their best passage's place in `fused`.

    Passages that `memory_of` does not know were filtered out. Without `position_of`, numbers grow with the document.
    Not `enabled`: a memory scores what its best passage scores.
    """
    passages = _with_columns(fused)
    first: dict[int | None, int] = {}
    several: dict[int | None, list[int]] = {}
    for memory, number in zip(map(memory_of.get, passages.keys), passages.keys, strict=True):
        if memory not in first:
            first[memory] = number
        elif memory in several:
            several[memory].append(number)
        else:
            several[memory] = [first[memory], number]
    first.pop(None, None)
    several.pop(None, None)
    totals, weight = passages.totals, coefficient if enabled else 0.0
    scores = dict(zip(first, map(totals.__getitem__, first.values()), strict=True))
    for memory, numbers in several.items():
        numbers.sort(key=position_of)
        # Stable: ties in document order.
        numbers.sort(key=totals.__getitem__, reverse=True)
        others = [max(totals[number] - floor, 0.0) for number in numbers[1:]]
        scores[memory] = _join_memory(totals[numbers[0]], others, weight)
        # Of passages that score the same, the first in the document is the best one.
        first[memory] = numbers[0]
    return AggregatedMemories(
        passages, cast("dict[int, float]", scores), cast("dict[int, int]", first), cast("dict[int, list[int]]", several)
    )


def _with_columns(fused: Sequence[FusedPassage[int]]) -> FusedPassages[int]:
    return fused if isinstance(fused, FusedPassages) else FusedPassages.of(fused)


def _join_memory(best: float, others: Sequence[float], coefficient: float) -> float:
    return best + coefficient * math.fsum(others) / math.sqrt(len(others) + 1) if others else best
