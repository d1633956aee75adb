"""What the relevance of hits costs a search: `python -m bench.relevance_cost --data DIR [--memories 20000]`.

A store of real passages of the Kubernetes documentation, repeated until there are enough, with random vectors under the
name of the bundled embedder, so that nothing has to be embedded and every step of the relevance runs. Each question is
searched with and without it, in turn and in both orders, in one process. Printed: median times and processor times of
the calling thread, and whether both return the same hits with the same scores. Exit code 1 above 10 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Progress, Vectors
from assay.embedding.wrappers import AroundEmbedder
from assay.hashing import content_hash
from assay.memory.saving import Refused
from assay.memory.searching import pipeline, searcher
from assay.memory.searching.relevance import Relevance
from assay.memory.searching.results import Ranking
from assay.records import Draft, Format, Scope, SearchRequest, SearchResult
from assay.settings import Settings
from assay.testing import FixedClock
from assay.wiring import open_engine
from bench.collections import headings, read_lines

MOST_SLOWER = 0.10
SCOPE = Scope()


class RandomEmbedder(AroundEmbedder):
    """Gives each text a random vector of its own: for times, not for quality."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One unit vector for each text."""
        if progress is not None:
            progress(len(texts))
        seeds = [int(content_hash(text)[-12:], 16) for text in texts]
        rows = np.array([np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else rows.reshape(0, self.dimension)


class WithoutRelevance(pipeline.Pipeline):
    """The pipeline as it was before hits had a relevance."""

    def _find_relevance(self, ranking: Ranking) -> Mapping[str, Relevance]:  # noqa: ARG002
        return {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.relevance_cost", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the collections")
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=300)
    asked = parser.parse_args(arguments)
    embedder = RandomEmbedder(load_bundled())
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "assay.db"))
        with open_engine(settings, embedder=embedder, clock=FixedClock()) as engine:
            for _, outcome in engine.saver.save_many(SCOPE, _drafts(asked.data, asked.memories), batch=500):
                if isinstance(outcome, Refused):
                    raise outcome.error
            engine.indexes.compact(SCOPE)
            return _measure(engine.searcher.search, headings(asked.data)[: asked.questions])


def _drafts(data: Path, count: int) -> list[Draft]:
    notes = list(read_lines(data / "docs_kubernetes" / "notes.jsonl"))
    return [
        Draft(
            title=f"{notes[place % len(notes)]['title']} {place}",
            body=f"{place}. {notes[place % len(notes)]['text'][:800]}",
            format=Format.TEXT,
            source_id=str(place),
        )
        for place in range(count)
    ]


def _measure(search: Callable[[Scope, SearchRequest], SearchResult], questions: Sequence[str]) -> int:
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    whole = pipeline.Pipeline
    same = True
    for place, question in enumerate([*questions[:20], *questions]):
        found: dict[bool, SearchResult] = {}
        for with_it in (True, False) if place % 2 else (False, True):
            _use(whole if with_it else WithoutRelevance)
            begun, used = time.perf_counter(), time.thread_time()
            found[with_it] = search(SCOPE, SearchRequest(query=question))
            if place >= 20:
                times[with_it].append((time.perf_counter() - begun, time.thread_time() - used))
        same &= _without(found[True]) == _without(found[False])
    _use(whole)
    (before, before_cpu), (after, after_cpu) = (np.median(times[key], axis=0) * 1000 for key in (False, True))
    print(f"median search without relevance {before:.2f} ms, with it {after:.2f} ms ({after / before - 1:+.1%})")
    print(f"processor time {before_cpu:.2f} and {after_cpu:.2f} ms ({after_cpu / before_cpu - 1:+.1%})")
    print(f"the same hits, order and scores: {'yes' if same else 'NO'}")
    return int(not same or after_cpu / before_cpu - 1 > MOST_SLOWER)


def _use(kind: type[pipeline.Pipeline]) -> None:
    searcher.Pipeline = kind  # type: ignore[attr-defined]


def _without(found: SearchResult) -> list[object]:
    return [replace(hit, relevance=None) for hit in found.hits]


if __name__ == "__main__":
    sys.exit(main())
