"""How long pages over many runs take: `python -m bench.run_pages [--runs 1000] [--requests 40] [--json]`.

A folder is filled with that many finished runs over `hotel`: some are really run, the others are copies of them under
another id, name and time, sealed anew. `assay serve` serves them in a process of its own, and one client asks for each
address over loopback, as `bench.pages` does. The first request for the list reads what storing each run wrote down for
it, and writes the catalogue; its time is printed by itself.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from assay.clock import SystemClock
from assay.evaluation.datasets import load_dataset
from assay.evaluation.run_catalogue import keep_entry
from assay.evaluation.running.files import RunFolder, list_runs, manifest_json
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.records import IdFactory
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System
from bench.pages import GOAL_MS, Asked, PageClient, Took, measure_page, processor_s, served_store, show_times

CLOCK = SystemClock()
REAL = 20
"""Runs that are really made; the others are copies."""


class Forgetful(System):
    """Gives what the dataset calls relevant, and forgets some of it by chance."""

    def __init__(self, name: str, share: float, seed: int) -> None:
        self.name = name
        self._share = share
        self._rng = np.random.default_rng(seed)

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """Best first."""
        del query
        known = sorted(case.labels, key=lambda one: -case.labels[one])
        return Retrieved(ids=tuple(one for one in known if self._rng.random() >= self._share)[:k])


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFigures:
    """What was measured over one folder of runs."""

    runs: int
    fill_s: float
    first_list_s: float
    """The first request for the list, which reads what storing each run wrote down."""
    first_processor_s: float
    """Processor time of the server for it."""
    took: tuple[Took, ...]


def fill(folder: Path, runs: int, seed: int) -> None:
    """Make some runs, and copies of them."""
    dataset = load_dataset("hotel")
    for place in range(min(REAL, runs)):
        system = Forgetful(f"system {place}", 0.1 + 0.4 * place / REAL, seed + place)
        run(dataset, system, RunOptions(name=f"run {place}"), Running(runs=folder))
    made = [RunFolder(path) for path in list_runs(folder)]
    ids = IdFactory(CLOCK)
    for place in range(len(made), runs):
        _copy(made[place % len(made)], folder / ids.new("run"), place)


def _copy(source: RunFolder, path: Path, place: int) -> None:
    before = source.read_manifest()
    manifest = replace(
        before, run_id=path.name, name=f"run {place}", started_at=before.started_at - timedelta(hours=place)
    )
    copy = RunFolder(path)
    copy.write_manifest(manifest)
    copy.write_cases(source.read_cases())
    content = {name: value for name, value in source.read_result().items() if name != "seal"}
    copy.write_result({**content, "run_id": path.name, "name": manifest.name, "manifest": manifest_json(manifest)})
    keep_entry(copy)


def measure(folder: Path, runs: int, requests: int, seed: int) -> RunFigures:
    """Fill a folder, serve it, and ask for every address so many times."""
    began = time.perf_counter()
    place = folder / f"runs-{runs}"
    if not place.exists():
        fill(place, runs, seed)
    filled = time.perf_counter() - began
    known = [path.name for path in list_runs(place)]
    more = {"ASSAY_RUNS_FOLDER": str(place)}
    with served_store(folder / "runs.db", more) as (server, address), closing(PageClient(address)) as client:
        began, spent_before = time.perf_counter(), processor_s(server)
        client.get("/evaluation/runs")
        first, first_spent = time.perf_counter() - began, processor_s(server) - spent_before
        took = tuple(measure_page(client, asked, requests, server) for asked in _addresses(known))
    return RunFigures(runs=runs, fill_s=filled, first_list_s=first, first_processor_s=first_spent, took=took)


def _addresses(known: list[str]) -> list[Asked]:
    """What is asked for: lists, one run, two runs compared, a flag."""
    first, second = known[0], known[1]
    deep = max(len(known) // 2 // 50 * 50, 0)
    return [
        Asked("Runs, newest", "/evaluation/runs"),
        Asked("Runs, deep page", f"/evaluation/runs?begin={deep}"),
        Asked("Runs, words, by a metric", "/evaluation/runs?words=run+1&sort=ndcg%4010&metric=mrr"),
        Asked("Runs, start", "/evaluation/runs/start"),
        Asked("Runs, one run", f"/evaluation/runs/{first}"),
        Asked("Runs, one against another", f"/evaluation/runs/{first}?baseline={second}"),
        Asked("Runs, two compared", f"/evaluation/runs/compare?control={first}&treatment={second}"),
        Asked(
            "Runs, two compared by another metric",
            f"/evaluation/runs/compare?control={first}&treatment={second}&metric=mrr",
        ),
        Asked("Runs, one while it goes on", f"/evaluation/runs/{first}/live/part"),
        Asked("Runs, experiments", "/evaluation/experiments"),
        Asked("Runs, one experiment", "/evaluation/experiments/mmr"),
    ]


def _table(found: RunFigures, requests: int) -> Table:
    title = f"{found.runs:,} runs, {requests} requests each; the first list took {found.first_list_s:.2f} s"
    title += f" ({found.first_processor_s:.2f} s of processor time)"
    table = Table(title=title, box=None, title_justify="left")
    for column in ("asked for", "kB", "processor ms", "p50 ms", "p95 ms", "goal", ""):
        table.add_column(column, justify="left" if column in ("asked for", "") else "right")
    for took in found.took:
        held = "holds" if took.p95_ms < GOAL_MS else "MISSED"
        table.add_row(took.what, *show_times(took), held)
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="Keep the filled folder here, and find it again.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = measure(folder, given.runs, given.requests, given.seed)
    if given.json:
        print(json.dumps(asdict(found), indent=2))
        return
    Console().print(_table(found, given.requests))


if __name__ == "__main__":
    main()
