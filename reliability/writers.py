"""Eight processes that all want to write at once, for minutes.

Each saves memories of its own and, every few saves, adds one to a counter they share (read, add, write in one unit
of work). The processes warm up first; then all begin at one moment. A caller must never see a lock error, no addition
may be lost, and nobody may wait a second for a write.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.storage import Store
from reliability import ledger, load
from reliability.crew import Crew, all_exist, wait_until
from reliability.outcome import Check, Spread, at_least, below, none_of, spread

WARM_UP_S = 60.0
SAVES_PER_ADDITION = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class WritersOutcome:
    """What was seen over all writers."""

    writers: int
    seconds: float
    saves: int
    additions: int
    counted: int
    errors: tuple[str, ...]
    lost: tuple[str, ...]
    disagreeing: tuple[str, ...]
    wait: Spread
    per_writer: tuple[int, ...]

    @property
    def did(self) -> str:
        """What was done, in one line."""
        rate = (self.saves + self.additions) / self.seconds
        return (
            f"{self.writers} processes wrote for {self.seconds:.0f} s: {rate:.0f} writes/s, of one writer "
            f"{min(self.per_writer, default=0)} to {max(self.per_writer, default=0)}; "
            f"wait p50 {self.wait.p50_ms:.0f} ms, p99 {self.wait.p99_ms:.0f} ms, longest {self.wait.longest_ms:.0f} ms"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("errors seen by callers", self.errors),
            none_of("lost additions", abs(self.additions - self.counted)),
            none_of("lost saves", self.lost),
            none_of("tables that disagree", self.disagreeing),
            # The short form lasts three seconds: who waits for all of them was passed over.
            below("longest wait for a write", self.wait.longest_ms, 1000, "ms", patience=2.5),
            at_least("writes of the slowest writer", min(self.per_writer, default=0), 1),
        )


def run(*, folder: Path, seconds: float, writers: int = 8) -> WritersOutcome:
    """Let them write for that long."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "store.db"
    load.prepare(path)
    ledgers = [folder / f"writer-{number}" for number in range(writers)]
    with Crew() as crew:
        for number, lines in enumerate(ledgers):
            crew.start(write, path, lines, f"m_{number}", folder / "begin", seconds)
        wait_until(lambda: all_exist(ledgers), WARM_UP_S, "every writer to be warm")
        (folder / "begin").write_text("now")
        codes = crew.wait(seconds + WARM_UP_S)
    return _judged(path, ledgers, seconds, codes)


def write(path: Path, lines: Path, prefix: str, begin: Path, seconds: float) -> None:
    """What one writer does."""
    with load.opened(path) as store, ledger.Ledger(lines) as told:
        load.save(store, f"{prefix}_warm")
        told.note("warm", f"{prefix}_warm", 0)
        wait_until(begin.exists, WARM_UP_S, "the word to begin")
        deadline = time.monotonic() + seconds
        number = 0
        while time.monotonic() < deadline:
            number += 1
            _one_write(store, told, prefix, number)


def _one_write(store: Store, told: ledger.Ledger, prefix: str, number: int) -> None:
    began = time.perf_counter()
    adds = number % (SAVES_PER_ADDITION + 1) == 0
    try:
        if adds:
            load.touch_counter(store)
        else:
            load.save(store, f"{prefix}_{number}")
    except AssayError as problem:
        told.note("error", problem.code, prefix)
        return
    told.note("added" if adds else "saved", f"{prefix}_{number}", time.perf_counter() - began)


def _judged(path: Path, ledgers: list[Path], seconds: float, codes: list[int]) -> WritersOutcome:
    lines = [ledger.read(one) for one in ledgers]
    told = [line for one in lines for line in one]
    saved = [line[1] for line in told if line[0] in ("saved", "warm")]
    found = load.look(path)
    with load.opened(path) as store:
        with store.reading(load.SCOPE) as work:
            counted = work.memories.get(load.ANCHOR).access_count
        disagreeing = store.problems()
    return WritersOutcome(
        writers=len(ledgers),
        seconds=seconds,
        saves=len(saved) - len(ledgers),
        additions=sum(line[0] == "added" for line in told),
        counted=counted,
        errors=(
            *(f"{line[2]}: {line[1]}" for line in told if line[0] == "error"),
            *(f"a writer ended with {code}" for code in codes if code),
        ),
        lost=(*(one for one in saved if one not in found), *load.halves(found)),
        disagreeing=(*disagreeing, *load.damage(path)),
        wait=spread([float(line[2]) for line in told if line[0] in ("added", "saved")]),
        per_writer=tuple(sum(line[0] in ("added", "saved") for line in one) for one in lines),
    )
