"""Health of a memory: every part, how it is, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Condition(StrEnum):
    """How a part is."""

    OK = "ok"
    SILENT = "silent"
    """It should have found something and found nothing."""
    DEGRADED = "degraded"
    EMPTY = "empty"
    """There is nothing yet that it could find."""


@dataclass(frozen=True, slots=True)
class HealthLine:
    """One part and how it is."""

    name: str
    state: Condition
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HealthReport:
    """Every part."""

    ok: bool
    """Whether nothing is silent or degraded."""
    at: datetime
    parts: tuple[HealthLine, ...]


def report_health(parts: tuple[HealthLine, ...], at: datetime) -> HealthReport:
    """Return a report of these parts."""
    return HealthReport(ok=all(part.state in (Condition.OK, Condition.EMPTY) for part in parts), at=at, parts=parts)
