"""Two versions of the search by turns, question by question: time and answers. `python -m bench.search_versions`.

    python -m bench.search_versions --old DIR --store DB --data DIR [--old-store DB] [--vectors DIR] [--questions 200]
        [--mode focused] [--times-only]
    python -m bench.search_versions --old DIR --bundled

`--old` is another checkout, used with its own environment (`.venv`) if it has one: its dependencies are a part of it.
Each version runs in a process of its own, and both are asked the same question one after the other, so that a busy
machine treats them alike. Query vectors are made before the time
begins: hashes of words, or with `--vectors` those of the bundled model, kept in that folder. Every answer is compared
as JSON, byte for byte, with its explanation and with what the query log gets; ids of queries, times and what depends on
times are left out. Both versions hash strings alike (`PYTHONHASHSEED`), since sums over sets depend on it.

With `--store`, a store that `bench.search --cache DIR` left there, and `--old-store`, one for a version that cannot
read the newer tables or index (a copy, or filled by `bench.search` of that version), processor times are printed: of
the calling thread, of the whole process during a search, and of its other threads (the writer of the query log) as a
mean of all searches. `--times-only` does not compare answers, for a version that ranks otherwise on purpose. With
`--bundled` the bundled datasets are asked in all modes and with the options of a request, and only answers are
compared. Exit code 1 when any differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import find_bundled
from assay.memory.searching.relevance import fitted_embedder
from assay.records import Scope
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.testing import FixedClock, HashedEmbedder
from assay.wiring import open_engine
from bench.collections import headings, load
from bench.remembered import RememberedEmbedder

HERE = Path(__file__).parents[1]
DIMENSION = 384
WARM_UP = 40
BUNDLED = ("agent-memory", "hotel", "vault")
MODES = ("quick", "focused", "deep", "auto")

WORKER = """
import dataclasses, json, sys, time
from collections.abc import Mapping
from datetime import datetime
import numpy as np
from assay.records import Filters, Scope, SearchRequest
from assay.records import Channel, FolderMode, Mode
from assay.settings import Settings
from assay.testing import FixedClock, HashedEmbedder
from assay.wiring import open_engine

TIMED = {"query_id", "trace_id", "given_by", "duration_ms", "quality_proxy_score"}

def plain(value):
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
                if field.name not in TIMED and not field.name.endswith("latency_ms")}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items() if key not in TIMED}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value.isoformat() if isinstance(value, datetime) else value

def read_request(asked):
    filters = dict(asked.pop("filters", {}))
    for name in ("as_of", "since", "until"):
        if name in filters:
            filters[name] = datetime.fromisoformat(filters[name])
    for name in ("without", "working_memory"):
        if name in asked:
            asked[name] = tuple(asked[name])
    if "channels" in asked:
        asked["channels"] = tuple(map(Channel, asked["channels"]))
    if "folder_mode" in asked:
        asked["folder_mode"] = FolderMode(asked["folder_mode"])
    asked["mode"] = Mode(asked["mode"])
    return SearchRequest(**asked, filters=Filters(**filters))

class KnownEmbedder(HashedEmbedder):
    known = {}

    def embed(self, texts, *, progress=None):
        for text in texts:
            if text not in self.known:
                self.known[text] = super().embed([text])[0]
        return np.stack([self.known[text] for text in texts])

store, model, dimension, vectors, settings = sys.argv[1:]
embedder = KnownEmbedder(model=model, dimension=int(dimension))
if vectors:
    with np.load(vectors) as file:
        embedder.known = dict(zip(file["texts"].tolist(), file["vectors"]))
with open_engine(Settings(db=store, **json.loads(settings)), embedder=embedder, clock=FixedClock()) as engine:
    logged, append = [], engine.store.log.append
    engine.store.log.append = lambda scope, query: (logged.append(query), append(scope, query))[1]
    for line in sys.stdin:
        request = read_request(json.loads(line))
        embedder.embed([request.query])
        logged.clear()
        whole, own = time.process_time(), time.thread_time()
        try:
            result = engine.searcher.search(Scope(), request)
            own, whole = time.thread_time() - own, time.process_time() - whole
            answer = json.dumps([plain(result), plain(logged)])
        except Exception as problem:
            answer = repr(problem)
        others = time.process_time() - time.thread_time()
        told = {"own": own * 1000, "whole": whole * 1000, "others": others * 1000, "answer": answer}
        print(json.dumps(told), flush=True)
"""


class Reply(NamedTuple):
    """One version's answer to one question."""

    own: float
    """Processor milliseconds of the calling thread."""
    whole: float
    """Of the whole process during the search."""
    others: float
    """Of all other threads of the process since it began."""
    answer: str


class Version:
    """A process of one version with a store."""

    def __init__(self, source: Path, store: Path, settings: Mapping[str, Any], vectors: Path | None = None) -> None:
        given = (str(store), fitted_embedder(), str(DIMENSION), str(vectors or ""), json.dumps(settings))
        own = source.parent / ".venv" / "bin" / "python"
        self._process = subprocess.Popen(
            [str(own) if own.exists() else sys.executable, "-c", WORKER, *given],
            env={**os.environ, "PYTHONPATH": str(source), "PYTHONSAFEPATH": "1", "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: Mapping[str, Any]) -> Reply:
        """Search once."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise SystemExit("the process of a version has no pipes")
        print(json.dumps(request), file=process.stdin, flush=True)
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of a version ended with {process.wait()}")
        return Reply(**json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()


class Compared(NamedTuple):
    """What came of asking both versions."""

    old: list[Reply]
    new: list[Reply]
    differing: list[str]


def compare(
    old: Path,
    stores: tuple[Path, Path],
    requests: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    vectors: Path | None = None,
) -> Compared:
    """Ask both versions everything by turns, the old one of the first store and this one of the second."""
    found = Compared([], [], [])
    with (
        Version(old / "src", stores[0], settings, vectors) as before,
        Version(HERE / "src", stores[1], settings, vectors) as now,
    ):
        for number, request in enumerate(requests):
            if number % 2:
                found.new.append(now.ask(request))
                found.old.append(before.ask(request))
            else:
                found.old.append(before.ask(request))
                found.new.append(now.ask(request))
            if found.old[-1].answer != found.new[-1].answer:
                found.differing.append(_show_difference(request, found.old[-1].answer, found.new[-1].answer))
    return found


def _show_difference(request: Mapping[str, Any], old: str, new: str) -> str:
    at = next((place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(at - 200, 0)
    return f"{request}\n  old: {old[begin : at + 100]}\n  new: {new[begin : at + 100]}"


def measure(old: Path, stores: tuple[Path, Path], texts: Sequence[str], vectors: Path | None, mode: str) -> list[str]:
    """Print the times of both versions over a large store; return where the answers differ."""
    plain = [{"query": text, "mode": mode} for text in texts]
    # Explanations are compared too, but cost time of their own: they are asked for only before the time counts.
    first = [{**request, "explain": True} for request in plain[:WARM_UP]]
    found = compare(old, stores, [*first, *plain], {}, vectors)
    print(f"| {mode}, {len(plain)} questions, processor ms | old | new | new / old |\n| --- | --- | --- | --- |")
    for name, place in (
        ("calling thread", Reply._fields.index("own")),
        ("whole process", Reply._fields.index("whole")),
    ):
        for share, label in ((50, "p50"), (95, "p95")):
            before, now = (
                float(np.percentile([float(reply[place]) for reply in replies[WARM_UP:]], share))
                for replies in (found.old, found.new)
            )
            print(f"| {name}, {label} | {before:.2f} | {now:.2f} | {now / before:.2f} |")
    before, now = (
        (replies[-1].others - replies[WARM_UP - 1].others) / len(plain) for replies in (found.old, found.new)
    )
    print(f"| other threads, mean | {before:.2f} | {now:.2f} | {now / before:.2f} |")
    pairs = zip(found.old[WARM_UP:], found.new[WARM_UP:], strict=True)
    print(f"median of new / old, question by question: {median(now.own / before.own for before, now in pairs):.2f}")
    return found.differing


def choose_questions(data: Path, count: int) -> list[str]:
    """Return claims of scifact and headings of the Kubernetes documentation, as `bench.search` asks them."""
    rng = np.random.default_rng(3)
    kinds = (list(load(data, "scifact").questions.values()), headings(data))
    texts = [kind[place] for kind in kinds for place in rng.permutation(len(kind))[: count // 2]]
    return [texts[place] for place in rng.permutation(len(texts))]


def embed_questions(texts: Sequence[str], folder: Path) -> Path:
    """Write the texts with their vectors by the bundled model into a file; vectors in the folder are used again."""
    path = folder / "questions.npz"
    np.savez(path, texts=np.array(texts), vectors=RememberedEmbedder(load_bundled(), folder).embed(texts))
    return path


def compare_bundled(old: Path, names: Sequence[str], every: int) -> list[str]:
    """Return where the answers differ over bundled datasets, of whose requests every n-th is made."""
    differing = []
    for name in names:
        folder_of = find_bundled(name)
        if folder_of is None:
            raise SystemExit(f"there is no bundled dataset {name!r}")
        dataset = load_dataset(folder_of)
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            store = Path(folder) / "bundled.db"
            embedder = HashedEmbedder(model=fitted_embedder(), dimension=DIMENSION)
            with open_engine(Settings(db=str(store)), embedder=embedder, clock=FixedClock()) as engine:
                take_in(engine, Scope(), dataset)
                with engine.store.reading(Scope()) as work:
                    ids = [memory.id for memory in work.memories.page(limit=40)]
            texts = [case.query for case in dataset.cases]
            for settings in ({}, {"search_fusion": "rrf"}):
                requests = list(_vary(texts, ids))[::every]
                copies = _copy(store, "old"), _copy(store, "new")
                found = compare(old, copies, requests, settings)
                print(f"{name} {settings or ''}: {len(requests)} searches, {len(found.differing)} differ", flush=True)
                differing += found.differing
    return differing


def _copy(store: Path, name: str) -> Path:
    """Copy a store without its index: sessions of one version must not be seen by the other."""
    folder = store.parent / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return Path(shutil.copy(store, folder))


def _vary(texts: Sequence[str], ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield requests: every text in every mode, and some with each option of a request."""
    for mode in MODES:
        yield from ({"query": text, "mode": mode, "explain": True} for text in texts)
    options: Sequence[dict[str, Any]] = (
        {"k": 3},
        {"k": 50},
        {"session_id": "s_bench"},
        {"working_memory": ids[:5]},
        {"token_budget": 300, "tokens_used": 50},
        {"min_relevance": 0.1},
        {"relevant_only": True},
        {"context_type": "decision"},
        {"folder_mode": "on"},
        {"folder_mode": "on_with_fallback"},
        {"channels": ["bm25", "trigger"]},
        {"channels": ["vector"]},
        {"without": ["tier_boost", "trust_ranking", "graph_scoring"]},
        {"filters": {"include_superseded": True}},
        {"filters": {"as_of": "2026-01-05T08:00:00+00:00"}},
        {"filters": {"since": "2020-01-01T00:00:00+00:00"}},
    )
    for place, text in enumerate(texts):
        mode, option = MODES[place // len(options) % 3], options[place % len(options)]
        yield {"query": text, "mode": mode, "explain": True, **option}
        yield {"query": f'"{text}" {text}', "mode": mode, "session_id": "s_other"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, and say whether anything differs."""
    parser = argparse.ArgumentParser(prog="python -m bench.search_versions", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="another checkout of the repository")
    parser.add_argument("--store", type=Path, help="a store that `bench.search --cache` left")
    parser.add_argument("--old-store", type=Path, help="a copy of it for the other checkout; default: the same")
    parser.add_argument("--data", type=Path, help="the folder of the collections; needed with --store")
    parser.add_argument("--vectors", type=Path, help="ask with vectors of the bundled model, kept in this folder")
    parser.add_argument("--times-only", action="store_true", help="do not compare the answers over --store")
    parser.add_argument("--bundled", action="store_true", help="compare answers over the bundled datasets")
    parser.add_argument("--datasets", default=",".join(BUNDLED), help="which of them; default: %(default)s")
    parser.add_argument("--every", type=int, default=1, help="make every n-th request over the bundled datasets only")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--mode", choices=MODES, default="focused")
    asked = parser.parse_args(arguments)
    differing: list[str] = []
    if asked.store is not None:
        if asked.data is None:
            parser.error("--store needs --data")
        stores = ((asked.old_store or asked.store).resolve(), asked.store.resolve())
        texts = choose_questions(asked.data, asked.questions)
        vectors = None if asked.vectors is None else embed_questions(texts, asked.vectors.resolve())
        found = measure(asked.old.resolve(), stores, texts, vectors, asked.mode)
        differing += [] if asked.times_only else found
    if asked.bundled:
        differing += compare_bundled(asked.old.resolve(), asked.datasets.split(","), asked.every)
    if asked.times_only and not asked.bundled:
        print("answers were not compared")
        return 0
    print("\n".join([f"{len(differing)} answers differ", *differing[:5]]))
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
