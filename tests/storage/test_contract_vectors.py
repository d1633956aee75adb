"""Vectors: kept as half floats, read back the same on both back ends, never mixed between models or tenants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.storage import samples

from assay.errors import BadValue, InputError, RecordNotFound
from assay.hashing import content_hash
from assay.records import LogPosition, Operation, RowKind, Scope
from assay.storage import ChunkVector, NumberedVector, Saved, Store, Unembedded
from assay.testing import note

MODEL = "model-1"
OTHER = Scope(tenant="other")


def put(store: Store, scope: Scope, found: NDArray[np.float32], model: str = MODEL) -> None:
    """One memory of one chunk for each row."""
    with store.writing(scope) as work:
        work.memories.add_many(
            Saved(note(f"m_{row}"), samples.chunks(f"m_{row}", 1), [ChunkVector(f"h_{row}", vector)], model)
            for row, vector in enumerate(found)
        )


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(-60_000, 60_000, width=16), min_size=1, max_size=20))
def test_every_half_float_is_read_back_as_it_was_put(store: Store, given: list[float]) -> None:
    vector = np.array(given, np.float32)
    with store.writing(Scope(tenant="halves")) as work:
        work.memories.add_many([Saved(note("m_1"), samples.chunks("m_1", 1), [ChunkVector("h", vector)], MODEL)])
        assert work.vectors.page(MODEL).vectors.tolist() == [vector.tolist()]
        work.memories.remove("m_1")


def test_pages_follow_the_numbers_of_the_chunks(store: Store, scope: Scope) -> None:
    found = samples.directions(5)
    put(store, scope, found)
    with store.reading(scope) as work:
        numbers, vectors = work.vectors.page(MODEL, after=2, limit=2)
        assert numbers.tolist() == [3, 4]
        assert numbers.dtype == np.int64
        assert vectors.dtype == np.float32
        assert np.array_equal(vectors, samples.halved(found[2:4]))
        numbers, vectors = work.vectors.by_numbers(MODEL, [5, 99, 1])
        assert numbers.tolist() == [1, 5]
        assert np.array_equal(vectors, samples.halved(found[[0, 4]]))
        assert work.vectors.page("unheard").numbers.tolist() == []
        assert len(work.vectors.page("unheard").vectors) == 0


def test_a_vector_made_of_the_same_text_is_found_by_its_hash(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        saved = samples.embedded("m_1", "same text", "other text")
        work.memories.add_many([saved])
        found = work.vectors.by_hashes(MODEL, [content_hash("same text"), content_hash("unheard")])
        assert list(found) == [content_hash("same text")]
        assert saved.vectors is not None
        assert saved.vectors[0] is not None
        assert np.array_equal(found[content_hash("same text")], samples.halved(saved.vectors[0].vector))
        assert work.vectors.by_hashes("model-2", [content_hash("same text")]) == {}
    with store.reading(OTHER) as work:
        assert work.vectors.by_hashes(MODEL, [content_hash("same text")]) == {}


def test_chunks_without_a_vector_of_a_model_are_listed_with_what_it_is_made_of(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add_many([samples.embedded("m_1")])
        work.memories.add(note("m_2"), [samples.chunk("m_2", text="Text", heading_path="A > B")])
        missing = work.vectors.missing(MODEL)
        assert missing == [Unembedded(2, "Note m_2", "A > B", "Text")]
        assert [one.number for one in work.vectors.missing("model-2", limit=1)] == [1]
        assert [one.number for one in work.vectors.missing("model-2", after=1)] == [2]
        assert work.vectors.models() == {MODEL: 1}
        work.vectors.put_many(MODEL, [NumberedVector(2, "h", samples.unit(1, 2, 3))])
        work.vectors.put_many("model-2", [NumberedVector(1, "h", samples.unit(1, 2))])
        assert work.vectors.missing(MODEL) == []
        assert work.vectors.models() == {MODEL: 2, "model-2": 1}
        assert (work.vectors.count(MODEL), work.vectors.count("unheard")) == (2, 0)


def test_a_vector_put_later_is_told_to_the_change_log_and_one_saved_with_its_chunk_is_not(
    store: Store, scope: Scope
) -> None:
    with store.writing(scope) as work:
        work.memories.add_many([samples.embedded("m_1")])
        before = work.changes.position()
        work.vectors.put_many(MODEL, [NumberedVector(1, "h", samples.unit(3, 2, 1))])
        (line,) = work.changes.follow(before).changes
        assert (line.kind, line.operation, line.row_id, line.number) == (RowKind.CHUNK, Operation.UPDATE, "m_1#0", 1)
        saved = work.changes.follow(LogPosition(before.epoch, 0)).changes[:2]
        assert [one.operation for one in saved] == [Operation.INSERT, Operation.INSERT]
        assert np.array_equal(work.vectors.page(MODEL).vectors[0], samples.halved(samples.unit(3, 2, 1)))


def test_a_vector_for_no_chunk_or_for_anothers_is_refused(store: Store, scope: Scope) -> None:
    put(store, OTHER, samples.directions(1))
    for number in (1, 99):
        with store.writing(scope) as work, pytest.raises(RecordNotFound, match=str(number)):
            work.vectors.put_many(MODEL, [NumberedVector(number, "h", samples.unit(1, 2))])


def test_vectors_go_with_their_chunks(store: Store, scope: Scope) -> None:
    put(store, scope, samples.directions(3))
    with store.writing(scope) as work:
        work.memories.remove("m_0")
        work.memories.update(note("m_1"), samples.chunks("m_1", 1))
        work.memories.update(note("m_2", title="Other"))
        assert work.vectors.page(MODEL).numbers.tolist() == [3]
        made = [ChunkVector("h", samples.unit(1, 1))]
        work.memories.update(note("m_1"), samples.chunks("m_1", 1), vectors=made, model="model-2")
        assert work.vectors.page("model-2").numbers.tolist() == [5]
    assert store.problems() == []


def test_vectors_that_do_not_fit_the_chunks_are_refused(store: Store, scope: Scope) -> None:
    one = ChunkVector("h", samples.unit(1, 1))
    for vectors, model in (([one], MODEL), ([one, one, one], MODEL), ([one, None], None)):
        with store.writing(scope) as work, pytest.raises(BadValue, match="m_1 has 2 chunks"):
            work.memories.add_many([Saved(note("m_1"), samples.chunks("m_1", 2), vectors, model)])


def test_a_chunk_may_be_kept_without_a_vector(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        made = [None, ChunkVector("h", samples.unit(1, 1))]
        work.memories.add_many([Saved(note("m_1"), samples.chunks("m_1", 2), made, MODEL)])
        assert work.vectors.page(MODEL).numbers.tolist() == [2]


def test_a_memory_is_the_mean_of_its_chunks(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        made = [ChunkVector("a", samples.unit(1, 0)), ChunkVector("b", samples.unit(0, 1))]
        work.memories.add_many([Saved(note("m_1"), samples.chunks("m_1", 2), made, MODEL)])
        work.memories.add(note("m_2"), samples.chunks("m_2", 1))
        found = work.vectors.of_memories([1, 2, 99], MODEL)
    assert list(found) == [1]
    assert found[1] == pytest.approx([0.5**0.5, 0.5**0.5], abs=1e-6)


def test_the_active_model_is_each_tenants_own(store: Store, scope: Scope) -> None:
    put(store, scope, samples.directions(2))
    put(store, OTHER, samples.directions(1))
    with store.writing(scope) as work:
        assert work.vectors.active() is None
        work.vectors.activate(MODEL)
        with pytest.raises(InputError, match="in use"):
            work.vectors.remove_model(MODEL)
        work.vectors.activate("model-2")
        assert work.vectors.remove_model(MODEL) == 2
        assert work.vectors.models() == {}
    with store.reading(OTHER) as work:
        assert work.vectors.active() is None
        assert work.vectors.models() == {MODEL: 1}


def test_only_a_server_searches_vectors_itself(store: Store, scope: Scope) -> None:
    put(store, scope, samples.directions(1))
    asked = samples.directions(1, seed=9)[0]
    if store.backend_name == "postgres":
        assert store.build_vector_index(scope, MODEL, 8) is True
        with store.reading(scope) as work:
            assert [one.number for one in work.vectors.nearest(MODEL, asked, 5)] == [1]
            assert work.vectors.has_index(MODEL)
        return
    assert store.build_vector_index(scope, MODEL, 8) is False
    with store.reading(scope) as work, pytest.raises(InputError, match="SQLite") as refused:
        work.vectors.nearest(MODEL, asked, 5)
    assert refused.value.remedy
    with store.reading(scope) as work:
        assert not work.vectors.has_index(MODEL)
