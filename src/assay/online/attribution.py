"""What each channel gave to the searches of real use: results found, found alone, and those of them that were used.

Counts of found and alone stand in the log of each search. Which of the *used* results a channel had found is read from
its logged candidates, and only for searches that had one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from assay.errors import BadValue
from assay.records import ChannelCandidates, Scope
from assay.records.attribution import Attribution, ChannelShares

if TYPE_CHECKING:
    from assay.storage import Store

COUNTS = ("found", "alone")


def attribute(store: Store, scope: Scope, *, since: datetime, until: datetime) -> Attribution:
    """Sum up the searches of use from one moment until another."""
    if since >= until:
        raise BadValue(
            f"since {since:%Y-%m-%d %H:%M} is not before until {until:%Y-%m-%d %H:%M}",
            remedy="Give a period that begins before it ends.",
        )
    store.log.flush()
    ran, results, counted = Counter[str](), Counter[str](), {name: Counter[str]() for name in COUNTS}
    searches = shown = 0
    with store.reading(scope) as work:
        for logged in work.queries.contributions(since=since, until=until):
            searches += 1
            shown += logged.results
            # Lines of other programs may tell something else of a channel: what they do not say is not counted as 0.
            for channel, told in logged.told(COUNTS):
                ran[channel] += 1
                results[channel] += logged.results
                for name in COUNTS:
                    counted[name][channel] += told[name]
        used = work.queries.used_results(since=since, until=until)
        mean_rank = work.queries.mean_used_rank(since=since, until=until)
        tally = _Used(ran)
        for query_id, memories in used.items():
            tally.add(memories, work.queries.get(query_id).candidates)
    return Attribution(
        since=since,
        until=until,
        searches=searches,
        results=shown,
        used=sum(map(len, used.values())),
        mean_used_rank=mean_rank,
        channels=tuple(
            ChannelShares(
                channel=channel,
                searches=ran[channel],
                results=results[channel],
                found=counted["found"][channel],
                found_share=_share(counted["found"][channel], results[channel]),
                alone=counted["alone"][channel],
                alone_share=_share(counted["alone"][channel], results[channel]),
                used=tally.used[channel],
                used_found=tally.found[channel],
                used_found_share=_share(tally.found[channel], tally.used[channel]),
                used_alone=tally.alone[channel],
                used_alone_share=_share(tally.alone[channel], tally.used[channel]),
            )
            for channel in sorted(ran)
        ),
    )


class _Used:
    """Counts used results by channel."""

    def __init__(self, channels: Iterable[str]) -> None:
        self.used, self.found, self.alone = (Counter[str](dict.fromkeys(channels, 0)) for _ in range(3))

    def add(self, memories: Iterable[str], candidates: Iterable[ChannelCandidates]) -> None:
        """Add the used results of one search."""
        offered = {offer.channel: _memories_of(offer) for offer in candidates}
        for memory_id in memories:
            finders = [channel for channel, found in offered.items() if memory_id in found]
            self.used.update(offered.keys())
            self.found.update(finders)
            self.alone.update(finders if len(finders) == 1 else ())


def _memories_of(offer: ChannelCandidates) -> frozenset[str]:
    """The memories of passages, which are named `memory#position`."""
    return frozenset(passage.rpartition("#")[0] for passage in offer.ids)


def _share(hits: int, of: int) -> float | None:
    return hits / of if of else None


def format_share(share: float | None) -> str:
    """A share for people; a dash where it is not known."""
    return "-" if share is None else f"{share:.1%}"


def rows_of(found: Attribution) -> list[tuple[str, ...]]:
    """The table of channels, its head first."""
    head = ("channel", "searches", "found", "alone", "found of used", "alone of used")
    return [head, *map(_row, found.channels)]


def _row(channel: ChannelShares) -> tuple[str, ...]:
    shares = (channel.found_share, channel.alone_share, channel.used_found_share, channel.used_alone_share)
    return (channel.channel, f"{channel.searches:,}", *map(format_share, shares))
