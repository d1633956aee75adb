"""How fast ranking metrics are beside other tools, in one run: `python -m bench.metrics [--topics 20000]`.

The same judgments and rankings, from mappings in memory and from TREC files, in the environment `make bench` makes.
Every figure is the best of several rounds in which the tools take turns; each includes all that a user waits for:
reading, building the tool's own objects, per-query values, means. `ranx cold` is the first call in this process with an
empty compilation cache. Then a run of a million topics is streamed by `assay measure`, and the largest memory that
process took is printed.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.formats.trec import read_qrels, stream_run
from assay.metrics.engine import MeasuredRun, measure_batches, measure_mappings
from assay.metrics.spec import parse_specs

GOALS = {"pytrec_eval": 3.0, "ir_measures": 10.0, "ranx warm": 5.0, "ranx cold": 20.0}
MEMORY_GOAL_MB = 1_000.0
PAPER = (
    "ndcg@5,ndcg@10,ndcg@20,ndcg@100,precision@5,precision@10,precision@20,"
    "recall@5,recall@10,recall@20,recall@100,mrr,ap,rprec,bpref"
)
SHORT = "ndcg@10,mrr@10,recall@100"
"""What `assay measure` shows when nothing is asked for. pytrec_eval has no cut reciprocal rank: it gives the uncut."""

CHILD = """
import sys
from pathlib import Path
from assay.cli.main import main
try:
    main(sys.argv[1:])
finally:
    status = Path("/proc/self/status").read_text().splitlines()
    print(next(line for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""
"""It tells its own peak: what the system keeps for the parent also counts the parent's memory at the fork."""

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]


class Case(NamedTuple):
    """One workload."""

    qrels: Qrels
    run: Run
    qrels_file: Path
    run_file: Path


def make_case(topics: int, depth: int, judged: int, folder: Path) -> Case:
    rng = np.random.default_rng(1)
    qrels: Qrels = {}
    run: Run = {}
    for number in range(topics):
        ids = [f"d{one}" for one in rng.choice(100_000, size=depth + judged // 2, replace=False)]
        grades, scores = rng.integers(0, 4, size=judged), np.round(rng.random(depth), 6)
        qrels[f"q{number}"] = {one: int(grade) for one, grade in zip(ids[-judged:], grades, strict=True)}
        run[f"q{number}"] = {one: float(score) for one, score in zip(ids[:depth], scores, strict=True)}
    case = Case(qrels, run, folder / "qrels.txt", folder / "run.txt")
    with case.qrels_file.open("w", encoding="utf-8") as file:
        file.writelines(f"{t} 0 {d} {grade}\n" for t, grades in qrels.items() for d, grade in grades.items())
    with case.run_file.open("w", encoding="utf-8") as file:
        for topic, row in run.items():
            best = sorted(row.items(), key=lambda one: -one[1])
            file.writelines(f"{topic} Q0 {d} {rank} {score:.6f} x\n" for rank, (d, score) in enumerate(best, start=1))
    return case


class Job(NamedTuple):
    """One tool on one workload."""

    tool: str
    work: Callable[[], object]


def assay_jobs(case: Case, metrics: str) -> tuple[Job, Job]:
    specs = parse_specs(metrics)

    def means(measured: MeasuredRun) -> dict[str, float]:
        return {str(spec): float(one.values[one.scored].mean()) for spec, one in measured.scores.items()}

    return (
        Job("assay", lambda: means(measure_mappings(case.qrels, case.run, specs))),
        Job("assay", lambda: means(measure_batches(read_qrels(case.qrels_file), stream_run(case.run_file), specs))),
    )


def pytrec_jobs(case: Case, metrics: str) -> tuple[Job, Job]:
    tool: Any = importlib.import_module("pytrec_eval")
    wanted = {trec_name(one) for one in metrics.split(",")}

    def measure(qrels: Qrels, run: Run) -> dict[str, float]:
        found = tool.RelevanceEvaluator(qrels, wanted).evaluate(run)
        names = next(iter(found.values()))
        return {name: tool.compute_aggregated_measure(name, [one[name] for one in found.values()]) for name in names}

    def files() -> dict[str, float]:
        with case.qrels_file.open(encoding="utf-8") as qrels, case.run_file.open(encoding="utf-8") as run:
            return measure(tool.parse_qrel(qrels), tool.parse_run(run))

    return Job("pytrec_eval", lambda: measure(case.qrels, case.run)), Job("pytrec_eval", files)


def trec_name(metric: str) -> str:
    name, _, cutoff = metric.partition("@")
    short = {"mrr": "recip_rank", "ap": "map", "rprec": "Rprec", "bpref": "bpref"}
    return (
        short[name]
        if name in short
        else f"{ {'ndcg': 'ndcg_cut', 'precision': 'P', 'recall': 'recall'}[name] }.{cutoff}"
    )


def ir_measures_jobs(case: Case, metrics: str) -> tuple[Job, Job]:
    tool: Any = importlib.import_module("ir_measures")
    names = {
        "ndcg": "nDCG",
        "precision": "P",
        "recall": "R",
        "mrr": "RR",
        "ap": "AP",
        "rprec": "Rprec",
        "bpref": "Bpref",
    }
    spelt = [one.replace(one.partition("@")[0], names[one.partition("@")[0]], 1) for one in metrics.split(",")]
    measures = [tool.parse_measure(one) for one in spelt]

    def files() -> object:
        qrels = tool.read_trec_qrels(str(case.qrels_file))
        return tool.calc(measures, qrels, tool.read_trec_run(str(case.run_file)))

    # `calc` gives per-query values and means, as the other tools do.
    return Job("ir_measures", lambda: tool.calc(measures, case.qrels, case.run)), Job("ir_measures", files)


def ranx_jobs(case: Case, metrics: str) -> tuple[Job, Job]:
    tool: Any = importlib.import_module("ranx")
    names = {"ap": "map", "rprec": "r-precision"}
    wanted = [names.get(one, one) for one in metrics.split(",")]

    def files() -> object:
        qrels = tool.Qrels.from_file(str(case.qrels_file), kind="trec")
        return tool.evaluate(qrels, tool.Run.from_file(str(case.run_file), kind="trec"), wanted)

    return (
        Job("ranx warm", lambda: tool.evaluate(tool.Qrels(case.qrels), tool.Run(case.run), wanted)),
        Job("ranx warm", files),
    )


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def race(jobs: list[Job], rounds: int) -> dict[str, float]:
    """The best time of each; the tools take turns, so that a slow minute of the machine meets all of them."""
    times: dict[str, list[float]] = {job.tool: [] for job in jobs}
    for _ in range(rounds):
        for job in jobs:
            times[job.tool].append(seconds(job.work))
    return {tool: min(found) for tool, found in times.items()}


def side_by_side(case: Case, rounds: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    cold = 0.0
    for label, metrics in (("15 metrics", PAPER), ("3 metrics", SHORT)):
        makers = (assay_jobs, pytrec_jobs, ir_measures_jobs, ranx_jobs)
        pairs = [make(case, metrics) for make in makers]
        for place, kind in enumerate(("mappings", "files")):
            jobs = [pair[place] for pair in pairs]
            if not cold:
                cold = seconds(jobs[-1].work)
            found[f"{kind}, {label}"] = race(jobs, rounds) | ({"ranx cold": cold} if len(found) == 0 else {})
    return found


def print_race(name: str, times: dict[str, float]) -> bool:
    print(f"\n{name}")
    good = True
    for tool, taken in times.items():
        ratio = taken / times["assay"]
        reached = tool == "assay" or ratio >= GOALS[tool]
        good &= reached
        goal = "" if tool == "assay" else f"{ratio:7.1f}x   goal {GOALS[tool]:g}x {'reached' if reached else 'MISSED'}"
        print(f"  {tool:12} {taken:8.3f} s {goal}")
    return good


def stream(topics: int, depth: int, folder: Path) -> dict[str, float]:
    """`assay measure` on a large run in a process of its own."""
    run, qrels = folder / "large.run", folder / "large.qrels"
    write_large(run, qrels, topics, depth)
    arguments = ["measure", "--qrels", str(qrels), "--run", str(run), "--json"]
    began = time.perf_counter()
    told = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=True)
    taken = time.perf_counter() - began
    peak = int(told.stderr.split()[1]) / 1024.0
    queries = json.loads(told.stdout)["queries"]
    return {"queries": queries, "seconds": taken, "peak_mb": peak, "file_mb": run.stat().st_size / 1e6}


def write_large(run: Path, qrels: Path, topics: int, depth: int) -> None:
    rng = np.random.default_rng(2)
    shapes, judged = [], []
    for _ in range(200):
        ids, scores = rng.choice(10_000_000, size=depth, replace=False), np.sort(rng.random(depth))[::-1]
        lines = [f"@ Q0 d{one} {rank} {score:.6f} x" for rank, (one, score) in enumerate(zip(ids, scores, strict=True))]
        shapes.append(("\n".join(lines) + "\n").encode())
        judged.append("".join(f"@ 0 d{one} {rng.integers(0, 4)}\n" for one in ids[:: depth // 10]).encode())
    with run.open("wb") as results, qrels.open("wb") as judgments:
        for number in range(topics):
            topic = b"q%d" % number
            results.write(shapes[number % 200].replace(b"@", topic))
            judgments.write(judged[number % 200].replace(b"@", topic))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--topics", type=int, default=20_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--judged", type=int, default=20, help="judgments of each topic, half of them retrieved")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stream-topics", type=int, default=1_000_000, help="0: do not stream")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["NUMBA_CACHE_DIR"] = str(folder / "numba")
        print(f"{given.topics:,} topics x {given.depth} results, {given.judged} judgments each, best of {given.rounds}")
        races = side_by_side(make_case(given.topics, given.depth, given.judged, folder), given.rounds)
        reached = [print_race(what, times) for what, times in races.items()]
        good = all(reached)
        streamed = stream(given.stream_topics, given.depth, folder) if given.stream_topics else None
    if streamed:
        fits = streamed["peak_mb"] < MEMORY_GOAL_MB
        good &= fits
        print(
            f"\nstreamed: {streamed['queries']:,} topics x {given.depth} results ({streamed['file_mb']:,.0f} MB) in"
            f" {streamed['seconds']:.0f} s, peak {streamed['peak_mb']:.0f} MB,"
            f" goal under {MEMORY_GOAL_MB:,.0f} MB {'reached' if fits else 'MISSED'}"
        )
    if given.json:
        given.json.write_text(json.dumps({"races": races, "streamed": streamed}, indent=2) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
