"""Random steps against the store and against a plain dictionary, on both back ends.

The machine itself is part of the test suite (`tests/storage/machine.py`): it raises at the first step after which
store and dictionary differ, in what is there or in its order. Here it runs for long, from the same seed on SQLite and
on PostgreSQL; as both must agree with the dictionary at every step, both give the same ids in the same order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from assay.testing import FixedClock
from reliability.outcome import Check, at_least, none_of
from reliability.servers import postgres

LONGEST_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class StateMachineOutcome:
    """What was seen over all steps."""

    asked: int
    sqlite_steps: int
    postgres_steps: int
    divergences: tuple[str, ...]
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return f"{self.sqlite_steps} steps on SQLite and {self.postgres_steps} on PostgreSQL; {self.seconds:.0f} s"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("divergences", self.divergences),
            at_least("steps on SQLite", self.sqlite_steps, self.asked),
            at_least("steps on PostgreSQL", self.postgres_steps, self.asked),
        )


class _Walked(NamedTuple):
    steps: int
    divergences: tuple[str, ...]


def run(*, folder: Path, steps: int, seed: int = 1) -> StateMachineOutcome:
    """Take at least that many steps on each back end."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    places = count()
    with postgres() as address:
        # Imported here: the machine needs the development dependencies, and the other programs do without them.
        from tests.storage.homes import Home  # noqa: PLC0415

        on_sqlite = _walk(lambda: Home(str(folder / f"{next(places)}.db"), FixedClock()), steps, seed)
        on_postgres = _walk(lambda: Home(address, FixedClock(), postgres_schema=f"m_{uuid4().hex[:12]}"), steps, seed)
    return StateMachineOutcome(
        asked=steps,
        sqlite_steps=on_sqlite.steps,
        postgres_steps=on_postgres.steps,
        divergences=on_sqlite.divergences + on_postgres.divergences,
        seconds=time.monotonic() - began,
    )


def _walk(home: Callable[[], Any], steps: int, seed: int) -> _Walked:
    """Walk until there are enough steps: one walk may take fewer than it was asked for."""
    from tests.storage.machine import run as walk  # noqa: PLC0415 - see above

    done = 0
    deadline = time.monotonic() + LONGEST_S
    while done < steps and time.monotonic() < deadline:
        try:
            done += walk(home, steps - done, seed + done)
        except Exception as problem:  # noqa: BLE001 - a divergence, or an error no step may raise
            return _Walked(done, (f"after {done} steps: {type(problem).__name__}: {problem}",))
    return _Walked(done, ())
