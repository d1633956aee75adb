"""Recent queries are not embedded again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.embedding.wrappers import CachedEmbedder
from assay.errors import BadValue
from assay.testing import HashedEmbedder


class Counting(HashedEmbedder):
    """Notes what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.asked += texts
        return super().embed(texts, progress=progress)


def test_a_text_is_embedded_once_and_rows_keep_their_order() -> None:
    inner = Counting()
    cached: Embedder = CachedEmbedder(inner, 10)
    first = cached.embed(["a", "b", "a"])
    second = cached.embed(["b", "c", "a"])
    assert inner.asked == ["a", "b", "c"]
    np.testing.assert_array_equal(first, HashedEmbedder().embed(["a", "b", "a"]))
    np.testing.assert_array_equal(second, HashedEmbedder().embed(["b", "c", "a"]))


def test_the_text_used_longest_ago_is_forgotten_first() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, 2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text])
    assert inner.asked == ["a", "b", "c", "b"]


def test_more_texts_than_it_can_remember_are_all_answered() -> None:
    texts = [str(number) for number in range(50)]
    np.testing.assert_array_equal(CachedEmbedder(HashedEmbedder(), 3).embed(texts), HashedEmbedder().embed(texts))


def test_changing_a_row_does_not_change_what_is_remembered() -> None:
    cached = CachedEmbedder(HashedEmbedder(), 10)
    cached.embed(["a"])[:] = 0
    cached.embed(["a"])[:] = 0
    np.testing.assert_array_equal(cached.embed(["a"]), HashedEmbedder().embed(["a"]))


def test_it_speaks_for_the_embedder_inside() -> None:
    inner = HashedEmbedder(model="m", dimension=8, token_limit=5)
    cached = CachedEmbedder(inner)
    assert (cached.model, cached.dimension, cached.token_limit) == ("m", 8, 5)
    assert cached.profile == inner.profile
    assert cached.count_tokens("a b c") == 3
    assert cached.embed([]).shape == (0, 8)


def test_progress_is_told_of_remembered_texts_too() -> None:
    cached = CachedEmbedder(HashedEmbedder(), 10)
    cached.embed(["a"])
    done: list[int] = []
    cached.embed(["a", "b"], progress=done.append)
    assert sum(done) == 2


def test_threads_can_share_it() -> None:
    cached = CachedEmbedder(HashedEmbedder(), 5)
    texts = [str(number % 13) for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: cached.embed([text])[0], texts))
    np.testing.assert_array_equal(rows, HashedEmbedder().embed(texts))


def test_a_cache_that_holds_nothing_is_refused() -> None:
    with pytest.raises(BadValue, match="cache size 0"):
        CachedEmbedder(HashedEmbedder(), 0)
