"""Texts of like length go together, and none is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.embedding.protocol import by_length

LENGTHS = st.lists(st.integers(0, 300), max_size=60)


@given(LENGTHS, st.integers(1, 9), st.integers(1, 600))
def test_every_text_is_in_one_batch_and_no_batch_is_too_large(lengths: list[int], texts: int, tokens: int) -> None:
    batches = list(by_length(lengths, most_texts=texts, most_tokens=tokens))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= texts
        padded = max(lengths[position] for position in batch) * len(batch)
        assert padded <= tokens or len(batch) == 1


def test_equal_lengths_keep_their_order_and_fill_batches() -> None:
    assert list(by_length([5, 5, 5, 5, 5], most_texts=2, most_tokens=100)) == [[0, 1], [2, 3], [4]]
    assert list(by_length([], most_texts=2, most_tokens=100)) == []
