"""What deep mode and each of its parts gain: `python -m bench.modes --data DIR [--cache DIR] [--reranker FOLDER]`.

Each collection is saved through the real engine into a store of its own, with vectors of the bundled model. The same
questions are asked in focused mode, in deep mode, and in deep mode with one part taken away. Differences are paired by
question; their intervals are 95 % bootstraps over questions. With `--reranker`, a folder with a pair model, focused and
deep mode are asked with that cross-encoder too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import find_bundled
from assay.memory.engine import Engine
from assay.memory.searching import Searcher
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import parse_specs
from assay.records import Mode, Origin, Scope, SearchRequest
from assay.settings import Origin as SettingOrigin
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.testing import FixedClock
from assay.wiring import open_engine
from bench.collections import ALL, load
from bench.fusions import SHOWN, Values
from bench.quality import save
from bench.remembered import RememberedEmbedder

SCOPE = Scope()
BUNDLED = ("agent-memory", "hotel", "vault")
METRICS = parse_specs(["ndcg@10", "mrr@5", "recall@10"])
RESAMPLES = 2_000


class Way(NamedTuple):
    """One way to ask."""

    mode: Mode
    without: tuple[str, ...] = ()


FOCUSED = "focused"
WAYS = {
    FOCUSED: Way(Mode.FOCUSED),
    "deep": Way(Mode.DEEP),
    "deep without mmr": Way(Mode.DEEP, ("mmr",)),
    "deep without expansion": Way(Mode.DEEP, ("query_expansion",)),
    "deep without either": Way(Mode.DEEP, ("mmr", "query_expansion")),
}
RERANKED = {"focused, cross-encoder": Way(Mode.FOCUSED), "deep, cross-encoder": Way(Mode.DEEP)}
CROSS_ENCODER = "cross_encoder"


@dataclass(frozen=True, kw_only=True, slots=True)
class Questions:
    """Questions with the grades of documents, and the document of each memory."""

    texts: Mapping[str, str]
    judgments: Mapping[str, Mapping[str, int]]
    document_of: Mapping[str, str]


def take_in_collection(engine: Engine, name: str, data: Path, most: int) -> Questions:
    """Save a collection, unless its store has it, and return its questions: a fixed sample where there are more."""
    if name in BUNDLED:
        dataset = load_dataset(str(find_bundled(name)))
        take_in(engine, SCOPE, dataset)
        graded = {case.id: dict(case.labels) for case in dataset.cases if max(case.labels.values(), default=0) > 0}
        texts = {case.id: case.query for case in dataset.cases if case.id in graded}
    else:
        collection = load(data, name)
        graded, texts = collection.judgments, collection.questions
        if not list_documents(engine):
            save(engine, collection)
    rng = np.random.default_rng(1)
    keys = sorted(texts)
    chosen = sorted(rng.choice(len(keys), size=min(most, len(keys)), replace=False).tolist())
    kept = [keys[place] for place in chosen]
    return Questions(
        texts={key: texts[key] for key in kept},
        judgments={key: graded[key] for key in kept},
        document_of=list_documents(engine),
    )


def list_documents(engine: Engine) -> dict[str, str]:
    """Return the document of each memory of a store."""
    found: dict[str, str] = {}
    after = ""
    with engine.store.reading(SCOPE) as work:
        while page := work.memories.page(after=after):
            after = page[-1].id
            found |= {memory.id: memory.source_id for memory in page if memory.source_id}
    return found


def measure(searcher: Searcher, questions: Questions, way: Way) -> dict[str, Values]:
    """Ask every question in one way: values per question by metric."""
    run = {}
    for key, text in questions.texts.items():
        request = SearchRequest(query=text, k=SHOWN, mode=way.mode, without=way.without, origin=Origin.EVALUATION)
        hits = searcher.search(SCOPE, request).hits
        run[key] = {questions.document_of[hit.memory_id]: 1.0 / hit.rank for hit in hits}
    scores = measure_mappings(questions.judgments, run, METRICS).scores
    return {str(metric): np.asarray(scores[metric].values) for metric in METRICS}


def difference(values: Values, base: Values) -> str:
    """The mean paired difference with its bootstrap interval over questions."""
    gains = values - base
    rng = np.random.default_rng(1)
    means = gains[rng.integers(len(gains), size=(RESAMPLES, len(gains)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{gains.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def tables(measured: Mapping[str, Mapping[str, Mapping[str, Values]]]) -> list[str]:
    """Markdown: for each metric the mean of focused mode, and every other way's difference to it."""
    names = list(measured)
    ways = list(next(iter(measured.values())))
    lines = []
    for metric in map(str, METRICS):
        lines += ["", f"### {metric}", f"|  | {' | '.join(names)} | mean |", "| --- " * (len(names) + 2) + "|"]
        base = [measured[name][FOCUSED][metric] for name in names]
        means = [float(values.mean()) for values in base]
        lines.append(f"| {FOCUSED} | {' | '.join(f'{mean:.4f}' for mean in means)} | {np.mean(means):.4f} |")
        for way in ways:
            if way != FOCUSED:
                found = [measured[name][way][metric] for name in names]
                cells = [difference(values, plain) for values, plain in zip(found, base, strict=True)]
                gain = np.mean([(values - plain).mean() for values, plain in zip(found, base, strict=True)])
                lines.append(f"| {way} minus focused | {' | '.join(cells)} | {gain:+.4f} |")
    counts = [len(measured[name][FOCUSED][str(METRICS[0])]) for name in names]
    return [*lines, "", f"Questions: {', '.join(f'{name} {n}' for name, n in zip(names, counts, strict=True))}."]


def run(name: str, asked: argparse.Namespace, folder: Path, embedder: Embedder) -> dict[str, dict[str, Values]]:
    """Measure every way on one collection."""
    # Off by default; without it there is little left of deep mode to measure.
    expansion = {"query_expansion": ("on", SettingOrigin("option", "bench"))}
    settings = Settings(db=str(folder / f"{name}.db"), flags=expansion)
    ways = {title: way._replace(without=(*way.without, CROSS_ENCODER)) for title, way in WAYS.items()}
    if asked.reranker is not None:
        on = expansion | {CROSS_ENCODER: ("on", SettingOrigin("option", "bench"))}
        settings = settings.change(rerank_folder=asked.reranker, flags=on)
        ways |= RERANKED
    # A fixed clock: otherwise a newer search finds everything a little older.
    with open_engine(settings, embedder=embedder, clock=FixedClock()) as engine:
        questions = take_in_collection(engine, name, asked.data, asked.questions)
        return {title: measure(engine.searcher, questions, way) for title, way in ways.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.modes", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--cache", type=Path, help="keep stores and vectors here for the next run")
    parser.add_argument("--collections", default=",".join((*BUNDLED, *ALL)))
    parser.add_argument("--questions", type=int, default=200, help="use at most this many questions of a collection")
    parser.add_argument("--reranker", type=Path, help="a folder with model.onnx and tokenizer.json of a cross-encoder")
    asked = parser.parse_args(arguments)
    measured = {}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        folder = asked.cache or Path(temporary)
        embedder = RememberedEmbedder(load_bundled(), folder)
        for name in asked.collections.split(","):
            measured[name] = run(name, asked, folder, embedder)
            print(f"{name}: done, {embedder.made:,} vectors made so far", file=sys.stderr, flush=True)
    print("\n".join(tables(measured)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
