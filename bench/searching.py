"""The measurements of `bench.search` in one store: `measure` makes `Figures`, which know their goals."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice, takewhile
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Progress, SimilarityProfile, Vectors
from assay.memory.engine import Engine
from assay.memory.searching import Searcher, channels
from assay.memory.searching.trace import Stopwatch, Trace
from assay.records import Draft, Format, Mode, Scope, SearchRequest, SearchResult
from assay.settings import Settings
from assay.wiring import open_engine
from bench.collections import load
from bench.peers import Peer
from bench.peers import peers as others

S = TypeVar("S", bound=Searcher)

SCOPE = Scope()
WARM_UP = 40
PEERS_WARM_UP, PEERS_ASKED = 10, 100
CONCURRENT, THREADS = 1_000, 64
HUGE = 1_000_000
"""Above so many chunks fewer searches are made at once, and recall is that of fewer questions."""
HUGE_CONCURRENT, HUGE_CHECKED = 200, 40
SAVES = 60
FOLDED = 100
DEPTH = 50
STAGES = 9
"""Of one search, each timed."""


class Question(NamedTuple):
    """A text and its vector."""

    text: str
    vector: NDArray[np.float32]


class Spread(NamedTuple):
    """Times in milliseconds."""

    p50: float
    p95: float

    def __str__(self) -> str:
        return f"p50 {self.p50:.2f} ms, p95 {self.p95:.2f} ms"


def spread(milliseconds: Sequence[float]) -> Spread:
    """The middle and the slow end."""
    return Spread(*(float(one) for one in np.percentile(milliseconds, [50, 95])))


class Timed(NamedTuple):
    """What searches took: by the clock, and of the processor in the calling thread."""

    wall: Spread
    cpu: Spread

    def __str__(self) -> str:
        return f"{self.wall} (processor {self.cpu.p50:.2f}, {self.cpu.p95:.2f})"


NOTHING = Timed(Spread(0.0, 0.0), Spread(0.0, 0.0))


@dataclass(kw_only=True, slots=True)
class Figures:
    """What was measured in one store."""

    chunks: int
    opened_s: float = 0.0
    """From starting the engine until the first search was answered."""
    first_ms: float = 0.0
    """Of it, that search."""
    modes: dict[str, Timed] = field(default_factory=dict)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    """Mean milliseconds of the processor by mode and stage."""
    peak_mb: float = 0.0
    own_mb: float = 0.0
    """Of it, what is not mapped files."""
    session_boost: Timed = NOTHING
    causal: Timed = NOTHING
    concurrent: int = CONCURRENT
    concurrent_per_s: float = 0.0
    concurrent_failed: int = 0
    instruments: Timed = NOTHING
    behind_ms: float = 0.0
    """Processor time a search of other threads: the query log's writer."""
    save: Timed = NOTHING
    after_save: Timed = NOTHING
    not_seen: int = 0
    """Saves that the next search did not find."""
    recall: float = 0.0
    fold_s: float = 0.0
    """Folding a few saves into the base, while others search."""
    longest_ms: Mapping[str, float] = field(default_factory=dict)
    """The longest search by the clock, without and beside that folding."""
    cold_s: float | None = None
    """Of `assay search` in a shell; measured at one size only."""

    def missed(self) -> list[str]:
        """The goals that are not met."""
        large, most = self.chunks > 100_000, 150 if self.chunks > HUGE else 80 if self.chunks > 100_000 else 40
        goals = {
            "focused p50 < 15 ms": large or self.modes["focused"].wall.p50 < 15,
            f"focused p95 < {most} ms": self.modes["focused"].wall.p95 < most,
            "memory < 16 GB": self.peak_mb < 16_000,
            "quick p95 < 10 ms": large or self.modes["quick"].wall.p95 < 10,
            "session boost p95 < 10 ms": self.session_boost.wall.p95 < 10,
            "causal traversal p95 < 20 ms": self.causal.wall.p95 < 20,
            "concurrent searches without error": not self.concurrent_failed,
            "instruments p95 < 2 ms": self.instruments.wall.p95 < 2,
            "a save is seen by the next search": not self.not_seen,
            "search after a save p95 < 40 ms": large or self.after_save.wall.p95 < 40,
            "recall@50 >= .99": self.recall >= 0.99,
            "cold `assay search` < 1 s": self.cold_s is None or self.cold_s < 1,
        }
        return [goal for goal, met in goals.items() if not met]

    def told(self) -> Iterator[str]:
        """The figures, a line each."""
        yield f"opened and first answer in {self.opened_s:.2f} s, of it the search {self.first_ms:.0f} ms"
        yield from table(self.modes)
        for mode, parts in self.stages.items():
            shares = ", ".join(f"{name} {spent:.2f}" for name, spent in parts.items() if spent >= 0.05)
            yield f"mean processor ms in {mode}: {shares}"
        yield f"memory at the peak: {self.peak_mb:.0f} MB, of which {self.own_mb:.0f} MB not mapped files"
        yield f"boost stage in a session: {self.session_boost}; causal traversal: {self.causal}"
        rate, failed = self.concurrent_per_s, self.concurrent_failed
        yield f"{self.concurrent} searches on {THREADS} threads: {rate:.0f}/s, {failed} failed or degraded"
        yield f"instruments (trace, telemetry, log): {self.instruments}; {self.behind_ms:.2f} ms behind the caller"
        yield f"save: {self.save}; the search after it: {self.after_save}, {self.not_seen} of {SAVES} not seen"
        waits = ", ".join(f"{when} {longest:.0f} ms" for when, longest in self.longest_ms.items())
        yield f"folding {FOLDED} saves in: {self.fold_s:.1f} s; the longest search by the clock: {waits}"
        yield f"recall@{DEPTH} of the vector channel against exact: {self.recall:.4f}"


def table(measured: Mapping[str, Timed]) -> Iterator[str]:
    """Times as a table."""
    yield "| | wall p50 / p95 | processor p50 / p95 |\n| --- | --- | --- |"
    for name, one in measured.items():
        yield f"| {name} | {one.wall.p50:.1f} / {one.wall.p95:.1f} ms | {one.cpu.p50:.1f} / {one.cpu.p95:.1f} ms |"


class KnownVectors:
    """An embedder for texts whose vectors are known; any other text gets one that depends on it alone, at once."""

    def __init__(self, questions: Sequence[Question], model: str) -> None:
        self._known = {one.text: one.vector for one in questions}
        self.model = model
        self.dimension = len(questions[0].vector)
        self.token_limit = 254
        self.profile = SimilarityProfile()

    def count_tokens(self, text: str) -> int:
        """About as many as there are."""
        return len(text) // 4

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:  # noqa: ARG002 - at once
        """The vectors, without a model."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        if text not in self._known:
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            made = np.random.default_rng(seed).standard_normal(self.dimension, dtype=np.float32)
            self._known[text] = made / np.linalg.norm(made)
        return self._known[text]


class Lap:
    """Adds up what happens inside its `with` blocks, in milliseconds, by the clock and of the processor."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def __enter__(self) -> Self:
        self._begun, self._busy = time.perf_counter(), time.thread_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu += (time.thread_time() - self._busy) * 1000
        self.wall += (time.perf_counter() - self._begun) * 1000


def timed(laps: Sequence[Lap]) -> Timed:
    """How laps are spread."""
    return Timed(spread([lap.wall for lap in laps]), spread([lap.cpu for lap in laps]))


class WatchedSearcher(Searcher):
    """A searcher that times what it does only to be seen: the result's telemetry and everything it leaves behind."""

    stopwatch: Lap

    def _result(self, *given: Any) -> SearchResult:
        with self.stopwatch:
            return super()._result(*given)

    def _leave(self, *given: Any) -> None:
        with self.stopwatch:
            super()._leave(*given)


class Bench:
    """One engine and its questions."""

    def __init__(self, engine: Engine, embedder: KnownVectors, questions: Sequence[Question]) -> None:
        self.engine = engine
        self.embedder = embedder
        self.questions = questions

    def search(self, text: str, mode: Mode = Mode.FOCUSED) -> SearchResult:
        """One search, as the engine does it."""
        return self.engine.searcher.search(SCOPE, SearchRequest(query=text, mode=mode))

    def in_mode(self, mode: Mode) -> Timed:
        """Every question once, after a few that are not counted."""
        for one in self.questions[:WARM_UP]:
            self.search(one.text, mode)
        return laps(self.questions, lambda one: self.search(one.text, mode))

    def stages(self, mode: Mode) -> dict[str, float]:
        """Where the processor's time goes."""
        searcher, spent = self._searcher(Searcher, time.thread_time), defaultdict[str, float](float)
        asked = self.questions[:100]
        for one in asked:
            for name, part in _stages(searcher.search(SCOPE, SearchRequest(query=one.text, mode=mode))):
                spent[name] += part
        return {name: part / len(asked) for name, part in spent.items()}

    def session(self) -> Timed:
        """The boost stage of a session that has a history."""
        return Timed(self._boosts(time.perf_counter), self._boosts(time.thread_time))

    def _boosts(self, stopwatch: Stopwatch) -> Spread:
        searcher, session = self._searcher(Searcher, stopwatch), f"bench-{stopwatch.__name__}"
        asked = [SearchRequest(query=one.text, mode=Mode.FOCUSED, session_id=session) for one in self.questions[:100]]
        found = [searcher.search(SCOPE, one) for one in asked]
        return spread([stage.duration_ms for one in found[25:] for stage in one.stages if stage.name == "boost"])

    def causal(self) -> Timed:
        """Two hops from the best five hits."""
        seeds = {one.text: {hit.memory_id: hit.score for hit in self.search(one.text).hits[:5]} for one in self._some}
        with self.engine.store.reading(SCOPE) as work:
            return laps(self._some, lambda one: channels.search_graph(work.edges.around, seeds[one.text]))

    def concurrent(self, count: int, threads: int = THREADS) -> tuple[float, int]:
        """Searches a second, and how many failed or left a channel out."""

        def failed(one: Question) -> bool:
            try:
                return bool(self.search(one.text).degraded)
            except Exception as problem:  # noqa: BLE001 - counted
                print(f"a concurrent search failed: {problem!r}", file=sys.stderr)
                return True

        begun = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            failures = sum(pool.map(failed, islice(cycle(self.questions), count)))
        return count / (time.perf_counter() - begun), failures

    def instruments(self) -> tuple[Timed, float]:
        """What is done only to be seen, for each search; and what the log's writer takes of the processor."""
        watched, spent = self._searcher(WatchedSearcher, time.perf_counter), []
        others_before = time.process_time() - time.thread_time()
        for one in self._some:
            watched.stopwatch = Lap()
            watched.search(SCOPE, SearchRequest(query=one.text, mode=Mode.FOCUSED))
            with watched.stopwatch:
                _trace_stages()
            spent.append(watched.stopwatch)
        self.engine.store.log.flush()
        behind = time.process_time() - time.thread_time() - others_before
        return timed(spent), behind * 1000 / len(spent)

    def saves(self) -> tuple[Timed, Timed, int]:
        """A save, and the search that must see it."""
        saved, searched, unseen, made = [], [], 0, []
        for place, one in enumerate(self.questions[:SAVES]):
            word, saving, searching = f"quokka{place}", Lap(), Lap()
            draft = Draft(title=f"Note {word}", body=f"{one.text} The code word is {word}.", format=Format.TEXT)
            with saving:
                outcome = self.engine.saver.save(SCOPE, draft)
            with searching:
                found = self.search(f"what about {word} and {one.text}")
            saved.append(saving)
            searched.append(searching)
            unseen += outcome.memory_id not in found.ids
            made.append(str(outcome.memory_id))
        with self.engine.store.writing(SCOPE) as work:
            for memory_id in made:
                work.memories.remove(memory_id)
        return timed(saved), timed(searched), unseen

    def fold(self) -> tuple[float, dict[str, float]]:
        """How long folding takes, and the longest search without and beside it."""
        notes = (f"Note {place} of the folded ones: {one.text}" for place, one in enumerate(cycle(self.questions)))
        made = [
            str(self.engine.saver.save(SCOPE, Draft(title=f"Folded {place}", body=text, format=Format.TEXT)).memory_id)
            for place, text in enumerate(islice(notes, FOLDED))
        ]
        longest = {"without": max(self._walls(self.questions[:WARM_UP]))}
        with ThreadPoolExecutor(1) as pool:
            folding = pool.submit(self.engine.indexes.compact, SCOPE, whole=False)
            asked = takewhile(lambda _: not folding.done(), cycle(self.questions))
            longest["beside"] = max(self._walls(asked), default=0.0)
            seconds = folding.result().seconds
        with self.engine.store.writing(SCOPE) as work:
            for memory_id in made:
                work.memories.remove(memory_id)
        return seconds, longest

    def _walls(self, asked: Iterable[Question]) -> list[float]:
        return [lap.wall for lap in laps_of(asked, lambda one: self.search(one.text))]

    @property
    def _some(self) -> Sequence[Question]:
        return self.questions[:200]

    def _searcher(self, kind: type[S], stopwatch: Stopwatch) -> S:
        """Another searcher over the same engine."""
        engine = self.engine
        return kind(
            store=engine.store,
            embedder=self.embedder,
            indexes=engine.indexes,
            flags=engine.flags,
            clock=engine.clock,
            stopwatch=stopwatch,
        )

    def recall(self, vectors: Vectors, numbers: NDArray[np.int64]) -> float:
        """The share of the exact nearest that the vector channel finds."""
        found = []
        with self.engine.store.reading(SCOPE) as work:
            view = self.engine.indexes.view(work)
            for one in self._some:
                scores = vectors @ one.vector
                exact = set(numbers[np.argpartition(scores, -DEPTH)[-DEPTH:]].tolist())
                near = view.nearest(one.vector, model=self.embedder.model, limit=DEPTH)
                found.append(len(exact & {passage.number for passage in near}) / DEPTH)
        return float(np.mean(found))

    def recall_in_index(self, checked: int) -> float:
        """The same for a few questions, against the vectors in the index: all vectors in memory would be too much."""
        found = []
        with self.engine.store.reading(SCOPE) as work:
            view = self.engine.indexes.view(work)
            for one in self.questions[:checked]:
                near, exact = (
                    {
                        passage.number
                        for passage in view.nearest(one.vector, model=self.embedder.model, limit=DEPTH, exact=exact)
                    }
                    for exact in (False, True)
                )
                found.append(len(exact & near) / DEPTH)
        return float(np.mean(found))


def measure(db: Path, questions: Sequence[Question]) -> Figures:
    """Everything about one store."""
    model = _model(db)
    embedder = KnownVectors(questions, model)
    begun = time.perf_counter()
    with open_engine(Settings(db=str(db)), embedder=embedder) as engine:
        bench = Bench(engine, embedder, questions)
        with Lap() as first:
            bench.search(questions[0].text)
        opened = time.perf_counter() - begun
        with engine.store.reading(SCOPE) as work:
            figures = Figures(chunks=work.memories.count_chunks(), opened_s=opened, first_ms=first.wall)
        for mode in (Mode.FOCUSED, Mode.QUICK, Mode.DEEP):
            figures.modes[mode], figures.stages[mode] = bench.in_mode(mode), bench.stages(mode)
        figures.session_boost = bench.session()
        figures.causal = bench.causal()
        figures.peak_mb, figures.own_mb = _memory()
        figures.concurrent = HUGE_CONCURRENT if figures.chunks > HUGE else CONCURRENT
        figures.concurrent_per_s, figures.concurrent_failed = bench.concurrent(figures.concurrent)
        figures.instruments, figures.behind_ms = bench.instruments()
        figures.save, figures.after_save, figures.not_seen = bench.saves()
        if figures.chunks > HUGE:
            figures.recall = bench.recall_in_index(HUGE_CHECKED)
        else:
            _, vectors, numbers = _rows(engine, model)
            figures.recall = bench.recall(vectors, numbers)
        # Last: what it saves and removes again stands in the base afterwards, dead.
        figures.fold_s, figures.longest_ms = bench.fold()
    return figures


def measure_processes(db: Path, questions: Sequence[Question], count: int) -> dict[int, float]:
    """Searches a second of one process, and of one for each core, on as many threads in all; 0 if one failed."""
    return {each: _in_processes(db, questions, count, each) for each in sorted({1, os.cpu_count() or 1})}


def _in_processes(db: Path, questions: Sequence[Question], count: int, processes: int) -> float:
    context = get_context("spawn")
    ready, told = context.Barrier(processes), context.SimpleQueue()
    given = (db, questions, count // processes, THREADS // processes)
    crew = {"ready": ready, "told": told}
    started = [context.Process(target=_search_beside, args=given, kwargs=crew) for _ in range(processes)]
    for process in started:
        process.start()
    rates: list[float] = [told.get() for _ in started]
    for process in started:
        process.join()
    # They begin together; what counts is when the last one is done.
    return processes * min(rates)


def _search_beside(
    db: Path, questions: Sequence[Question], count: int, threads: int, *, ready: Barrier, told: SimpleQueue[float]
) -> None:
    rate, failed = 0.0, 1
    try:
        embedder = KnownVectors(questions, _model(db))
        with open_engine(Settings(db=str(db)), embedder=embedder) as engine:
            bench = Bench(engine, embedder, questions)
            for one in questions[:WARM_UP]:
                bench.search(one.text)
            ready.wait()
            rate, failed = bench.concurrent(count, threads)
    except BaseException:
        # The others must not wait for this process.
        ready.abort()
        raise
    finally:
        told.put(0.0 if failed else rate)


def measure_peers(db: Path, folder: Path, questions: Sequence[Question]) -> dict[str, Timed]:
    """The other tools on the same passages, with some of the questions."""
    with open_engine(Settings(db=str(db), embedder="none")) as engine:
        texts, vectors, _ = _rows(engine, engine.vector_models(SCOPE).active or "")
    found = {}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for peer in others(texts, vectors, Path(place)):
            for one in questions[:PEERS_WARM_UP]:
                peer.ask(one.text, one.vector)
            found[peer.name] = laps(questions[:PEERS_ASKED], partial(_ask, peer))
    return found


def _ask(peer: Peer, one: Question) -> None:
    peer.ask(one.text, one.vector)


def laps(questions: Sequence[Question], ask: Callable[[Question], object]) -> Timed:
    """How what each question takes is spread."""
    return timed(laps_of(questions, ask))


def laps_of(questions: Iterable[Question], ask: Callable[[Question], object]) -> list[Lap]:
    """What each question takes."""
    spent = []
    for one in questions:
        with Lap() as lap:
            ask(one)
        spent.append(lap)
    return spent


def _stages(found: SearchResult) -> Iterator[tuple[str, float]]:
    for stage in found.stages:
        yield stage.name, stage.duration_ms
        if stage.name == "candidate":
            # Beside the channels stands what else the stage noted, such as words that were left out.
            for channel, told in stage.detail.items():
                if isinstance(told, Mapping):
                    yield f"({channel})", float(told["duration_ms"])


def _trace_stages() -> None:
    """What every search does to time its stages."""
    trace = Trace("tr_bench", time.perf_counter)
    for _ in range(STAGES):
        with trace.stage("stage"):
            pass


def _memory() -> tuple[float, float]:
    """The peak, and what is not mapped files now. `ru_maxrss` would be that of the process that started this one."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    held = {name: int(told.split()[0]) / 1024 for name, told in (line.split(":", 1) for line in status) if "kB" in told}
    return held["VmHWM"], held["RssAnon"]


def _model(db: Path) -> str:
    with open_engine(Settings(db=str(db), embedder="none")) as engine:
        return engine.vector_models(SCOPE).active or ""


def _rows(engine: Engine, model: str) -> tuple[list[str], Vectors, NDArray[np.int64]]:
    texts: list[str] = []
    vectors, numbers = [], []
    with engine.store.reading(SCOPE) as work:
        after = 0
        while rows := work.passages.page(after=after):
            texts += [f"{row.title}\n{row.text}" for row in rows]
            page = work.vectors.by_numbers(model, [row.number for row in rows])
            vectors.append(page.vectors)
            numbers.append(page.numbers)
            after = rows[-1].number
    return texts, np.concatenate(vectors), np.concatenate(numbers)


def embedding(data: Path) -> Spread:
    """What it takes to embed one question with the bundled model, warm."""
    embedder = load_bundled()
    texts = list(load(data, "scifact").questions.values())[:200]
    for text in texts[:20]:
        embedder.embed([text])
    spent = []
    for text in texts:
        begun = time.perf_counter()
        embedder.embed([text])
        spent.append((time.perf_counter() - begun) * 1000)
    return spread(spent)


def cold(db: Path, questions: Sequence[Question], times: int = 5) -> float:
    """Seconds of a search in a process that starts for it, by the clock: the middle one of a few."""
    program = [str(Path(sys.executable).with_name("assay")), "--db", str(db), "search"]
    spent = []
    for one in questions[:times]:
        begun = time.perf_counter()
        subprocess.run([*program, one.text], check=True, capture_output=True, env=os.environ)
        spent.append(time.perf_counter() - begun)
    return sorted(spent)[times // 2]
