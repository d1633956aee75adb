"""Tuning on workers: cases are searched and choices are replayed by an executor, with the numbers of one process.

- Cases searched by workers, each with a system of its own.
- Choices replayed by workers, in the blocks that one process would make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.errors import ClusterFailed, NotReady
from assay.evaluation.running.asking import OpenRemoteSystem, open_same_system
from assay.evaluation.tuning.choices import (
    FusionChoice,
    LoggedCase,
    check_gathered,
    is_adaptive,
    make_logged_case,
)
from assay.evaluation.tuning.replay import Floats, Replay
from assay.systems.assay_engine import AssaySystem
from assay.work.jobs import Executor, Job

if TYPE_CHECKING:
    from assay.records.datasets import Dataset


class Placed(NamedTuple):
    """The result of one item, with its place among all; `problem` says why there is none."""

    place: int
    value: Any
    problem: str = ""


def _collect(executor: Executor, items: Sequence[Any], job: Job[Any, Placed]) -> list[Any]:
    """Return the results in the order of the items; raises `ClusterFailed` where one was given up."""
    found: dict[int, Any] = {}
    with closing(executor.run(iter(items), job)) as results:
        for result in results:
            if result.problem:
                raise ClusterFailed(
                    f"no worker could finish some {job.what}: {result.problem}", remedy="Tune without workers."
                )
            found[result.place] = result.value
    return [found[place] for place in range(len(items))]


# --- Cases searched by workers, each with a system of its own ---


class CaseToSearch(NamedTuple):
    """One case of the dataset."""

    place: int
    case_id: str


class OpenedTrails:
    """Searches cases inside a worker."""

    def __init__(self, system: AssaySystem, dataset: Dataset, k: int) -> None:
        self._system = system
        self._cases = {case.id: case for case in dataset.cases}
        self._k = k
        self._adaptive = is_adaptive(system)

    def perform(self, task: CaseToSearch) -> Placed:
        """Search one case, and keep what fusion was given."""
        case = self._cases[task.case_id]
        return Placed(task.place, make_logged_case(case, self._system.trail(case, self._k), adaptive=self._adaptive))

    def close(self) -> None:
        """Close the system."""
        self._system.close()


@dataclass(frozen=True, kw_only=True)
class RemoteTrails:
    """What a worker needs to search the cases."""

    open_system: OpenRemoteSystem
    dataset: Dataset
    subject: Mapping[str, Any]
    """What the caller's system is made of."""
    k: int

    def open(self) -> OpenedTrails:
        """Open the system, and refuse one that is made of other parts."""
        system = open_same_system(self.open_system, self.dataset, self.subject)
        if not isinstance(system, AssaySystem):
            system.close()
            raise NotReady(f"{system.name} is not Assay on this worker", remedy="Fusion is tuned for assay[:...].")
        return OpenedTrails(system, self.dataset, self.k)


def gather_on_workers(
    system: AssaySystem, dataset: Dataset, *, k: int, executor: Executor, open_remote: OpenRemoteSystem
) -> list[LoggedCase]:
    """Do what `gather` does, with the searches made by the workers of an executor."""
    asked = [case for case in dataset.cases if case.grades]
    job: Job[CaseToSearch, Placed] = Job(
        perform=OpenedTrails(system, dataset, k).perform,
        lost=lambda task, why: Placed(task.place, None, f"{task.case_id}: {why}"),
        remote=lambda: RemoteTrails(open_system=open_remote, dataset=dataset, subject=dict(system.subject()), k=k),
        what="cases",
    )
    items = [CaseToSearch(place, case.id) for place, case in enumerate(asked)]
    return check_gathered(_collect(executor, items, job))


# --- Choices replayed by workers, in the blocks that one process would make ---
#
# Sums over another number of columns may differ in the last bit. So the blocks are cut by the caller.


class ChoiceBlock(NamedTuple):
    """Choices that are replayed together."""

    place: int
    choices: tuple[FusionChoice, ...]


class OpenedReplay:
    """Replays choices inside a worker."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def perform(self, block: ChoiceBlock) -> Placed:
        """Measure one block."""
        return Placed(block.place, self._replay.measure_block(block.choices))

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True)
class RemoteReplay:
    """The logged cases as columns, which is all that a replay needs."""

    replay: Replay

    def open(self) -> OpenedReplay:
        """Nothing is opened: votes are computed when a block asks for them."""
        return OpenedReplay(self.replay)


def measure_on_workers(executor: Executor, replay: Replay, choices: Sequence[FusionChoice]) -> Floats:
    """Do what `Replay.measure` does, on the workers of an executor."""
    job: Job[ChoiceBlock, Placed] = Job(
        perform=OpenedReplay(replay).perform,
        lost=lambda block, why: Placed(block.place, None, why),
        remote=lambda: RemoteReplay(replay),
        what="configurations",
    )
    plan = list(replay.plan_blocks(choices))
    # The weights in force are a read-only view, which cannot be pickled.
    sent = [replace(choice, weights=dict(choice.weights)) for choice in choices]
    items = [ChoiceBlock(place, tuple(sent[at] for at in block)) for place, block in enumerate(plan)]
    found = np.empty((len(choices), len(replay.case_ids)))
    for block, values in zip(plan, _collect(executor, items, job), strict=True):
        found[block] = values
    return found
