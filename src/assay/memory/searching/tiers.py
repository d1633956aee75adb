"""Deprecated memories are served last: behind every other result, whatever they score.

A factor could not promise that: how far boosts move a result depends on how near the others are. So the rule reorders
and leaves scores as they are; a hit says that it is deprecated, and its explanation from which place it came. Critical
and important memories are raised by a factor like any other (`boosts.boost_tier`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.memory.searching.results import Ranked
from assay.records import Tier
from assay.storage import Candidate

IsDeprecated = Callable[[Candidate], bool]
_DEPRECATED = Tier.DEPRECATED.value


class Split(NamedTuple):
    """A ranking in two parts."""

    current: list[Ranked]
    deprecated: list[Ranked]
    """With the place that each had among all."""


def is_deprecated(row: Candidate) -> bool:
    """Whether somebody marked the memory of a row as deprecated."""
    return row.memory.tier == _DEPRECATED


def is_never_deprecated(row: Candidate) -> bool:  # noqa: ARG001 - the rule for searches without the flag
    """Whether a memory counts as deprecated where tiers do not count: never."""
    return False


def split_deprecated(order: Sequence[Ranked], deprecated: IsDeprecated) -> Split:
    """Split a ranking, best first, into what is current and what is deprecated; both keep their order."""
    current: list[Ranked] = []
    last: list[Ranked] = []
    for place, ranked in enumerate(order, start=1):
        if not deprecated(ranked.row):
            current.append(ranked)
        else:
            # Split a second time, a result keeps the place it had the first time.
            first = place if ranked.served_last_from is None else ranked.served_last_from
            last.append(ranked._replace(served_last_from=first))
    return Split(current, last)
