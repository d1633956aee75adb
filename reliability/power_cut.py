"""A power cut after any operation: only what was synced is certain to be there.

A child writes through the product while the shim records each operation on its files, acknowledgements in between.
Then the disk is rebuilt as it could be after a cut at random points of that record (`shim.disk`), and opened with the
product. Saves are promised the moment they are acknowledged. A logged query is promised after the flush interval and
the commit that follows it, so among the lost ones none may be older than that, and none may be missing before one
that is there. Two controls run the same with `synchronous` NORMAL and OFF and must lose acknowledged saves.
"""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import AssayError
from reliability import load, shim
from reliability.outcome import Check, at_least, below, none_of
from reliability.shim.disk import Disk, Operation, read_log
from reliability.shim.writing_child import AS_THE_PRODUCT_DOES

FLUSH_INTERVAL_S = 0.05
COMMIT_ALLOWANCE_S = 0.5
"""How long a group commit may take behind a save, under the shim, on a busy machine."""
CHILD_S = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerCutOutcome:
    """What was seen over all cuts."""

    cuts: int
    operations: int
    acknowledged: int
    logged: int
    queries_lost: int
    """Over all cuts: promised only after the flush interval."""
    oldest_lost_query_ms: float
    lost: tuple[str, ...]
    half_there: tuple[str, ...]
    damaged: tuple[str, ...]
    gaps: tuple[str, ...]
    control_cuts: int
    lost_with_normal: int
    """Cuts that lost acknowledged saves when the child ran with synchronous=NORMAL."""
    lost_with_off: int
    """The same with synchronous=OFF."""
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.cuts} cuts in {self.operations} disk operations with {self.acknowledged} acknowledged saves and "
            f"{self.logged} logged queries ({self.queries_lost} young queries lost over all cuts); of "
            f"{self.control_cuts} control cuts each, {self.lost_with_normal} lost saves with synchronous=NORMAL and "
            f"{self.lost_with_off} with OFF; {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        promised_ms = (FLUSH_INTERVAL_S + COMMIT_ALLOWANCE_S) * 1000
        return (
            none_of("acknowledged saves lost", self.lost),
            none_of("memories half there", self.half_there),
            none_of("damaged or disagreeing files", self.damaged),
            none_of("gaps in the query log", self.gaps),
            # A run lasts a few seconds: a log that is never written would lose nothing older than that.
            below("oldest lost query", self.oldest_lost_query_ms, promised_ms, "ms", patience=3.0),
            at_least("control cuts that lost saves with NORMAL", self.lost_with_normal, 1),
            at_least("control cuts that lost saves with OFF", self.lost_with_off, 1),
        )


@dataclass
class _Seen:
    cuts: int = 0
    cuts_with_loss: int = 0
    queries_lost: int = 0
    oldest_lost_query_s: float = 0.0
    lost: list[str] = field(default_factory=list)
    half_there: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)


def run(*, folder: Path, times: int, control_times: int = 50, acts: int = 900, seed: int = 1) -> PowerCutOutcome:
    """Cut the power that many times, and a few times more in the control."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    library = shim.compiled(folder)
    record = _record(folder / "real", library, acts, seed, AS_THE_PRODUCT_DOES)
    rng = random.Random(seed)
    seen = _cut(folder / "cuts", record, times, rng)
    controls = [
        _cut(folder / f"cuts-{level}", _record(folder / level, library, acts, seed, level), control_times, rng)
        for level in ("NORMAL", "OFF")
    ]
    words = [_words(one) for one in record if one.kind == "A"]
    return PowerCutOutcome(
        cuts=seen.cuts,
        operations=sum(one.kind != "A" for one in record),
        acknowledged=sum(line[0] == "done" for line in words),
        logged=sum(line[0] == "logged" for line in words),
        queries_lost=seen.queries_lost,
        oldest_lost_query_ms=seen.oldest_lost_query_s * 1000,
        lost=tuple(seen.lost),
        half_there=tuple(seen.half_there),
        damaged=tuple(seen.damaged),
        gaps=tuple(seen.gaps),
        control_cuts=controls[0].cuts,
        lost_with_normal=controls[0].cuts_with_loss,
        lost_with_off=controls[1].cuts_with_loss,
        seconds=time.monotonic() - began,
    )


def _record(place: Path, library: Path, acts: int, seed: int, synchronous: str) -> list[Operation]:
    """What a child did to its disk."""
    place.mkdir()
    log = place.with_suffix(".log")
    environment = shim.environment(library, place, log=log)
    arguments = [str(place.resolve()), str(acts), str(seed), str(FLUSH_INTERVAL_S), synchronous]
    shim.run_child("reliability.shim.writing_child", arguments, environment, CHILD_S)
    return list(read_log(log))


def _cut(place: Path, record: list[Operation], times: int, rng: random.Random) -> _Seen:
    """Walk through the record once and stop at the chosen points."""
    seen = _Seen()
    disk = Disk()
    points = _points(record, times, rng)
    for at, operation in enumerate(record):
        disk.apply(operation)
        if points and at == points[0]:
            points.pop(0)
            _look_after(place / f"cut-{at}", disk.after_power_cut(rng), record[: at + 1], seen)
    return seen


def _points(record: list[Operation], times: int, rng: random.Random) -> list[int]:
    """Where to cut: a tenth while the store is being made, the others while it is used."""
    made = next(at for at, one in enumerate(record) if one.kind == "A")
    early = times // 10
    return sorted(rng.sample(range(made), early) + rng.sample(range(made, len(record)), times - early))


def _look_after(place: Path, files: dict[str, bytes], past: list[Operation], seen: _Seen) -> None:
    place.mkdir(parents=True)
    for name, content in files.items():
        (place / name).write_bytes(content)
    path = place / "store.db"
    expected = load.Expected()
    expected.read(_words(one) for one in past if one.kind == "A")
    seen.cuts += 1
    found: dict[str, load.Row] = {}
    try:
        with load.opened(path) as store:
            seen.damaged += store.problems() + load.damage(path)
            found = load.look(path)
        _look_at_queries(path, past, seen)
    except (AssayError, sqlite3.DatabaseError) as problem:
        seen.damaged.append(f"{place.name}: {problem}")
    lost = [f"{place.name}: {one}" for one in expected.lost(found)]
    seen.lost += lost
    seen.cuts_with_loss += bool(lost)
    seen.half_there += load.halves(found)


def _look_at_queries(path: Path, past: list[Operation], seen: _Seen) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        there = {row[0] for row in file.execute("SELECT query_id FROM eval_queries")}
    logged = {_words(one)[1]: one.seconds for one in past if one.kind == "A" and _words(one)[0] == "logged"}
    lost = [query_id for query_id in logged if query_id not in there]
    # The newest ones may be lost: nothing may be missing before one that is there.
    newest = list(logged)[len(logged) - len(lost) :]
    seen.gaps += [f"{path.parent.name}: {query_id}" for query_id in lost if query_id not in set(newest)]
    seen.queries_lost += len(lost)
    ages = [past[-1].seconds - logged[query_id] for query_id in lost]
    seen.oldest_lost_query_s = max([seen.oldest_lost_query_s, *ages])


def _words(operation: Operation) -> list[str]:
    return operation.data.decode().strip().split(" ")
