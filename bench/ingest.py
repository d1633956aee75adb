"""How fast documents are taken in, and where the time goes: `python -m bench.ingest --data DIR [--files 40]`.

The bundled model takes in some files of the Kubernetes documentation with one thread and with two; the static embedder
takes in the whole documentation and four collections. Everything runs as in `assay ingest`, into a store that is thrown
away. Folding the indexes, which follows large runs, is timed apart.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.memory.engine import Engine
from assay.records import Scope
from assay.records.saving import IngestReport
from assay.settings import Settings
from assay.wiring import open_engine

SCOPE = Scope()
LARGE = ("scifact", "beam100k", "mtrag", "pubmedqa")
PARTS = ("read", "chunk", "embed", "write")


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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--files", type=int, default=40, help="files for the bundled model")
    asked = parser.parse_args(arguments)
    vault = asked.data / "docs_kubernetes" / "vault"
    # Every n-th, since neighbours in a folder are alike.
    every = sorted(vault.rglob("*.md"))
    few = every[:: max(1, len(every) // asked.files)]
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
