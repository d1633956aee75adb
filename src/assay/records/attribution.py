"""What each channel gave to the searches of use over a period, as every surface shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelShares:
    """One channel, over the searches in which it ran. A result that two channels found counts for both."""

    channel: str
    searches: int
    """In how many it ran."""
    results: int
    """Results shown in those searches: what the next two are shares of."""
    found: int
    """Results it found, alone or with others."""
    found_share: float | None
    """None: nothing was shown."""
    alone: int
    """Results that no other channel found: without it they would be missing."""
    alone_share: float | None
    used: int
    """Results of those searches that were read, quoted or called useful: what the next two are shares of."""
    used_found: int
    """Used results it found."""
    used_found_share: float | None
    """None: nothing was used, so what it is worth is not known."""
    used_alone: int
    """Used results that no other channel found."""
    used_alone_share: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Attribution:
    """What each channel gave to the searches of use from one moment until another."""

    since: datetime
    until: datetime
    searches: int
    results: int
    used: int
    """Results that were read, quoted or called useful."""
    mean_used_rank: float | None
    """Where they stood in their lists, on average; None: nothing was used."""
    channels: tuple[ChannelShares, ...]
    """Those that ran, by name."""
