"""A base on disk that does not fit is never searched: it is passed over, with the reason kept."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.index.conftest import Opening
from tests.index.test_indexes import COOKIES, lexical, same_as_the_tables
from tests.index.writing import save, saved
from tests.storage.homes import BOUND_S

from assay.errors import StorageError
from assay.index.base import Generations, NoBase, hash_of
from assay.index.options import IndexOptions
from assay.records import LogPosition, Scope
from assay.storage import Store


def current(folder: Path, scope: Scope) -> Path:
    own = folder / hash_of(scope.tenant)
    return own / (own / "current").read_text()


def say(generation: Path, **changed: object) -> None:
    manifest = generation / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **changed}))


def cut(name: str) -> Callable[[Path], None]:
    def damage(generation: Path) -> None:
        file = next(generation.rglob(name))
        os.truncate(file, file.stat().st_size - 1)

    return damage


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "an older format": (lambda place: say(place, format=0), "has format 0"),
    "another analysis": (lambda place: say(place, analysis="0"), "has analysis '0'"),
    "another store": (lambda place: say(place, store="sqlite:elsewhere"), "has store 'sqlite:elsewhere'"),
    "another tenant": (lambda place: say(place, tenant="x"), "has tenant 'x'"),
    "another title weight": (lambda place: say(place, title_repeats=3), "has title_repeats 3"),
    "another model": (lambda place: say(place, model="model-z"), "vectors of model-z"),
    "another epoch": (lambda place: say(place, epoch="ep_x"), "another past"),
    "a seq the log has not reached": (lambda place: say(place, seq=10**9), "another past"),
    "no manifest": (lambda place: (place / "manifest.json").unlink(), "no readable manifest"),
    "half a manifest": (cut("manifest.json"), "no readable manifest"),
    "a manifest of something else": (lambda place: (place / "manifest.json").write_text("{}"), "no readable manifest"),
    "cut columns": (cut("passages.npy"), "damaged: passages.npy"),
    "cut words": (cut("*.term"), "is damaged: words/"),
    "no memories": (lambda place: (place / "memories.npy").unlink(), "damaged: memories.npy"),
    "no generation": (shutil.rmtree, "no readable manifest"),
    "garbage of the right size": (
        lambda place: (place / "memories.npy").write_bytes(b"x" * (place / "memories.npy").stat().st_size),
        "cannot be opened",
    ),
}


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_base_that_does_not_fit_is_built_anew(
    store: Store, scope: Scope, open_indexes: Opening, folder: Path, damage: str
) -> None:
    harm, reason = DAMAGES[damage]
    save(store, scope, *COOKIES)
    open_indexes().compact(scope)
    harm(current(folder, scope))
    indexes = open_indexes()
    same_as_the_tables(indexes, store, scope)
    assert reason in (indexes.status(scope).rebuilt_because or "")
    assert indexes.compact(scope).done
    assert open_indexes().status(scope).rebuilt_because is None


def test_cut_vectors_are_noticed(store: Store, scope: Scope, open_indexes: Opening, folder: Path) -> None:
    save(store, scope, *COOKIES)
    open_indexes(exact_below=4).compact(scope)
    for name in ("vectors.npy", "graph.usearch", "vector_places.npy"):
        if store.backend_name == "postgres":
            assert not (current(folder, scope) / name).exists()
            continue
        cut(name)(current(folder, scope))
        indexes = open_indexes(exact_below=4)
        assert name in (indexes.status(scope).rebuilt_because or "")
        same_as_the_tables(indexes, store, scope)


def test_a_base_is_used_by_the_next_process(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    made = open_indexes().compact(scope)
    save(store, scope, saved("m_later", ["cookies"]))
    status = open_indexes().status(scope)
    assert (status.generation, status.base_passages, status.tail_passages) == (made.generation, 12, 1)
    assert status.rebuilt_because is None


def test_old_generations_and_unfinished_ones_are_swept(
    store: Store, scope: Scope, open_indexes: Opening, folder: Path
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes()
    indexes.compact(scope)
    own = folder / hash_of(scope.tenant)
    (own / ".making-killed").mkdir()
    (own / ".making-pointer").write_text("x")
    indexes.compact(scope)
    left = {path.name for path in own.iterdir()}
    assert left == {"current", "fold.lock", current(folder, scope).name}


def test_a_pointer_cannot_lead_out_of_the_folder(
    store: Store, scope: Scope, open_indexes: Opening, folder: Path
) -> None:
    save(store, scope, *COOKIES)
    open_indexes().compact(scope)
    outside = folder / "outside"
    shutil.copytree(current(folder, scope), outside)
    (folder / hash_of(scope.tenant) / "current").write_text("../outside")
    assert "no readable manifest" in (open_indexes().status(scope).rebuilt_because or "")


def test_a_folder_that_cannot_be_written_is_no_hindrance(
    store: Store, scope: Scope, open_indexes: Opening, tmp_path: Path
) -> None:
    save(store, scope, *COOKIES)
    file = tmp_path / "a file"
    file.write_text("in the way")
    indexes = open_indexes(at=file / "index", exact_below=4)
    same_as_the_tables(indexes, store, scope)
    assert "in memory" in (indexes.status(scope).rebuilt_because or "")
    with pytest.raises(StorageError):
        indexes.compact(scope)
    assert len(lexical(indexes, store, scope, "cooki")) == 12


def _hold(folder: Path, held: multiprocessing.Event, leave: multiprocessing.Event) -> None:  # type: ignore[valid-type]
    with Generations(folder, store="any", tenant="acme").lock() as mine:
        assert mine
        held.set()  # type: ignore[attr-defined]
        leave.wait(BOUND_S)  # type: ignore[attr-defined]


def test_one_process_at_a_time_folds(store: Store, scope: Scope, open_indexes: Opening, folder: Path) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    context = multiprocessing.get_context("spawn")
    held, leave = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(folder, held, leave))
    other.start()
    try:
        assert held.wait(BOUND_S)
        folded = indexes.compact(scope)
        assert (folded.done, folded.reason) == (False, f"process {other.pid} is folding this index")
        assert indexes.status(scope).lock_holder == str(other.pid)
        same_as_the_tables(indexes, store, scope)
    finally:
        leave.set()
        other.join(BOUND_S)
    assert indexes.compact(scope).done
    assert indexes.status(scope).lock_holder is None


def test_without_a_pointer_there_is_no_base(folder: Path) -> None:
    with pytest.raises(NoBase, match="no index yet"):
        Generations(folder, store="any", tenant="acme").load(None, LogPosition("ep_1", 0), options=IndexOptions())


def test_a_process_that_was_killed_holds_no_lock(
    store: Store, scope: Scope, open_indexes: Opening, folder: Path
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes()
    indexes.compact(scope)
    (folder / hash_of(scope.tenant) / "fold.lock").write_text("4711")
    assert indexes.status(scope).lock_holder is None
    assert indexes.compact(scope).done


def test_a_folder_deleted_while_the_first_base_is_built_is_no_hindrance(
    store: Store, scope: Scope, open_indexes: Opening, folder: Path
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4, page=2)
    with store.reading(scope) as work:
        view = indexes.view(work, progress=lambda _done, _total: shutil.rmtree(folder, ignore_errors=True))
        assert len(view.lexical({"cooki": 1.0}, limit=50)) == 12
    same_as_the_tables(indexes, store, scope)
    with pytest.raises(StorageError, match="cannot write the index"):
        indexes.compact(scope, lambda _done, _total: shutil.rmtree(folder, ignore_errors=True))
    same_as_the_tables(indexes, store, scope)
    assert indexes.compact(scope).done
