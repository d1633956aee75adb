"""SIGKILL in mid-save: two writers and a checkpointer, killed at a random moment, again and again.

After each kill the file is opened in this warm process. Every acknowledged operation must be there with its chunks and
its edge, the one in flight wholly there or wholly absent, the tables must agree, SQLite must find no damage, and every
listed checkpoint must be the bytes that were written. One kill ends all three processes, in random order, a few
milliseconds apart, so that a survivor meets the lock of a dead one.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from assay.storage import Store
from assay.storage.checkpoints.folder import hash_of
from reliability import ledger, load
from reliability.crew import Crew, all_exist, wait_until
from reliability.outcome import Check, Spread, at_least, below, none_of, spread

WRITERS = 2
KILLS_PER_FILE = 25
"""A fresh file now and then: checking everything costs more the more there is."""
ROUND_S = 120.0
LONGEST_RUN_S = 0.4


@dataclass(frozen=True, kw_only=True, slots=True)
class KillOutcome:
    """What was seen over all kills."""

    kills: int
    acknowledged: int
    in_flight: int
    lost: tuple[str, ...]
    half_there: tuple[str, ...]
    damaged: tuple[str, ...]
    disagreeing: tuple[str, ...]
    checkpoints_checked: int
    bad_checkpoints: tuple[str, ...]
    reopen: Spread
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.kills} kills of {WRITERS} writers and a checkpointer; {self.acknowledged} acknowledged operations, "
            f"{self.in_flight} in flight, {self.checkpoints_checked} checkpoints looked at, {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("acknowledged operations lost", self.lost),
            none_of("memories half there", self.half_there),
            none_of("damaged files", self.damaged),
            none_of("tables that disagree", self.disagreeing),
            none_of("listed checkpoints that are not whole", self.bad_checkpoints),
            below("reopen p99", self.reopen.p99_ms, 100, "ms"),
            at_least("operations caught in flight", self.in_flight, self.kills // 10),
        )


@dataclass
class _Seen:
    """What adds up over the kills."""

    kills: int = 0
    acknowledged: int = 0
    in_flight: int = 0
    checkpoints: int = 0
    lost: list[str] = field(default_factory=list)
    half_there: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    disagreeing: list[str] = field(default_factory=list)
    bad_checkpoints: list[str] = field(default_factory=list)
    reopen_s: list[float] = field(default_factory=list)


def run(*, folder: Path, times: int, seed: int = 1) -> KillOutcome:
    """Kill that many times."""
    rng = random.Random(seed)
    seen = _Seen()
    began = time.monotonic()
    for first in range(0, times, KILLS_PER_FILE):
        place = folder / f"from-kill-{first}"
        place.mkdir(parents=True)
        _one_file(place, min(KILLS_PER_FILE, times - first), rng, seen)
    return KillOutcome(
        kills=seen.kills,
        acknowledged=seen.acknowledged,
        in_flight=seen.in_flight,
        lost=tuple(seen.lost),
        half_there=tuple(seen.half_there),
        damaged=tuple(seen.damaged),
        disagreeing=tuple(seen.disagreeing),
        checkpoints_checked=seen.checkpoints,
        bad_checkpoints=tuple(seen.bad_checkpoints),
        reopen=spread(seen.reopen_s),
        seconds=time.monotonic() - began,
    )


def checkpoint_until(path: Path, lines: Path, deadline: float) -> None:
    """What the checkpointer does: open, copy, delete the oldest copy, close."""
    with ledger.Ledger(lines) as told:
        while time.monotonic() < deadline:
            with load.opened(path) as store:
                told.note("made", store.checkpoints.create("under fire").id)
                for old in store.checkpoints.list()[:-2]:
                    store.checkpoints.delete(old.id)


def _one_file(place: Path, kills: int, rng: random.Random, seen: _Seen) -> None:
    path = place / "store.db"
    load.prepare(path)
    expected = load.Expected()
    for kill in range(kills):
        ledgers = [place / f"{kill}-writer-{number}" for number in range(WRITERS)]
        _let_run_and_kill(path, ledgers, place / f"{kill}-checkpointer", rng, kill)
        _read(ledgers, expected, seen)
        seen.kills += 1
        _look_again(path, expected, seen)


def _let_run_and_kill(path: Path, ledgers: list[Path], copies: Path, rng: random.Random, kill: int) -> None:
    deadline = time.monotonic() + ROUND_S
    with Crew() as crew:
        members = [
            crew.start(load.write_until, path, lines, f"m_{kill}_{number}", rng.getrandbits(32), deadline)
            for number, lines in enumerate(ledgers)
        ]
        members.append(crew.start(checkpoint_until, path, copies, deadline))
        wait_until(lambda: all_exist(ledgers), ROUND_S, "both writers to begin")
        time.sleep(rng.uniform(0, LONGEST_RUN_S))
        rng.shuffle(members)
        for member in members:
            crew.kill(member)
            time.sleep(rng.choice((0.0, 0.0, rng.uniform(0, 0.03))))


def _read(ledgers: list[Path], expected: load.Expected, seen: _Seen) -> None:
    for path in ledgers:
        lines = ledger.read(path)
        expected.read(lines)
        seen.acknowledged += sum(line[0] == "done" for line in lines)
        seen.in_flight += sum(line[0] == "try" for line in lines) - sum(line[0] == "done" for line in lines)


def _look_again(path: Path, expected: load.Expected, seen: _Seen) -> None:
    began = time.perf_counter()
    with load.opened(path) as store:
        with store.reading(load.SCOPE) as work:
            work.memories.get(load.ANCHOR)
        seen.reopen_s.append(time.perf_counter() - began)
        found = load.look(path)
        seen.lost += expected.lost(found)
        seen.half_there += load.halves(found)
        seen.damaged += load.damage(path)
        seen.disagreeing += store.problems()
        _look_at_checkpoints(store, path, seen)
    expected.settle(found)


def _look_at_checkpoints(store: Store, path: Path, seen: _Seen) -> None:
    folder = path.with_name(path.name + ".checkpoints")
    listed = store.checkpoints.list()
    for one in listed:
        copy = folder / f"{one.id}.db"
        if not copy.exists() or hash_of(copy) != one.content or load.damage(copy) or load.halves(load.look(copy)):
            seen.bad_checkpoints.append(f"{one.id} after kill {seen.kills}")
    seen.checkpoints += len(listed)
    for leftover in folder.glob("*"):
        if leftover.stem.split(".")[0] not in {one.id for one in listed}:
            leftover.unlink()
