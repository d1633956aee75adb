"""Fields of routes that are not made from verbs: those that requests share, and ids that stand in paths."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from assay.verbs.fields import (
    LONGEST_QUERY,
    LONGEST_TEXT,
    MOST_LABELS,
    MOST_RESULTS,
    NAME,
    NO_PATH,
    Count,
    EventKey,
    Id,
    Label,
    Moment,
    SessionId,
    Share,
    Whole,
    YesNo,
)

__all__ = [
    "LONGEST_QUERY",
    "LONGEST_TEXT",
    "MOST_LABELS",
    "MOST_RESULTS",
    "NAME",
    "NO_PATH",
    "Count",
    "EventKey",
    "Id",
    "IdInPath",
    "Label",
    "Moment",
    "NameInPath",
    "SessionId",
    "Share",
    "Whole",
    "YesNo",
]

IdInPath = Annotated[str, Path(min_length=1, max_length=128, pattern=NAME)]
NameInPath = Annotated[str, Path(min_length=1, max_length=200, pattern=NO_PATH)]
