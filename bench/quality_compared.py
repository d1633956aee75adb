"""Old default, plain convex fusion and new default side by side, and what each part is worth.

`python -m bench.quality_compared --data DIR [--old DIR] [--cache DIR] [--questions 150] [--documents 2000]`

Each collection is saved through the real engine into a store of its own, with vectors of the bundled model. Chats are
taken in as `assay ingest --conversation` does, facts are saved one by one, everything else as files are
(`bench.memory_collections`).

- Old default: version 0.1 itself, run from the checkout that `--old` names, on the same texts without what stands
  around turns of chats, which it cannot take in. Without `--old` it is imitated by what can be switched off: a passage
  has no cosine or no BM25 where only other channels found it, `fts5` is asked for every question, deep mode expands the
  question, of short passages too, and nothing is raised for being named.
- Plain convex fusion: every passage's exact BM25 and cosine (.3 and .7, best passage of a document) over the same texts
  as the old default, without the engine's pipeline.
- New default: the search as it is. One row more has it asked with what the user said before, where a question continues
  a conversation (`previous_query`); the others get the question alone.

Differences are paired by question, with 95 % bootstrap intervals; in the mean every collection counts alike and is
resampled for itself. The second table switches off one part at a time, with its difference to the new default and its
processor time. A collection with more documents is cut to a fixed sample that holds everything judged for the questions
asked; chats are never cut.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.embedding.protocol import Embedder
from assay.embedding.registry import EmbedderRequest, find_embedder
from assay.hashing import content_hash
from assay.memory.engine import Engine
from assay.memory.searching import SearchOptions
from assay.memory.searching.query import parse
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import parse_specs
from assay.records import Channel, Mode, Origin, Scope, SearchRequest
from assay.settings import Origin as SettingOrigin
from assay.settings import Settings
from assay.testing import FixedClock
from assay.wiring import open_engine
from bench.collections import ALL, Collection
from bench.fusions import SHOWN, Values
from bench.memory_collections import BELIEFS, CONVERSATIONS, FACTS, LOCOMO, load_any
from bench.quality import save
from bench.remembered import RememberedEmbedder
from bench.version_rankings import rank_with

SCOPE = Scope()
NDCG, RECALL = parse_specs(["ndcg@10", "recall@10"])
RESAMPLES = 2_000
OLD, CONVEX, NEW = "old default", "plain convex fusion", "new default"
FOLLOWING = "new default, with the question before"
BM25_SHARE = 0.3
EVERYWHERE = (Channel.VECTOR, Channel.BM25, Channel.TRIGGER, Channel.GRAPH)
"""The channels that every question is asked of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One way to search."""

    mode: Mode = Mode.AUTO
    without: tuple[str, ...] = ()
    left_out: Channel | None = None
    options: Mapping[str, Any] | None = None
    flags: tuple[tuple[str, str], ...] = ()
    """Flags that are not as by default."""
    follows: bool = False
    """Whether a question of a conversation is asked with what the user said before it."""


NOT_COMPARED, EXPANDING_ALWAYS = {"compare_found": False}, {"expansion_least": 1}
FULL_TEXT_ALWAYS = {"full_text_always": True}
INTENTS_ON, EXPANSION_OFF = ("adaptive_fusion", "on"), ("query_expansion", "off")
WAYS = {
    OLD: Way(
        without=("named_boost",),
        options=NOT_COMPARED | EXPANDING_ALWAYS | FULL_TEXT_ALWAYS,
        flags=(INTENTS_ON,),
    ),
    NEW: Way(),
    FOLLOWING: Way(follows=True),
}
ABLATIONS = {
    "cosines and BM25 of what others found": Way(options=NOT_COMPARED),
    "named boost": Way(without=("named_boost",)),
    "channel vector": Way(left_out=Channel.VECTOR),
    "channel bm25": Way(left_out=Channel.BM25),
    "channel fts5, also for phrases": Way(left_out=Channel.FTS5),
    "channel trigger": Way(left_out=Channel.TRIGGER),
    "channel graph": Way(left_out=Channel.GRAPH),
    "recency": Way(options={"recency_strength": 0.0}),
    "causal, session, coactivation boosts": Way(without=("causal_boost", "session_boost", "coactivation")),
    "mmr": Way(without=("mmr",)),
    "query expansion": Way(flags=(EXPANSION_OFF,)),
    "choice of mode (always focused)": Way(mode=Mode.FOCUSED),
}
ADDED = {
    "intents (adaptive_fusion)": Way(flags=(INTENTS_ON,)),
    "query expansion, of short passages too": Way(options=EXPANDING_ALWAYS),
    "channel fts5 for every question": Way(options=FULL_TEXT_ALWAYS),
    "deep mode for every question": Way(mode=Mode.DEEP),
    "quick mode for every question": Way(mode=Mode.QUICK),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One way on one collection, by question."""

    ndcg: Values
    recall: Values
    found_all: Values
    """1 where everything relevant is among the first ten, else 0."""
    processor_ms: float


class Asking:
    """One collection in a store of its own."""

    def __init__(self, engine: Engine, collection: Collection, document_of: Mapping[str, str]) -> None:
        self._engine = engine
        self._collection = collection
        self._document_of = document_of

    def measure(self, way: Way) -> Measured:
        """Ask every question in one way."""
        searcher = self._engine.searcher.with_options(replace(SearchOptions(), **(way.options or {})))
        channels = None if way.left_out is None else tuple(one for one in EVERYWHERE if one is not way.left_out)
        rankings, spent = {}, 0.0
        for key, text in self._collection.questions.items():
            request = SearchRequest(
                query=text,
                previous_query=self._collection.previous.get(key) if way.follows else None,
                k=SHOWN,
                mode=way.mode,
                without=way.without,
                channels=channels,
                origin=Origin.EVALUATION,
            )
            begun = time.thread_time()
            hits = searcher.search(SCOPE, request).hits
            spent += time.thread_time() - begun
            rankings[key] = [self._document_of[hit.memory_id] for hit in hits]
        return self.judge(rankings, 1_000.0 * spent / len(rankings))

    def fuse_plainly(self, embedder: Embedder) -> Measured:
        """Rank every document by its best passage's BM25 over the best and its cosine, added up."""
        rankings = {}
        with self._engine.store.reading(SCOPE) as work:
            view = self._engine.indexes.view(work)
            count, model = view.document_count, str(view.model)
            for key, text in self._collection.questions.items():
                asked = {stem: float(times) for stem, times in parse(text).stems.items()}
                words = {hit.number: hit.score for hit in view.lexical(asked, limit=count)}
                best = max(words.values(), default=1.0)
                vector = embedder.embed([text])[0]
                scores = {
                    hit.number: (1.0 - BM25_SHARE) * max(hit.score, 0.0)
                    + BM25_SHARE * words.get(hit.number, 0.0) / best
                    for hit in view.nearest(vector, model=model, limit=count, exact=True)
                }
                ranked = sorted(scores, key=lambda number: -scores[number])[: 20 * SHOWN]
                rows = {row.number: row.memory_id for row in work.passages.candidates(ranked)}
                memories = dict.fromkeys(rows[number] for number in ranked)
                rankings[key] = [self._document_of[memory] for memory in list(memories)[:SHOWN]]
        return self.judge(rankings, float("nan"))

    def judge(self, rankings: Mapping[str, Sequence[str]], processor_ms: float) -> Measured:
        """Measure rankings of documents."""
        run = {
            key: {document: 1.0 / rank for rank, document in enumerate(found, start=1)}
            for key, found in rankings.items()
        }
        scores = measure_mappings(self._collection.judgments, run, [NDCG, RECALL]).scores
        recall = np.asarray(scores[RECALL].values)
        return Measured(
            ndcg=np.asarray(scores[NDCG].values),
            recall=recall,
            found_all=(recall >= 1.0).astype(float),
            processor_ms=processor_ms,
        )


def cut(collection: Collection, questions: int, documents: int) -> Collection:
    """At most so many questions and documents: a fixed sample that holds what is judged for the questions."""
    rng = np.random.default_rng(1)
    keys = sorted(collection.questions)
    chosen = sorted(rng.choice(len(keys), size=min(questions, len(keys)), replace=False).tolist())
    kept = [keys[place] for place in chosen]
    judged = {document for key in kept for document in collection.judgments[key]}
    others = sorted((one.id for one in collection.documents if one.id not in judged), key=content_hash)
    # A chat with turns missing is another chat: what is left is easier to tell from its neighbours.
    room = len(others) if collection.surroundings else max(documents - len(judged), 0)
    wanted = judged | set(others[:room])
    return replace(
        collection,
        documents=[one for one in collection.documents if one.id in wanted],
        questions={key: collection.questions[key] for key in kept},
        judgments={key: collection.judgments[key] for key in kept},
    )


def run(
    collection: Collection, folder: Path, embedder: Embedder, ways: Mapping[str, Way], old: Path | None = None
) -> dict[str, Measured]:
    """Measure these ways on one collection; `old` is a checkout of version 0.1, which then measures the old default."""
    plain = replace(collection, surroundings={}, one_by_one=False)
    former = {title: way for title, way in ways.items() if title == OLD}
    found = _measure_ways(plain, folder, embedder, former, plainly=True)
    if old is not None:
        with _opened(plain, folder, embedder) as asking:
            found[OLD] = asking.judge(*rank_with(old, replace(plain, one_by_one=collection.one_by_one), folder))
    return found | _measure_ways(collection, folder, embedder, {key: way for key, way in ways.items() if key != OLD})


def _measure_ways(
    collection: Collection, folder: Path, embedder: Embedder, ways: Mapping[str, Way], *, plainly: bool = False
) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    for flags in dict.fromkeys(way.flags for way in ways.values()):
        with _opened(collection, folder, embedder, flags) as asking:
            found |= {title: asking.measure(way) for title, way in ways.items() if way.flags == flags}
    if plainly:
        with _opened(collection, folder, embedder) as asking:
            found[CONVEX] = asking.fuse_plainly(embedder)
    return found


@contextmanager
def _opened(
    collection: Collection, folder: Path, embedder: Embedder, flags: Sequence[tuple[str, str]] = ()
) -> Iterator[Asking]:
    """Open the store of a collection, and fill it the first time."""
    parts = [len(collection.documents), sorted(collection.questions), *sorted(collection.surroundings.items())]
    place = folder / f"{collection.name}-{content_hash([*parts, collection.one_by_one])[-8:]}"
    saved = place.with_suffix(".saved.json")
    origin = SettingOrigin("option", "bench")
    settings = Settings(db=str(place.with_suffix(".db")), flags={name: (value, origin) for name, value in flags})
    # A fixed clock: otherwise a newer search finds everything a little older.
    with open_engine(settings, embedder=embedder, clock=FixedClock()) as engine:
        if not saved.exists():
            saved.write_text(json.dumps(save(engine, collection)), encoding="utf-8")
        yield Asking(engine, collection, json.loads(saved.read_text(encoding="utf-8")))


Taken = Callable[[Measured], Values]


def difference(pairs: Sequence[tuple[Values, Values]]) -> tuple[float, float, float]:
    """The mean over collections of the mean paired difference, with its bootstrap interval."""
    rng = np.random.default_rng(1)
    gains = [values - base for values, base in pairs]
    means = np.mean([one[rng.integers(len(one), size=(RESAMPLES, len(one)))].mean(axis=1) for one in gains], axis=0)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(np.mean([one.mean() for one in gains])), float(low), float(high)


def tables(measured: Mapping[str, Mapping[str, Measured]]) -> list[str]:
    """Markdown: the three defaults side by side, then each part switched off or on."""
    lines = []
    for title, taken in (("nDCG@10", _ndcg), ("everything relevant among the first ten", _found_all)):
        lines += ["", f"### {title}", *_head([*measured, "mean"])]
        for way in (OLD, CONVEX, NEW, FOLLOWING):
            means = [float(taken(ways[way]).mean()) for ways in measured.values()]
            lines.append(_row(way, [*(f"{mean:.4f}" for mean in means), f"{np.mean(means):.4f}"]))
        for way, base in ((NEW, OLD), (NEW, CONVEX), (FOLLOWING, OLD)):
            pairs = [(taken(ways[way]), taken(ways[base])) for ways in measured.values()]
            lines.append(
                _row(f"{way} minus {base}", [format_difference([pair]) for pair in pairs] + [format_difference(pairs)])
            )
    spent = {way: np.mean([ways[way].processor_ms for ways in measured.values()]) for way in (OLD, NEW)}
    lines += ["", f"Processor time of a search: {OLD} {spent[OLD]:.1f} ms, {NEW} {spent[NEW]:.1f} ms."]
    for title, ways in (("switched off", ABLATIONS), ("switched on", ADDED)):
        whole = {name: found for name, found in measured.items() if ways.keys() <= found.keys()}
        head = [*whole, "mean [95 %]", "processor ms"]
        lines += ["", f"### {title}, nDCG@10 minus the new default's", *_head(head)]
        lines += [_part(name, whole) for name in ways] if whole else []
    return lines


def _part(name: str, measured: Mapping[str, Mapping[str, Measured]]) -> str:
    pairs = [(ways[name].ndcg, ways[NEW].ndcg) for ways in measured.values()]
    cells = [f"{(values - base).mean():+.4f}" for values, base in pairs]
    spent, whole = (np.mean([ways[one].processor_ms for ways in measured.values()]) for one in (name, NEW))
    return _row(name, [*cells, format_difference(pairs), f"{spent:.1f} ({spent / whole:.2f}x)"])


def format_difference(pairs: Sequence[tuple[Values, Values]]) -> str:
    """Format the mean paired difference with its interval."""
    mean, low, high = difference(pairs)
    return f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"


def _ndcg(one: Measured) -> Values:
    return one.ndcg


def _found_all(one: Measured) -> Values:
    return one.found_all


def _head(names: Sequence[str]) -> list[str]:
    return [f"|  | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _write(file: Path, measured: Mapping[str, Mapping[str, Measured]]) -> None:
    kept = {
        name: {
            way: [one.ndcg.tolist(), one.recall.tolist(), one.found_all.tolist(), one.processor_ms]
            for way, one in ways.items()
        }
        for name, ways in measured.items()
    }
    file.write_text(json.dumps(kept), encoding="utf-8")


def _read(file: Path) -> dict[str, dict[str, Measured]]:
    return {
        name: {
            way: Measured(
                ndcg=np.array(ndcg), recall=np.array(recall), found_all=np.array(found_all), processor_ms=processor_ms
            )
            for way, (ndcg, recall, found_all, processor_ms) in ways.items()
        }
        for name, ways in json.loads(file.read_text(encoding="utf-8")).items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quality_compared", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--cache", type=Path, help="keep stores and vectors here for the next run")
    parser.add_argument("--collections", default=",".join((*ALL, CONVERSATIONS, LOCOMO, FACTS, BELIEFS)))
    parser.add_argument("--questions", type=int, default=150, help="at most this many questions of a collection")
    parser.add_argument("--documents", type=int, default=2_000, help="about this many documents at most")
    parser.add_argument("--embedder", default="minilm", help="a registered embedder, such as granite")
    parser.add_argument("--old", type=Path, help="a checkout of version 0.1, which then is the old default")
    parser.add_argument("--defaults", action="store_true", help="compare the defaults and leave the parts out")
    parser.add_argument("--keep", type=Path, help="keep what was measured in this file, for --join")
    parser.add_argument(
        "--join", type=Path, nargs="+", default=[], help="print what these files keep, and measure nothing"
    )
    asked = parser.parse_args(arguments)
    if asked.join:
        print("\n".join(tables({name: ways for file in asked.join for name, ways in _read(file).items()})))
        return 0
    measured = {}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        # Vectors and stores of another embedder lie apart.
        folder = (asked.cache or Path(temporary)) / ("" if asked.embedder == "minilm" else asked.embedder)
        embedder = RememberedEmbedder(find_embedder(asked.embedder).load(EmbedderRequest()), folder)
        for name in asked.collections.split(","):
            collection = cut(load_any(asked.data, name), asked.questions, asked.documents)
            ways = WAYS if asked.defaults else WAYS | ABLATIONS | ADDED
            measured[name] = run(collection, folder, embedder, ways, asked.old)
            sizes = f"{len(collection.documents):,} documents, {len(collection.questions):,} questions"
            print(f"{name}: {sizes}, {embedder.made:,} vectors made so far", file=sys.stderr, flush=True)
            if asked.keep is not None:
                _write(asked.keep, measured)
    print("\n".join(tables(measured)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
