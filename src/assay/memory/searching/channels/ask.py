"""What every channel is asked with, and what it offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import ChannelUnavailable
from assay.index import Allowed, View
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.query import ParsedQuery
from assay.storage import Work

Offer = list[tuple[int, float]]
"""Numbers of passages with scores on the channel's own scale, best first, ties by number."""


class QueryVector(NamedTuple):
    """The query as a vector, and the model that made it."""

    model: str
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question to a channel, inside one snapshot."""

    work: Work
    view: View | None
    """None: the index cannot be read, and whoever needs it gives nothing."""
    parsed: ParsedQuery
    vector: QueryVector | None
    limit: int
    allowed: Allowed | None
    """Which passages may be offered; None: all."""
    options: SearchOptions
    expanded: bool = False
    """Whether words of the first results may join the query."""
    neighbours: Callable[[], Sequence[tuple[str, float]]] = tuple
    """Memories that the graph reaches from the best hits of the channels that were asked before."""

    def opened_view(self) -> View:
        """The index, for a channel that is nothing without it."""
        if self.view is None:
            raise ChannelUnavailable("the index cannot be read", remedy="See `assay index status`.")
        return self.view
