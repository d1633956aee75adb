"""The base's vectors: a float16 matrix, and above a size something that nominates rows of it.

That is a graph (HNSW over int8) and, for many millions of vectors, their codes (`codes`). What is nominated is compared
with the stored vectors again. A filter that leaves few passages, or too small a share of them for a graph, is answered
by comparing exactly those.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.index import scoring
from assay.index.codes import Columns, VectorCodes, count_columns, make_codes
from assay.index.columns import Mask, Whole
from assay.index.graphs import GraphInFile, GraphInMemory, GrowingGraph, open_graph
from assay.index.native import Index
from assay.index.options import IndexOptions
from assay.index.scoring import Halves, Query, Scores
from assay.index.shared_files import append_rows, grow_table, map_rows, map_table, share_file

_MOST = 4_096
"""The most results taken from a graph; beyond that, an exact scan is cheaper."""
_SPARE = 50
_THREADS = 4
"""Threads that add to a graph that has to be there soon."""
_PAGES_WAITING = 4
"""Pages of vectors that may wait for the graph."""


class PassingRows(NamedTuple):
    """Which vectors of a base pass a filter."""

    mask: Mask
    total: int


class VectorBase:
    """Vectors that no longer change, all of one model."""

    def __init__(
        self,
        matrix: Halves,
        places: Whole,
        graph: Index | None,
        *,
        options: IndexOptions,
        codes: VectorCodes | None = None,
    ) -> None:
        self.matrix = matrix
        self.places = places
        self.codes = codes
        self._graph = graph
        self._options = options
        self._is_everywhere = bool(len(places)) and int(places[-1]) == len(places) - 1
        # A graph lends each search the same working memory.
        self._turn = threading.Lock()

    @property
    def kind(self) -> str:
        """`hnsw`, `codes` or `exact`."""
        if self.codes is not None:
            return "codes"
        return "exact" if self._graph is None else "hnsw"

    def find_rows(self, passing: Mask) -> PassingRows:
        """Return the vectors of the places that pass; it takes a look at every vector."""
        # Where every place has its vector, nothing has to be looked up.
        rows = passing[: len(self.places)] if self._is_everywhere else passing[self.places]
        return PassingRows(rows, int(np.count_nonzero(rows)))

    def nearest(
        self, query: Query, limit: int, passing: Mask | PassingRows, *, exact: bool = False
    ) -> tuple[Whole, Scores]:
        """The nearest passing places and their cosines."""
        rows, count = passing if isinstance(passing, PassingRows) else self.find_rows(passing)
        if not count or limit < 1:
            return np.zeros(0, np.int64), np.zeros(0)
        if self.codes is not None and not exact and count > self._options.exact_below:
            wanted = self._options.rescored_for(limit)
            kept = self.codes.nominate(query, wanted, None if count == len(rows) else rows)
            chosen, scores = scoring.nearest(self.matrix[kept], query, limit)
            return self.places[kept[chosen]], scores
        if self._graph is not None and not exact and count > self._options.exact_below:
            found = self._nominate(self._graph, query, limit, rows, count)
            if found is not None:
                return found
        if count == len(rows):
            chosen, scores = scoring.nearest(self.matrix, query, limit)
            return self.places[chosen], scores
        among = np.flatnonzero(rows)
        chosen, scores = scoring.nearest(self.matrix[among], query, limit)
        return self.places[among[chosen]], scores

    def _nominate(self, graph: Index, query: Query, limit: int, rows: Mask, count: int) -> tuple[Whole, Scores] | None:
        """Return what the graph finds; None when too many results would be needed from it."""
        fetch = int((limit + _SPARE) * len(rows) / count * 1.1)
        while fetch <= _MOST:
            with self._turn:
                graph.expansion_search = self._options.expansion_for(fetch)  # type: ignore[misc]  # its setter has no type
                keys = graph.search(query, fetch, threads=1).keys.astype(np.int64)
            kept = np.sort(keys if count == len(rows) else keys[rows[keys]])
            if len(kept) >= limit:
                return self.places[kept], scoring.cosines(self.matrix[kept], query)
            fetch *= 2
        return None


class VectorBuilder:
    """Takes vectors in the order of places and makes them a `VectorBase`, in files or in memory.

    The graph takes them in a thread of its own: words are analysed meanwhile.
    """

    def __init__(self, folder: Path | None, *, count: int, dimension: int, options: IndexOptions) -> None:
        self._folder = folder
        self._options = options
        self._matrix = _new_matrix(folder, (count, dimension))
        self._places = np.zeros(count, np.int64)
        self._filled = 0
        has_graph = options.exact_below < count <= options.graph_below
        self._graph = _begin_graph(folder, dimension, options) if has_graph else None
        has_codes = count > max(options.exact_below, options.graph_below)
        self._codes = _new_codes(folder, (count_columns(dimension), count)) if has_codes else None
        self._growing = ThreadPoolExecutor(1, thread_name_prefix="assay-index-graph")
        self._pages: deque[Future[None]] = deque()

    def add(self, places: Whole, vectors: Halves) -> None:
        """The vectors of the passages at some places."""
        begin, end = self._filled, self._filled + len(places)
        self._matrix[begin:end] = vectors
        self._places[begin:end] = places
        self._filled = end
        if self._codes is not None:
            self._codes[:, begin:end] = make_codes(vectors)
        if self._graph is not None and end > begin:
            self._pages.append(self._growing.submit(self._graph.add, vectors))
            while len(self._pages) > _PAGES_WAITING:
                self._pages.popleft().result()

    def finish(self) -> VectorBase:
        """Write everything."""
        while self._pages:
            self._pages.popleft().result()
        self._growing.shutdown()
        graph = None if self._graph is None else self._graph.finish(lambda: None)
        if self._folder is not None:
            if isinstance(self._matrix, np.memmap):
                self._matrix.flush()
            if isinstance(self._codes, np.memmap):
                self._codes.flush()
            np.save(self._folder / PLACES, self._places)
        codes = None if self._codes is None else VectorCodes(self._codes)
        return VectorBase(self._matrix, self._places, graph, options=self._options, codes=codes)

    def give_up(self) -> None:
        """Let the thread go, and what makes the graph."""
        self._growing.shutdown(cancel_futures=True)
        if self._graph is not None:
            self._graph.give_up()


def can_grow(base: VectorBase, added: int, options: IndexOptions) -> bool:
    """Whether so many vectors can be added without beginning a graph or codes."""
    most = {"hnsw": options.graph_below, "exact": options.exact_below}.get(base.kind)
    return most is None or len(base.places) + added <= most


def grow_vectors(
    base: VectorBase,
    source: Path,
    folder: Path,
    *,
    places: Whole,
    fresh: Halves,
    options: IndexOptions,
    go_on: Callable[[], None],
) -> None:
    """Write the vectors of a base that lies in one folder, and further ones behind them, into another.

    Both share the files of vectors and codes (`shared_files`).

    `go_on` is called now and then; it raises to cancel the writing.
    """
    old = len(base.places)
    if old and len(fresh):
        share_file(source / MATRIX, folder / MATRIX)
        append_rows(folder / MATRIX, old, fresh)
    elif old:
        share_file(source / MATRIX, folder / MATRIX)
    else:
        np.save(folder / MATRIX, fresh if len(fresh) else base.matrix)
    np.save(folder / PLACES, np.concatenate([base.places, places]))
    if base.codes is not None:
        added = make_codes(fresh) if len(fresh) else base.codes.columns[:, :0]
        grow_table(source / CODES, folder / CODES, base.codes.columns, added)
    if base.kind == "hnsw":
        _grow_graph(
            GraphInFile(folder / GRAPH, base.matrix.shape[1], options, source=source / GRAPH, threads=_THREADS),
            fresh,
            page=options.page,
            go_on=go_on,
        )


def _grow_graph(graph: GraphInFile, fresh: Halves, *, page: int, go_on: Callable[[], None]) -> None:
    try:
        for begin in range(0, len(fresh), page):
            go_on()
            graph.add(fresh[begin : begin + page])
        # Whoever opens the base opens the graph: to map a million vectors keeps every thread waiting 40 ms.
        graph.complete(go_on)
    finally:
        graph.give_up()


MATRIX, PLACES, GRAPH, CODES = "vectors.npy", "vector_places.npy", "graph.usearch", "codes.npy"


def open_vectors(folder: Path, *, options: IndexOptions) -> VectorBase:
    """The vectors in a folder, mapped: they stay readable when the folder is deleted."""
    # As plain arrays: a memmap makes a new memmap of everything that is taken from it.
    places = np.asarray(np.load(folder / PLACES, mmap_mode="c"))
    matrix: Halves = map_rows(folder / MATRIX, len(places)).astype(np.float16, copy=False)
    graph = open_graph(folder / GRAPH) if (folder / GRAPH).exists() else None
    codes = VectorCodes(map_table(folder / CODES, len(places))) if (folder / CODES).exists() else None
    return VectorBase(matrix, places, graph, options=options, codes=codes)


def _new_codes(folder: Path | None, shape: tuple[int, int]) -> Columns:
    if folder is None:
        return np.zeros(shape, np.uint64)
    return np.lib.format.open_memmap(folder / CODES, mode="w+", dtype=np.uint64, shape=shape)


def _new_matrix(folder: Path | None, shape: tuple[int, int]) -> Halves:
    if folder is None or not shape[0]:
        matrix = np.zeros(shape, np.float16)
        if folder is not None:
            np.save(folder / MATRIX, matrix)
        return matrix
    return np.lib.format.open_memmap(folder / MATRIX, mode="w+", dtype=np.float16, shape=shape)


def _begin_graph(folder: Path | None, dimension: int, options: IndexOptions) -> GrowingGraph:
    return GraphInMemory(dimension, options) if folder is None else GraphInFile(folder / GRAPH, dimension, options)
