"""Fields that requests share: what they may hold is said once, and shown in every schema and reference page.

Numbers and truth values are strict: a text is none. Times are ISO 8601; without a zone they are UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

LONGEST_TEXT = 1_000_000
LONGEST_QUERY = 20_000
MOST_LABELS = 50
MOST_RESULTS = 100
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.:#-]{0,127}$"
"""What ids look like."""
NO_PATH = r"^[^/\\.][^/\\]*$"
"""What names of runs and datasets look like: never a path."""


def _read_time(value: Any) -> datetime:
    """Read a day or a time in ISO 8601 here: strict and lax readers of JSON would differ over a day without a time."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError) as problem:
        raise ValueError("give a time in ISO 8601") from problem


def _in_utc(moment: datetime) -> datetime:
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as problem:
        raise ValueError("give a time within the years 1 to 9999") from problem


Whole = Annotated[int, Field(strict=True)]
YesNo = Annotated[bool, Field(strict=True)]
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
Moment = Annotated[datetime, BeforeValidator(_read_time), AfterValidator(_in_utc)]
Label = Annotated[str, Field(min_length=1, max_length=500)]
Labels = Annotated[tuple[Label, ...], Field(max_length=MOST_LABELS)]
Id = Annotated[str, Field(min_length=1, max_length=128, pattern=NAME)]
MemoryId = Annotated[
    str, Field(min_length=1, max_length=128, pattern=NAME, description="The memory's id, as a search gives it.")
]
SessionId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=500,
        description="Any name for the present conversation, the same in each call: what it was given is known.",
    ),
]
EventKey = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=100,
        description="A name of your own for this event, of letters, digits, _ and -: sent again, it counts once.",
    ),
]
Count = Annotated[
    int | None,
    Field(strict=True, ge=1, le=MOST_RESULTS, description=f"How many results, 1 to {MOST_RESULTS}."),
]
