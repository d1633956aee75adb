"""Nearest vectors inside PostgreSQL: what a plain scan finds, with the index and without."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import text
from tests.storage import samples
from tests.storage.homes import raw

from assay.records import Scope
from assay.storage import ChunkVector, Saved, Store
from assay.storage.repositories.vectors import index_name
from assay.testing import note

MODEL = "it's: model\\1"
OTHER = Scope(tenant="other")
ASKED = samples.directions(1, seed=9)[0]

pytestmark = pytest.mark.parametrize("home", ["postgres"], indirect=True)


def put(store: Store, scope: Scope, found: NDArray[np.float32]) -> None:
    """One memory with a chunk for each row."""
    made = [ChunkVector(f"h_{row}", vector) for row, vector in enumerate(found)]
    with store.writing(scope) as work:
        work.memories.add_many([Saved(note("m_1"), samples.chunks("m_1", len(found)), made, MODEL)])


def cosines(found: NDArray[np.float32]) -> list[float]:
    rows, asked = samples.halved(found).astype(float), samples.halved(ASKED).astype(float)
    scored: list[float] = (rows @ asked / np.linalg.norm(rows, axis=1) / np.linalg.norm(asked)).tolist()
    return scored


@pytest.fixture
def filled(store: Store, scope: Scope) -> list[int]:
    """Forty of ours and forty of theirs; the numbers of ours, nearest first."""
    ours = samples.directions(40)
    put(store, scope, ours)
    put(store, OTHER, samples.directions(40, seed=8))
    scored = cosines(ours)
    return sorted(range(1, 41), key=lambda number: -scored[number - 1])


def test_an_exact_scan_finds_the_nearest_with_their_cosines(store: Store, scope: Scope, filled: list[int]) -> None:
    with store.reading(scope) as work:
        exact = work.vectors.nearest(MODEL, ASKED, 5, exact=True)
        assert [one.number for one in exact] == filled[:5]
        best = sorted(cosines(samples.directions(40)), reverse=True)[:5]
        assert [one.similarity for one in exact] == pytest.approx(best, abs=1e-6)
        assert work.vectors.nearest("unheard", ASKED, 5, exact=True) == []


def test_a_scan_of_some_looks_at_those_of_the_tenant_alone(store: Store, scope: Scope, filled: list[int]) -> None:
    with store.reading(scope) as work:
        some = work.vectors.nearest(MODEL, ASKED, 5, numbers=[1, 2, 3, 41])
        assert [one.number for one in some] == [number for number in filled if number <= 3]
        assert work.vectors.nearest(MODEL, ASKED, 5, numbers=[]) == []


def test_without_an_index_the_answer_is_exact(store: Store, scope: Scope, filled: list[int]) -> None:
    with store.reading(scope) as work:
        assert not work.vectors.has_index(MODEL)
        assert [one.number for one in work.vectors.nearest(MODEL, ASKED, 40)] == filled


def test_an_index_is_of_one_tenant_and_one_model(store: Store, scope: Scope, filled: list[int]) -> None:
    assert store.build_vector_index(scope, MODEL, 8) is True
    assert store.build_vector_index(scope, MODEL, 8) is False
    with store.reading(scope) as work:
        assert work.vectors.has_index(MODEL)
        assert not work.vectors.has_index("unheard")
        assert [one.number for one in work.vectors.nearest(MODEL, ASKED, 40)] == filled
    with store.reading(OTHER) as work:
        assert not work.vectors.has_index(MODEL)
        assert {one.number for one in work.vectors.nearest(MODEL, ASKED, 80)} == set(range(41, 81))


def test_the_index_is_what_the_database_uses(store: Store, scope: Scope) -> None:
    put(store, scope, samples.directions(5_000))
    store.build_vector_index(scope, MODEL, 8)
    with raw(store) as connection:
        connection.execute(text("ANALYZE vectors"))
    scans = text(
        "SELECT idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'vectors' AND schemaname = current_schema()"
    )
    with store.reading(scope) as work:
        assert len(work.vectors.nearest(MODEL, ASKED, 5)) == 5
        assert work._bound.connection.execute(scans).scalar_one() == 1


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("size", "limit", "kept_in_view"),
    [(0, 5, 200), (40, 5, 200), (40, 150, 300), (700_000, 5, 700), (700_000, 800, 1_000), (9_000_000, 5, 1_000)],
)
def test_a_search_keeps_more_vectors_in_view_the_larger_the_index_is(
    store: Store, scope: Scope, size: int, limit: int, kept_in_view: int
) -> None:
    store.build_vector_index(scope, MODEL, 8)
    with raw(store) as connection:
        named = {"size": size, "name": index_name(scope.tenant, MODEL)}
        connection.execute(text("UPDATE pg_class SET reltuples = :size WHERE oid = to_regclass(:name)"), named)
    with store.reading(scope) as work:
        work.vectors.nearest(MODEL, ASKED, limit)
        effort = work._bound.connection.execute(text("SELECT current_setting('hnsw.ef_search')")).scalar_one()
    assert int(effort) == kept_in_view


def test_an_index_whose_build_was_broken_off_is_made_anew(store: Store, scope: Scope, filled: list[int]) -> None:
    store.build_vector_index(scope, MODEL, 8)
    with raw(store) as connection:
        connection.execute(
            text(
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid IN (SELECT indexrelid"
                " FROM pg_stat_user_indexes WHERE indexrelname LIKE 'vectors_near_%' AND schemaname = current_schema())"
            )
        )
    assert store.build_vector_index(scope, MODEL, 8) is True
    with store.reading(scope) as work:
        assert [one.number for one in work.vectors.nearest(MODEL, ASKED, 40)] == filled


def test_a_checkpoint_brings_vectors_words_and_index_back(store: Store, scope: Scope, filled: list[int]) -> None:
    store.build_vector_index(scope, MODEL, 8)
    made = store.checkpoints.create("full")
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    store.checkpoints.restore(made.id, scope)
    assert store.problems() == []
    with store.writing(scope) as work:
        assert work.vectors.has_index(MODEL)
        assert [one.number for one in work.vectors.nearest(MODEL, ASKED, 40)] == filled
        assert len(work.passages.matching("passage", 100)) == 40
        work.memories.add(note("m_2"), samples.chunks("m_2", 1))
        assert work.passages.page(after=80)[0].number == 81
