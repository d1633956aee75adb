"""Batches for models whose cost is the longest text times the number of texts: like lengths go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def by_length(lengths: Sequence[int], *, most_texts: int, most_tokens: int) -> Iterator[list[int]]:
    """Positions in batches of at most so many texts and padded tokens; a text above the bound comes alone.

    >>> list(by_length([3, 90, 4, 80], most_texts=2, most_tokens=100))
    [[0, 2], [3], [1]]
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Lengths grow, so the newcomer's is the one the whole batch is padded to.
        if batch and (len(batch) == most_texts or (len(batch) + 1) * lengths[position] > most_tokens):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch
