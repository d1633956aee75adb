"""A base that is grown by its tail answers like one that was built whole, in every process that opens it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.index.conftest import Opening
from tests.index.test_indexes import COOKIES, lexical, same_as_the_tables, vector
from tests.index.writing import MODEL, save, saved, vector_of
from tests.storage.homes import BOUND_S, Home
from tests.storage.waiting import until

from assay.index import Indexes
from assay.index.base import Base
from assay.records import Scope
from assay.storage import Store
from assay.storage.repositories.vectors import NumberedVector

MORE = [saved(f"n_{place}", [f"cookies of another kind {place}"]) for place in range(5)]


def base_of(indexes: Indexes, store: Store, scope: Scope) -> Base:
    with store.reading(scope) as work:
        indexes.view(work)
    state = indexes._tenants[scope.tenant].current()
    assert state is not None
    return state.base


def grown(indexes: Indexes, store: Store, scope: Scope) -> bool:
    """Fold as the background does, and say whether the base was grown."""
    before = base_of(indexes, store, scope).manifest
    assert indexes.compact(scope, whole=False).done
    after = base_of(indexes, store, scope).require_manifest()
    assert after.grown_from in (None, None if before is None else before.generation)
    return after.grown_from is not None


def change(store: Store, scope: Scope, memory_id: str, text: str) -> None:
    made = saved(memory_id, [text])
    with store.writing(scope) as work:
        work.memories.update(made.memory, made.chunks, vectors=made.vectors, model=made.model)


@pytest.mark.parametrize("exact_below", [4, 100])
def test_what_was_new_is_in_the_base_and_what_was_changed_is_looked_at_anew(
    home: Home, scope: Scope, open_indexes: Opening, exact_below: int
) -> None:
    store, other = home.open(), home.open()
    save(store, scope, *COOKIES)
    indexes = open_indexes(store, exact_below=exact_below, page=2)
    indexes.compact(scope)
    save(store, scope, *MORE)
    change(store, scope, "m_3", "nothing sweet at all")
    change(store, scope, "n_1", "signs beside the road")
    with store.writing(scope) as work:
        work.memories.remove("m_5")
        work.memories.update(replace(work.memories.get("m_7"), title="Biscuits"))
    assert grown(indexes, store, scope)
    reopened = open_indexes(other, exact_below=exact_below)
    for one, its_store in ((indexes, store), (reopened, other)):
        status = one.status(scope)
        assert (status.base_passages, status.tail_passages, status.passages) == (18, 1, 16)
        assert len(base_of(one, its_store, scope).pending) == 3
        assert len(lexical(one, its_store, scope, "biscuit")) == 1
        assert len(lexical(one, its_store, scope, "cooki")) == 14
        same_vectors(one, its_store, scope)
    indexes.compact(scope)
    assert len(base_of(indexes, store, scope).pending) == 0
    same_as_the_tables(indexes, store, scope)


def same_vectors(indexes: Indexes, store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        view = indexes.view(work)
        for text in ("cookies of another kind 3", "nothing sweet at all", "signs beside the road"):
            found = view.nearest(vector_of(text), model=MODEL, limit=20)
            assert found == view.nearest(vector_of(text), model=MODEL, limit=20, exact=True)
            assert len(found) == 16


def test_a_base_grows_again_and_again(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    indexes.compact(scope)
    for place in range(4):
        save(store, scope, saved(f"n_{place}", ["cookies", f"and sign in {place}"]))
        assert grown(indexes, store, scope)
    status = indexes.status(scope)
    assert (status.base_passages, status.tail_passages) == (20, 0)
    same_as_the_tables(indexes, store, scope)


def test_memories_that_only_changed_their_place_are_known_by_a_grown_base(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes()
    indexes.compact(scope)
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_2"), folder="elsewhere/new"))
    save(store, scope, *MORE)
    assert grown(indexes, store, scope)
    reopened = open_indexes()
    with store.reading(scope) as work:
        folders = [tuple(one) for one in work.passages.folders()]
        assert [tuple(one) for one in reopened.view(work).folders()] == folders
    assert ("elsewhere/new", 1) in folders


def test_with_too_much_changed_it_is_built_whole(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(fold_passages=4, fold_share=0.0)
    indexes.compact(scope)
    for place in range(2):
        change(store, scope, f"m_{place}", "changed")
    assert grown(indexes, store, scope)
    change(store, scope, "m_2", "changed as well")
    assert not grown(indexes, store, scope)
    status = indexes.status(scope)
    assert (status.base_passages, status.tail_passages) == (12, 0)


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_first_graph_and_another_model_want_a_base_built_whole(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=14, whole_below=100)
    indexes.compact(scope)
    save(store, scope, *MORE[:2])
    assert grown(indexes, store, scope)
    save(store, scope, *MORE[2:])
    assert not grown(indexes, store, scope)
    assert indexes.status(scope).vector_kind == "hnsw"
    with store.writing(scope) as work:
        rows = work.passages.page()
        made = [NumberedVector(row.number, "h", vector_of(row.text, "model-b")) for row in rows]
        work.vectors.put_many("model-b", made)
        work.vectors.activate("model-b")
    assert not grown(indexes, store, scope)
    assert len(vector(indexes, store, scope, "x", "model-b")) == 3


def test_without_its_files_it_is_built_whole(store: Store, scope: Scope, open_indexes: Opening, folder: Path) -> None:
    save(store, scope, *COOKIES)
    indexes, in_memory = open_indexes(), open_indexes(at=None)
    for one in (indexes, in_memory):
        one.compact(scope)
        save(store, scope, *MORE[:1] if one is indexes else MORE[1:2])
    indexes.erase(scope)
    assert not grown(indexes, store, scope)
    assert not grown(in_memory, store, scope)
    assert len(lexical(indexes, store, scope, "cooki")) == len(lexical(in_memory, store, scope, "cooki")) == 14


def test_closing_stops_a_growing_graph(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    indexes.compact(scope)
    generation = base_of(indexes, store, scope).require_manifest().generation
    save(store, scope, *MORE)
    base_of(indexes, store, scope)
    indexes.close()
    folded = indexes.compact(scope, whole=False)
    assert (folded.done, folded.reason) == (False, "stopped")
    assert open_indexes(exact_below=4).status(scope).generation == generation


def test_words_that_searches_share_outlive_a_fold(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes()
    indexes.compact(scope)
    with store.reading(scope) as work:
        view = indexes.view(work)
        before, words = dict(view.rows([1, 2])), view.words([1, 2])
    save(store, scope, *MORE)
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get(before[2].memory_id), confidence=0.125))
    assert grown(indexes, store, scope)
    with store.reading(scope) as work:
        view = indexes.view(work)
        after = view.rows([1, 2])
        assert view.words([1])[1] is words[1]
    assert after[1] == before[1]
    assert after[2].memory.confidence == 0.125


def test_a_grown_graph_finds_what_a_whole_one_finds(store: Store, scope: Scope, open_indexes: Opening) -> None:
    rng = np.random.default_rng(7)
    texts = [f"passage {number} of {rng.integers(10**9)}" for number in range(600)]
    save(store, scope, *(saved(f"m_{place}", [text]) for place, text in enumerate(texts[:300])))
    indexes = open_indexes(exact_below=100)
    indexes.compact(scope)
    for begin in range(300, 600, 100):
        made = [saved(f"m_{begin + place}", [text]) for place, text in enumerate(texts[begin : begin + 100])]
        save(store, scope, *made)
        assert grown(indexes, store, scope)
    found = indexes.recall(scope, sample=100, rng=np.random.default_rng(1), depth=10)
    assert found.share is not None
    assert found.share > 0.98


def test_when_nothing_is_left_there_is_nothing_to_grow(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes()
    indexes.compact(scope)
    with store.writing(scope) as work:
        for one in COOKIES:
            work.memories.remove(one.memory.id)
    assert not grown(indexes, store, scope)
    for opened in (indexes, open_indexes()):
        assert lexical(opened, store, scope, "cooki") == []
    save(store, scope, *MORE)
    assert len(lexical(indexes, store, scope, "cooki")) == 5


def test_files_of_the_base_before_stay_until_no_search_has_them_mapped(
    home: Home, scope: Scope, open_indexes: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home.address.startswith("postgresql"):
        return  # its vectors are in the database
    monkeypatch.setattr("assay.index.indexes.SLOW_TO_FREE", 0)
    monkeypatch.setattr("assay.index.indexes.SWEEP_PATIENCE_S", BOUND_S)
    store = home.open()
    save(store, scope, *COOKIES)
    indexes = open_indexes(store, exact_below=4)
    indexes.compact(scope)
    with store.reading(scope) as work:
        held = indexes.view(work)
    before = base_of(indexes, store, scope).folder
    assert before is not None
    save(store, scope, *MORE)
    with ThreadPoolExecutor(1) as pool:
        folding = pool.submit(indexes.compact, scope, whole=False)
        until(lambda: base_of(indexes, store, scope).folder != before)
        assert not folding.done()
        assert before.is_dir()
        del held
        assert folding.result(BOUND_S).done
    assert not before.exists()


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_whoever_catches_up_with_a_long_log_folds_on_the_way(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    indexes.compact(scope)
    for place in range(2):
        save(store, scope, *(saved(f"n_{place}_{turn}", [f"cookies {place} {turn}"]) for turn in range(4)))
    follower = open_indexes(exact_below=4, tail_most=2)
    assert (follower.status(scope).base_passages, follower.status(scope).passages) == (20, 20)
    assert follower.status(scope).rebuilt_because is None
    assert base_of(follower, store, scope).require_manifest().grown_from is not None
    assert_nothing_is_missing(follower, store, scope)


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_whoever_catches_up_while_another_folds_goes_on_in_memory(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    indexes.compact(scope)
    save(store, scope, *(saved(f"n_{turn}", [f"cookies {turn}"]) for turn in range(8)))
    generations = indexes._tenants[scope.tenant].generations
    assert generations is not None
    follower = open_indexes(exact_below=4, tail_most=2)
    with generations.lock():
        assert (follower.status(scope).base_passages, follower.status(scope).tail_passages) == (12, 8)
    assert_nothing_is_missing(follower, store, scope)


def assert_nothing_is_missing(indexes: Indexes, store: Store, scope: Scope) -> None:
    """Every passage is found, and a base that is built whole answers like the tables."""
    with store.reading(scope) as work:
        view = indexes.view(work)
        assert sorted(view.numbers().tolist()) == [row.number for row in work.passages.page()]
        found = view.nearest(vector_of("cookies 3"), model=MODEL, limit=40)
        assert found == view.nearest(vector_of("cookies 3"), model=MODEL, limit=40, exact=True)
    indexes.compact(scope)
    same_as_the_tables(indexes, store, scope)
