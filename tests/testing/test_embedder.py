"""The embedder that tests are handed instead of a model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import testing
from assay.embedding.protocol import Embedder
from assay.testing import HashedEmbedder


@given(st.lists(st.text(max_size=40), max_size=5))
def test_rows_have_length_one_and_depend_on_their_text_alone(texts: list[str]) -> None:
    embedder: Embedder = HashedEmbedder()
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), 64)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_array_equal(HashedEmbedder().embed([text])[0], row)


def test_the_vector_of_a_word_never_changes() -> None:
    assert HashedEmbedder().embed(["deploy"])[0, :8].tolist() == pytest.approx(
        [0.125, -0.125, 0.125, -0.125, 0.125, -0.125, 0.125, -0.125]
    )


def test_texts_that_share_words_are_nearer() -> None:
    one, same, near, far = HashedEmbedder().embed(["red apple pie", "Pie, apple: RED", "red apple cake", "blue sky"])
    assert one @ same == pytest.approx(1.0)
    assert one @ near > 0.5
    assert one @ far < 0.4


def test_two_models_have_nothing_in_common() -> None:
    first, second = (HashedEmbedder(model=name).embed(["deploy"])[0] for name in ("a", "b"))
    assert abs(first @ second) < 0.5


def test_words_beyond_the_limit_are_not_read() -> None:
    embedder = HashedEmbedder(token_limit=2, dimension=12)
    short, long = embedder.embed(["a b", "a b c"])
    np.testing.assert_array_equal(short, long)
    assert short.shape == (12,)
    assert embedder.count_tokens("a b c") == 3


def test_progress_adds_up() -> None:
    done: list[int] = []
    HashedEmbedder().embed(["a", "b"], progress=done.append)
    assert sum(done) == 2


def test_a_name_that_is_no_double_is_refused_with_the_list() -> None:
    with pytest.raises(AttributeError, match="HashedEmbedder"):
        testing.NoSuchDouble  # noqa: B018
