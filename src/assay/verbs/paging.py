"""Long lists in pages: each page names the cursor of the next.

A cursor says behind which row to go on, so nothing is shown twice or missed while rows are added. It is bound to its
list, and one that was made up is refused. Every list uses the same three fields: `cursor`, `limit`, `next_cursor`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field

from assay.errors import BadValue

LARGEST = 200
LIMIT_TEXT = f"Rows on a page, 1 to {LARGEST}."
CURSOR_TEXT = "Where to go on: next_cursor of the page before. Unset: the start."

T = TypeVar("T")
# Not strict: in an address everything is text.
PageLimit = Annotated[int, Field(ge=1, le=LARGEST, description=LIMIT_TEXT)]
PageCursor = Annotated[str | None, Field(max_length=2_000, description=CURSOR_TEXT)]


def write_cursor(of: str, place: Any) -> str:
    """Return a cursor into a list, behind a place."""
    return base64.urlsafe_b64encode(json.dumps([of, place], separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(of: str, cursor: str | None, kind: Callable[[Any], T], start: T) -> T:
    """Return the place a cursor leads to; raises `BadValue` for one of another list."""
    if cursor is None:
        return start
    try:
        named, place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if named == of:
            return kind(place)
    except (binascii.Error, ValueError, TypeError, RecursionError):
        pass
    raise BadValue(f"the cursor {cursor[:40]!r} leads nowhere in this list", remedy="Leave it out to begin anew.")


def row_number(place: Any) -> int:
    """Check a place that is the number of a row."""
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < 2**63:
        raise ValueError(place)
    return place


def row_id(place: Any) -> str:
    """Check a place that is an id."""
    if not isinstance(place, str) or not place.isprintable():
        raise ValueError(place)
    return place


def cut_page(of: str, rows: Sequence[T], limit: int, place: Callable[[T], Any]) -> tuple[Sequence[T], str | None]:
    """Return the rows of a page of which one more was asked for, and the cursor of the next; None: it is the last."""
    shown = rows[:limit]
    return shown, write_cursor(of, place(shown[-1])) if len(rows) > limit else None
