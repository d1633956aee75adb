"""Vectors: exact search is exact, and the graph answers nearly as exact search does, whatever a filter leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.index import scoring
from assay.index.codes import VectorCodes, make_codes
from assay.index.options import IndexOptions
from assay.index.scoring import Found, Halves, Query, Scored, best
from assay.index.vectors import VectorBase, VectorBuilder, can_grow, grow_vectors, open_vectors

COUNT, DIMENSION = 4_000, 24
SMALL = IndexOptions(exact_below=500)


@cache
def vectors() -> Halves:
    """In clusters, some of them twice."""
    rng = np.random.default_rng(11)
    made = rng.standard_normal((60, DIMENSION))[rng.integers(0, 60, COUNT)] + rng.normal(0, 0.4, (COUNT, DIMENSION))
    made[::50] = made[0]
    unit: Halves = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)
    return unit


def built(folder: Path | None, options: IndexOptions = SMALL) -> VectorBase:
    builder = VectorBuilder(folder, count=COUNT, dimension=DIMENSION, options=options)
    for begin in range(0, COUNT, 300):
        builder.add(np.arange(begin, min(begin + 300, COUNT)) * 2, vectors()[begin : begin + 300])
    return builder.finish()


def queries() -> list[Query]:
    return [scoring.round_query(vectors()[place].astype(np.float32)) for place in range(0, COUNT, 333)]


def exact(query: Query, rows: NDArray[np.int64], limit: int) -> Sequence[Found]:
    return best([Scored(rows * 2, scoring.cosines(vectors()[rows], query))], limit, digits=scoring.COSINE_DIGITS)


@pytest.mark.parametrize("limit", [1, 10, 90, 4_000])
def test_exact_search_finds_the_nearest_with_ties_by_number(limit: int) -> None:
    for query in queries():
        rows, scores = scoring.nearest(vectors(), query, limit)
        found = best([Scored(rows * 2, scores)], limit, digits=scoring.COSINE_DIGITS)
        assert found == exact(query, np.arange(COUNT), limit)


@pytest.mark.parametrize("left", [0, 3, 499, 501, 1_500, 4_000])
def test_what_passes_is_searched_and_nothing_else(left: int) -> None:
    base = built(None)
    assert base.kind == "hnsw"
    rows = np.sort(np.random.default_rng(left).choice(COUNT, left, replace=False))
    passing = np.zeros(2 * COUNT, bool)
    passing[rows * 2] = True
    shares: list[bool] = []
    for query in queries():
        places, scores = base.nearest(query, 20, passing)
        found = best([Scored(places, scores)], 20, digits=scoring.COSINE_DIGITS)
        expected = exact(query, rows, 20)
        assert passing[places].all()
        assert len(found) == len(expected)
        assert base.nearest(query, 20, passing, exact=True)[0].size >= len(expected)
        if left <= 500:
            assert found == expected
        shares += [one.score >= expected[-1].score for one in found]
    assert left == 0 or np.mean(shares) > 0.97


def test_files_answer_as_memory_does(tmp_path: Path) -> None:
    passing = np.ones(2 * COUNT, bool)
    built(tmp_path)
    mapped, kept = open_vectors(tmp_path, options=SMALL), built(None)
    for query in queries():
        assert [part.tolist() for part in mapped.nearest(query, 20, passing)] == [
            part.tolist() for part in kept.nearest(query, 20, passing)
        ]


def test_few_vectors_need_no_graph(tmp_path: Path) -> None:
    assert built(tmp_path, IndexOptions()).kind == "exact"
    assert open_vectors(tmp_path, options=IndexOptions()).kind == "exact"


def test_a_vector_of_zeros_is_near_to_nothing() -> None:
    matrix = np.zeros((3, DIMENSION), np.float16)
    matrix[1] = vectors()[0]
    rows, scores = scoring.nearest(matrix, queries()[0], 3)
    assert [one.number for one in best([Scored(rows, scores)], 3, digits=6)] == [1]


CODED = IndexOptions(exact_below=500, graph_below=1_000, rescored=200)


@pytest.mark.parametrize("fetch", [1, 50, 3_999, 4_000, 9_000])
@pytest.mark.parametrize("left", [0, 40, 4_000])
def test_codes_nominate_what_differs_in_the_fewest_signs(fetch: int, left: int) -> None:
    codes = VectorCodes(make_codes(vectors()))
    passing = np.zeros(COUNT, bool)
    passing[np.random.default_rng(left).choice(COUNT, left, replace=False)] = True
    query = queries()[3]
    differing = ((vectors() > 0) != (query > 0)).sum(axis=1)
    allowed = np.sort(differing[passing])
    found = codes.nominate(query, fetch, passing)
    last = allowed[min(fetch, left) - 1] if left else -1
    assert found.tolist() == np.flatnonzero(passing & (differing <= last)).tolist()
    if left == COUNT:
        assert codes.nominate(query, fetch, None).tolist() == found.tolist()


@pytest.mark.parametrize("sampled", [1, 7, 50])
@pytest.mark.parametrize("fetch", [1, 40, 900])
def test_a_small_sample_of_codes_changes_nothing(fetch: int, sampled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = VectorCodes(make_codes(vectors()))
    query = vectors()[5].astype(np.float32)
    passing = np.arange(len(vectors())) % 3 == 0
    wanted = [codes.nominate(query, fetch, which).tolist() for which in (None, passing)]
    monkeypatch.setattr("assay.index.codes._SAMPLED", sampled)
    monkeypatch.setattr("assay.index.codes._BLOCK", 100)
    assert [codes.nominate(query, fetch, which).tolist() for which in (None, passing)] == wanted


@pytest.mark.parametrize("left", [0, 499, 501, 4_000])
def test_codes_find_nearly_what_exact_search_finds_and_nothing_else(left: int, tmp_path: Path) -> None:
    built(tmp_path, CODED)
    base = open_vectors(tmp_path, options=CODED)
    assert base.kind == "codes"
    rows = np.sort(np.random.default_rng(left).choice(COUNT, left, replace=False))
    passing = np.zeros(2 * COUNT, bool)
    passing[rows * 2] = True
    shares: list[bool] = []
    for query in queries():
        places, scores = base.nearest(query, 10, passing)
        found, expected = best([Scored(places, scores)], 10, digits=scoring.COSINE_DIGITS), exact(query, rows, 10)
        assert passing[places].all()
        assert [one.score for one in found] == [one.score for one in expected] or left > 500
        shares += [one.score >= expected[-1].score for one in found]
    assert left == 0 or np.mean(shares) > 0.95


def test_codes_grow_by_what_is_added(tmp_path: Path) -> None:
    old, new, whole = (tmp_path / name for name in ("old", "new", "whole"))
    for folder in (old, new, whole):
        folder.mkdir()
    most = 3_000
    builder = VectorBuilder(old, count=most, dimension=DIMENSION, options=CODED)
    builder.add(np.arange(most) * 2, vectors()[:most])
    base = builder.finish()
    assert can_grow(base, COUNT, CODED)
    assert not can_grow(
        built(None, IndexOptions(exact_below=500, graph_below=COUNT)), 1, IndexOptions(graph_below=COUNT)
    )
    fresh, places = vectors()[most:], np.arange(most, COUNT) * 2
    grow_vectors(base, old, new, places=places, fresh=fresh, options=CODED, go_on=lambda: None)
    built(whole, CODED)
    passing = np.ones(2 * COUNT, bool)
    grown, expected = (open_vectors(folder, options=CODED) for folder in (new, whole))
    assert grown.kind == "codes"
    for query in queries():
        assert [part.tolist() for part in grown.nearest(query, 20, passing)] == [
            part.tolist() for part in expected.nearest(query, 20, passing)
        ]


def test_a_graph_grows_only_as_far_as_graphs_go() -> None:
    builder = VectorBuilder(None, count=600, dimension=DIMENSION, options=CODED)
    builder.add(np.arange(600), vectors()[:600])
    graph = builder.finish()
    assert graph.kind == "hnsw"
    assert can_grow(graph, 400, CODED)
    assert not can_grow(graph, 401, CODED)


@pytest.mark.parametrize("hidden", [None, np.inf, -np.inf, np.nan])
def test_every_stored_number_is_measured_as_numpy_converts_it(hidden: float | None) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = every[np.isfinite(every)].reshape(-1, 32).copy()
    if hidden is not None:
        halves[7, 3] = hidden
    measured = scoring.measure_vectors(halves)
    full = halves.astype(np.float32)
    assert measured.full.tobytes() == full.tobytes()
    assert measured.lengths.tobytes() == np.sqrt(np.einsum("ij,ij->i", full, full)).tobytes()
    small = scoring.measure_vectors(halves[np.abs(halves).max(axis=1) < 1.0])
    assert small.full.tobytes() == halves[np.abs(halves).max(axis=1) < 1.0].astype(np.float32).tobytes()
