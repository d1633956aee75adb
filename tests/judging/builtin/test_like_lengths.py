"""Texts of like length are embedded together, and nobody sees a difference but the clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.embedding.protocol import Progress, Vectors
from assay.judging.builtin.evaluators import MOST_PADDING, LikeLengths, like_lengths
from assay.testing import HashedEmbedder

SHORT, LONG = "A short question?", "A long sentence of a passage, " * 15


class Noting(HashedEmbedder):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.asked.append(list(texts))
        return super().embed(texts, progress=progress)


def test_a_short_text_is_not_padded_to_a_long_one() -> None:
    inner = Noting()
    rows = LikeLengths(inner).embed([SHORT, LONG, "Another question?"])
    assert inner.asked == [[SHORT, "Another question?"], [LONG]]
    assert np.array_equal(rows, HashedEmbedder().embed([SHORT, LONG, "Another question?"]))


def test_it_is_its_inner_embedder_in_all_else() -> None:
    inner, outer = HashedEmbedder(), LikeLengths(HashedEmbedder())
    for name in ("model", "dimension", "token_limit", "profile"):
        assert getattr(inner, name) == getattr(outer, name)
    assert inner.count_tokens(LONG) == outer.count_tokens(LONG)
    assert outer.embed([]).shape == (0, inner.dimension)


@given(st.lists(st.integers(min_value=0, max_value=900), max_size=20))
def test_every_text_is_in_one_group_and_no_group_is_padded_by_much(lengths: list[int]) -> None:
    groups = list(like_lengths(lengths))
    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    for group in groups:
        assert sum(max(lengths[one] for one in group) - lengths[place] for place in group) <= MOST_PADDING
