"""Writes under test: what a save should have done, what it did, and pairs of memories that contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.records import values
from assay.records.checked import allow, one_of, require


class SaveDecision(StrEnum):
    """What became of a memory that was to be saved."""

    STORE = "store"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    REJECT = "reject"


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveTrial:
    """One labelled save: what it should have done and what it did."""

    expected: SaveDecision
    decided: SaveDecision | None
    """None: the save failed."""
    reason: str = ""

    def __post_init__(self) -> None:
        require(self, one_of(SaveDecision), "expected")
        allow(self, one_of(SaveDecision), "decided")
        require(self, values.optional_label, "reason")


@dataclass(frozen=True, kw_only=True, slots=True)
class ContradictingPair:
    """Two memories that cannot both be true, after both were saved."""

    first_live: bool
    """Whether default search can still return it: neither superseded nor rejected."""
    second_live: bool
    marked: bool = False
    """Whether a `contradicts` edge joins them."""

    def __post_init__(self) -> None:
        require(self, values.flag, "first_live", "second_live", "marked")
