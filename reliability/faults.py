"""A disk that fails in the middle: full, read-only, broken, at every call of an operation.

`shim.failing_child` does the work in a process of its own; here it is started and judged. Whatever fails, the caller
must see one storage error with a remedy, find the old state or the new one, go on reading, and write again within a
second of the fault's end, in the same process with the same open store.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from reliability import shim
from reliability.outcome import Check, at_least, below, none_of
from reliability.shim.control import new_page
from reliability.shim.failing_child import Attempt

CHILD_S = 1800.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultsOutcome:
    """What was seen over all faults."""

    attempts: int
    lasting: int
    calls_of_a_save: int
    tried_of_a_save: int
    errors: dict[str, int]
    """How often each error reached the caller; `none` when the act succeeded in spite of the fault."""
    faults: tuple[str, ...]
    at_the_end: tuple[str, ...]
    longest_resume_ms: float
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        seen = ", ".join(f"{count} {code}" for code, count in sorted(self.errors.items()))
        return (
            f"{self.attempts} faults ({self.lasting} of them lasting) over 7 acts and 3 errors, at "
            f"{self.tried_of_a_save} of the {self.calls_of_a_save} calls of a save; callers saw {seen}; "
            f"{self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("raw errors, half states, failed reads", self.faults),
            none_of("losses or damage after all faults", self.at_the_end),
            below("writes resume after", self.longest_resume_ms, 1000, "ms"),
            at_least("faults that reached a caller", self.attempts - self.errors.get("none", 0), self.attempts // 4),
        )


def run(*, folder: Path, most_calls: int = 120, seed: int = 1) -> FaultsOutcome:
    """Try every act with every fault, or `most_calls` of them where an act makes more calls."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "disk"
    place.mkdir()
    page, report = new_page(folder / "control"), folder / "report.json"
    environment = shim.environment(shim.compiled(folder), place, control=page)
    arguments = [str(place.resolve()), str(page), str(report), str(seed), str(most_calls)]
    shim.run_child("reliability.shim.failing_child", arguments, environment, CHILD_S)
    said = json.loads(report.read_text(encoding="utf-8"))
    attempts = [Attempt(**one) for one in said["attempts"]]
    calls_of_a_save = {one.call for one in attempts if one.act == "save" and not one.lasting}
    return FaultsOutcome(
        attempts=len(attempts),
        lasting=sum(one.lasting for one in attempts),
        calls_of_a_save=max(calls_of_a_save),
        tried_of_a_save=len(calls_of_a_save),
        errors=dict(Counter(one.raised or "none" for one in attempts)),
        faults=tuple(f"{_name(one)}: {one.fault}" for one in attempts if one.fault),
        at_the_end=tuple(said["at_the_end"]),
        longest_resume_ms=max(one.resumed_s for one in attempts) * 1000,
        seconds=time.monotonic() - began,
    )


def _name(attempt: Attempt) -> str:
    return f"{attempt.act}, {attempt.error} {'from' if attempt.lasting else 'at'} call {attempt.call}"
