"""What a search costs, and how that grows: `python -m bench.search --data DIR [--chunks 10000,100000] [--cache DIR]`.

Stores are made as `bench.passages` says, above 1,000,000 chunks in bulk (`bench.bulk`), with vectors made without a
model. 10,000,000 chunks need 75 GB of disk, with the checkpoint of the first save and a second index while folding.
Questions are scifact claims and headings of the Kubernetes documentation. Their vectors are known beforehand, so that
the times are without embedding, which is told apart. Each size is measured in a process of its own, warm. Beside each
time stands the processor time of the calling thread: on a machine with other work, that is the figure to compare. Exit
code 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.settings import Settings
from assay.wiring import open_engine
from bench import bulk, passages
from bench.collections import headings, load
from bench.remembered import RememberedEmbedder
from bench.searching import Figures, Question, cold, embedding, measure, measure_peers, measure_processes, table

T = TypeVar("T")

SIZES = (10_000, 100_000)
EDGES = 20_000
QUESTIONS = 400
COLD_AT = 10_000
BULK_ABOVE = 1_000_000


def questions(data: Path, embedder: Embedder, count: int) -> list[Question]:
    """As many distinct ones, half of each kind, in a fixed random order."""
    rng = np.random.default_rng(3)
    kinds = (list(load(data, "scifact").questions.values()), headings(data))
    texts = [kind[place] for kind in kinds for place in rng.permutation(len(kind))[: count // 2]]
    vectors = embedder.embed(texts)
    return [Question(texts[place], vectors[place]) for place in rng.permutation(len(texts))]


def prepare(folder: Path, data: Path, size: int, embedder: RememberedEmbedder) -> Path:
    """A store of that size; one that is there is used as it is."""
    db = folder / f"search-{size}.db"
    if db.with_suffix(".ready").exists():
        return db
    with open_engine(Settings(db=str(folder / "real.db")), embedder=embedder) as engine:
        passages.take_in(engine, data)
        real = passages.material(engine.store)
    with open_engine(Settings(db=str(db)), embedder=embedder) as engine:
        passages.fill(engine, real, size)
        passages.join(engine.store, EDGES)
    db.with_suffix(".ready").touch()
    return db


def prepare_bulk(folder: Path, data: Path, size: int, count: int) -> tuple[Path, list[Question]]:
    """The same for many millions, and questions near its vectors."""
    embedder = bulk.word_vectors(data)
    real = bulk.read_real(folder, data, embedder)
    asked = questions(data, embedder, count)
    between = bulk.put_between(np.stack([one.vector for one in asked]), real.vectors)
    asked = [Question(one.text, vector) for one, vector in zip(asked, between, strict=True)]
    db = folder / f"search-{size}.db"
    if not db.with_suffix(".ready").exists():
        bulk.fill_bulk(db, real, size)
        with open_engine(Settings(db=str(db), embedder="none")) as engine:
            passages.join(engine.store, EDGES)
            folded = engine.indexes.compact(passages.SCOPE)
        print(f"index built in {folded.seconds:.0f} s", flush=True)
        db.with_suffix(".ready").touch()
    return db, asked


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.search", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--cache", type=Path, help="keep stores and vectors here for the next run")
    parser.add_argument("--chunks", default=",".join(map(str, SIZES)), help="sizes; 1000000 needs 8 GB of disk")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--no-peers", action="store_true", help="leave the other tools out")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        found = _run(asked, asked.cache or Path(temporary))
    if asked.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
    missed = [f"{one.chunks:,} chunks: {line}" for one in found for line in one.missed()]
    print("\n".join(f"MISSED: {line}" for line in missed) or "Every goal is met.")
    return int(bool(missed))


def _run(asked: argparse.Namespace, folder: Path) -> list[Figures]:
    embedder = RememberedEmbedder(load_bundled(), folder)
    print(f"embedding one question, all-MiniLM-L6-v2: {embedding(asked.data)} (load {_load()})", flush=True)
    sizes = [int(size) for size in asked.chunks.split(",")]
    wanted = questions(asked.data, embedder, asked.questions) if min(sizes) <= BULK_ABOVE else []
    found = []
    for size in sizes:
        own = wanted
        if size > BULK_ABOVE:
            db, own = prepare_bulk(folder, asked.data, size, asked.questions)
        else:
            db = prepare(folder, asked.data, size, embedder)
        print(f"\n## {size:,} chunks, {len(own)} questions (load {_load()})", flush=True)
        found.append(_alone(measure, db, own))
        print("\n".join(found[-1].told()), flush=True)
        rates = measure_processes(db, own, found[-1].concurrent)
        told = ", ".join(f"{rate:.0f}/s in {count}" for count, rate in rates.items())
        print(f"as many searches on as many threads, by number of processes: {told}", flush=True)
        if not asked.no_peers:
            print("\n".join(table(_alone(measure_peers, db, folder, own))), flush=True)
        if size == COLD_AT:
            found[-1].cold_s = cold(db, own)
            print(f"cold `assay search`, whole process: {found[-1].cold_s:.2f} s (load {_load()})", flush=True)
    return found


def _alone(act: Callable[..., T], *given: object) -> T:
    """In a process of its own, so that memory is that of one size."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(act, *given).result()


if __name__ == "__main__":
    sys.exit(main())
