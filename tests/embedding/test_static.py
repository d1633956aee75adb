"""The fast embedder: the mean of word vectors."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest

from assay.embedding.protocol import Embedder
from assay.embedding.static import LONGEST, load_static


@pytest.fixture(scope="module")
def static() -> Embedder:
    return load_static()


def test_it_says_what_it_is(static: Embedder) -> None:
    assert static.model.startswith("wordllama-l2-supercat-256:")
    assert (static.dimension, static.token_limit) == (256, LONGEST)


def test_shared_words_are_near_and_order_is_not_seen(static: Embedder) -> None:
    first, reversed_, other = static.embed(["tabs over spaces", "spaces over tabs", "a cake with two eggs"])
    assert first @ reversed_ > 0.97
    assert first @ other < 0.4


def test_rows_have_length_one_whatever_the_text_and_company(static: Embedder) -> None:
    texts = ["", "deploy", "x " * 5_000, "日本語", "\n"]
    rows = static.embed(texts)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(rows, np.concatenate([static.embed([text]) for text in texts]))
    assert static.embed([]).shape == (0, 256)


def test_what_is_beyond_the_limit_is_not_read(static: Embedder) -> None:
    words = "word " * LONGEST
    at_limit, beyond = static.embed([words, words + "secret"])
    np.testing.assert_array_equal(at_limit, beyond)


def test_progress_adds_up(static: Embedder) -> None:
    done: list[int] = []
    static.embed(["a", "b", "c"], progress=done.append)
    assert sum(done) == 3


def test_the_package_that_would_set_up_logging_is_not_imported(static: Embedder) -> None:
    assert static.count_tokens("hello there") == 2
    assert "wordllama" not in sys.modules
    assert all(type(handler) is not logging.StreamHandler for handler in logging.getLogger().handlers)
