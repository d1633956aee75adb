"""Folding in the background: when it is due, without disturbing anybody, and never by two."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from tests.index.conftest import Opening
from tests.index.test_indexes import COOKIES, lexical, same_as_the_tables, vector
from tests.index.writing import save, saved, vector_of
from tests.storage.homes import BOUND_S, Home

from assay.errors import OtherModel
from assay.index import IndexOptions
from assay.index.base import Generations
from assay.records import Scope
from assay.storage import Store
from assay.storage.repositories.vectors import NumberedVector
from assay.testing import FixedClock


def test_a_grown_tail_is_folded_by_itself(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(background=True, first_fold=10, fold_passages=3, fold_share=0.0)
    assert len(lexical(indexes, store, scope, "cooki")) == 12
    indexes.wait()
    assert indexes.status(scope).base_passages == 12
    save(store, scope, *[saved(f"n_{place}", ["cookies"]) for place in range(4)])
    assert len(lexical(indexes, store, scope, "cooki")) == 16
    indexes.wait()
    status = indexes.status(scope)
    assert (status.base_passages, status.tail_passages, status.last_problem) == (16, 0, None)
    same_as_the_tables(indexes, store, scope)


def test_what_goes_wrong_in_the_background_is_told_and_tried_again(
    store: Store, scope: Scope, open_indexes: Opening, clock: FixedClock, tmp_path: Path
) -> None:
    file = tmp_path / "in the way"
    file.write_text("")
    save(store, scope, *COOKIES)
    indexes = open_indexes(at=file / "index", background=True, first_fold=1)
    assert len(lexical(indexes, store, scope, "cooki")) == 12
    indexes.wait()
    assert "cannot write the index" in (indexes.status(scope).last_problem or "")
    file.unlink()
    lexical(indexes, store, scope, "cooki")
    indexes.wait()
    assert not indexes.status(scope).on_disk
    clock.advance(seconds=61)
    lexical(indexes, store, scope, "cooki")
    indexes.wait()
    status = indexes.status(scope)
    assert (status.on_disk, status.last_problem) == (True, None)


def test_the_base_of_another_process_is_taken_over_instead_of_folding_twice(
    home: Home, scope: Scope, open_indexes: Opening
) -> None:
    first, second = home.open(), home.open()
    save(first, scope, *COOKIES[:4])
    behind = open_indexes(second, background=True, first_fold=5)
    assert len(lexical(behind, second, scope, "cooki")) == 4
    save(first, scope, *COOKIES[4:])
    made = open_indexes(first).compact(scope)
    assert len(lexical(behind, second, scope, "cooki")) == 12
    behind.wait()
    assert behind.status(scope).generation == made.generation


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_large_index_goes_without_vectors_until_another_model_is_folded(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(background=True, exact_below=4, fold_passages=100)
    assert len(vector(indexes, store, scope, "x")) == 3
    with store.writing(scope) as work:
        rows = work.passages.page()
        made = [NumberedVector(row.number, "h", vector_of(row.text, "model-b")) for row in rows]
        work.vectors.put_many("model-b", made)
        work.vectors.activate("model-b")
    with pytest.raises(OtherModel):
        vector(indexes, store, scope, "x", "model-b")
    assert len(lexical(indexes, store, scope, "cooki")) == 12
    indexes.wait()
    assert len(vector(indexes, store, scope, "x", "model-b")) == 3
    assert indexes.status(scope).model == "model-b"


def test_closing_stops_a_build(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(page=2)
    seen: list[int] = []

    def close_in_the_middle(done: int, total: int) -> None:
        seen.append(done)
        assert total == 12
        indexes.close()

    folded = indexes.compact(scope, close_in_the_middle)
    assert (folded.done, folded.reason, seen) == (False, "stopped", [2])
    assert not indexes.status(scope).on_disk


def test_searches_go_on_while_a_base_is_built(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(page=2)
    lexical(indexes, store, scope, "cooki")
    seen: list[int] = []

    def search_and_save(done: int, total: int) -> None:
        seen.append(len(lexical(indexes, store, scope, "cooki")))
        save(store, scope, saved(f"n_{done}", ["cookies"]))

    done = threading.Thread(target=indexes.compact, args=(scope, search_and_save))
    done.start()
    done.join(BOUND_S)
    assert seen == [12, 13, 14, 15, 16, 17]
    assert len(lexical(indexes, store, scope, "cooki")) == 18
    status = indexes.status(scope)
    assert (status.base_passages, status.tail_passages) == (12, 6)


def test_old_lines_of_the_log_are_forgotten_after_folding(
    store: Store, scope: Scope, open_indexes: Opening, clock: FixedClock
) -> None:
    save(store, scope, *COOKIES)
    clock.advance(days=31)
    with store.writing(scope) as work:
        assert work.changes.trim_before(clock.now() - timedelta(days=30)) == 0
    folded = open_indexes().compact(scope)
    assert (folded.done, folded.log_lines_forgotten) == (True, 0)


def test_a_lock_is_free_again_after_the_body(folder: Path) -> None:
    generations = Generations(folder, store="any", tenant="acme")
    for _ in range(2):
        with generations.lock() as mine:
            assert mine
            assert generations.lock_holder() is not None
        assert generations.lock_holder() is None


def test_the_tail_may_grow_with_the_base_up_to_a_bound() -> None:
    options = IndexOptions()
    assert [options.fold_beyond(base) for base in (0, 10_000, 100_000, 10**6)] == [1_000, 2_000, 5_000, 20_000]


def test_few_results_are_looked_for_among_fewer_candidates() -> None:
    options = IndexOptions(expansion_search=256)
    assert [options.expansion_for(fetched) for fetched in (10, 64, 77, 110, 165, 4_000)] == [
        128,
        128,
        154,
        220,
        256,
        256,
    ]
