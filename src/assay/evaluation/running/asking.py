"""Asking cases: the job of a run, in this process and inside workers.

A worker gets a description of the system and the dataset, opens the system once, and is then sent ids of cases. It
takes part only if its system is made of the same parts as the one that the run was planned with: otherwise one mean
would be over two systems.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from assay.errors import NotReady
from assay.evaluation.readings import differing
from assay.hashing import content_hash
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseResult, CaseStatus
from assay.systems.boundary import LONGEST_MESSAGE, Asker, Terms
from assay.systems.protocol import System

OpenRemoteSystem = Callable[[Dataset], System]
"""Opens the system inside a worker; can be pickled."""


class CaseTask(NamedTuple):
    """One case to run once."""

    case_id: str
    repeat: int


class CaseAsking:
    """Asks a system, from any number of threads; each has its own `Asker`."""

    def __init__(self, dataset: Dataset, system: System, terms: Terms, *, owned: bool = False) -> None:
        self._cases = {case.id: case for case in dataset.cases}
        self._system = system
        self._terms = terms
        self._owned = owned
        self._own = threading.local()
        self._asked = itertools.count()
        self._askers: list[Asker] = []

    def perform(self, task: CaseTask) -> CaseResult:
        """Ask one case; the first one after the system was opened is marked."""
        if not hasattr(self._own, "asker"):
            self._own.asker = Asker(self._system, self._terms)
            self._askers.append(self._own.asker)
        asker: Asker = self._own.asker
        first = next(self._asked) == 0
        result = asker.ask(self._cases[task.case_id], task.repeat)
        return replace(result, first=True) if first else result

    def close(self) -> None:
        """Let the threads go, and close the system where it was opened for this alone."""
        for asker in self._askers:
            asker.close()
        if self._owned:
            self._system.close()


@dataclass(frozen=True, kw_only=True)
class RemoteCases:
    """What a worker needs to ask the cases of a run."""

    open_system: OpenRemoteSystem
    dataset: Dataset
    terms: Terms
    subject: Mapping[str, Any]
    """What the system of the run is made of."""

    def open(self) -> CaseAsking:
        """Open the system, and refuse one that is made of other parts."""
        system = open_same_system(self.open_system, self.dataset, self.subject)
        return CaseAsking(self.dataset, system, self.terms, owned=True)


def open_same_system(open_system: OpenRemoteSystem, dataset: Dataset, subject: Mapping[str, Any]) -> System:
    """Open a system inside a worker; raises `NotReady` where it is made of other parts than the caller's."""
    system = open_system(dataset)
    here = system.subject()
    if content_hash(dict(here)) != content_hash(dict(subject)):
        system.close()
        raise NotReady(
            f"the system {system.name} is another one on this worker: {'; '.join(map(str, differing(subject, here)))}",
            remedy="Start the worker in the same folder, with the same files, settings and models.",
        )
    return system


def lost_case(task: CaseTask, why: str) -> CaseResult:
    """A case that no worker could finish."""
    return CaseResult(case_id=task.case_id, repeat=task.repeat, status=CaseStatus.ERROR, error=why[:LONGEST_MESSAGE])
