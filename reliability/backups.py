"""Checkpoints made and restored while two processes save.

First, checkpoints: each is restored into a separate place, where it must be whole and hold every save acknowledged
before it was begun. Then restores in place, under load: afterwards the live store must be the checkpoint plus saves
made since, and every acknowledged save must be either live or in the copy that the restore kept aside.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.storage import Checkpoint, Store, StoreOptions, restore_checkpoint
from reliability import ledger, load
from reliability.crew import Crew, all_exist, wait_until
from reliability.outcome import Check, Spread, at_least, none_of, spread

SAVERS = 2
LONGEST_S = 1200.0
PAUSE_S = 0.05
"""Between a restore and the look at what it left: saves go on meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupsOutcome:
    """What was seen over all copies."""

    checkpoints: int
    restores: int
    acknowledged: int
    incomplete: tuple[str, ...]
    not_whole: tuple[str, ...]
    wrong_after_restore: tuple[str, ...]
    savers_failed: int
    create: Spread
    restore: Spread
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.checkpoints} checkpoints restored elsewhere and {self.restores} restored in place while {SAVERS} "
            f"processes made {self.acknowledged} saves; create p50 {self.create.p50_ms:.0f} ms, restore p50 "
            f"{self.restore.p50_ms:.0f} ms; {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("acknowledged saves missing from a checkpoint", self.incomplete),
            none_of("restored copies that are not whole", self.not_whole),
            none_of("saves lost or revived by a restore in place", self.wrong_after_restore),
            none_of("savers that saw an error", self.savers_failed),
            at_least("saves per copy", self.acknowledged // max(1, self.checkpoints + self.restores), 1),
        )


@dataclass
class _Seen:
    incomplete: list[str] = field(default_factory=list)
    not_whole: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    create_s: list[float] = field(default_factory=list)
    restore_s: list[float] = field(default_factory=list)


def run(*, folder: Path, times: int, restores: int = 10) -> BackupsOutcome:
    """Make that many checkpoints, then restore in place that many times."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "store.db"
    load.prepare(path)
    ledgers = [folder / f"saver-{number}" for number in range(SAVERS)]
    seen = _Seen()
    with Crew() as crew:
        savers = [
            crew.start(load.save_until, path, lines, f"m_{number}", began + LONGEST_S)
            for number, lines in enumerate(ledgers)
        ]
        wait_until(lambda: all_exist(ledgers), 60.0, "the savers to begin")
        with load.opened(path) as store:
            _make_checkpoints(store, path, ledgers, times, seen)
            _restore_in_place(store, path, ledgers, restores, seen)
        failed = sum(not saver.is_alive() for saver in savers)
    return BackupsOutcome(
        checkpoints=times,
        restores=restores,
        acknowledged=len(_told("done", ledgers)),
        incomplete=tuple(seen.incomplete),
        not_whole=tuple(seen.not_whole),
        wrong_after_restore=tuple(seen.wrong),
        savers_failed=failed,
        create=spread(seen.create_s),
        restore=spread(seen.restore_s),
        seconds=time.monotonic() - began,
    )


def _make_checkpoints(store: Store, path: Path, ledgers: Sequence[Path], times: int, seen: _Seen) -> None:
    for number in range(times):
        acknowledged = _told("done", ledgers)
        made = _create(store, f"copy {number}", seen)
        tried = _told("try", ledgers)
        found = _restored_elsewhere(path, made, seen)
        seen.incomplete += [f"{one} is not in {made.id}" for one in acknowledged if one not in found]
        seen.not_whole += [f"{made.id}: {one} was never tried" for one in found if one not in tried]
        store.checkpoints.delete(made.id)


def _create(store: Store, name: str, seen: _Seen) -> Checkpoint:
    began = time.perf_counter()
    made = store.checkpoints.create(name)
    seen.create_s.append(time.perf_counter() - began)
    return made


def _restored_elsewhere(path: Path, made: Checkpoint, seen: _Seen) -> dict[str, load.Row]:
    """Restore a copy of a checkpoint at a place of its own, and look at it from all sides."""
    place = path.parent / made.id
    copies = place / "copy.db.checkpoints"
    copies.mkdir(parents=True)
    for ending in (".db", ".json"):
        shutil.copy(path.with_name(path.name + ".checkpoints") / f"{made.id}{ending}", copies)
    target = place / "copy.db"
    restore_checkpoint(target, made.id, load.SCOPE, load.CLOCK, StoreOptions())
    with load.opened(target) as store:
        seen.not_whole += store.problems()
    found = load.look(target)
    seen.not_whole += load.damage(target) + load.halves(found)
    shutil.rmtree(place)
    return found


def _restore_in_place(store: Store, path: Path, ledgers: Sequence[Path], times: int, seen: _Seen) -> None:
    undone: set[str] = set()
    for number in range(times):
        made = _create(store, f"point {number}", seen)
        in_copy = load.look(_copy(path, made.id)).keys()
        time.sleep(PAUSE_S)
        before = _told("done", ledgers)
        began = time.perf_counter()
        restored = store.checkpoints.restore(made.id, load.SCOPE)
        seen.restore_s.append(time.perf_counter() - began)
        time.sleep(PAUSE_S)
        acknowledged = _told("done", ledgers)
        live = load.look(path)
        aside = load.look(_copy(path, restored.kept_aside)).keys()
        seen.wrong += [f"{one} was undone but is live" for one in (before - in_copy) & live.keys()]
        seen.wrong += [f"{one} is in the checkpoint but not live" for one in in_copy - live.keys()]
        seen.wrong += [f"{one} is neither live nor aside" for one in acknowledged - live.keys() - aside - undone]
        seen.wrong += load.halves(live) + store.problems() + load.damage(path)
        undone |= aside - live.keys()
        store.checkpoints.delete(restored.kept_aside)


def _copy(path: Path, checkpoint_id: str) -> Path:
    return path.with_name(path.name + ".checkpoints") / f"{checkpoint_id}.db"


def _told(word: str, ledgers: Sequence[Path]) -> set[str]:
    return {line[1] for one in ledgers for line in ledger.read(one) if line[0] == word}
