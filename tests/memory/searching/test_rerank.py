"""MMR by hand, and a cross-encoder that is believed only as far as it answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.errors import BadValue
from assay.memory.searching.results import mmr, rerank_with

# b says what a says; c says something else.
VECTORS = np.array([[1.0, 0.0], [0.96, 0.28], [0.0, 1.0]])


def test_mmr_by_hand() -> None:
    # After a: b 0.5 * 0.9 - 0.5 * 0.96 = -0.03, c 0.5 * 0.4 - 0 = 0.2
    assert mmr(["a", "b", "c"], [1.0, 0.9, 0.4], VECTORS, 0.5, 3) == ["a", "c", "b"]


def test_only_what_repeats_is_alike() -> None:
    # Related (0.8) is not alike from 0.9 on: b 0.5 * 0.9 - 0 stays before c. A repetition (1.0) goes back.
    related = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    assert mmr(["a", "b", "c"], [1.0, 0.9, 0.4], related, 0.5, 3, alike=0.9) == ["a", "b", "c"]
    repeated = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert mmr(["a", "b", "c"], [1.0, 0.9, 0.4], repeated, 0.5, 3, alike=0.9) == ["a", "c", "b"]
    # From 0.6 on, 0.8 is half alike: b 0.5 * 0.9 - 0.5 * 0.5 = 0.2, c 0.5 * 0.5 - 0 = 0.25.
    assert mmr(["a", "b", "c"], [1.0, 0.9, 0.5], related, 0.5, 3, alike=0.6) == ["a", "c", "b"]
    assert mmr(["a", "b", "c"], [1.0, 0.9, 0.4], repeated, 0.5, 3, alike=1.0) == ["a", "b", "c"]


def test_with_all_weight_on_relevance_the_order_stays() -> None:
    assert mmr(["a", "b", "c"], [1.0, 0.9, 0.4], VECTORS, 1.0, 3) == ["a", "b", "c"]


def test_likeness_is_to_the_nearest_pick_and_not_to_the_last() -> None:
    # a, then c; b is still like a (0.96) though not like c (0.28): 0.5 * 0.9 - 0.48 < 0.5 * 0.1 - 0
    vectors = np.vstack([np.hstack([VECTORS, np.zeros((3, 1))]), [[0.0, 0.0, 1.0]]])
    assert mmr(["a", "b", "c", "d"], [1.0, 0.9, 0.4, 0.1], vectors, 0.5, 4) == ["a", "c", "d", "b"]


def test_what_points_away_from_every_pick_counts_as_new() -> None:
    # b 0.5 * 0.2 - 0 = 0.1, c 0.5 * 0.1 - 0.5 * -1 = 0.55
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    assert mmr(["a", "b", "c"], [1.0, 0.2, 0.1], vectors, 0.5, 3) == ["a", "c", "b"]


def test_a_candidate_without_a_vector_is_unlike_all_others() -> None:
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert mmr(["a", "b", "c"], [1.0, 0.9, 0.5], vectors, 0.5, 3) == ["a", "c", "b"]


def test_equals_keep_their_order_and_k_ends_it() -> None:
    assert mmr([3, 1, 2], [0.5, 0.5, 0.5], np.zeros((3, 2)), 0.7, 2) == [3, 1]
    assert mmr([], [], np.zeros((0, 2)), 0.7, 5) == []


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(BadValue, match="3 candidates have 2 relevance"):
        mmr([1, 2, 3], [0.1, 0.2], VECTORS, 0.5, 3)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
def test_mmr_reorders_and_loses_nothing(relevance: list[float], share: float, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(len(relevance), 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = mmr(range(len(relevance)), relevance, vectors, share, len(relevance))
    assert sorted(found) == list(range(len(relevance)))
    if share:
        assert relevance[found[0]] * share == max(relevance) * share


class Scripted:
    """A cross-encoder that gives what it was told and remembers what it was asked."""

    name = "scripted"

    def __init__(self, *scores: float) -> None:
        self.scores = scores
        self.asked: list[tuple[str, Sequence[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.floating]:
        self.asked.append((query, texts))
        return np.array(self.scores)


def test_a_cross_encoder_orders_candidates_and_equals_keep_their_order() -> None:
    encoder = Scripted(0.1, 0.9, 0.1)
    assert rerank_with(encoder, "q", ["a", "b", "c"], ["A", "B", "C"]) == [("b", 0.9), ("a", 0.1), ("c", 0.1)]
    assert encoder.asked == [("q", ["A", "B", "C"])]


@pytest.mark.parametrize("scores", [(1.0,), (1.0, float("nan")), (1.0, 1.5), (-0.1, 0.5), (1.0, 0.2, 0.3)])
def test_a_cross_encoder_that_answers_wrongly_is_refused_by_name(scores: tuple[float, ...]) -> None:
    with pytest.raises(BadValue, match="cross-encoder 'scripted'"):
        rerank_with(Scripted(*scores), "q", ["a", "b"], ["A", "B"])
