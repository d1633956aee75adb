"""Facts of memories that hold no longer, as results show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from assay.records import values
from assay.records.fields import require


@dataclass(frozen=True, kw_only=True, slots=True)
class OutdatedFact:
    """A statement of a memory that stays, although what it states has changed."""

    memory_id: str
    """The memory that states it."""
    statement: str
    """The sentence."""
    value: str
    """What it gives, such as `100 requests`."""
    now: str
    """What holds instead, such as `500 requests`."""
    since: datetime
    by: str
    """The memory that states what holds instead."""

    def describe(self) -> str:
        """Say what holds no longer, since when, and what holds instead."""
        return f'outdated: "{self.value}" since {self.since:%Y-%m-%d}, now "{self.now}" ({self.by})'

    def __post_init__(self) -> None:
        require(self, values.identifier, "memory_id", "by")
        require(self, values.moment, "since")
