"""The first stages of a search: where to look, the query's vector, and what the channels find.

- Folder choice: where to look, from a cheap lexical probe and from the words in folder names.
- The caller's filters, applied to rows.
- The folder-choice stage: which passages a search may return.
- The query's vector, made before the store is read and timed separately.
- The candidate stage: call every channel and load the rows of the passages they find.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from assay.embedding.protocol import Embedder
from assay.errors import AssayError
from assay.index import AllowedPassages, Rows, SearchView, join_found, numbers_of
from assay.memory.searching import channels as graph
from assay.memory.searching.channels import (
    CHANNELS,
    Ask,
    GraphNeighbour,
    Offer,
    QueryVector,
    add_weights,
    compare_found,
    find_expansion_stems,
    score_found,
    search_full_text,
    search_stems,
)
from assay.memory.searching.fusion import FusedPassages, cast_votes
from assay.memory.searching.query import ParsedQuery
from assay.memory.searching.trace import Failures, Guard, Stopwatch
from assay.records import Channel, Filters, FolderMode, FusionMethod, SearchRequest
from assay.records.searching import in_channel_order
from assay.storage import Candidate, FolderCount, Work
from assay.text.terms import stems

# --- Folder choice: where to look, from a cheap lexical probe and from the words in folder names ---
#
# A folder's evidence is its share of the probe's weight, raised when its name says what the query says. Folders are
# taken best first until they hold most of the evidence. The pick is None, and the whole store is searched, when the
# evidence is too flat: it takes more than three folders, or the folders taken hold most of the memories anyway.

ENOUGH_EVIDENCE = 0.8
"""The share of all evidence that the chosen folders hold; what is left is the risk of a scope miss."""
MOST_FOLDERS = 3
MOST_MEMORIES = 0.6
"""The share of all memories from which on narrowing is not worth its risk."""
NAME_WORTH = 0.5
"""What a folder named throughout by the query's words is worth, as a share of the whole probe."""


class FolderEvidence(NamedTuple):
    """What a probe found in one folder."""

    folder: str
    size: int
    """Memories in it."""
    hits_weight: float
    """The sum of the probe's scores of passages in it."""


class FolderPick(NamedTuple):
    """Folders to search and folders left out; best first and by name."""

    chosen: tuple[str, ...]
    excluded: tuple[str, ...]


def choose_folders(parsed: ParsedQuery, folder_scores: Sequence[FolderEvidence]) -> FolderPick | None:
    """The folders to search, or None when the evidence does not single any out."""
    worth = _worth(parsed, folder_scores)
    ranked = sorted((score for score in folder_scores if worth[score.folder] > 0.0), key=lambda one: _by(worth, one))
    needed = ENOUGH_EVIDENCE * math.fsum(worth.values())
    chosen: list[FolderEvidence] = []
    # A hair of tolerance: 0.8 of a sum of tenths is not exactly eight of them.
    while ranked and math.fsum(worth[score.folder] for score in chosen) < needed - 1e-12:
        chosen.append(ranked.pop(0))
    if not chosen or len(chosen) > MOST_FOLDERS or _share_of_memories(chosen, folder_scores) > MOST_MEMORIES:
        return None
    names = tuple(score.folder for score in chosen)
    return FolderPick(names, tuple(sorted(score.folder for score in folder_scores if score.folder not in names)))


def _worth(parsed: ParsedQuery, folder_scores: Sequence[FolderEvidence]) -> dict[str, float]:
    total = math.fsum(score.hits_weight for score in folder_scores) or 1.0
    return {
        score.folder: score.hits_weight / total + NAME_WORTH * _share_of_name(parsed, score.folder)
        for score in folder_scores
    }


def _share_of_name(parsed: ParsedQuery, folder: str) -> float:
    """The share of a folder's words that the query holds."""
    words = set(stems(folder))
    return len(words & parsed.stems.keys()) / len(words) if words else 0.0


def _by(worth: dict[str, float], one: FolderEvidence) -> tuple[float, str]:
    return -worth[one.folder], one.folder


def _share_of_memories(chosen: Sequence[FolderEvidence], every: Sequence[FolderEvidence]) -> float:
    total = sum(folder.size for folder in every)
    return sum(folder.size for folder in chosen) / total if total else 1.0


# --- The caller's filters, applied to rows ---
#
# Indexes apply them early, to spare work; here they decide. A passage that fails one is gone, whichever channel found
# it.

Passes = Callable[[Candidate], bool]


def passes(filters: Filters, folders: Sequence[str] | None = None, tagged: Collection[int] | None = None) -> Passes:
    """The test that a row has to pass.

    `folders`, when given, are those the search was narrowed to; `tagged`, the numbers of the memories that have the
    tags and types asked for.
    """
    tests = [*_of_time(filters), *_of_kind(filters, tagged), *_of_place(filters, folders)]
    if len(tests) == 1:
        return tests[0]
    return lambda row: all(test(row) for test in tests)


def below(folder: str, top: str) -> bool:
    """Whether a folder is another one or lies in it, by whole names of the path."""
    wanted = top.strip("/")
    return folder.strip("/") == wanted or folder.lstrip("/").startswith(f"{wanted}/")


def keep_passing(lists: Mapping[Channel, Offer], good: Container[int]) -> dict[Channel, Offer]:
    """Return the lists with only the passages that passed; a channel with none left keeps an empty list.

    A list of which all passed is returned itself: most searches filter nothing out, and fusion knows it again.
    """
    passed = good.__contains__
    return {
        channel: offered if all(map(passed, numbers_of(offered))) else [entry for entry in offered if entry[0] in good]
        for channel, offered in lists.items()
    }


def _of_time(filters: Filters) -> Iterable[Passes]:
    as_of, since, until = (
        None if at is None else at.timestamp() for at in (filters.as_of, filters.since, filters.until)
    )
    if as_of is not None:
        yield lambda row: row.memory.valid_from <= as_of
        if not filters.include_superseded:
            yield lambda row: row.memory.superseded_at is None or row.memory.superseded_at > as_of
    elif not filters.include_superseded:
        yield lambda row: row.memory.superseded_at is None
    if since is not None:
        yield lambda row: row.memory.valid_from >= since
    if until is not None:
        yield lambda row: row.memory.valid_from < until


def _of_kind(filters: Filters, tagged: Collection[int] | None) -> Iterable[Passes]:
    tiers = frozenset(map(str, filters.tiers))
    if tiers:
        yield lambda row: row.memory.tier in tiers
    if tagged is not None:
        yield lambda row: row.memory.number in tagged


def _of_place(filters: Filters, folders: Sequence[str] | None) -> Iterable[Passes]:
    top = filters.folder
    if top is not None:
        yield lambda row: below(row.memory.folder, top)
    if folders is not None:
        yield lambda row: row.memory.folder in folders


# --- The folder-choice stage: which passages a search may return ---
#
# The caller's filters hold always. With `folder_mode` on, a cheap look at the lexical index says in which folders the
# query's words stand, and the search is narrowed to them; which were left out is kept, so that a miss can be measured.

PROBE = 100
"""Passages looked at to choose folders."""
_CURRENT = Filters()
"""What a caller who names no filter gets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """What a search may look at."""

    filters: Filters
    allowed: AllowedPassages | None = None
    """The same for the index; None: everything, or there is no index."""
    chosen: tuple[str, ...] | None = None
    """The folders the search was narrowed to; None: it was not."""
    excluded: tuple[str, ...] = ()
    folders_known: int = 0
    tagged: frozenset[int] | None = None
    """The numbers of the memories that have the tags and types asked for; None: none were."""

    @property
    def passes(self) -> Passes:
        """The test of a row."""
        return passes(self.filters, self.chosen, self.tagged)

    def keep_passing(self, rows: Rows) -> Rows:
        """Those of some rows that pass."""
        # Most searches ask for what is current and nothing else, which needs no row.
        if self.chosen is None and self.filters == _CURRENT:
            return rows.keep_current()
        return rows.keep(self.passes)

    @property
    def folders_searched(self) -> int:
        """How many folders are looked at."""
        return self.folders_known if self.chosen is None else len(self.chosen)


class Scoping:
    """Finds out what a search may look at."""

    def __init__(self, work: Work, view: SearchView | None, parsed: ParsedQuery, guard: Guard) -> None:
        self._work = work
        self._view = view
        self._parsed = parsed
        self._guard = guard

    def widest(self, filters: Filters) -> Reach:
        """All that the filters allow."""
        tagged = self._find_tagged(filters)
        return Reach(
            filters=filters,
            allowed=self._build_index_filter(filters, tagged),
            tagged=None if tagged is None else frozenset(tagged),
        )

    def reach(self, request: SearchRequest) -> Reach:
        """Return what the request may search, narrowed if the request sets filters."""
        widest = self.widest(request.filters)
        if request.filters.folder is None and request.folder_mode is FolderMode.OFF:
            return widest
        folders = self._work.passages.folders()
        if request.filters.folder is not None:
            self._check_folder(request.filters.folder, folders)
        widest = replace(widest, folders_known=len(folders))
        if request.folder_mode is FolderMode.OFF:
            return widest
        pick = self._guard.run("folder choice", self._work, lambda: self._pick(widest, folders))
        return widest if pick is None else self._narrow(widest, pick)

    def _check_folder(self, wanted: str, folders: Sequence[FolderCount]) -> None:
        names = [folder.folder for folder in folders]
        if any(below(name, wanted) for name in names):
            return
        near = difflib.get_close_matches(wanted, [name for name in names if name], n=3, cutoff=0.5)
        hint = f"near names: {', '.join(near)}" if near else "`assay index status` lists them"
        self._guard.note(f"There is no folder {wanted!r} with a current memory, so nothing can be found; {hint}.")

    def _pick(self, widest: Reach, folders: Sequence[FolderCount]) -> FolderPick | None:
        if self._view is None:
            return None
        asked = {stem: float(times) for stem, times in self._parsed.stems.items()}
        probe = {hit.number: hit.score for hit in self._view.lexical(asked, limit=PROBE, allowed=widest.allowed)}
        weights = {folder.folder: 0.0 for folder in folders}
        for row in self._view.rows(probe).values():
            weights[row.memory.folder] = weights.get(row.memory.folder, 0.0) + probe[row.number]
        within = widest.filters.folder
        evidence = [
            FolderEvidence(folder.folder, folder.memories, weights[folder.folder])
            for folder in folders
            if within is None or below(folder.folder, within)
        ]
        return choose_folders(self._parsed, evidence)

    def _narrow(self, widest: Reach, pick: FolderPick) -> Reach:
        return replace(
            widest,
            allowed=self._build_index_filter(widest.filters, widest.tagged, pick.chosen),
            chosen=pick.chosen,
            excluded=pick.excluded,
        )

    def _find_tagged(self, filters: Filters) -> list[int] | None:
        """The numbers of the memories with the tags and types asked for, which only the database can find."""
        if not filters.tags and filters.entity_type is None and filters.context_type is None:
            return None
        return self._work.passages.numbers_where(
            tags=filters.tags, entity_type=filters.entity_type, context_type=filters.context_type
        )

    def _build_index_filter(
        self, filters: Filters, tagged: Collection[int] | None, chosen: Sequence[str] | None = None
    ) -> AllowedPassages | None:
        """Return the filters for the index."""
        view = self._view
        if view is None:
            return None
        numbers = None if tagged is None else sorted(tagged)
        if chosen is None:
            return view.find_allowed(filters, numbers)
        # The root folder has no name of its own to filter by.
        parts = [view.find_allowed(replace(filters, folder=folder or "/"), numbers) for folder in chosen]
        return view.join_allowed(parts)


# --- The query's vector, made before the store is read and timed separately ---
#
# Nothing is embedded when no vector channel is to run, so that such a search never loads a model.

CHARACTERS_PER_TOKEN = 16
"""Far more than any tokenizer needs: of a longer query, the embedder would read no further anyway."""


class Embedded(NamedTuple):
    """The vector, or why there is none."""

    vector: QueryVector | None
    problem: str | None
    duration_ms: float

    def lean_towards(self, other: Embedded, weight: float) -> Embedded:
        """Return this vector moved towards another one, which counts as much as the weight says beside it."""
        duration_ms = self.duration_ms + other.duration_ms
        if self.vector is None or other.vector is None:
            return self._replace(duration_ms=duration_ms)
        mixed = self.vector.values + np.float32(weight) * other.vector.values
        length = np.linalg.norm(mixed)
        # Two vectors that point away from each other may leave nothing.
        values = mixed / length if length > 0.0 else self.vector.values
        return self._replace(vector=self.vector._replace(values=values), duration_ms=duration_ms)


def embed_query(embedder: Embedder | None, query: str, *, stopwatch: Stopwatch, failures: Failures) -> Embedded:
    """Embed a query; an embedder that fails costs the search its vector channel and nothing else."""
    if embedder is None:
        return Embedded(None, "no embedder is configured. Set `embedder.kind`, or name other channels.", 0.0)
    begun = stopwatch()
    try:
        readable = query[: embedder.token_limit * CHARACTERS_PER_TOKEN]
        vector = QueryVector(embedder.model, embedder.embed([readable])[0])
    except AssayError as problem:
        failures.count("embedder", problem)
        return Embedded(None, str(problem), (stopwatch() - begun) * 1000.0)
    except Exception as problem:  # noqa: BLE001 - an embedder is somebody else's code; see the docstring
        failures.count("embedder", problem)
        return Embedded(None, f"{type(problem).__name__}: {problem}", (stopwatch() - begun) * 1000.0)
    return Embedded(vector, None, (stopwatch() - begun) * 1000.0)


# --- The candidate stage: call every channel and load the rows of the passages they find ---
#
# `vector`, `fts5` and `bm25` offer passages. Then `trigger` and `graph` offer memories, the latter from the best hits
# so far; each of those votes for its memory's best passage, the one that the others rank highest, or else its first.


class _Fused(NamedTuple):
    """Lists, and what became of them."""

    told: Mapping[Channel, Offer]
    passages: FusedPassages[int]


_NOTHING = _Fused({}, FusedPassages())
OF_PASSAGES = frozenset({Channel.VECTOR, Channel.FTS5, Channel.BM25})
"""The channels that are fused before memories are loaded."""
_PLACES = {channel: place for place, channel in enumerate(Channel)}


def _is_graph(entry: tuple[Channel, object]) -> bool:
    return entry[0] is Channel.GRAPH


@dataclass(frozen=True, kw_only=True, slots=True)
class Fusing:
    """How lists are fused."""

    method: FusionMethod
    weights: Mapping[Channel, float]
    rrf_k: int
    _last: list[_Fused] = field(default_factory=list, init=False, repr=False, compare=False)

    def __call__(self, lists: Mapping[Channel, Offer]) -> FusedPassages[int]:
        """Return the passages of all lists, best first. Equal lists are fused once; empty lists make no difference."""
        told = {channel: offered for channel, offered in lists.items() if offered}
        if not self._last or self._last[0].told != told:
            before = self._before(told)
            further = {channel: told[channel] for channel in told.keys() - before.told.keys()}
            votes = cast_votes(further, self.method, self.weights, self.rrf_k)
            self._last[:] = [_Fused(told, before.passages.join(votes))]
        return self._last[0].passages

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
    rows: Rows = field(default_factory=Rows)
    passing: Rows = field(init=False)
    """Those of them that pass the filters; `rows` itself when all do."""
    neighbours: list[GraphNeighbour] = field(default_factory=list)
    """What the graph reached from the best hits."""
    timings: dict[Channel, float] = field(default_factory=dict)
    added_stems: Mapping[str, float] = field(default_factory=dict)
    """What expansion added to the query."""
    compared: dict[Channel, set[int]] = field(default_factory=dict)
    """Passages that other channels found, by the channel in whose list they stand although it did not find them:
    `vector` with their cosines, `bm25` with their scores."""

    def __post_init__(self) -> None:
        self.passing = self.rows


class Gathering:
    """Runs the channels of one search."""

    def __init__(
        self,
        ask: Ask,
        *,
        fusing: Fusing,
        guard: Guard,
        reach: Reach,
        elapsed_ms: Callable[[], float],
        expand: bool = False,
    ) -> None:
        """`expand` says whether words of the first results may join the query."""
        self._ask = ask
        self._expanded_ask = ask
        """With the words that expansion added, once it has."""
        self._expand = expand
        self._fusing = fusing
        self._guard = guard
        self._reach_of = reach
        self._elapsed_ms = elapsed_ms
        self._found = Candidates()

    def gather(self, channels: Sequence[Channel], *, full_text_stands_in: bool = False) -> Candidates:
        """Ask these channels, passages before memories; `full_text_stands_in`: ask `fts5` too if `bm25` fails."""
        known = CHANNELS.all()
        asked = [known[channel.value].entry for channel in in_channel_order(channels) if channel.value in known]
        for entry in asked:
            if entry.of_passages is not None:
                self._run(entry.channel, partial(entry.of_passages, self._ask))
        if full_text_stands_in and Channel.BM25 not in self._found.lists:
            self._run(Channel.FTS5, partial(search_full_text, self._ask))
        fused = self._fuse_and_fetch()
        if self._expand and Channel.BM25 in self._found.lists and self._expand_query(fused):
            fused = self._fuse_and_fetch()
        # The graph starts from what all the others found, so it comes last.
        of_memories = [(entry.channel, entry.of_memories) for entry in asked if entry.of_memories is not None]
        asking = replace(self._ask, neighbours=partial(self._reach, fused)) if of_memories else self._ask
        for channel, find in sorted(of_memories, key=_is_graph):
            self._run(channel, partial(self._vote, find, asking, fused))
        return self._found

    def _fuse_and_fetch(self) -> FusedPassages[int]:
        self._compare_found()
        fused = self._fusing(self._found.lists)
        if fused:
            self._fetch(fused.keys)
        return fused

    def _compare_found(self) -> None:
        """Give every passage its cosine and its BM25, whoever found it. Fusion by ranks has no use for either."""
        lists = self._found.lists
        if self._fusing.method is not FusionMethod.CONVEX or not self._ask.options.compare_found:
            return
        found = set(chain.from_iterable(map(numbers_of, lists.values())))
        for channel, compare in ((Channel.VECTOR, compare_found), (Channel.BM25, score_found)):
            if (listed := lists.get(channel)) is not None:
                self._join_compared(channel, listed, partial(compare, self._expanded_ask, listed, found))

    def _join_compared(self, channel: Channel, listed: Offer, compare: Callable[[], Offer]) -> None:
        begun = self._elapsed_ms()
        compared = self._guard.run(f"comparing for {channel}", self._ask.work, compare)
        if compared:
            self._found.lists[channel] = join_found(listed, compared)
            self._found.compared.setdefault(channel, set()).update(numbers_of(compared))
        self._found.timings[channel] += self._elapsed_ms() - begun

    def _expand_query(self, fused: FusedPassages[int]) -> bool:
        """Ask `bm25` again with words that the first results share; False when there are none to add."""
        passing = self._found.passing.memory_numbers
        first = [number for number in fused.keys if number in passing]
        work = self._ask.work
        added = self._guard.run("query expansion", work, lambda: find_expansion_stems(self._ask, first))
        if not added:
            return False
        before = self._found.timings[Channel.BM25]
        self._expanded_ask = replace(self._ask, added_stems=add_weights(self._ask.added_stems, added))
        self._found.compared.pop(Channel.BM25, None)
        self._run(Channel.BM25, partial(search_stems, self._expanded_ask))
        self._found.timings[Channel.BM25] += before
        self._found.added_stems = added
        return True

    def _vote(self, find: Callable[[Ask], Sequence[tuple[str, float]]], ask: Ask, fused: FusedPassages[int]) -> Offer:
        return self._votes(find(ask), fused)

    def _reach(self, fused: FusedPassages[int]) -> list[tuple[str, float]]:
        """Follow the graph from the best hits so far, and remember what it reached."""
        self._found.neighbours = graph.search_graph(self._ask.around, self._seeds(fused))[: self._ask.limit]
        return [(neighbour.memory_id, neighbour.score) for neighbour in self._found.neighbours]

    def _run(self, channel: Channel, search: Callable[[], Offer]) -> None:
        begun = self._elapsed_ms()
        offered = self._guard.run(channel, self._ask.work, search)
        self._found.timings[channel] = self._elapsed_ms() - begun
        if offered is not None:
            self._found.lists[channel] = offered

    def _seeds(self, fused: FusedPassages[int]) -> dict[str, float]:
        """The best memories so far with their scores: triggered ones too."""
        best: dict[str, float] = {}
        if any(self._found.lists.get(channel) for channel in self._found.lists.keys() - OF_PASSAGES):
            fused = self._fusing(self._found.lists)
        memory_ids = self._found.passing.memory_ids
        for number in fused.keys:
            memory_id, score = memory_ids.get(number), fused.totals[number]
            if memory_id is not None and score > 0.0:
                best.setdefault(memory_id, score)
            if len(best) == graph.GRAPH_SEEDS:
                break
        return best

    def _votes(self, memories: Sequence[tuple[str, float]], fused: FusedPassages[int]) -> Offer:
        """Memories' votes, each given to the memory's best passage; a memory without passages has none to give."""
        if not memories:
            return []
        wanted = {memory for memory, _ in memories}
        # Of the passages of a memory the first one counts, which is the last one from behind.
        backwards = fused.keys[::-1]
        first = dict(zip(map(self._found.passing.memory_ids.get, backwards), backwards, strict=True))
        best = {memory: first[memory] for memory in wanted if memory in first}
        if others := wanted - best.keys():
            firsts = self._find_first_passages(others)
            best |= firsts
            self._fetch(list(firsts.values()))
        return [(best[memory], score) for memory, score in memories if memory in best]

    def _find_first_passages(self, memory_ids: Collection[str]) -> dict[str, int]:
        """The number of the first passage of each of these memories."""
        if self._ask.view is not None:
            return self._ask.view.first_passages(memory_ids)
        return self._ask.work.passages.first_numbers(memory_ids)

    def _fetch(self, numbers: Sequence[int]) -> None:
        """Take in what is known of these passages, as far as it is not here yet."""
        found, view = self._found, self._ask.view
        known = found.rows.memory_numbers
        new = [number for number in numbers if number not in known] if known else numbers
        if not new:
            return
        rows = Rows(self._ask.work.passages.candidates(new)) if view is None else view.rows(new)
        passing = self._reach_of.keep_passing(rows)
        if not known:
            found.rows, found.passing = rows, passing
        elif passing is rows and found.passing is found.rows:
            # Most searches filter nothing out: then one set of rows is both.
            found.rows.extend(rows)
        else:
            found.passing = found.passing.join(passing)
            found.rows = found.rows.join(rows)
