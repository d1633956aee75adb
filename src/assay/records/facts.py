"""Facts of memories, and which of them hold no longer, as results show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from assay.records import values
from assay.records.fields import allow, require


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


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownFact:
    """A fact that a memory states, with its validity."""

    statement: str
    """The sentence."""
    subject: str
    """Who or what it is about, in one spelling."""
    relation: str
    value: str
    """The value as it was written."""
    negated: bool = False
    """Whether the sentence says that the value does not hold."""
    valid_from: datetime
    valid_to: datetime | None = None
    """When another fact took its place; None: it holds."""
    ended_by: str | None = None
    """The memory that states what holds instead."""
    now: str = ""
    """The value that took its place, as that memory writes it."""
    confirmed_at: datetime | None = None
    """When a person said that it holds after all."""

    def __post_init__(self) -> None:
        require(self, values.moment, "valid_from")
        allow(self, values.moment, "valid_to", "confirmed_at")
