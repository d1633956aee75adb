"""How good the engine's rankings are on public collections: `python -m bench.quality --data DIR [--cache DIR]`.

Each collection is saved through the real engine into a store of its own, with vectors of the bundled model. Measured
are each channel alone, all channels fused at the engine's own defaults, and passages of a memory added up (MPAB)
against the best one alone. Every other way to fuse is replayed from the channel lists that the engine logged. A
document without a title is named by its id, as `assay ingest` does. Exit code 1 when a requirement is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.memory.engine import Engine
from assay.memory.saving import Refused
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import parse_specs
from assay.records import (
    Channel,
    ChannelCandidates,
    Draft,
    Format,
    Hit,
    Mode,
    Origin,
    Scope,
    SearchRequest,
    SearchResult,
)
from assay.settings import Origin as SettingOrigin
from assay.settings import Settings
from assay.testing import FixedClock
from assay.testing.clock import START
from assay.wiring import open_engine
from bench import fusions
from bench.collections import ALL, NEEDED, Collection, load
from bench.fusions import SHOWN, Values
from bench.remembered import RememberedEmbedder

SCOPE = Scope()
MORE = "focused, more full-text matches"
ALONE = (Channel.BM25, Channel.VECTOR, Channel.FTS5)
REFERENCE = {"scifact": 0.68, "noveleval": 0.683, "hotpotqa100": 0.793, "beam100k": 0.31, "mtrag": 0.77}
"""nDCG@10 of plain BM25 as told with the collections; scifact's is that of its test claims, which are not these."""
MOST_LOST = 0.02
"""Of MRR@5, by MPAB, for it to be on by default."""
NDCG, MRR = parse_specs(["ndcg@10", "mrr@5"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """What was measured on one collection; values are per question."""

    collection: Collection
    chunks: int
    ndcg: Mapping[str, Values]
    """By channel; `focused`, the same with more full-text matches (`MORE`), and `auto` for all channels."""
    mrr: Mapping[str, Values]
    """With MPAB `off` and `on`."""
    candidates: Values
    """nDCG@10 of every way to fuse: a row each, a column for each question."""
    single_changed: int
    """Memories of one chunk whose score MPAB changed."""
    singles: int

    @property
    def name(self) -> str:
        """The collection's."""
        return self.collection.name

    @property
    def best_alone(self) -> float:
        """The better channel's mean."""
        return max(float(self.ndcg[channel].mean()) for channel in ALONE)


class Asking:
    """One engine over one collection."""

    def __init__(self, engine: Engine, collection: Collection, document_of: Mapping[str, str]) -> None:
        self._engine = engine
        self._collection = collection
        self._document_of = document_of

    def hits(self, mode: Mode = Mode.FOCUSED, channel: Channel | None = None) -> dict[str, tuple[Hit, ...]]:
        """What every question finds."""
        return {key: self._search(text, mode, channel).hits for key, text in self._collection.questions.items()}

    def hits_of_more_matches(self) -> dict[str, tuple[Hit, ...]]:
        """The same when full text scores as many matches beside other channels as it does alone."""
        options = self._engine.searcher.options
        searcher = self._engine.searcher.with_options(replace(options, full_text_beside=options.full_text_limit))
        questions = self._collection.questions.items()
        return {key: searcher.search(SCOPE, _request(text, Mode.FOCUSED)).hits for key, text in questions}

    def logged(self) -> dict[str, tuple[ChannelCandidates, ...]]:
        """The channel lists of every question, as the query log keeps them."""
        ids = {key: self._search(text).query_id for key, text in self._collection.questions.items()}
        self._engine.store.log.flush()
        with self._engine.store.reading(SCOPE) as work:
            return {key: work.queries.get(query_id).candidates for key, query_id in ids.items()}

    def measured(self, rankings: Mapping[str, Sequence[str]]) -> tuple[Values, Values]:
        """nDCG@10 and MRR@5 of rankings of memories, for each question."""
        run = {
            key: {self._document_of[one]: 1.0 / rank for rank, one in enumerate(found, start=1)}
            for key, found in rankings.items()
        }
        scores = measure_mappings(self._collection.judgments, run, [NDCG, MRR]).scores
        return np.asarray(scores[NDCG].values), np.asarray(scores[MRR].values)

    def _search(self, text: str, mode: Mode = Mode.FOCUSED, channel: Channel | None = None) -> SearchResult:
        return self._engine.searcher.search(SCOPE, _request(text, mode, channel))


def _request(text: str, mode: Mode, channel: Channel | None = None) -> SearchRequest:
    channels = None if channel is None else (channel,)
    return SearchRequest(query=text, k=SHOWN, mode=mode, channels=channels, origin=Origin.EVALUATION)


def _ids(hits: Mapping[str, Sequence[Hit]]) -> dict[str, list[str]]:
    return {key: [hit.memory_id for hit in found] for key, found in hits.items()}


def save(engine: Engine, collection: Collection) -> dict[str, str]:
    """Save every document; the document of each memory."""
    drafts = (
        Draft(
            title=document.title.strip() or document.id,
            body=document.text,
            format=Format.TEXT,
            source_id=document.id,
            surroundings=collection.surroundings.get(document.id, ""),
        )
        for document in collection.documents
    )
    document_of = {}
    if collection.one_by_one:
        for draft, at in zip(drafts, list_moments(len(collection.documents)), strict=True):
            saved = engine.saver.save(SCOPE, replace(draft, valid_from=at))
            document_of[str(saved.memory_id)] = str(draft.source_id)
        return document_of
    for draft, outcome in engine.saver.save_many(SCOPE, drafts, batch=200):
        if isinstance(outcome, Refused):
            raise outcome.error
        document_of[str(outcome.memory_id)] = str(draft.source_id)
    engine.indexes.compact(SCOPE)
    return document_of


def list_moments(count: int) -> list[datetime]:
    """Return when notes are saved that come a minute after each other, the last of them just before the search."""
    return [START - timedelta(minutes=count - place) for place in range(count)]


def measure(collection: Collection, db: Path, embedder: Embedder) -> Trial:
    """Everything about one collection."""
    clock = FixedClock()  # otherwise a newer search finds everything a little older
    with open_engine(_settings(db, aggregated=False), embedder=embedder, clock=clock) as engine:
        document_of = save(engine, collection)
        asking = Asking(engine, collection, document_of)
        found = {str(channel): asking.hits(channel=channel) for channel in ALONE}
        found |= {"focused": asking.hits(), "auto": asking.hits(Mode.AUTO), MORE: asking.hits_of_more_matches()}
        lists = asking.logged()
        with engine.store.reading(SCOPE) as work:
            chunks = work.memories.count_chunks()
            single = {one for one in document_of if len(work.memories.chunks_of(one)) == 1}
    with open_engine(_settings(db, aggregated=True), embedder=embedder, clock=clock) as engine:
        aggregated = Asking(engine, collection, document_of).hits()
    ways = [asking.measured({key: fusions.ranking(lists[key], one) for key in lists})[0] for one in fusions.ALL]
    pairs = [
        (one.score, other.score)
        for key, before in found["focused"].items()
        for one in before
        for other in aggregated[key]
        if one.memory_id == other.memory_id and one.memory_id in single
    ]
    return Trial(
        collection=collection,
        chunks=chunks,
        ndcg={name: asking.measured(_ids(hits))[0] for name, hits in found.items()},
        mrr={
            "off": asking.measured(_ids(found["focused"]))[1],
            "on": asking.measured(_ids(aggregated))[1],
        },
        candidates=np.stack(ways),
        single_changed=sum(one != other for one, other in pairs),
        singles=len(pairs),
    )


def _settings(db: Path, *, aggregated: bool) -> Settings:
    said = ("on" if aggregated else "off", SettingOrigin("option", "bench"))
    return Settings(db=str(db), flags={"docscore_aggregation": said})


def told(trials: Sequence[Trial]) -> list[str]:
    """The figures as Markdown tables, and what nested cross-validation says."""
    names = [trial.name for trial in trials]
    lines = ["", "## nDCG@10", *_head("", [*names, "mean"])]
    rows = {f"{channel}": [trial.ndcg[channel].mean() for trial in trials] for channel in ALONE}
    rows |= {f"fused, {mode}": [trial.ndcg[mode].mean() for trial in trials] for mode in ("focused", MORE, "auto")}
    lines += [_row(name, [*means, np.mean(means)]) for name, means in rows.items()]
    lines += [_row("BM25 reference", [REFERENCE.get(name) for name in names])]
    lines += [_row("fused, focused, minus the better channel, 95 %", [_gain(trial) for trial in trials])]
    lines += ["", "## MPAB, MRR@5", *_head("", names)]
    lines += [_row(state, [trial.mrr[state].mean() for trial in trials]) for state in ("off", "on")]
    lines += [_row("change", [f"{_change(trial):+.1%}" for trial in trials])]
    lines += [_row("single-chunk scores changed", [f"{one.single_changed} of {one.singles}" for one in trials])]
    lines += [_row("documents / chunks / questions", [_sizes(trial) for trial in trials])]
    return lines + _told_candidates(trials, names)


def _told_candidates(trials: Sequence[Trial], names: Sequence[str]) -> list[str]:
    measured = {trial.name: trial.candidates for trial in trials}
    lines = ["", "## Every way to fuse, nDCG@10 (weight of bm25 + weight of fts5)", *_head("", [*names, "mean"])]
    for place, candidate in enumerate(fusions.ALL):
        means = [values[place].mean() for values in measured.values()]
        lines.append(_row(str(candidate), [*means, np.mean(means)]))
    lines += ["", "## Chosen by nested cross-validation", *_head("among", [*names, "mean", "chosen"])]
    groups = {"all": lambda _: True} | {how: lambda one, how=how: one.scaling == how for how in fusions.SCALINGS}
    for name, among in groups.items():
        chosen = fusions.choose(measured, among)
        times = ", ".join(f"{candidate} {count}x" for candidate, count in chosen.times.most_common(4))
        lines.append(_row(name, [*chosen.means.values(), chosen.macro, times]))
    return lines


def missed(trials: Sequence[Trial]) -> list[str]:
    """The requirements that are not met."""
    found = []
    for trial in trials:
        for mode in ("focused", "auto"):
            fused = float(trial.ndcg[mode].mean())
            if trial.name in NEEDED and fused < trial.best_alone:
                found.append(f"{trial.name}: fused ({mode}) {fused:.4f} < better channel {trial.best_alone:.4f}")
            if fused < REFERENCE.get(trial.name, 0.0):
                found.append(f"{trial.name}: fused ({mode}) {fused:.4f} < reference {REFERENCE[trial.name]}")
        if trial.single_changed:
            found.append(f"{trial.name}: MPAB changed {trial.single_changed} scores of memories of one chunk")
    return found


def _head(first: str, names: Sequence[str]) -> list[str]:
    return [f"| {first} | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]


def _row(name: str, values: Sequence[object]) -> str:
    return f"| {name} | {' | '.join(_cell(value) for value in values)} |"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _gain(trial: Trial, resamples: int = 2_000) -> str:
    """The mean difference to the better channel with its bootstrap interval over questions."""
    better = max(ALONE, key=lambda channel: float(trial.ndcg[channel].mean()))
    gains = trial.ndcg["focused"] - trial.ndcg[better]
    rng = np.random.default_rng(1)
    means = gains[rng.integers(len(gains), size=(resamples, len(gains)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{gains.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def _change(trial: Trial) -> float:
    off, on = (float(trial.mrr[state].mean()) for state in ("off", "on"))
    return on / off - 1.0


def _sizes(trial: Trial) -> str:
    return f"{len(trial.collection.documents):,} / {trial.chunks:,} / {len(trial.collection.questions):,}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--cache", type=Path, help="keep stores and vectors here for the next run")
    parser.add_argument("--collections", default=",".join(ALL))
    asked = parser.parse_args(arguments)
    trials = []
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        folder = asked.cache or Path(temporary)
        embedder = RememberedEmbedder(load_bundled(), folder)
        for name in asked.collections.split(","):
            trials.append(measure(load(asked.data, name), folder / f"{name}.db", embedder))
            print(f"{name}: done, {embedder.made:,} vectors made so far", file=sys.stderr, flush=True)
    print("\n".join(told(trials)))
    lost = [trial.name for trial in trials if _change(trial) < -MOST_LOST]
    print(f"\nMPAB loses more than {MOST_LOST:.0%} of MRR@5 on: {', '.join(lost) or 'none'}")
    problems = missed(trials)
    print("\n".join(f"MISSED: {one}" for one in problems) or "Every requirement holds.")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
