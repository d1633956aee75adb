"""The first k of a list of results, each counted once, and where the first right one stands."""

from __future__ import annotations

from collections.abc import Container, Sequence

from assay.errors import BadValue


def check_cutoff(k: int | None) -> None:
    """A cutoff is a whole number from 1; None means the whole list."""
    if k is not None and k < 1:
        raise BadValue(f"cutoff {k} is not above 0", remedy="Write it like '@5'.")


def first(ranking: Sequence[str], k: int | None = None) -> list[str]:
    """The first k distinct ids. Of an id listed twice the first place counts, and the later ones move up."""
    check_cutoff(k)
    return list(dict.fromkeys(ranking))[:k]


def reciprocal_rank(ranking: Sequence[str], relevant: Container[str], k: int | None = None) -> float:
    """One over the place of the first relevant id; 0 when there is none among the first k."""
    places = (place for place, one in enumerate(first(ranking, k), start=1) if one in relevant)
    return 1 / next(places, float("inf"))
