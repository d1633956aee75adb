"""How many vectors pgvector must keep in view: `python -m bench.database_vectors [--vectors 1000000] [--graphs 16:64]`.

The made vectors of `bench.database_index`, 384 dimensions around 1,000 centres, in a table of their own as `halfvec`.
Graphs are given as neighbours:candidates while building, as pgvector's `m` and `ef_construction`. Each graph is
searched with several numbers of candidates in view (`hnsw.ef_search`); recall is against comparing every vector.
`Nothing near` counts the questions of whose nearest vectors none was found. A server is started for the run and ends
with it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import psycopg
from numpy.typing import NDArray

from bench.database_index import CENTRES, DEPTH, DIMENSION, add_noise, serve_postgres, to_length_one

PAGE = 5_000
IN_VIEW = (40, 100, 200, 400, 1_000)
Vectors = NDArray[np.float32]


def make_vectors(count: int, seed: int = 1) -> Iterator[Vectors]:
    """Yield the vectors, a page at a time."""
    rng = np.random.default_rng(seed)
    centres = to_length_one(rng.standard_normal((CENTRES, DIMENSION), dtype=np.float32))
    for place in range(0, count, PAGE):
        size = min(PAGE, count - place)
        near = centres[rng.integers(0, CENTRES, size)]
        yield add_noise(near, rng)


def fill(connection: psycopg.Connection[tuple[object, ...]], count: int) -> Vectors:
    """Write the vectors, numbered from 0, and return them."""
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(f"CREATE UNLOGGED TABLE made (number bigint, vector halfvec({DIMENSION}))".encode())
    head = DIMENSION.to_bytes(2, "big") + b"\0\0"
    pages: list[Vectors] = []
    with connection.cursor().copy("COPY made FROM STDIN WITH (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "bytea"])
        for page in make_vectors(count):
            first = sum(map(len, pages))
            for at, row in enumerate(page.astype(">f2")):
                copy.write_row((first + at, head + row.tobytes()))
            pages.append(page)
    return np.concatenate(pages)


def find_exactly(vectors: Vectors, questions: Vectors) -> list[set[int]]:
    """Return the numbers of the vectors nearest to each question, by comparing all."""
    found: list[set[int]] = []
    for asked in np.array_split(questions, max(1, len(questions) // 20)):
        near = np.argpartition(-(asked @ vectors.T), DEPTH, axis=1)[:, :DEPTH]
        found += [set(map(int, row)) for row in near]
    return found


def search(
    connection: psycopg.Connection[tuple[object, ...]], questions: Vectors, exact: Sequence[set[int]], in_view: int
) -> list[str]:
    """Ask all questions twice, and return the cells of the second time, when the server has read what it needs."""
    connection.execute("SELECT set_config('hnsw.ef_search', %s, false)", (str(in_view),))
    wanted = f"SELECT number FROM made ORDER BY vector <=> %s::halfvec({DIMENSION}) LIMIT {DEPTH}".encode()
    shares: list[float] = []
    spent: list[float] = []
    for _ in range(2):
        shares, spent = [], []
        for question, nearest in zip(questions, exact, strict=True):
            given = str(question.astype(np.float16).tolist())
            begun = time.perf_counter()
            found = {row[0] for row in connection.execute(wanted, (given,)).fetchall()}
            spent.append(time.perf_counter() - begun)
            shares.append(len(found & nearest) / DEPTH)
    middle, slow = np.percentile(np.array(spent) * 1000, (50, 95))
    return [f"{in_view:,}", f"{np.mean(shares):.3f}", str(shares.count(0.0)), f"{middle:.1f} / {slow:.1f}"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.database_vectors", description=__doc__)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--graphs", default="16:64", help="neighbours:candidates of each graph, with commas between")
    asked = parser.parse_args(arguments)
    graphs = [tuple(map(int, graph.split(":"))) for graph in asked.graphs.split(",")]
    print("| graph | built in | MB | in view | recall@10 | nothing near | p50 / p95 ms |\n|" + " --- |" * 7)
    with (
        tempfile.TemporaryDirectory(prefix="adbv-") as folder,
        serve_postgres(Path(folder)) as (address, _),
        psycopg.connect(address, autocommit=True) as connection,
    ):
        vectors = fill(connection, asked.vectors)
        questions = add_noise(vectors[: asked.questions], np.random.default_rng(3))
        exact = find_exactly(vectors, questions)
        for neighbours, candidates in graphs:
            begun = time.perf_counter()
            shape = f"WITH (m = {neighbours}, ef_construction = {candidates})"
            connection.execute(
                f"CREATE INDEX made_near ON made USING hnsw (vector halfvec_cosine_ops) {shape}".encode()
            )
            built = f"{time.perf_counter() - begun:,.0f} s"
            (size,) = connection.execute("SELECT pg_relation_size('made_near') / 1000000").fetchone() or (0,)
            for in_view in IN_VIEW:
                cells = search(connection, questions, exact, in_view)
                print("| " + " | ".join([f"{neighbours}:{candidates}", built, str(size), *cells]) + " |", flush=True)
            connection.execute("DROP INDEX made_near")
    return 0


if __name__ == "__main__":
    sys.exit(main())
