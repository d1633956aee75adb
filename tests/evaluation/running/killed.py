"""A run that kills its own process at a chosen moment: `python -m tests.evaluation.running.killed RUNS RESUME MOMENT`.

Moments count calls: at that call the process is killed in the middle of it; 0 lets it finish.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.records.datasets import Case, Dataset, Grade
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System

CASES = 60


def dataset() -> Dataset:
    cases = tuple(
        Case(id=f"q{n}", query=f"question {n}", grades=(Grade(document_id=f"d{n % 7}", grade=2),)) for n in range(CASES)
    )
    return Dataset(name="numbers", documents=(), cases=cases)


class Deadly(System):
    """Answers by arithmetic, and dies when its time has come."""

    name = "deadly"

    def __init__(self, moment: int) -> None:
        self._left = moment

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        number = int(case.id[1:])
        return Retrieved(ids=tuple(f"d{(number * step) % 7}" for step in range(1, min(k, 6))))


def main(runs: str, resume: str, moment: str) -> None:
    """Begin or go on; prints the result's hash."""
    where = Running(runs=Path(runs), resume=Path(resume) if resume else None)
    result = run(dataset(), Deadly(int(moment)), RunOptions(repeats=2), where)
    sys.stdout.write(result.result_hash)


if __name__ == "__main__":
    main(*sys.argv[1:])
