"""What a search sees: every save at once, nobody else's, and nothing of an index that is not fit."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.index import oracle
from tests.index.conftest import Opening
from tests.index.writing import MODEL, save, saved, vector_of
from tests.storage.homes import Home

from assay.errors import OtherModel
from assay.index import Indexes
from assay.index.view import SAMPLED
from assay.records import Filters, Scope, Tier
from assay.storage import Saved, Store
from assay.storage.repositories.vectors import NumberedVector
from assay.testing import FixedClock
from assay.testing.clock import START


def lexical(indexes: Indexes, store: Store, scope: Scope, *stems: str, filters: Filters | None = None) -> list[int]:
    indexes.prepare(scope)
    with store.reading(scope) as work:
        view = indexes.view(work)
        found = view.lexical(dict.fromkeys(stems, 1.0), limit=50, allowed=view.find_allowed(filters or Filters()))
        return [one.number for one in found]


def vector(indexes: Indexes, store: Store, scope: Scope, text: str, model: str = MODEL) -> list[int]:
    with store.reading(scope) as work:
        return [one.number for one in indexes.view(work).nearest(vector_of(text, model), model=model, limit=3)]


def same_as_the_tables(indexes: Indexes, store: Store, scope: Scope, query: str = "cooki sign") -> None:
    with store.reading(scope) as work:
        view, terms = indexes.view(work), dict.fromkeys(query.split(), 1.0)
        oracle.same(view.lexical(terms, limit=20), oracle.lexical(work, terms, 20, ALL), 3e-4)
        found = view.nearest(vector_of(query), model=MODEL, limit=20)
        oracle.same(found, oracle.nearest(work, MODEL, vector_of(query), 20, ALL), 3e-6)
        assert len(found) == view.document_count > 0


ALL = Filters(include_superseded=True)
COOKIES = [saved(f"m_{place}", [f"cookies and sign in {place}"]) for place in range(12)]


def test_an_empty_tenant_has_nothing_to_find(store: Store, scope: Scope, open_indexes: Opening) -> None:
    indexes = open_indexes()
    assert lexical(indexes, store, scope, "cooki") == []
    assert indexes.compact(scope).passages == 0
    assert lexical(indexes, store, scope, "cooki") == []
    assert indexes.status(scope).vector_kind == "none"


def test_a_save_is_seen_by_the_next_search_of_another_process(home: Home, scope: Scope, open_indexes: Opening) -> None:
    stores = home.open(), home.open()
    both = [open_indexes(store) for store in stores]
    for turn in range(6):
        save(stores[turn % 2], scope, saved(f"m_{turn}", [f"cookie number{turn}"]))
        if turn == 3:
            assert both[0].compact(scope).done
        for store, indexes in zip(stores, both, strict=True):
            assert len(lexical(indexes, store, scope, f"number{turn}")) == 1
            assert len(lexical(indexes, store, scope, "cooki")) == turn + 1


def test_a_changed_title_is_found_by_its_new_words_only(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["text"], title="Cookies"))
    indexes = open_indexes()
    indexes.compact(scope)
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_1"), title="Biscuits"))
    assert lexical(indexes, store, scope, "cooki") == []
    assert len(lexical(indexes, store, scope, "biscuit")) == 1


def test_learned_triggers_are_not_words_of_a_passage(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["text"], triggers=("oauth",), learned_triggers=("sneaky",)))
    indexes = open_indexes()
    for _ in range(2):
        assert len(lexical(indexes, store, scope, "oauth")) == 1
        assert lexical(indexes, store, scope, "sneaki", "sneaky") == []
        indexes.compact(scope)


def test_superseded_memories_are_left_out_unless_asked_for(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES[:3])
    indexes = open_indexes()
    indexes.compact(scope)
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_1"), superseded_at=START))
    assert len(lexical(indexes, store, scope, "cooki")) == 2
    assert len(lexical(indexes, store, scope, "cooki", filters=ALL)) == 3
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_1"), superseded_at=None))
    assert len(lexical(indexes, store, scope, "cooki")) == 3


def test_what_a_narrower_filter_leaves_out_can_be_searched_alone(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES[:3])
    indexes = open_indexes()
    with store.reading(scope) as work:
        assert indexes.view(work).find_allowed_only(ALL, without=Filters()).count == 0
    indexes.compact(scope)
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_1"), superseded_at=START))
    for _ in range(2):
        with store.reading(scope) as work:
            view = indexes.view(work)
            replaced = view.find_allowed_only(ALL, without=Filters())
            found = view.nearest(vector_of("x"), model=MODEL, limit=5, allowed=replaced)
            assert list(view.memories_of([passage.number for passage in found])) == [
                work.memories.numbers_of(["m_1"])["m_1"]
            ]
        indexes.compact(scope)


def test_no_filter_is_told_apart_from_a_filter_that_nothing_passes(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES[:3])
    indexes = open_indexes()
    with store.reading(scope) as work:
        view = indexes.view(work)
        assert view.find_allowed(Filters()) is None
        nothing = view.find_allowed(Filters(tiers=(Tier.DEPRECATED,)))
        assert nothing is not None
        assert nothing.count == 0
        assert view.lexical({"cooki": 1.0}, limit=5, allowed=nothing) == []
        assert view.nearest(vector_of("x"), model=MODEL, limit=5, allowed=nothing) == []


def test_memories_that_sql_found_narrow_a_search(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *[tagged(one, ("even", "odd")[place % 2]) for place, one in enumerate(COOKIES)])
    indexes = open_indexes()
    indexes.compact(scope)
    save(store, scope, saved("m_new", ["cookies"], tags=("even",)))
    with store.reading(scope) as work:
        view, wanted = indexes.view(work), work.passages.numbers_where(tags=["even"])
        allowed = view.find_allowed(Filters(), memory_numbers=wanted)
        found = view.lexical({"cooki": 1.0}, limit=50, allowed=allowed)
        assert sorted(view.memories_of([one.number for one in found]).tolist()) == sorted(wanted)
        near = view.nearest(vector_of("x"), model=MODEL, limit=50, allowed=allowed)
        assert {one.number for one in near} == {one.number for one in found}


def tagged(one: Saved, tag: str) -> Saved:
    return one._replace(memory=replace(one.memory, tags=(tag,)))


def test_tenants_never_mix(store: Store, open_indexes: Opening) -> None:
    acme, globex = Scope(tenant="acme"), Scope(tenant="globex")
    save(store, acme, *COOKIES)
    save(store, globex, saved("m_1", ["cookies"]))
    indexes = open_indexes()
    for _ in range(2):
        assert len(lexical(indexes, store, globex, "cooki")) == 1
        assert len(vector(indexes, store, globex, "x")) == 1
        with store.reading(globex) as work:
            view = indexes.view(work)
            assert (view.document_count, view.document_frequency("cooki"), view.document_frequency("sign")) == (1, 1, 0)
        indexes.compact(acme)
        indexes.compact(globex)


def test_a_vector_of_another_model_is_refused(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES[:2])
    indexes = open_indexes()
    with store.reading(scope) as work, pytest.raises(OtherModel, match="model-a"):
        indexes.view(work).nearest(vector_of("x"), model="model-b", limit=5)


def test_the_spread_of_cosines_is_that_of_every_passage_that_may_be_found(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    indexes = open_indexes()
    with store.reading(scope) as work:
        assert indexes.view(work).model is None
    save(store, scope, *COOKIES[:5])
    indexes.compact(scope)
    # In the tail; and one that only a search for replaced memories may find.
    save(store, scope, *COOKIES[5:], saved("m_old", ["replaced"], superseded_at=START))
    query = vector_of("where do the cookies go")
    rows = np.array([vector_of(memory.chunks[0].text) for memory in COOKIES])
    cosines = rows.astype(np.float16).astype(np.float64) @ query.astype(np.float16).astype(np.float64)
    with store.reading(scope) as work:
        view = indexes.view(work)
        found = view.cosine_spread(query, model=MODEL, allowed=view.find_allowed(Filters()))
        every = view.cosine_spread(query, model=MODEL)
        nothing = view.cosine_spread(query, model=MODEL, allowed=view.find_allowed(Filters(folder="nowhere")))
        with pytest.raises(OtherModel, match="model-a"):
            view.cosine_spread(query, model="model-b")
    assert found is not None
    assert (found.mean, found.deviation) == pytest.approx((cosines.mean(), cosines.std()), abs=1e-3)
    assert found.passages == len(COOKIES)
    assert every is not None
    assert every.passages == len(COOKIES) + 1
    assert nothing is None


def test_passages_found_elsewhere_are_compared_as_the_nearest_are(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    indexes = open_indexes()
    save(store, scope, *COOKIES[:5])
    indexes.compact(scope)
    save(store, scope, *COOKIES[5:])  # in the tail
    query = vector_of("where do the cookies go")
    with store.reading(scope) as work:
        view = indexes.view(work)
        nearest = view.nearest(query, model=MODEL, limit=len(COOKIES), exact=True)
        numbers = [found.number for found in nearest]
        assert view.cosines(query, [*reversed(numbers), max(numbers) + 99], model=MODEL) == nearest
        assert view.cosines(query, numbers[2:4], model=MODEL) == nearest[2:4]
        assert view.cosines(query, [], model=MODEL) == []
        with pytest.raises(OtherModel, match="model-a"):
            view.cosines(query, numbers, model="model-b")


def test_passages_found_elsewhere_are_scored_by_their_words_as_the_best_are(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    indexes = open_indexes()
    save(store, scope, *COOKIES[:5], saved("m_often", ["cookie cookie cookie cookie cookie jar"]))
    indexes.compact(scope)
    save(store, scope, *COOKIES[5:], saved("m_bread", ["bread alone"]))  # in the tail
    asked = {"cooki": 1.0, "jar": 2.0, "nosuchword": 1.0}
    with store.reading(scope) as work:
        view = indexes.view(work)
        best = view.lexical(asked, limit=20)
        numbers = [found.number for found in best]
        assert 4 < len(numbers) < view.document_count, "some hold none of the words"
        everything = view.numbers().tolist()
        assert view.lexical_of(asked, [*reversed(everything), max(everything) + 99]) == best
        assert view.lexical_of(asked, numbers[1:3]) == best[1:3]
        assert view.lexical_of(asked, []) == view.lexical_of({"nosuchword": 1.0}, numbers) == []


def test_of_a_large_store_an_even_sample_of_cosines_is_taken(store: Store, scope: Scope, open_indexes: Opening) -> None:
    texts = [f"passage {place}" for place in range(2 * SAMPLED + 1)]
    save(store, scope, saved("m_long", texts))
    indexes = open_indexes()
    indexes.compact(scope)
    query = vector_of("where do the cookies go")
    sampled = np.array([vector_of(text) for text in texts[::3]]) @ query
    with store.reading(scope) as work:
        found = indexes.view(work).cosine_spread(query, model=MODEL)
    assert found is not None
    assert found.passages == len(sampled)
    assert (found.mean, found.deviation) == pytest.approx((sampled.mean(), sampled.std()), abs=1e-3)


def test_another_active_model_is_another_base(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes()
    indexes.compact(scope)
    with store.writing(scope) as work:
        rows = work.passages.page()
        work.vectors.put_many(
            "model-b", [NumberedVector(row.number, "h", vector_of(row.text, "model-b")) for row in rows]
        )
    assert len(vector(indexes, store, scope, "x")) == 3
    assert indexes.status(scope).tail_passages == 0
    with store.writing(scope) as work:
        work.vectors.activate("model-b")
    expected = [row.number for row in rows if row.text == COOKIES[7].chunks[0].text]
    assert vector(indexes, store, scope, COOKIES[7].chunks[0].text, "model-b")[:1] == expected
    assert vector(open_indexes(), store, scope, COOKIES[7].chunks[0].text, "model-b")[:1] == expected


def test_a_line_that_changes_nothing_here_leaves_the_base_alone(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes()
    indexes.compact(scope)
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_1"), access_count=7, confidence=0.9))
    status = indexes.status(scope)
    assert (status.tail_passages, status.behind, status.passages) == (0, 0, 12)


def test_a_restored_store_is_indexed_anew(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES[:6])
    indexes = open_indexes()
    indexes.compact(scope)
    checkpoint = store.checkpoints.create("before")
    save(store, scope, *COOKIES[6:])
    assert len(lexical(indexes, store, scope, "cooki")) == 12
    store.checkpoints.restore(checkpoint.id, scope)
    assert len(lexical(indexes, store, scope, "cooki")) == 6
    assert "another past" in (indexes.status(scope).rebuilt_because or "")
    same_as_the_tables(indexes, store, scope)


def test_a_follower_behind_a_trimmed_log_begins_anew(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES[:6])
    indexes = open_indexes()
    indexes.compact(scope)
    save(store, scope, *COOKIES[6:])
    with store.writing(scope) as work:
        work.changes.trim(work.changes.position().seq)
    assert len(lexical(indexes, store, scope, "cooki")) == 12
    assert "no longer reaches back" in (indexes.status(scope).rebuilt_because or "")
    same_as_the_tables(indexes, store, scope)


def test_without_a_folder_everything_stays_in_memory(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(at=None, exact_below=4)
    same_as_the_tables(indexes, store, scope)
    assert indexes.compact(scope).done
    same_as_the_tables(indexes, store, scope)
    status = indexes.status(scope)
    assert (status.on_disk, status.folder, status.bytes_on_disk, status.base_passages) == (False, None, 0, 12)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_the_folder_may_be_deleted_at_any_time(
    store: Store, scope: Scope, open_indexes: Opening, folder: Path, moment: str
) -> None:
    save(store, scope, *COOKIES)
    indexes = open_indexes(exact_below=4)
    indexes.compact(scope)
    with store.reading(scope) as work:
        view = indexes.view(work)
        expected = view.lexical({"cooki": 1.0}, limit=50), view.nearest(vector_of("x"), model=MODEL, limit=50)
        shutil.rmtree(folder)
        fresh = indexes.view(work) if moment == "after" else view
        assert expected == (
            fresh.lexical({"cooki": 1.0}, limit=50),
            fresh.nearest(vector_of("x"), model=MODEL, limit=50),
        )
    same_as_the_tables(open_indexes(exact_below=4), store, scope)
    assert indexes.compact(scope).done
    assert indexes.status(scope).on_disk


def test_two_compactions_of_the_same_data_answer_the_same(
    store: Store, scope: Scope, open_indexes: Opening, folder: Path
) -> None:
    rng = np.random.default_rng(7)
    texts = [" ".join(rng.choice(["cookies", "sign", "in", "tab", "space"], 6)) for _ in range(60)]
    save(store, scope, *[saved(f"m_{place}", [text]) for place, text in enumerate(texts)])
    answers = []
    for place in ("one", "two"):
        indexes = open_indexes(at=folder / place, exact_below=10)
        indexes.compact(scope)
        with store.reading(scope) as work:
            view = indexes.view(work)
            lists = [view.nearest(vector_of(text), model=MODEL, limit=20) for text in texts[:20]]
            answers.append((view.lexical({"cooki": 1.0, "tab": 2.0}, limit=30), lists))
    assert answers[0] == answers[1]


def test_ties_go_by_number_across_base_and_tail(store: Store, scope: Scope, open_indexes: Opening) -> None:
    def twins(begin: int) -> None:
        save(store, scope, *[saved(f"m_{place}", ["cookies here"], title="same") for place in range(begin, begin + 4)])

    twins(0)
    indexes = open_indexes(exact_below=2)
    indexes.compact(scope)
    twins(4)
    with store.reading(scope) as work:
        view = indexes.view(work)
        for found in (
            view.lexical({"cooki": 1.0, "here": 1.0}, limit=6),
            view.nearest(vector_of("x"), model=MODEL, limit=6),
        ):
            assert len({one.score for one in found}) == 1
            assert [one.number for one in found] == sorted(view.numbers().tolist())[:6]


def test_many_threads_search_while_others_save(
    home: Home, scope: Scope, open_indexes: Opening, clock: FixedClock
) -> None:
    store = home.open(readers=8)
    save(store, scope, *COOKIES)
    indexes = open_indexes(store, exact_below=4)
    begin = threading.Barrier(8)

    def search(worker: int) -> None:
        begin.wait()
        for turn in range(25):
            with store.reading(scope) as work:
                view = indexes.view(work)
                numbers = view.numbers()
                for _ in range(2):
                    found = view.lexical({"cooki": 1.0}, limit=1_000)
                    assert sorted(one.number for one in found) == sorted(numbers.tolist())
                    assert len(view.nearest(vector_of("x"), model=MODEL, limit=5)) == 5
            if worker == 0 and turn % 4 == 0:
                save(store, scope, saved(f"n_{turn}", ["cookies again"]))
            if worker == 1 and turn % 10 == 5:
                indexes.compact(scope)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(search, worker) for worker in range(8)]:
            done.result()
    assert len(lexical(indexes, store, scope, "cooki")) == 12 + 7


def test_recall_against_exact_search_is_measured(store: Store, scope: Scope, open_indexes: Opening) -> None:
    indexes = open_indexes(exact_below=4)
    rng = np.random.default_rng(1)
    assert indexes.recall(scope, sample=5, rng=rng).share is None
    save(store, scope, *COOKIES)
    measured = indexes.recall(scope, sample=5, rng=rng, depth=3)
    assert (measured.share, measured.queries) == (1.0, 5)
