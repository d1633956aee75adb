"""A restore in place, killed at a random moment.

The live store must then be what it was, or the checkpoint; never a mixture. It must take a save at once, and list its
checkpoints as before. A token that was revoked since the checkpoint stays revoked either way.
"""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from assay.access import Access, Tokens
from reliability import ledger, load, migration
from reliability.crew import Crew, all_exist, wait_until
from reliability.outcome import Check, at_least, none_of

SAVED_SINCE = 300
WAIT_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class KilledRestoreOutcome:
    """What was seen over all kills."""

    kills: int
    rows: int
    found_before: int
    found_restored: int
    mixed: tuple[str, ...]
    damaged: tuple[str, ...]
    revived: tuple[str, ...]
    """Stores in which a revoked token opens something again."""
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.kills} kills of a restore over {self.rows} rows: {self.found_before} left the store as it was, "
            f"{self.found_restored} as the checkpoint has it; {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("mixtures of before and after", self.mixed),
            none_of("damaged or disagreeing files", self.damaged),
            none_of("revoked tokens that came back", self.revived),
            at_least("kills before the restore was done", self.found_before, self.kills // 5),
        )


@dataclass
class _Seen:
    before: int = 0
    restored: int = 0
    mixed: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    revived: list[str] = field(default_factory=list)


def run(*, folder: Path, times: int, rows: int = 2000, seed: int = 1) -> KilledRestoreOutcome:
    """Kill that many restores."""
    began = time.monotonic()
    rng = random.Random(seed)
    original = folder / "original"
    original.mkdir(parents=True)
    path = original / "store.db"
    migration.fill(path, rows)
    with load.opened(path) as store:
        tokens = Tokens(store, load.CLOCK)
        revoked = tokens.create(load.SCOPE, "revoked since", Access.ADMIN).kept.token_id
        wanted = store.checkpoints.create("wanted").id
        tokens.revoke(load.SCOPE, revoked)
        after = load.look(path)
        for number in range(SAVED_SINCE):
            load.save(store, f"m_since_{number}")
    before = load.look(path)
    takes_s = _restore_and_kill(original, folder / "timed", wanted, None)
    seen = _Seen()
    for kill in range(times):
        place = folder / f"kill-{kill}"
        _restore_and_kill(original, place, wanted, rng.uniform(0, takes_s * 1.1))
        _look_after(place / "store.db", wanted, before, after, seen)
        shutil.rmtree(place)
    return KilledRestoreOutcome(
        kills=times,
        rows=rows,
        found_before=seen.before,
        found_restored=seen.restored,
        mixed=tuple(seen.mixed),
        damaged=tuple(seen.damaged),
        revived=tuple(seen.revived),
        seconds=time.monotonic() - began,
    )


def restore(path: Path, lines: Path, wanted: str) -> None:
    """What the process does that is killed."""
    with load.opened(path) as store, ledger.Ledger(lines) as told:
        told.note("begin")
        store.checkpoints.restore(wanted, load.SCOPE)


def _restore_and_kill(original: Path, place: Path, wanted: str, after_s: float | None) -> float:
    """Kill a restore after some time, or let it end; give back how long it ran."""
    shutil.copytree(original, place)
    with Crew() as crew:
        member = crew.start(restore, place / "store.db", place / "lines", wanted)
        wait_until(lambda: all_exist([place / "lines"]), WAIT_S, "the restore to begin")
        began = time.monotonic()
        if after_s is None:
            crew.wait(WAIT_S)
        else:
            time.sleep(after_s)
            crew.kill(member)
    return time.monotonic() - began


def _look_after(path: Path, wanted: str, before: dict[str, load.Row], after: dict[str, load.Row], seen: _Seen) -> None:
    found = load.look(path)
    seen.before += found == before
    seen.restored += found == after
    if found not in (before, after):
        seen.mixed.append(f"{path.parent.name}: {len(found)} rows")
    with load.opened(path) as store:
        seen.damaged += store.problems() + load.damage(path)
        tokens = Tokens(store, load.CLOCK).all(load.SCOPE)
        if [token.revoked_at is None for token in tokens] != [False]:
            seen.revived.append(f"{path.parent.name}: {len(tokens)} tokens, not one that is revoked")
        load.save(store, "m_next")
        if wanted not in [one.id for one in store.checkpoints.list()]:
            seen.damaged.append(f"{path.parent.name}: the checkpoint is gone")
