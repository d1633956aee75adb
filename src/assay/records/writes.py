"""Writes under test: what a save should do, what it did, and pairs of memories that contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.errors import BadValue
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
class SaveTask:
    """A note to be saved where another is already, and what should become of it."""

    title: str
    body: str
    triggers: tuple[str, ...] = ()
    after: str
    """The document that is there already."""
    expected: tuple[SaveDecision, ...]
    """The best decision first, then others that lose nothing."""
    contradicts: bool = False
    """Whether it says that something is not as the older note has it."""
    facts: tuple[str, ...] = ()
    """What both notes say together and a merge must keep, word for word."""

    def __post_init__(self) -> None:
        require(self, values.label, "title", "after")
        object.__setattr__(self, "body", values.text(self.body, "body", empty=False))
        require(self, values.labels, "triggers", "facts")
        object.__setattr__(self, "expected", tuple(one_of(SaveDecision)(one, "expected") for one in self.expected))
        require(self, values.flag, "contradicts")
        if not self.expected:
            raise BadValue(f"the save of {self.title!r} expects nothing", remedy="Name the decision that is right.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a save did, and what the memory holds after it."""

    decided: SaveDecision
    old_live: bool
    """Whether default search can still return the older note."""
    new_live: bool
    """Whether what was saved can be found, in a memory of its own or merged into another."""
    marked: bool = False
    """Whether a `contradicts` edge joins the two."""
    kept: str = ""
    """The text that now holds what was saved; empty where it was turned away."""

    def __post_init__(self) -> None:
        require(self, one_of(SaveDecision), "decided")
        require(self, values.flag, "old_live", "new_live", "marked")
        require(self, values.text, "kept")


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
