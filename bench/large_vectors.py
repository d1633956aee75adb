"""The vector index alone, at millions of vectors: `python -m bench.large_vectors [--vectors 1000000] [--folder DIR]`.

Vectors are made: 200,000 in 400 topics, each mixed with two of 50,000 directions of noise, 384 dimensions, at length 1;
then the same again and again, each time with the dimensions in another order and some of them negative, which makes
other topics of the same shape. They are written by the builder of the index itself, above `graph_below`, so that codes
of one bit a dimension nominate (`assay.index.codes`); nothing else of a store is there. A query lies between two.
Printed: time to write, time to open, time and processor time of finding 100, recall@50 against comparing all vectors,
and memory. 10,000,000 vectors need 8.2 GB of disk, and memory that is mostly mapped files.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.index.options import IndexOptions
from assay.index.scoring import Halves, round_query
from assay.index.vectors import VectorBase, VectorBuilder, open_vectors
from bench.searching import Lap, timed

DIMENSION = 384
TOPICS, NOISES = 400, 50_000
PAGE, PAGES = 20_000, 10
LIMIT, DEPTH = 100, 50
WARM_UP = 5
Vectors = NDArray[np.float32]


class Maker:
    """Makes vectors in topics, a page at a time."""

    def __init__(self, seed: int = 5) -> None:
        rng = np.random.default_rng(seed)
        topics, noises = (
            _unit(rng.standard_normal((count, DIMENSION), dtype=np.float32)) for count in (TOPICS, NOISES)
        )
        self._pages = [_mix(topics, noises, rng).astype(np.float16) for _ in range(PAGES)]

    def page(self, number: int) -> Halves:
        """The vectors of a page; behind the first ones, those of an earlier page in other dimensions."""
        page, turn = self._pages[number % PAGES], number // PAGES
        if not turn:
            return page
        rng = np.random.default_rng(turn)
        signs = rng.choice(np.array([-1.0, 1.0], np.float16), DIMENSION)
        turned: Halves = page[:, rng.permutation(DIMENSION)] * signs
        return turned

    def queries(self, count: int) -> Vectors:
        """Between two vectors of the first page, nearer to one of them."""
        first = self._pages[0][: 2 * count].astype(np.float32)
        return _unit(first[:count] + np.float32(0.5) * first[count:])


def _mix(topics: Vectors, noises: Vectors, rng: np.random.Generator) -> Vectors:
    made = topics[rng.integers(TOPICS, size=PAGE)]
    for share in (0.8, 0.5):
        made += np.float32(share) * noises[rng.integers(NOISES, size=PAGE)]
    return _unit(made)


def _unit(vectors: Vectors) -> Vectors:
    vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return vectors


def write(folder: Path, count: int, maker: Maker, options: IndexOptions) -> None:
    """The files of an index of so many vectors."""
    builder = VectorBuilder(folder, count=count, dimension=DIMENSION, options=options)
    for number, begin in enumerate(range(0, count, PAGE)):
        size = min(PAGE, count - begin)
        builder.add(np.arange(begin, begin + size), maker.page(number)[:size])
    builder.finish()


def find_exactly(base: VectorBase, queries: Vectors) -> list[set[int]]:
    """The nearest of all vectors, by comparing every one."""
    best_scores = np.full((len(queries), DEPTH), -2.0, np.float32)
    best_rows = np.zeros((len(queries), DEPTH), np.int64)
    for begin, page in _pages(base):
        scores = np.concatenate([best_scores, queries @ page.T], axis=1)
        rows = np.concatenate(
            [best_rows, np.broadcast_to(np.arange(begin, begin + len(page)), (len(queries), len(page)))], axis=1
        )
        top = np.argpartition(scores, -DEPTH, axis=1)[:, -DEPTH:]
        best_scores, best_rows = np.take_along_axis(scores, top, 1), np.take_along_axis(rows, top, 1)
    return [set(rows.tolist()) for rows in best_rows]


def _pages(base: VectorBase) -> Iterator[tuple[int, Vectors]]:
    for begin in range(0, len(base.places), PAGE):
        yield begin, base.matrix[begin : begin + PAGE].astype(np.float32)


def measure(base: VectorBase, queries: Vectors, checked: int) -> Iterator[str]:
    """What finding costs, and what is found."""
    passing = base.find_rows(np.ones(len(base.places), bool))
    rounded = [round_query(query) for query in queries]
    for query in rounded[:WARM_UP]:
        base.nearest(query, LIMIT, passing)
    laps, found = [], []
    for query in rounded[WARM_UP:]:
        lap = Lap()
        with lap:
            places, scores = base.nearest(query, LIMIT, passing)
        laps.append(lap)
        found.append(set(places[np.argsort(-scores, kind="stable")[:DEPTH]].tolist()))
    yield f"nearest {LIMIT} of {len(base.places):,}, {len(laps)} queries: {timed(laps)}"
    yield f"memory: {_memory_mb('VmHWM'):,.0f} MB at the peak, {_memory_mb('RssAnon'):,.0f} MB not mapped files"
    exact = find_exactly(base, np.stack(rounded[WARM_UP : WARM_UP + checked]))
    shares = [len(one & other) / DEPTH for one, other in zip(exact, found, strict=False)]
    yield f"recall@{DEPTH} against exact, {len(shares)} queries: {np.mean(shares):.4f}"


def _memory_mb(name: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
    return int(lines[name].split()[0]) / 1024


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.large_vectors", description=__doc__)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keep the files here; files that are there are used")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--checked", type=int, default=20, help="queries whose recall is measured")
    parser.add_argument("--rescored", type=int, default=IndexOptions().rescored)
    asked = parser.parse_args(arguments)
    options = IndexOptions(graph_below=0, rescored=asked.rescored)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        maker, ready = Maker(), folder / f"{asked.vectors}.ready"
        if not ready.exists():
            begun, busy = time.perf_counter(), time.process_time()
            write(folder, asked.vectors, maker, options)
            spent = time.perf_counter() - begun, time.process_time() - busy
            print(f"made and written in {spent[0]:.0f} s (processor {spent[1]:.0f} s)", flush=True)
            ready.touch()
        begun = time.perf_counter()
        base = open_vectors(folder, options=options)
        print(f"opened in {(time.perf_counter() - begun) * 1000:.1f} ms; kind {base.kind}", flush=True)
        print(f"load {os.getloadavg()[0]:.1f}", flush=True)
        queries = maker.queries(asked.queries + WARM_UP)
        for line in measure(base, queries, asked.checked):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
