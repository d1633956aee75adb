"""What several servers over one store agree on: leases, shared limits and live questions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """The right to do a piece of background work, held by one process until it expires."""

    name: str
    """The work, such as `reembed:default`."""
    holder: str
    """The process that holds it."""
    term: int
    """Counts the holders: a process that was replaced has a smaller one."""
    taken_at: datetime
    expires_at: datetime


class Granted(NamedTuple):
    """What a shared limit gave."""

    requests: int
    """Requests that may be made now."""
    wait_s: float
    """Seconds until one more may be made; 0 when some were granted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveRow:
    """A question that some server is answering or has just answered."""

    ticket: str
    question: str
    started_at: datetime
    seen_at: datetime
    """When its server last said that it is at work on it."""
    ended_at: datetime | None = None
    """None: it is being answered."""
    log_id: str = ""
    """The id of the stored answer; empty until there is one."""
    problem: str = ""
    """Why it ended without an answer."""


class LiveEvent(NamedTuple):
    """One event of a live question."""

    place: int
    """Its place among the events of its question, from 1."""
    name: str
    data: dict[str, Any]
