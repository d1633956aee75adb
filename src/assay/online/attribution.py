"""Which channel found what: each channel's part in the results that were shown, and what it alone found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from assay.records import Channel, LoggedQuery


class Attribution(NamedTuple):
    """One channel over many logged queries."""

    channel: Channel
    asked: int
    """Queries it was asked."""
    candidates: int
    found: int
    """Results shown that it had a part in."""
    alone: int
    """Results shown that no other channel found."""
    shown: int
    """Results shown in all."""

    @property
    def contribution_rate(self) -> float | None:
        """Its part in what was shown; None when nothing was."""
        return self.found / self.shown if self.shown else None

    @property
    def exclusive_rate(self) -> float | None:
        """What would be missing without it; None when nothing was shown."""
        return self.alone / self.shown if self.shown else None


def attribution(queries: Iterable[LoggedQuery]) -> tuple[Attribution, ...]:
    """Every channel's part in the results of some queries."""
    counts: Counter[tuple[str, str]] = Counter()
    shown = 0
    for query in queries:
        shown += query.result_count
        for channel, numbers in query.channel_contributions.items():
            counts[channel, "asked"] += 1
            for name in ("candidates", "found", "alone"):
                counts[channel, name] += numbers[name]
    return tuple(
        Attribution(
            channel=channel,
            asked=counts[channel, "asked"],
            candidates=counts[channel, "candidates"],
            found=counts[channel, "found"],
            alone=counts[channel, "alone"],
            shown=shown,
        )
        for channel in Channel
    )
