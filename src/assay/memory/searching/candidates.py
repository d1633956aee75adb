"""The candidate stage: every channel is asked, and what all of them offer becomes lists of passages with their rows.

`vector`, `fts5` and `bm25` offer passages. Then `trigger` and `graph` offer memories, the latter from the best hits so
far; each of those votes for its memory's best passage, the one that the others rank highest, or else its first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from assay.memory.searching.channels import graph
from assay.memory.searching.channels.ask import Ask, Offer
from assay.memory.searching.channels.graph import Neighbour
from assay.memory.searching.channels.registering import CHANNELS
from assay.memory.searching.filtering import Passes
from assay.memory.searching.fusion import FusedPassage, Passages, best_first, joined
from assay.memory.searching.guard import Guard
from assay.records import Channel, FusionMethod
from assay.records.searching import in_channel_order
from assay.storage import Candidate


class _Fused(NamedTuple):
    """Lists, and what became of them."""

    told: Mapping[Channel, Offer]
    passages: Passages[int]
    ranked: list[FusedPassage[int]]


_NOTHING = _Fused({}, {}, [])
OF_PASSAGES = frozenset({Channel.VECTOR, Channel.FTS5, Channel.BM25})
"""The channels that are fused before memories are asked for."""
_PLACES = {channel: place for place, channel in enumerate(Channel)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fusing:
    """How lists are fused."""

    method: FusionMethod
    weights: Mapping[Channel, float]
    rrf_k: int
    _last: list[_Fused] = field(default_factory=list, init=False, repr=False, compare=False)

    def __call__(self, lists: Mapping[Channel, Offer]) -> list[FusedPassage[int]]:
        """The passages of all lists, best first. The same lists are not fused twice, nor is an empty one told apart."""
        told = {channel: offered for channel, offered in lists.items() if offered}
        if not self._last or self._last[0].told != told:
            before = self._before(told)
            further = {channel: told[channel] for channel in told.keys() - before.told.keys()}
            passages = joined(before.passages, further, self.method, self.weights, self.rrf_k)
            self._last[:] = [_Fused(told, passages, best_first(passages))]
        return self._last[0].ranked

    def _before(self, told: Mapping[Channel, Offer]) -> _Fused:
        """What was fused last, when all that came since are channels behind those: the graph after the passages."""
        last = self._last[0] if self._last else _NOTHING
        places = [_PLACES.get(channel, len(_PLACES)) for channel in told.keys() - last.told.keys()]
        if all(
            told.get(channel) == offered and _PLACES.get(channel, len(_PLACES)) < min(places, default=-1)
            for channel, offered in last.told.items()
        ):
            return last
        return _NOTHING


@dataclass(kw_only=True, slots=True)
class Candidates:
    """What the channels offered. A channel that did not run, or failed, has no list."""

    lists: dict[Channel, Offer] = field(default_factory=dict)
    rows: dict[int, Candidate] = field(default_factory=dict)
    """By passage."""
    passing: dict[int, Candidate] = field(default_factory=dict)
    """Those of them that pass the filters."""
    neighbours: list[Neighbour] = field(default_factory=list)
    """What the graph reached from the best hits."""
    timings: dict[Channel, float] = field(default_factory=dict)


class Gathering:
    """Asks the channels of one search."""

    def __init__(
        self, ask: Ask, *, fusing: Fusing, guard: Guard, passes: Passes, elapsed_ms: Callable[[], float]
    ) -> None:
        self._ask = ask
        self._fusing = fusing
        self._guard = guard
        self._passes = passes
        self._elapsed_ms = elapsed_ms
        self._found = Candidates()

    def gather(self, channels: Sequence[Channel]) -> Candidates:
        """Ask these channels, passages before memories."""
        asked = [entry for channel in in_channel_order(channels) if (entry := CHANNELS.find(channel.value)) is not None]
        for entry in asked:
            if entry.of_passages is not None:
                self._run(entry.channel, partial(entry.of_passages, self._ask))
        fused = self._fusing(self._found.lists)
        if fused:
            self._fetch(fused)
        # The graph starts from what all the others found, so it comes last.
        for entry in sorted(asked, key=lambda entry: entry.channel is Channel.GRAPH):
            if entry.of_memories is not None:
                asking = replace(self._ask, neighbours=partial(self._reach, fused))
                self._run(entry.channel, partial(self._vote, entry.of_memories, asking, fused))
        return self._found

    def _vote(
        self, find: Callable[[Ask], Sequence[tuple[str, float]]], ask: Ask, fused: Sequence[FusedPassage[int]]
    ) -> Offer:
        return self._votes(find(ask), fused)

    def _reach(self, fused: Sequence[FusedPassage[int]]) -> list[tuple[str, float]]:
        """Follow the graph from the best hits so far, and remember what it reached."""
        self._found.neighbours = graph.search(self._ask.work, self._seeds(fused))[: self._ask.limit]
        return [(neighbour.memory_id, neighbour.score) for neighbour in self._found.neighbours]

    def _run(self, channel: Channel, search: Callable[[], Offer]) -> None:
        begun = self._elapsed_ms()
        offered = self._guard.run(channel, self._ask.work, search)
        self._found.timings[channel] = self._elapsed_ms() - begun
        if offered is not None:
            self._found.lists[channel] = offered

    def _seeds(self, fused: Sequence[FusedPassage[int]]) -> dict[str, float]:
        """The best memories so far with their scores: triggered ones too."""
        best: dict[str, float] = {}
        if any(self._found.lists.get(channel) for channel in self._found.lists.keys() - OF_PASSAGES):
            fused = self._fusing(self._found.lists)
        for passage in fused:
            row = self._found.passing.get(passage.number)
            if row is not None and passage.fused > 0.0:
                best.setdefault(row.memory_id, passage.fused)
            if len(best) == graph.SEEDS:
                break
        return best

    def _votes(self, memories: Sequence[tuple[str, float]], fused: Sequence[FusedPassage[int]]) -> Offer:
        """Memories' votes, each given to the memory's best passage; a memory without passages has none to give."""
        if not memories:
            return []
        wanted = {memory for memory, _ in memories}
        best: dict[str, int] = {}
        for passage in fused:
            row = self._found.passing.get(passage.number)
            if row is not None and row.memory_id in wanted:
                best.setdefault(row.memory_id, passage.number)
        if others := wanted - best.keys():
            firsts = self._ask.work.passages.first_candidates(others)
            best |= {row.memory_id: row.number for row in firsts}
            self._take({row.number: row for row in firsts})
        return [(best[memory], score) for memory, score in memories if memory in best]

    def _fetch(self, fused: Sequence[FusedPassage[int]]) -> None:
        """The rows of these passages, in one query."""
        numbers, view = [passage.number for passage in fused], self._ask.view
        if view is not None:
            self._take(view.rows(numbers))
        else:
            self._take({row.number: row for row in self._ask.work.passages.candidates(numbers)})

    def _take(self, rows: Mapping[int, Candidate]) -> None:
        passes = self._passes
        self._found.rows |= rows
        self._found.passing |= {number: row for number, row in rows.items() if passes(row)}
