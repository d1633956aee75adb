"""The process whose disk fails: one operation after the other, each with one call of it made to fail.

    python -m reliability.shim.failing_child FOLDER CONTROL_PAGE REPORT SEED MOST_CALLS

For each act (a save, the first save after opening, a save that folds the log into the file, a flush of the query log, a
checkpoint, opening, making a new store) and each error, the n-th call fails for n = 1, 2, ... until the act makes no
further call; acts with more than MOST_CALLS calls are sampled. Then from the n-th call on everything fails, until it
no longer does. The same process and the same open store go through all of it. What was seen is written to REPORT.
"""

from __future__ import annotations

import errno
import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.errors import AssayError, StorageError
from assay.storage import StoreOptions
from assay.testing import note
from reliability import load
from reliability.shim.control import LASTING, Calls, Control, counted

ERRORS = (errno.EIO, errno.ENOSPC, errno.EROFS)
NAMES = {errno.ENOSPC: "store_full", errno.EROFS: "store_read_only"}
"""What a caller must be told as long as the disk stays like that."""
OPTIONS = StoreOptions(lock_timeout_s=2.0, flush_interval_s=3600.0)
"""The log is flushed by hand here, so that no call of its thread is counted as one of ours."""
LARGE = "a body large enough that its commit folds the log into the file. " * 66_000
GIVE_UP_S = 30.0
"""Much longer than writes may take to resume on any machine."""
FEWEST = 4
"""The first call, the last, and some between."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One act with one fault."""

    act: str
    error: str
    call: int
    lasting: bool
    raised: str
    """The error's code; empty when the act succeeded in spite of the fault."""
    fault: str
    """What is wrong with how it went; empty when nothing is."""
    resumed_s: float
    """From the end of the fault to the next acknowledged save."""


class Bench:
    """One open store, and the acts that are tried on it."""

    def __init__(self, folder: Path, control: Control) -> None:
        self._path = folder / "store.db"
        self._folder = folder
        self._control = control
        self._number = 0
        self._large: str | None = None
        self.expected = load.Expected()
        load.prepare(self._path)
        self.store = load.opened(self._path, options=OPTIONS)
        self.acts: dict[str, Callable[[], None]] = {
            "save": self.save,
            "first save": self.save,
            "log flush": self._flush_log,
            "checkpoint": self._make_checkpoint,
            "open": lambda: load.opened(self._path, options=OPTIONS).close(),
            "new store": lambda: load.opened(folder / f"new-{self._next()}.db", options=OPTIONS).close(),
            "folding save": self._save_large,
        }

    def make_ready(self, act: str) -> None:
        """The state each attempt at an act begins in."""
        if act == "first save":
            self.store.close()
            self.store = load.opened(self._path, options=OPTIONS)
        else:
            self.save()
        if act == "folding save":
            self._remove_large()

    def save(self) -> None:
        """Save a memory that the end of the program will ask for."""
        memory_id = f"m_{self._next()}"
        self.expected.read([["try", memory_id, "1"]])
        load.save(self.store, memory_id)
        self.expected.read([["done", memory_id, "1"]])

    def attempt(self, act: str, error: int, call: int, *, lasting: bool) -> Attempt | None:
        """Try an act; None when it made fewer calls than that."""
        self.make_ready(act)
        kinds = LASTING[error] if lasting else counted(error)
        with self._control.armed(error, at=call, kinds=kinds, sticky=lasting):
            raised, fault = self._try(self.acts[act])
            if not self._control.failed:
                return None
            if lasting and call == 1 and act != "open":
                fault = fault or _wrong_name(error, raised)
            if lasting:
                again, other = self._try(self.save)
                fault = fault or other or _wrong_name(error, again)
                fault = fault or self._read()
        resumed_s = self._resume()
        fault = fault or self._read() or self._in_between()
        name = errno.errorcode[error]
        return Attempt(act=act, error=name, call=call, lasting=lasting, raised=raised, fault=fault, resumed_s=resumed_s)

    def calls_of(self, act: str, kinds: Calls) -> int:
        """How many calls an act makes."""
        self.make_ready(act)
        with self._control.armed(0, at=0, kinds=kinds):
            self.acts[act]()
        return self._control.calls

    def at_the_end(self) -> list[str]:
        """What the whole store looks like after all faults."""
        self.store.log.flush()
        status = self.store.log.status()
        found = {one: row for one, row in load.look(self._path).items() if not one.startswith("large")}
        wrong = self.store.problems() + load.damage(self._path) + self.expected.lost(found) + load.halves(found)
        wrong += [f"{status.dropped} logged queries dropped"] if status.dropped else []
        self.store.close()
        return wrong

    def _try(self, act: Callable[[], None]) -> tuple[str, str]:
        """The code of the error that was raised, and what is wrong with it."""
        try:
            act()
        except StorageError as problem:
            named = type(problem) is not StorageError and problem.remedy
            return problem.code, "" if named else f"an error without a name or a remedy: {problem}"
        except AssayError as problem:
            return problem.code, f"{problem.code} blames the caller: {problem}"
        except Exception as problem:  # noqa: BLE001 - whatever else comes out is what this program looks for
            return type(problem).__name__, f"a raw {type(problem).__name__} reached the caller: {problem}"
        return "", ""

    def _read(self) -> str:
        try:
            with self.store.reading(load.SCOPE) as work:
                work.memories.get(load.ANCHOR)
        except Exception as problem:  # noqa: BLE001 - the same
            return f"a read failed: {problem!r}"
        return ""

    def _resume(self) -> float:
        began = time.monotonic()
        while time.monotonic() - began < GIVE_UP_S:
            if not self._try(self.save)[0]:
                break
        return time.monotonic() - began

    def _in_between(self) -> str:
        """Every memory whose save was tried is there whole or not at all."""
        with self.store.reading(load.SCOPE) as work:
            for memory_id in [one for one, allowed in self.expected.allowed.items() if len(allowed) > 1]:
                memory = work.memories.find(memory_id)
                texts = tuple(piece.text for piece in work.memories.chunks_of(memory_id))
                edges = len(work.edges.of(memory_id))
                version = load.GONE if memory is None else memory.version
                whole = (texts, edges) == ((), 0) if memory is None else texts == load.texts_of(memory_id, version)
                if not whole:
                    return f"{memory_id} is half there"
                # What a reader has seen must stay.
                self.expected.allowed[memory_id] = frozenset({version})
        return ""

    def _make_checkpoint(self) -> None:
        made = self.store.checkpoints.create("tried")
        self.store.checkpoints.delete(made.id)

    def _remove_large(self) -> None:
        """Make room again, so that the file stays small."""
        with self.store.writing(load.SCOPE) as work:
            if self._large is not None and work.memories.find(self._large) is not None:
                work.memories.remove(self._large)

    def _save_large(self) -> None:
        self._large = memory_id = f"large_{self._next()}"
        with self.store.writing(load.SCOPE) as work:
            work.memories.add(note(memory_id, body=LARGE))

    def _flush_log(self) -> None:
        self.store.log.append(load.SCOPE, load.query_of(f"q_{self._next()}"))
        self.store.log.flush()

    def _next(self) -> int:
        self._number += 1
        return self._number


def _wrong_name(error: int, code: str) -> str:
    """Whether who writes on a disk that goes on failing is told why."""
    wanted = NAMES.get(error, code)
    return "" if code and code == wanted else f"writing on a failing disk ended with {code or 'success'}, not {wanted}"


def try_everything(bench: Bench, rng: random.Random, most: int) -> list[Attempt]:
    """Every act, every error, every call or a sample of them."""
    attempts: list[Attempt | None] = []
    for act in bench.acts:
        for error in ERRORS:
            calls = chosen(bench.calls_of(act, counted(error)), max(FEWEST, most), rng)
            attempts += [bench.attempt(act, error, call, lasting=False) for call in calls]
            lasting = chosen(bench.calls_of(act, LASTING[error]), max(FEWEST, most // 4), rng)
            attempts += [bench.attempt(act, error, call, lasting=True) for call in lasting]
    return [one for one in attempts if one is not None]


def chosen(calls: int, most: int, rng: random.Random) -> list[int]:
    """Each call and one more, or the first, the last and some between when there are too many."""
    every = range(1, calls + 2)
    if len(every) <= most:
        return list(every)
    edge = most // 4
    return [*every[:edge], *sorted(rng.sample(every[edge:-edge], most - 2 * edge)), *every[-edge:]]


def main(folder: Path, page: Path, report: Path, seed: int, most: int) -> None:
    """Try everything and write down what was seen."""
    bench = Bench(folder, Control(page))
    attempts = try_everything(bench, random.Random(seed), most)
    wrong = bench.at_the_end()
    report.write_text(json.dumps({"attempts": [asdict(one) for one in attempts], "at_the_end": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
