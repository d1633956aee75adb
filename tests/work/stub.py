"""A system and a dataset for tests of executors: the answer depends on the case alone; some cases kill or stop."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from pathlib import Path

from assay.records.datasets import Case, Dataset, Grade

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
