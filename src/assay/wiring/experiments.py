"""Simulations and tuning over a copy of a dataset's memory.

- Simulated use of a copy of a dataset's memory.
- Simulations on workers.
- The starting point of tuning.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from assay.clock import SystemClock
from assay.errors import ClusterFailed, InputError
from assay.evaluation.simulation import (
    Simulated,
    SimulatedClock,
    SimulatedMemory,
    SimulationOptions,
    Trial,
    simulate,
)
from assay.evaluation.tuning import FusionChoice
from assay.evaluation.tuning.choices import choice_of
from assay.memory.engine import Engine
from assay.memory.learning import Learning, Policy
from assay.memory.learning.learning import FLAG
from assay.records import MemoryRecord, MemoryStatus, Scope
from assay.records.datasets import Dataset
from assay.records.learning import Safeguard
from assay.systems.assay_engine import AssaySystem, OnDocument
from assay.systems.registry import Configuration, parse_spec
from assay.wiring.engines import learning_policy, open_engine
from assay.wiring.search_options import search_options
from assay.wiring.stores import scope_of
from assay.wiring.systems import corpus_settings, open_system
from assay.work.jobs import Executor, Job

# --- Simulated use of a copy of a dataset's memory ---


@contextmanager
def open_simulation(
    dataset: Dataset, *, unsafe: bool = False, on_document: OnDocument | None = None
) -> Iterator[SimulatedMemory]:
    """A memory that holds a dataset's documents and learns, with safeguards or, to see what they are for, without."""
    open_system("assay", dataset, on_document=on_document).close()
    filled = corpus_settings(Configuration(), dataset)
    with tempfile.TemporaryDirectory(prefix="assay-simulate-") as folder:
        db = Path(folder) / "assay.db"
        for file in Path(filled.db).parent.glob("assay.db*"):
            if file.is_file():
                shutil.copy(file, db.with_name(file.name))
        settings = filled.change(db=str(db), index_folder=None)
        clock = SimulatedClock(SystemClock().now())
        with open_engine(settings, clock=clock, run_once=True) as engine:
            scope = scope_of(settings)
            held = _memories(engine, scope)
            # Whenever it was taken in: the same simulation gives the same numbers.
            clock.begin(max(memory.created_at for memory in held))
            engine.flags.turn(engine.store, scope, FLAG, True)
            document_of = {memory.id: memory.source_id or memory.id for memory in held}
            policy = Policy(off=frozenset(Safeguard), watched=False) if unsafe else learning_policy(settings)
            learning = Learning(
                store=engine.store,
                flags=engine.flags,
                sessions=engine.searcher.sessions,
                clock=clock,
                policy=policy,
                background=False,
            )
            searcher = engine.searcher
            if unsafe:
                searcher = searcher.with_options(replace(searcher.options, ordinary_fire=True, general_votes=True))
            yield SimulatedMemory(
                store=engine.store,
                searcher=searcher,
                learning=learning,
                clock=clock,
                tenant=settings.tenant,
                document_of=document_of,
                unsafe=unsafe,
            )


def _memories(engine: Engine, scope: Scope) -> list[MemoryRecord]:
    found: list[MemoryRecord] = []
    with engine.store.reading(scope) as work:
        while page := work.memories.page(after=found[-1].id if found else ""):
            found += page
    return [memory for memory in found if memory.status is not MemoryStatus.FORGOTTEN]


# --- Simulations on workers ---

SimulationOutcome = tuple[Simulated, Trial]


class OpenedSimulations:
    """Simulates inside a worker, each time in a memory of its own."""

    def __init__(self, dataset: Dataset, options: SimulationOptions, *, unsafe: bool) -> None:
        self._dataset = dataset
        self._options = options
        self._unsafe = unsafe

    def perform(self, seed: int) -> SimulationOutcome | str:
        """Simulate from one seed."""
        with open_simulation(self._dataset, unsafe=self._unsafe) as place:
            return simulate(place, self._dataset, replace(self._options, seed=seed))

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True, kw_only=True)
class RemoteSimulations:
    """What a worker needs to simulate."""

    dataset: Dataset
    options: SimulationOptions
    unsafe: bool

    def open(self) -> OpenedSimulations:
        """Nothing is opened before a simulation begins."""
        return OpenedSimulations(self.dataset, self.options, unsafe=self.unsafe)


def simulate_on_workers(
    dataset: Dataset, options: SimulationOptions, seeds: Sequence[int], executor: Executor, *, unsafe: bool
) -> list[SimulationOutcome]:
    """Simulate from each seed on the workers of an executor; outcomes in the order of the seeds."""
    remote = RemoteSimulations(dataset=dataset, options=options, unsafe=unsafe)
    job: Job[int, SimulationOutcome | str] = Job(
        perform=remote.open().perform,
        lost=lambda seed, why: f"the simulation from seed {seed} was not finished: {why}",
        remote=lambda: remote,
        what="simulations",
    )
    done: dict[int, SimulationOutcome] = {}
    with closing(executor.run(iter(seeds), job)) as outcomes:
        for outcome in outcomes:
            if isinstance(outcome, str):
                raise ClusterFailed(outcome, remedy="Simulate without workers.")
            done[outcome[0].seed] = outcome
    return [done[seed] for seed in seeds]


# --- The starting point of tuning ---


class Tunable(NamedTuple):
    """A system whose fusion can be replayed."""

    system: AssaySystem
    incumbent: FusionChoice
    aggregated: bool
    """Whether further passages add to a memory's score."""


def open_tunable(text: str, dataset: Dataset, *, on_document: OnDocument | None = None) -> Tunable:
    """The system a spec such as `assay` or `assay:embedder.kind=static` names, with the fusion in force."""
    spec = parse_spec(text, Path.cwd())
    if spec.configuration is None:
        raise InputError(f"{text} does not report what its channels found", remedy="Fusion is tuned for assay[:...].")
    incumbent = choice_of(search_options(corpus_settings(spec.configuration, dataset)))
    system = open_system(text, dataset, on_document=on_document)
    if not isinstance(system, AssaySystem):
        raise InputError(f"{text} is not Assay", remedy="Fusion is tuned for assay[:...].")
    return Tunable(system, incumbent, bool(system.subject()["flags"]["docscore_aggregation"]))
