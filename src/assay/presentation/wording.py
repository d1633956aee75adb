"""How pages write numbers, moments and texts: one filter each, the same on every page. What is missing is a dash."""

from __future__ import annotations

from datetime import UTC, datetime

NOTHING = "\N{EN DASH}"
LONGEST_SHOWN = 20_000
"""Characters of one text that a page shows before it offers the rest."""
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_TONES = {
    "is-pass": {"pass", "passed", "ok", "better", "graduated", "applied", "holds", "active", "stored"},
    "is-warn": {
        "degraded", "inconclusive", "warn", "skipped", "paused", "recommended", "abstained", "severe", "futile",
        "medium", "withheld", "shadow", "superseded", "exhausted", "escalated",
    },
    "is-fail": {"fail", "failed", "error", "worse", "rejected", "rolled_back", "high", "timeout"},
    "is-info": {"running", "begun", "low", "new"},
}  # fmt: skip


def number(value: float | None, digits: int = 3) -> str:
    """A figure with so many digits."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def with_sign(value: float | None, digits: int = 3) -> str:
    """A difference."""
    return NOTHING if value is None else f"{value:+,.{digits}f}"


def percent(value: float | None, digits: int = 0) -> str:
    """A share in per cent."""
    return NOTHING if value is None else f"{value * 100:.{digits}f} %"


def milliseconds(value: float | None) -> str:
    """A time, in seconds where that reads better."""
    if value is None:
        return NOTHING
    if value >= 10_000:
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"


def duration(seconds: float | None) -> str:
    """How long something takes, in seconds or minutes."""
    if seconds is None:
        return NOTHING
    return f"{seconds:.0f} s" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:.0f} min"


def moment(value: datetime | None) -> str:
    """Day and minute, UTC."""
    return NOTHING if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"


def ago(value: datetime | None, now: datetime) -> str:
    """How long ago, in the largest fitting unit."""
    if value is None:
        return NOTHING
    seconds = (now - value).total_seconds()
    if seconds < _MINUTE:
        return "just now"
    for unit, length in (("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count:,} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def plain(name: object) -> str:
    """A name of the program as words: `context_recall` is "context recall"."""
    return str(name).replace("_", " ")


def count_of(count: int, what: str) -> str:
    """Such as `1 query`, `2 queries`."""
    if count == 1:
        return f"1 {what}"
    if what.endswith("ch"):
        return f"{count:,} {what}es"
    return f"{count:,} {what.removesuffix('y')}ies" if what.endswith("y") else f"{count:,} {what}s"


def tone(word: object) -> str:
    """The CSS class that colours a status; empty for a status that is neither good nor bad."""
    status = str(word).lower().replace(" ", "_")
    return next((name for name, words in _TONES.items() if status in words), "")


def beginning(text: str, longest: int = LONGEST_SHOWN) -> str:
    """As much of a text as a page shows at first."""
    return text if len(text) <= longest else text[:longest]


def one_line(text: str, longest: int = 140) -> str:
    """A text as one short line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"
