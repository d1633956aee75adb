"""What the runner itself costs for each case, with a system that does nothing: `python -m bench.run [--json]`.

The system returns ten ids at once, so that whatever else passes is the runner's: the thread that watches the time, the
checks, the line written down, progress. Scoring is measured apart. Fails when a case costs a millisecond or more. The
disk is forced as in a real run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.evaluation.results import load_run
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.evaluation.scoring import score_run
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System

GOAL_MS = 1.0
RESULTS = 10


class Measured(NamedTuple):
    """One way of running."""

    name: str
    cases: int
    case_ms: float
    """Of the runner, for each case; scoring is not in it."""
    scoring_ms: float
    """For each case, all metrics together."""


class Nothing(System):
    """Gives the same list to everybody, and counts the time it was asked."""

    name = "nothing"

    def __init__(self, ids: Sequence[str]) -> None:
        self._given = Retrieved(ids=tuple(ids), scores=tuple(1.0 / place for place in range(1, len(ids) + 1)))
        self.spent_s = 0.0

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - nothing is looked at
        """The list."""
        begun = time.perf_counter()
        given = self._given
        self.spent_s += time.perf_counter() - begun
        return given


def made(cases: int) -> Dataset:
    """Documents and cases without meaning."""
    documents = tuple(Document(id=f"d{number}", text=f"text {number}") for number in range(100))
    # Cases share grades and categories: with grades of their own, a million cases take 2 GB before the run.
    grades = [
        tuple(Grade(document_id=f"d{(first + step) % 100}", grade=step % 4) for step in range(10))
        for first in range(100)
    ]
    categories = [f"c{number}" for number in range(5)]
    asked = tuple(
        Case(id=f"q{number}", query=f"question {number}", grades=grades[number % 100], category=categories[number % 5])
        for number in range(cases)
    )
    return Dataset(name="made", documents=documents, cases=asked)


def measure(name: str, dataset: Dataset, options: RunOptions, runs: Path | None) -> Measured:
    """Run once and divide."""
    system = Nothing([one.id for one in dataset.documents[:RESULTS]])
    moments: list[float] = []
    where = Running(runs=runs, on_case=lambda *_: moments.append(time.perf_counter()))
    result = run(dataset, system, options, where)
    asking = moments[-1] - moments[0] - system.spent_s
    begun = time.perf_counter()
    score_run(dataset, result.manifest, result.cases)
    scoring = time.perf_counter() - begun
    if result.folder is not None and load_run(result.folder).result_hash != result.result_hash:
        raise AssertionError("what was written is not what was measured")
    cases = len(dataset.cases)
    return Measured(name, cases, 1000 * asking / (cases - 1), 1000 * scoring / cases)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every way and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args(arguments)
    dataset = made(asked.cases)
    with tempfile.TemporaryDirectory() as folder:
        found = [
            measure("written, with a timeout", dataset, RunOptions(), Path(folder)),
            measure("written, without a timeout", dataset, RunOptions(timeout_s=None), Path(folder)),
            measure("in memory, without a timeout", dataset, RunOptions(timeout_s=None), None),
        ]
    if asked.json:
        print(json.dumps([one._asdict() for one in found], indent=2))
    else:
        for one in found:
            print(
                f"{one.name}: {one.case_ms:.3f} ms a case, scoring {one.scoring_ms:.3f} ms a case ({one.cases:,} cases)"
            )
    return int(any(one.case_ms >= GOAL_MS for one in found))


if __name__ == "__main__":
    sys.exit(main())
