"""Two checkouts of Assay by turns: `python -m bench.versions --old DIR [--rounds 5]`.

Each round runs the same work in the old checkout and in this one, each in processes of its own and with its own
environment (`make lint` in a checkout makes one): `bench.store`, the measuring part of `bench.metrics`, and searches
and saves of the memory engine over a filled store. Printed are the medians of the rounds and their ratio; above 1, this
checkout is slower. Machines are noisy: only the ratio means something.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parents[1]
MEMORIES = 5_000
SEARCHES = 150
TOPICS = 4_000

ENGINE = """
import json, random, sys, time
from pathlib import Path
from assay import wiring
from assay.records import Draft, Mode, SearchRequest
from assay.settings import load_settings

folder, memories, searches = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(1)
words = [f"{first}{second}" for first in ("mar", "tol", "sen", "vik", "ras", "dum") for second in "aeiouxyz"]
said = lambda count: " ".join(chance.choices(words, k=count))
settings = load_settings(options={"db": str(folder / "store.db"), "embedder.kind": "static"}).settings
milliseconds = lambda work: (begun := time.thread_time(), work(), (time.thread_time() - begun) * 1000)[2]
with wiring.open_engine(settings) as engine:
    scope = wiring.scope_of(settings)
    note = lambda number: Draft(title=f"Note {number} {said(2)}", body=f"Number {number}: {said(30)}.")
    drafts = map(note, range(memories))
    for _ in engine.saver.save_many(scope, drafts):
        pass
    engine.indexes.compact(scope)
    found = {}
    for mode in (Mode.QUICK, Mode.FOCUSED, Mode.DEEP):
        ask = lambda: engine.searcher.search(scope, SearchRequest(query=said(4), mode=mode))
        times = [milliseconds(ask) for _ in range(searches)]
        found[f"search, {mode.value} (ms)"] = sorted(times)[len(times) // 2]
    save = lambda: engine.saver.save(scope, Draft(title=f"More {said(3)}", body=said(30)))
    times = [milliseconds(save) for _ in range(searches)]
    found["save by a person (ms)"] = sorted(times)[len(times) // 2]
print(json.dumps(found))
"""

METRICS = """
import json, sys, tempfile
from pathlib import Path
from bench import metrics

with tempfile.TemporaryDirectory() as folder:
    case = metrics.make_case(int(sys.argv[1]), 100, 20, Path(folder))
    jobs = metrics.assay_jobs(case, metrics.PAPER)
    best = [min(metrics.seconds(job.work) for _ in range(3)) * 1000 for job in jobs]
print(json.dumps({"15 metrics from mappings (ms)": best[0], "15 metrics from TREC files (ms)": best[1]}))
"""


def measure(tree: Path) -> dict[str, float]:
    """Every figure of one checkout, once; lower is better."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        found: dict[str, float] = _run(tree, ["-c", ENGINE, folder, str(MEMORIES), str(SEARCHES)])
    found |= _run(tree, ["-c", METRICS, str(TOPICS)])
    for store in _run(tree, ["-m", "bench.store", "--json", "--saves", "300", "--queries", "3000", "--reopens", "40"]):
        found |= _of_store(store)
    return found


def _of_store(figures: Mapping[str, float | str]) -> dict[str, float]:
    backend = figures["backend"]
    rates = {name: 1000.0 / float(figures[name]) for name in ("saves_per_s", "grouped_saves_per_s", "log_rows_per_s")}
    return {
        f"a save ({backend}, ms)": rates["saves_per_s"],
        f"a save of 100 together ({backend}, ms)": rates["grouped_saves_per_s"],
        f"a row of the query log ({backend}, ms)": rates["log_rows_per_s"],
        f"logging, caller's side ({backend}, ms)": float(figures["log_caller_p50_ms"]),
        f"opening a store ({backend}, ms)": float(figures["reopen_p50_ms"]),
    }


def _run(tree: Path, arguments: Sequence[str]) -> Any:
    """Run a checkout's Python; what it prints is JSON."""
    path = os.pathsep.join([str(tree / "src"), str(tree)])
    done = subprocess.run(
        [str(tree / ".venv" / "bin" / "python"), *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{tree}: {' '.join(arguments[:2])[:60]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print old, new and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m bench.versions", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="another checkout of the repository")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args(arguments)
    rounds: dict[Path, list[dict[str, float]]] = {asked.old.resolve(): [], HERE: []}
    for number in range(asked.rounds):
        for tree, figures in rounds.items():
            figures.append(measure(tree))
        print(f"round {number + 1} of {asked.rounds} is done", file=sys.stderr, flush=True)
    old, new = rounds.values()
    print("| work | old | new | new / old |\n| --- | --- | --- | --- |")
    for name in old[0]:
        before, now = (median(figures[name] for figures in found) for found in (old, new))
        print(f"| {name} | {before:.3g} | {now:.3g} | {now / before:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
