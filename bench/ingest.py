"""How fast documents are taken in, and where the time goes: `python -m bench.ingest --data DIR [--files 40] [--limit]`.

The bundled model takes in some files of the Kubernetes documentation with one thread and with two; the static embedder
takes in the whole documentation and four collections. Everything runs as in `assay ingest`, into a store that is thrown
away. Folding the indexes, which follows large runs, is timed apart.

`--limit` compares with the model itself and leaves out the rest: the texts that an ingest had embedded go through the
ONNX session alone, as arrays that were made before, in the same batches and with the same number of threads. An ingest
and its limit take turns, a few files at a time, so that both see the same machine; the ratio is that of the sums. Then
ways to use two cores, by turns over the same texts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assay.embedding.bundled import load_bundled
from assay.embedding.onnx import BATCHES_SIDE_BY_SIDE, OnnxEmbedder, run_side_by_side
from assay.embedding.protocol import Progress, Vectors
from assay.embedding.quiet_runtime import onnxruntime
from assay.embedding.wrappers import AroundEmbedder
from assay.memory.engine import Engine
from assay.records import Scope
from assay.records.saving import IngestReport
from assay.settings import Settings
from assay.text.chunking import Chunker
from assay.wiring import open_engine

SCOPE = Scope()
LARGE = ("scifact", "beam100k", "mtrag", "pubmedqa")
PARTS = ("read", "chunk", "embed", "write")
FILES_A_TURN = 4
TURNS = 3
"""Of each way to use two cores; the best counts."""


class Run(NamedTuple):
    """One run of ingest."""

    name: str
    report: IngestReport
    folding_s: float
    cpu_s: float
    load: float

    def told(self) -> str:
        """As a row of a table."""
        seconds, chunks = self.report.seconds, self.report.chunks
        shares = " | ".join(f"{seconds[part] / seconds['total']:.0%}" for part in PARTS)
        return (
            f"| {self.name} | {self.report.documents:,} | {chunks:,} | {chunks / seconds['total']:,.0f} "
            f"| {chunks / self.cpu_s:,.0f} | {shares} | {self.folding_s:.1f} s | {self.load:.1f} |"
        )


def run(name: str, settings: Settings, paths: Sequence[Path], root: Path) -> Run:
    """Take in these paths once, with the model loaded beforehand."""
    with open_engine(settings) as engine:
        _load_model(engine)
        load, busy = os.getloadavg()[0], time.process_time()
        report = engine.ingester.ingest(SCOPE, paths, root=root)
        busy = time.process_time() - busy
        begun = time.perf_counter()
        engine.indexes.compact(SCOPE)
        return Run(name, report, time.perf_counter() - begun, busy, load)


def _load_model(engine: Engine) -> None:
    if engine.embedder is not None:
        engine.embedder.embed(["warm"])


# --- Beside the limit of the model ---


class RecordingEmbedder(AroundEmbedder):
    """Keeps the texts of every call."""

    def __init__(self, inner: OnnxEmbedder) -> None:
        super().__init__(inner)
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row for each text."""
        self.calls.append(list(texts))
        return self._inner.embed(texts, progress=progress)


class Turn(NamedTuple):
    """Seconds by the clock and of the processor."""

    wall: float
    busy: float


@contextmanager
def _timing(turns: list[Turn]) -> Iterator[None]:
    wall, busy = time.perf_counter(), time.process_time()
    yield
    turns.append(Turn(time.perf_counter() - wall, time.process_time() - busy))


def compare_with_limit(threads: int, files: Sequence[Path], vault: Path, folder: Path) -> str:
    """Take in files by parts, each followed by its texts through the session alone; a row of a table."""
    embedder = cast("OnnxEmbedder", load_bundled(threads=threads))
    recording, ingests, limits, chunks = RecordingEmbedder(embedder), list[Turn](), list[Turn](), 0
    embedder.embed(["warm " * 200] * 64)  # both sessions
    load = os.getloadavg()[0]
    with open_engine(Settings(db=str(folder / f"limit-{threads}.db")), embedder=recording) as engine:
        for start in range(0, len(files), FILES_A_TURN):
            recording.calls.clear()
            with _timing(ingests):
                report = engine.ingester.ingest(SCOPE, files[start : start + FILES_A_TURN], root=vault)
            chunks += report.chunks
            calls = [PreparedCall.of(embedder, texts, threads) for texts in recording.calls]
            with _timing(limits):
                for call in calls:
                    call.run()
    wall, busy = (sum(turn[part] for turn in ingests) for part in (0, 1))
    limit_wall, limit_busy = (sum(turn[part] for turn in limits) for part in (0, 1))
    return (
        f"| {threads} | {chunks:,} | {chunks / wall:.1f} | {chunks / limit_wall:.1f} | {limit_wall / wall:.2f} "
        f"| {chunks / busy:.1f} | {chunks / limit_busy:.1f} | {limit_busy / busy:.2f} | {load:.1f} |"
    )


@dataclass(frozen=True)
class PreparedCall:
    """A call of the embedder as arrays, for the session that it would use."""

    session: onnxruntime.InferenceSession
    batches: Sequence[Mapping[str, NDArray[np.int64]]]
    threads: int

    @staticmethod
    def of(embedder: OnnxEmbedder, texts: Sequence[str], threads: int) -> PreparedCall:
        """Tokenise, and cut into the batches that the embedder makes."""
        encoded = [embedder._encode(text) for text in texts]  # noqa: SLF001 - the bench takes the embedder apart
        batches = [_arrays(embedder, [encoded[place].ids for place in batch]) for batch in embedder.plan_batches(texts)]
        many = threads > 1 and len(batches) >= BATCHES_SIDE_BY_SIDE * threads
        session = embedder._bulk.load() if many else embedder._session  # noqa: SLF001 - the same
        return PreparedCall(session, batches, threads if many else 1)

    def run(self) -> None:
        """Run every batch, and nothing else."""
        for _ in run_side_by_side(self._run_batch, self.batches, threads=self.threads):
            pass

    def _run_batch(self, batch: Mapping[str, NDArray[np.int64]]) -> int:
        self.session.run(None, dict(batch))
        return 1


def _arrays(embedder: OnnxEmbedder, ids: Sequence[Sequence[int]]) -> dict[str, NDArray[np.int64]]:
    given = np.zeros((len(ids), max(map(len, ids))), dtype=np.int64)
    mask = np.zeros_like(given)
    for row, tokens in enumerate(ids):
        given[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
    known = {"input_ids": given, "attention_mask": mask, "token_type_ids": np.zeros_like(given)}
    return {name: known[name] for name in embedder._inputs}  # noqa: SLF001 - the same


def compare_threads(files: Sequence[Path]) -> Iterator[str]:
    """Ways to use two cores, by turns over the same texts; rows of a table."""
    one = cast("OnnxEmbedder", load_bundled(threads=1))
    two = cast("OnnxEmbedder", load_bundled(threads=2))
    chunker = Chunker(one.count_tokens, one.token_limit)
    texts = [piece.text for file in files for piece in chunker.chunk(file.stem, file.read_text("utf-8")).pieces]
    batches = [_arrays(one, [one._encode(texts[place]).ids for place in batch]) for batch in one.plan_batches(texts)]  # noqa: SLF001 - the same
    ways = {
        "one thread": PreparedCall(one._session, batches, 1),  # noqa: SLF001 - the same
        "two threads within a batch": PreparedCall(two._session, batches, 1),  # noqa: SLF001 - the same
        "two batches side by side, one thread each": PreparedCall(one._session, batches, 2),  # noqa: SLF001 - the same
    }
    turns: dict[str, list[Turn]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, call in ways.items():
            with _timing(turns[name]):
                call.run()
    for name, found in turns.items():
        wall, busy = min(turn.wall for turn in found), min(turn.busy for turn in found)
        yield f"| {name} | {len(texts):,} | {len(texts) / wall:.1f} | {len(texts) / busy:.1f} |"


def _print_limit(files: Sequence[Path], vault: Path, folder: Path) -> None:
    print(
        "| threads | chunks | chunks/s | session alone | ratio | chunks per processor second | alone | ratio | load |"
        f"\n{'| --- ' * 9}|",
        flush=True,
    )
    for threads in (1, 2):
        print(compare_with_limit(threads, files, vault, folder), flush=True)
    print(f"\n| two cores | chunks | chunks/s | chunks per processor second |\n{'| --- ' * 4}|", flush=True)
    for row in compare_threads(files[: max(4, len(files) // 4)]):
        print(row, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--files", type=int, default=40, help="files for the bundled model")
    parser.add_argument("--limit", action="store_true", help="compare with the model itself")
    asked = parser.parse_args(arguments)
    vault = asked.data / "docs_kubernetes" / "vault"
    # Every n-th, since neighbours in a folder are alike.
    every = sorted(vault.rglob("*.md"))
    few = every[:: max(1, len(every) // asked.files)]
    if asked.limit:
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            _print_limit(few, vault, Path(folder))
        return
    large = [vault, *(asked.data / name / "corpus.jsonl" for name in LARGE)]
    heads = ("embedder", "documents", "chunks", "chunks/s", "chunks per processor second", *PARTS, "folding", "load")
    print(f"| {' | '.join(heads)} |\n{'| --- ' * len(heads)}|", flush=True)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        for threads in (1, 2):
            settings = Settings(db=f"{folder}/minilm-{threads}.db", embedder="minilm", embedder_threads=threads)
            print(run(f"MiniLM, threads {threads}", settings, few, vault).told(), flush=True)
        settings = Settings(db=f"{folder}/static.db", embedder="static")
        print(run("static", settings, large, asked.data).told(), flush=True)


if __name__ == "__main__":
    main()
