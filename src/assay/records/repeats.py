"""Find what is given twice."""

from __future__ import annotations

from collections.abc import Iterable


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that was there before, or None; the time grows with the names, not with their square."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
