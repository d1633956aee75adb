"""A program that cannot fail proves nothing: each way of looking is shown something wrong, and must say so."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from reliability.kill import KillOutcome
from reliability.outcome import Spread, broken
from reliability.shim.disk import FOLDER, Disk, Operation

from reliability import ledger, load, migration


def _change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute(statement)
        file.commit()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two acknowledged memories."""
    path = tmp_path / "store.db"
    load.prepare(path)
    with load.opened(path) as store:
        load.save(store, "m_1")
        load.save(store, "m_2")
    return path


def _expected(*lines: str) -> load.Expected:
    expected = load.Expected()
    expected.read(line.split(" ") for line in lines)
    return expected


def test_a_missing_memory_is_lost_only_if_it_was_acknowledged(path: Path) -> None:
    found = load.look(path)
    both = ("try m_1 1", "done m_1 1", "try m_2 1", "done m_2 1")
    assert _expected(*both, "try m_3 1").lost(found) == []
    assert _expected(*both, "try m_3 1", "done m_3 1").lost(found) == ["m_3 has version 0, not one of [1]"]


def test_a_rewrite_in_flight_may_be_found_in_either_version_and_then_stays(path: Path) -> None:
    expected = _expected("try m_1 1", "done m_1 1", "try m_1 2", "try m_2 1", "done m_2 1")
    found = load.look(path)
    assert expected.lost(found) == []
    expected.settle(found)
    changed = {**found, "m_1": load.row_of("m_1", 2)}
    assert expected.lost(changed) == ["m_1 has version 2, not one of [1]"]


def test_a_memory_nobody_wrote_is_noticed(path: Path) -> None:
    assert _expected("try m_1 1", "done m_1 1").lost(load.look(path)) == ["m_2 was never written"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM chunks WHERE memory_id = 'm_1' AND position = 0",
        "DELETE FROM edges WHERE source_id = 'm_1'",
        "UPDATE chunks SET text = 'other' WHERE memory_id = 'm_1' AND position = 0",
    ],
)
def test_a_memory_that_is_half_there_is_noticed(path: Path, statement: str) -> None:
    assert load.halves(load.look(path)) == []
    _change(path, statement)
    assert load.halves(load.look(path)) == ["m_1 v1 is not whole"]


def test_damage_is_noticed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(content)
    assert load.damage(path) != []


def test_a_schema_in_between_is_noticed(path: Path) -> None:
    assert migration.schema_of(path) == "old"
    _change(path, "CREATE TABLE word_counts (memory_id INTEGER)")
    assert "1 new tables" in migration.schema_of(path)


def test_a_broken_promise_fails_the_outcome() -> None:
    outcome = KillOutcome(
        kills=10,
        acknowledged=100,
        in_flight=10,
        lost=(),
        half_there=(),
        damaged=(),
        disagreeing=(),
        checkpoints_checked=10,
        bad_checkpoints=(),
        reopen=Spread(5.0, 20.0, 30.0),
        seconds=1.0,
    )
    assert broken(outcome) == []
    assert [check.promise for check in broken(replace(outcome, lost=("m_1",)))] == ["0 acknowledged operations lost"]
    assert [check.promise for check in broken(replace(outcome, reopen=Spread(5, 100, 100)))] == ["reopen p99 < 100 ms"]
    assert len(broken(replace(outcome, in_flight=0))) == 1


def test_a_torn_last_line_of_a_ledger_is_not_an_acknowledgement(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("done m_1 1\ndone m_2")
    assert ledger.read(tmp_path / "lines") == [["done", "m_1", "1"]]


def _operation(kind: str, name: str, offset: int = 0, data: bytes = b"") -> Operation:
    return Operation(0.0, kind, name, offset, data)


def _possible(disk: Disk, draws: int = 200) -> set[tuple[tuple[str, bytes], ...]]:
    rng = random.Random(7)
    return {tuple(sorted(disk.after_power_cut(rng).items())) for _ in range(draws)}


def test_the_disk_keeps_what_was_synced_and_may_lose_the_rest() -> None:
    disk = Disk()
    for operation in (
        _operation("C", "a"),
        _operation("W", "a", 0, b"safe"),
        _operation("S", "a"),
        _operation("S", FOLDER),
        _operation("W", "a", 4, b"!"),
    ):
        disk.apply(operation)
    assert _possible(disk) == {(("a", b"safe"),), (("a", b"safe!"),)}


def test_the_disk_may_lose_a_name_until_the_folder_is_synced() -> None:
    disk = Disk()
    for operation in (_operation("C", "a"), _operation("W", "a", 0, b"x"), _operation("S", "a")):
        disk.apply(operation)
    assert _possible(disk) == {(), (("a", b"x"),)}
    disk.apply(_operation("S", FOLDER))
    disk.apply(_operation("U", "a"))
    assert _possible(disk) == {(), (("a", b"x"),)}


def test_the_disk_may_tear_a_write_at_the_border_of_a_sector() -> None:
    disk = Disk()
    for operation in (
        _operation("C", "a"),
        _operation("W", "a", 0, bytes(1024)),
        _operation("S", "a"),
        _operation("S", FOLDER),
        _operation("W", "a", 256, b"\x01" * 512),
    ):
        disk.apply(operation)
    found = {content.count(b"\x01") for ((_, content),) in _possible(disk)}
    assert found == {0, 256, 512}
