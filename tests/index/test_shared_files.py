"""A grown base shares files with the one before, which sees nothing of what is added."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.index.conftest import Opening
from tests.index.test_growing import MORE, base_of, grown
from tests.index.test_indexes import COOKIES, same_as_the_tables
from tests.index.writing import save

from assay.index.shared_files import (
    append_rows,
    forget_pages,
    grow_table,
    map_rows,
    map_table,
    read_header,
    share_file,
    touch_pages,
    write_table,
)
from assay.records import Scope
from assay.storage import Store

ROWS = np.arange(12, dtype=np.float16).reshape(4, 3)


def test_rows_are_added_behind_those_that_are_counted(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", ROWS)
    before = map_rows(tmp_path / "old.npy", 4)
    share_file(tmp_path / "old.npy", tmp_path / "new.npy")
    append_rows(tmp_path / "new.npy", 4, ROWS[:2])
    assert map_rows(tmp_path / "new.npy", 6).tolist() == [*ROWS.tolist(), *ROWS[:2].tolist()]
    assert before.tolist() == map_rows(tmp_path / "old.npy", 4).tolist() == ROWS.tolist()
    assert (tmp_path / "old.npy").stat().st_ino == (tmp_path / "new.npy").stat().st_ino


def test_what_a_killed_process_added_is_overwritten(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    append_rows(tmp_path / "rows.npy", 4, ROWS + 100)
    append_rows(tmp_path / "rows.npy", 4, ROWS[1:2])
    assert map_rows(tmp_path / "rows.npy", 5).tolist() == [*ROWS.tolist(), ROWS[1].tolist()]
    with pytest.raises(ValueError, match="mmap length"):
        map_rows(tmp_path / "rows.npy", 6)


def test_no_rows_are_mapped_with_their_width(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS[:0])
    assert map_rows(tmp_path / "rows.npy", 0).shape == (0, 3)


@pytest.mark.parametrize("array", [np.zeros(3), np.asfortranarray(np.zeros((2, 2)))])
def test_a_file_that_holds_no_rows_is_refused(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "other.npy", array)
    with (tmp_path / "other.npy").open("rb") as file, pytest.raises(ValueError, match="not rows"):
        read_header(file)


def test_a_file_that_is_not_there_is_not_shared(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        share_file(tmp_path / "nothing", tmp_path / "new")


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can look at its mappings")
def test_pages_that_are_forgotten_are_unmapped_and_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    rows = np.arange(3 * 10**6, dtype=np.float32).reshape(-1, 3)
    np.save(path, rows)
    mapped = map_rows(path, len(rows))
    assert np.array_equal(mapped, rows)
    assert _mapped_kilobytes(path) > 10_000
    forget_pages(mapped[5:, 1:])
    assert _mapped_kilobytes(path) == 0
    assert np.array_equal(mapped, rows)
    forget_pages(rows)


def _mapped_kilobytes(path: Path) -> int:
    """How much of a file this process has mapped."""
    lines = iter(Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines())
    found = 0
    for line in lines:
        if line.endswith(str(path)):
            found += int(next(told for told in lines if told.startswith("Rss:")).split()[1])
    return found


def test_touching_pages_reads_columns_of_any_size() -> None:
    assert touch_pages(np.arange(1_200), np.ones(3, np.uint64), np.zeros(0, np.int64)) == 512 + 1_024 + 1


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_fold_that_was_killed_after_it_added_vectors_harms_nothing(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    indexes.compact(scope)
    base = base_of(indexes, store, scope)
    assert base.folder is not None
    assert base.vectors is not None
    added = np.ones((3, base.vectors.matrix.shape[1]), np.float16)
    append_rows(base.folder / "vectors.npy", len(base.vectors.places), added)
    reopened = open_indexes(exact_below=4)
    same_as_the_tables(reopened, store, scope)
    assert reopened.status(scope).rebuilt_because is None
    save(store, scope, *MORE)
    assert grown(reopened, store, scope)
    same_as_the_tables(reopened, store, scope)


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_vectors_and_words_of_the_base_before_are_not_copied(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    indexes.compact(scope)
    before = base_of(indexes, store, scope)
    assert before.folder is not None
    files = [before.folder / "vectors.npy", *(before.folder / "words").glob("*.term")]
    known = {path.name: path.stat().st_ino for path in files}
    save(store, scope, *MORE)
    assert grown(indexes, store, scope)
    after = base_of(indexes, store, scope)
    assert after.folder is not None
    shared = [after.folder / "vectors.npy", *(after.folder / "words").glob("*.term")]
    assert known.items() <= {path.name: path.stat().st_ino for path in shared}.items()


TABLE = np.arange(40, dtype=np.int64).reshape(2, 20)


def test_a_table_grows_in_the_room_it_has_and_is_written_anew_when_that_is_full(tmp_path: Path) -> None:
    write_table(tmp_path / "0", TABLE)
    held = [map_table(tmp_path / "0", 20)]
    whole = TABLE
    inodes = []
    for turn in range(6):
        fresh = np.full((2, 3), turn, np.int64)
        grow_table(tmp_path / f"{turn}", tmp_path / f"{turn + 1}", held[-1], fresh)
        whole = np.concatenate([whole, fresh], axis=1)
        held.append(map_table(tmp_path / f"{turn + 1}", whole.shape[1]))
        assert held[-1].tolist() == whole.tolist()
        inodes.append((tmp_path / f"{turn + 1}").stat().st_ino)
    for turn, table in enumerate(held):
        assert table.tolist() == whole[:, : 20 + 3 * turn].tolist()
    assert 1 < len(set(inodes)) < 6


def test_a_table_grows_by_nothing_and_from_nothing(tmp_path: Path) -> None:
    write_table(tmp_path / "old", TABLE[:, :0])
    grow_table(tmp_path / "old", tmp_path / "new", TABLE[:, :0], TABLE)
    grow_table(tmp_path / "new", tmp_path / "same", TABLE, TABLE[:, :0])
    assert map_table(tmp_path / "same", 20).tolist() == TABLE.tolist()


def test_a_table_with_too_few_columns_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "table", TABLE)
    with pytest.raises(ValueError, match="not 26 columns"):
        map_table(tmp_path / "table", 26)
