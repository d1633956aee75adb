"""An evaluation run, killed at random moments and resumed until it ends.

It must end with the same result hash as one that nobody disturbed, with one line for every case, and whatever was
written down before a kill must never be asked again. Every call of the system is noted before it is made, in a file of
its own, so that the two can be held against each other.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from assay.evaluation.running.files import RunFolder, list_runs
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running
from assay.evaluation.running.runner import run as run_system
from assay.records.datasets import Case, Dataset, Grade
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System
from reliability import ledger
from reliability.crew import Crew, wait_until
from reliability.outcome import Check, at_least, none_of

WAIT_S = 120.0
REPEATS = 2
CASES_A_KILL = 20
"""Cases for each kill that is asked for, so that there is something left to disturb."""
CALL_S = 0.002


@dataclass(frozen=True, kw_only=True, slots=True)
class RunsOutcome:
    """What was seen over all kills."""

    kills: int
    cases: int
    calls: int
    in_flight: int
    """Calls that a kill cut off, and that were made again."""
    asked_again: tuple[str, ...]
    """Cases that were asked again after they had been written down."""
    repeated: tuple[str, ...]
    missing: tuple[str, ...]
    same_hash: bool
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.kills} kills of a run of {self.cases} cases: {self.calls} calls, {self.in_flight} cut off; "
            f"{self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("cases asked again after they were written down", self.asked_again),
            none_of("cases with two lines", self.repeated),
            none_of("cases without a line", self.missing),
            Check(promise="the same result hash", seen="same" if self.same_hash else "other", held=self.same_hash),
            at_least("kills in the middle of a run", self.kills, 1),
        )


class Noting(System):
    """Answers by arithmetic, and notes every call before it is made."""

    name = "noting"

    def __init__(self, told: ledger.Ledger | None, pause_s: float) -> None:
        self._told = told
        self._pause_s = pause_s

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - the case says it all
        """A list that only depends on the case."""
        if self._told is not None:
            self._told.note(case.id)
        time.sleep(self._pause_s)
        number = int(case.id[1:])
        return Retrieved(ids=tuple(f"d{(number * step) % 11}" for step in range(1, min(k, 9))))


def dataset(cases: int) -> Dataset:
    """Questions whose answers are numbers."""
    return Dataset(
        name="numbers",
        documents=(),
        cases=tuple(
            Case(id=f"q{one}", query=f"question {one}", grades=(Grade(document_id=f"d{one % 11}", grade=2),))
            for one in range(cases)
        ),
    )


def work(runs: Path, resume: Path | None, lines: Path, cases: int) -> None:
    """What the process does that is killed."""
    where = Running(runs=runs, resume=resume)
    with ledger.Ledger(lines) as told:
        run_system(dataset(cases), Noting(told, CALL_S), RunOptions(repeats=REPEATS), where)


def run(*, folder: Path, times: int, seed: int = 1) -> RunsOutcome:
    """Kill a run that many times, then let it end."""
    began = time.monotonic()
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    cases = CASES_A_KILL * times
    whole = run_system(dataset(cases), Noting(None, 0.0), RunOptions(repeats=REPEATS)).result_hash
    runs, seen = folder / "runs", _Seen()
    for kill in range(times):
        _disturb(runs, folder / f"lines-{kill}", cases, rng, seen)
    with Crew() as crew:
        seen.before = _written(runs)
        crew.start(work, runs, _only(runs), folder / "lines-last", cases)
        crew.wait(WAIT_S + cases * REPEATS * 0.05)
    seen.look(folder / "lines-last")
    return _outcome(runs, cases, whole, seen, time.monotonic() - began)


class _Seen:
    """What the kills left behind."""

    def __init__(self) -> None:
        self.kills = 0
        self.calls = 0
        self.asked_again: list[str] = []
        self.before: Counter[str] = Counter()

    def look(self, lines: Path) -> None:
        """Every call of one process: none may be of a case whose every repeat was written down before."""
        asked = [case for case, *_ in ledger.read(lines)]
        self.calls += len(asked)
        for case, count in Counter(asked).items():
            if count + self.before[case] > REPEATS:
                self.asked_again.append(f"{case} {count} times after {self.before[case]} lines")


def _disturb(runs: Path, lines: Path, cases: int, rng: random.Random, seen: _Seen) -> None:
    seen.before = _written(runs)
    done = sum(seen.before.values())
    with Crew() as crew:
        member = crew.start(work, runs, _only(runs), lines, cases)
        wait_until(lambda: sum(_written(runs).values()) > done or not member.is_alive(), WAIT_S, "the next case")
        time.sleep(rng.uniform(0.0, 20 * CALL_S))
        seen.kills += member.is_alive()
        crew.kill(member)
    seen.look(lines)


def _only(runs: Path) -> Path | None:
    found = list_runs(runs)
    return found[0] if found else None


def _written(runs: Path) -> Counter[str]:
    place = _only(runs)
    return Counter() if place is None else Counter(one.case_id for one in RunFolder(place).read_cases())


def _outcome(runs: Path, cases: int, whole: str, seen: _Seen, seconds: float) -> RunsOutcome:
    place = _only(runs)
    files = RunFolder(place or runs)
    lines = Counter((one.case_id, one.repeat) for one in files.read_cases())
    wanted = {(f"q{one}", repeat) for one in range(cases) for repeat in range(REPEATS)}
    return RunsOutcome(
        kills=seen.kills,
        cases=cases * REPEATS,
        calls=seen.calls,
        in_flight=seen.calls - sum(lines.values()),
        asked_again=tuple(seen.asked_again),
        repeated=tuple(f"{case} in repeat {repeat}" for (case, repeat), count in lines.items() if count > 1),
        missing=tuple(f"{case} in repeat {repeat}" for case, repeat in sorted(wanted - lines.keys())),
        same_hash=files.finished and files.read_result()["result_hash"] == whole,
        seconds=seconds,
    )
