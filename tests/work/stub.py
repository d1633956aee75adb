"""A system and a dataset for tests of executors: the answer depends on the case alone; some cases kill or stop."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from pathlib import Path

from assay.errors import NotReady
from assay.records.datasets import Case, Dataset, Grade
from assay.records.evaluations import Retrieved
from assay.work.jobs import Job

HERE = Path(__file__).parents[2]
SPEC = "python:tests.work.stub:search"
DEADLY = "python:tests.work.stub:deadly"


def make_dataset(cases: int, *, query: str = "question") -> Dataset:
    """Questions whose answers are numbers."""
    return Dataset(
        name="numbers",
        documents=(),
        cases=tuple(
            Case(id=f"q{number}", query=f"{query} {number}", grades=(Grade(document_id=f"d{number % 11}", grade=2),))
            for number in range(cases)
        ),
    )


def search(query: str, k: int, case: Case) -> list[str]:
    """A list drawn by lot, from the id of the case."""
    rng = random.Random(hashlib.sha256(case.id.encode()).digest())
    return rng.sample([f"d{number}" for number in range(11)], min(k, 8))


def deadly(query: str, k: int, case: Case) -> list[str]:
    """The same, but some cases end their process, and some stop it."""
    if query.startswith("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if query.startswith("sleep"):
        time.sleep(0.01)
    return search(query, k, case)


class Squares:
    """A job that can be pickled: the square of a number, with one that no worker survives."""

    def __init__(self, *, refuses: str = "") -> None:
        self._refuses = refuses

    def open(self) -> Squares:
        if self._refuses:
            raise NotReady(self._refuses, remedy="Install it.")
        return self

    def perform(self, number: int) -> int:
        return number * number

    def close(self) -> None:
        pass


def make_job(*, refuses: str = "", limit_s: float | None = None) -> Job[int, int | str]:
    """Squares of numbers; one that is given up is told with its reason."""
    return Job(
        perform=lambda number: number * number,
        lost=lambda number, why: f"{number}: {why}",
        remote=lambda: Squares(refuses=refuses),
        limit_s=limit_s,
        what="numbers",
    )


def costly(query: str, k: int, case: Case) -> Retrieved:
    """The same list, for a tenth of a coin."""
    return Retrieved(ids=tuple(search(query, k, case)), cost=0.1)
