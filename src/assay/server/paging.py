"""Long lists in pages: each names the cursor of the next.

A cursor says behind which row to go on, so nothing is shown twice or missed while rows are added; it is bound to its
list, and one that was made up is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

from assay.errors import BadValue

LARGEST = 200

T = TypeVar("T")
Limit = Annotated[int, Query(ge=1, le=LARGEST, description=f"Rows on a page, 1 to {LARGEST}.")]
Cursor = Annotated[
    str | None, Query(max_length=2_000, description="Where to go on: next_cursor of the page before. Unset: the start.")
]


def written(of: str, place: Any) -> str:
    """A cursor into a list, behind a place."""
    return base64.urlsafe_b64encode(json.dumps([of, place], separators=(",", ":")).encode()).decode().rstrip("=")


def read(of: str, cursor: str | None, kind: Callable[[Any], T], start: T) -> T:
    """The place a cursor leads to."""
    if cursor is None:
        return start
    try:
        named, place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if named == of:
            return kind(place)
    except (binascii.Error, ValueError, TypeError, RecursionError):
        pass
    raise BadValue(f"the cursor {cursor[:40]!r} leads nowhere in this list", remedy="Leave it out to begin anew.")


def number(place: Any) -> int:
    """A place that is the number of a row."""
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < 2**63:
        raise ValueError(place)
    return place


def text(place: Any) -> str:
    """A place that is an id."""
    if not isinstance(place, str) or not place.isprintable():
        raise ValueError(place)
    return place


def page(of: str, rows: Sequence[T], limit: int, place: Callable[[T], Any]) -> tuple[Sequence[T], str | None]:
    """The rows of a page of which one more was asked for, and the cursor of the next; None: it is the last."""
    shown = rows[:limit]
    return shown, written(of, place(shown[-1])) if len(rows) > limit else None
