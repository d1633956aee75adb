"""An embedder that is asked for texts of like length together, and for others apart.

A model that runs here pads every text of a batch to the longest: beside a passage's long sentence a short question
costs as much as the sentence. Evaluation asks for few texts at a time, of all lengths, so that was a third of its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.embedding.around import AroundEmbedder
from assay.embedding.protocol import Progress, Vectors

MOST_PADDING = 120
"""Characters that one group may be padded by, about thirty tokens: less is not worth a call of its own."""


class LikeLengths(AroundEmbedder):
    """The same vectors, made in groups of like length."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row for each text, in the order given."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for group in like_lengths([len(text) for text in texts]):
            rows[group] = self._inner.embed([texts[place] for place in group], progress=progress)
        return rows


def like_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places in groups, each padded by little.

    >>> list(like_lengths([80, 450, 90, 460]))
    [[0, 2], [1, 3]]
    """
    group: list[int] = []
    padding = 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Lengths grow: every text of the group is padded to the newcomer.
        more = len(group) * (lengths[place] - lengths[group[-1]]) if group else 0
        if padding + more > MOST_PADDING:
            yield group
            group, padding, more = [], 0, 0
        group.append(place)
        padding += more
    if group:
        yield group
