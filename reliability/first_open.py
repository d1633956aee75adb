"""Several processes open, at one moment, a path where nothing is yet.

One of them makes the store; the others must wait or find it made, never take it for something foreign or damaged, and
the save each of them does next must be there.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from assay.testing import note
from reliability import ledger, load
from reliability.crew import Crew, all_exist, wait_until
from reliability.outcome import Check, none_of

WAIT_S = 60.0
LATEST_S = 0.1
"""About as long as it takes to make a store: a late one meets it half made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstOpenOutcome:
    """What was seen over all races."""

    races: int
    processes: int
    errors: tuple[str, ...]
    lost: int
    disagreeing: tuple[str, ...]
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return f"{self.races} races of {self.processes} processes to make the same store; {self.seconds:.0f} s"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("errors seen by callers", self.errors),
            none_of("lost saves", self.lost),
            none_of("tables that disagree", self.disagreeing),
        )


def run(*, folder: Path, times: int, processes: int = 8, seed: int = 1) -> FirstOpenOutcome:
    """Race that many times."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    ledgers = [folder / f"process-{number}" for number in range(processes)]
    with Crew() as crew:
        for number, lines in enumerate(ledgers):
            crew.start(open_all, folder, lines, f"m_{number}", times, seed + number)
        for race in range(times):
            wait_until(lambda: all_exist(folder / f"{one.name}-at-{race}" for one in ledgers), WAIT_S, "every process")  # noqa: B023 - waited for at once
            (folder / f"begin-{race}").write_text("now")
        crew.wait(WAIT_S)
    return _judged(folder, ledgers, times, time.monotonic() - began)


def open_all(folder: Path, lines: Path, memory_id: str, times: int, seed: int) -> None:
    """What one process does: race after race, each from the same starting shot, some a little late."""
    rng = random.Random(seed)
    with ledger.Ledger(lines) as told:
        for race in range(times):
            (folder / f"{lines.name}-at-{race}").write_text("here")
            wait_until((folder / f"begin-{race}").exists, WAIT_S, "the shot")
            time.sleep(rng.choice((0.0, rng.uniform(0, LATEST_S))))
            try:
                with load.opened(folder / f"store-{race}.db") as store, store.writing(load.SCOPE) as work:
                    work.memories.add(note(memory_id))
            except Exception as problem:  # noqa: BLE001 - whatever comes out is what this program looks for
                told.note("error", type(problem).__name__, str(problem).replace("\n", " "))
                continue
            told.note("saved", race)


def _judged(folder: Path, ledgers: list[Path], times: int, seconds: float) -> FirstOpenOutcome:
    told = [line for one in ledgers for line in ledger.read(one)]
    saved = sum(line[0] == "saved" for line in told)
    found, disagreeing = 0, []
    for race in range(times):
        with load.opened(folder / f"store-{race}.db") as store:
            disagreeing += store.problems()
            with store.reading(load.SCOPE) as work:
                found += work.memories.count()
    return FirstOpenOutcome(
        races=times,
        processes=len(ledgers),
        errors=tuple(" ".join(line[1:]) for line in told if line[0] == "error"),
        lost=saved - found,
        disagreeing=tuple(disagreeing),
        seconds=seconds,
    )
