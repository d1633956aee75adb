"""The candidate stage: every channel is asked, and what all of them offer becomes lists of passages with their rows.

`vector`, `fts5` and `bm25` offer passages. Then `trigger` and `graph` offer memories, the latter from the best hits so
far; each of those votes for its memory's best passage, the one that the others rank highest, or else its first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.memory.searching.channels import bm25, fts, graph, trigger, vector
from assay.memory.searching.channels.ask import Ask, Offer
from assay.memory.searching.channels.graph import Neighbour
from assay.memory.searching.filtering import Passes
from assay.memory.searching.fusion import FusedPassage, Passages, best_first, joined
from assay.memory.searching.guard import Guard
from assay.records import Channel, FusionMethod
from assay.storage import Candidate


class _Fused(NamedTuple):
    """Lists, and what became of them."""

    told: Mapping[Channel, Offer]
    passages: Passages[int]
    ranked: list[FusedPassage[int]]


_NOTHING = _Fused({}, {}, [])
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
        places = [_PLACES[channel] for channel in told.keys() - last.told.keys()]
        if all(
            told.get(channel) == offered and _PLACES[channel] < min(places, default=-1)
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

    def gather(self, channels: Sequence[Channel], *, expanded: bool) -> Candidates:
        """Ask these channels, passages before memories."""
        of_passages: dict[Channel, Callable[[], Offer]] = {
            Channel.VECTOR: lambda: vector.search(self._ask),
            Channel.FTS5: lambda: fts.search(self._ask),
            Channel.BM25: lambda: bm25.search(self._ask, expanded=expanded),
        }
        for channel, search in of_passages.items():
            if channel in channels:
                self._run(channel, search)
        fused = self._fusing(self._found.lists)
        if fused:
            self._fetch(fused)
        if Channel.TRIGGER in channels:
            self._run(Channel.TRIGGER, lambda: self._by_trigger(fused))
        if Channel.GRAPH in channels:
            self._run(Channel.GRAPH, lambda: self._by_graph(fused))
        return self._found

    def _run(self, channel: Channel, search: Callable[[], Offer]) -> None:
        begun = self._elapsed_ms()
        offered = self._guard.run(channel, self._ask.work, search)
        self._found.timings[channel] = self._elapsed_ms() - begun
        if offered is not None:
            self._found.lists[channel] = offered

    def _by_trigger(self, fused: Sequence[FusedPassage[int]]) -> Offer:
        return self._votes(trigger.search(self._ask), fused)

    def _by_graph(self, fused: Sequence[FusedPassage[int]]) -> Offer:
        seeds = self._seeds(fused)
        self._found.neighbours = graph.search(self._ask.work, seeds)[: self._ask.limit]
        return self._votes([(one.memory_id, one.score) for one in self._found.neighbours], fused)

    def _seeds(self, fused: Sequence[FusedPassage[int]]) -> dict[str, float]:
        """The best memories so far with their scores: triggered ones too."""
        best: dict[str, float] = {}
        if self._found.lists.get(Channel.TRIGGER):
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
