"""What the programs found once and must not find again; the faults themselves are repeated by `faults`."""

from __future__ import annotations

import time
from pathlib import Path

from reliability.crew import Crew, wait_until
from reliability.outcome import PATIENCE

from assay.storage import sqlite
from reliability import killed_restore, load, migration

RACES = 15
PATIENCE_S = 120.0
"""How long a busy machine may take to begin and end a few processes."""


def test_asking_whether_the_tables_agree_takes_time_in_proportion_to_the_rows(tmp_path: Path) -> None:
    """It compared every pair of chunks once: seven seconds for 2,000 memories, a quarter of an hour for 20,000."""
    path = tmp_path / "store.db"
    migration.fill(path, 2000)
    with load.opened(path) as store:
        began = time.process_time()
        assert store.problems() == []
        assert time.process_time() - began < 3.0


def test_two_processes_may_restore_the_same_checkpoint_at_once(tmp_path: Path) -> None:
    """Both prepared it under one name, and each deleted the other's."""
    path = tmp_path / "store.db"
    migration.fill(path, 200)
    with load.opened(path) as store:
        wanted = store.checkpoints.create("wanted").id
    whole = load.look(path)
    with Crew() as crew:
        for number in range(4):
            crew.start(killed_restore.restore, path, tmp_path / f"lines-{number}", wanted)
        assert crew.wait(PATIENCE_S) == [0, 0, 0, 0]
    assert load.look(path) == whole


def test_a_save_that_waits_gets_its_turn_when_the_holder_is_killed(tmp_path: Path) -> None:
    path, lines = tmp_path / "store.db", tmp_path / "lines"
    load.prepare(path)
    with load.opened(path) as store, Crew() as crew:
        holder = crew.start(hold_the_lock, path, lines)
        wait_until(lines.exists, PATIENCE_S, "the lock to be held")
        crew.kill(holder)
        began = time.monotonic()
        load.save(store, "m_1")
        # A second, where nothing else runs; whoever is not woken waits until the time for a lock is up.
        assert time.monotonic() - began < PATIENCE * 1.0


def hold_the_lock(path: Path, lines: Path) -> None:
    with load.opened(path) as store, store.writing(load.SCOPE):
        lines.write_text("held")
        time.sleep(PATIENCE_S)


def test_a_store_that_is_just_being_made_never_looks_like_a_foreign_one(tmp_path: Path) -> None:
    """Two looks at the file could lie on either side of the commit that fills it."""
    with Crew() as crew:
        for _ in range(2):
            crew.start(look_while_it_is_made, tmp_path)
        for number in range(RACES):
            load.opened(tmp_path / f"{number}.db").close()
        assert crew.wait(PATIENCE_S) == [0, 0]


def look_while_it_is_made(folder: Path) -> None:
    for number in range(RACES):
        path = folder / f"{number}.db"
        wait_until(path.exists, PATIENCE_S, "the file")
        while not (found := sqlite.inspect(path)).has_tables:
            sqlite.check_ours(path, found)
        sqlite.check_ours(path, found)
