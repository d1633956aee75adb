"""Answers and the anchors of their evidence.

- Anchors: where the evidence for an answer is.
- Equivalence classes of memories that are interchangeably right.
- Answers, their judgments, and answered cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, one_of, require
from assay.records.heading_path import normalise

# --- Anchors: where the evidence for an answer is ---
#
# A gold support names a file and a heading path, not a chunk, so that it outlives every change of chunking. What a
# system retrieved is placed in the same terms (`PlacedChunk`) before it is measured.
# `GoldAnchors` is the gold side of one case; groups and classes name its supports by position, from 0.


class ConflictRule(StrEnum):
    """What a right answer does with notes that disagree."""

    CITE_NEWER = "cite_newer"
    ACKNOWLEDGE_BOTH = "acknowledge_both"
    CITE_BOTH = "cite_both"


class FolderMode(StrEnum):
    """Whether the system chose folders before it searched."""

    OFF = "off"
    ON = "on"
    ON_WITH_FALLBACK = "on_with_fallback"


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldSupport:
    """One place that supports the answer."""

    rel_path: str
    heading_path: str = ""
    """Empty: anywhere in the file."""
    snippets: tuple[str, ...] = ()
    """Any one of them in a chunk's text is a snippet hit."""
    dated: datetime | None = None
    """How old the note is; needed only where the rule is `cite_newer` and there are several supports."""

    def __post_init__(self) -> None:
        require(self, values.label, "rel_path")
        require(self, _heading_path, "heading_path")
        require(self, values.labels, "snippets")
        allow(self, values.moment, "dated")


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievedChunk:
    """One passage a system retrieved or cited."""

    rel_path: str
    heading_path: str = ""
    text: str = ""
    chunk_id: str = ""
    """Where systems give one, a chunk listed twice is seen to be the same. Empty: every entry is its own."""

    def __post_init__(self) -> None:
        require(self, values.label, "rel_path")
        require(self, _heading_path, "heading_path")
        require(self, values.text, "text")
        require(self, values.optional_label, "chunk_id")


class Spot(NamedTuple):
    """One section of one file."""

    rel_path: str
    heading_path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedChunk(RetrievedChunk):
    """A passage with its position in the dataset's documents; `evaluation.placement` finds it by the text."""

    spots: tuple[Spot, ...] = ()
    """Every section that certainly contains it; empty: none of the dataset's sections does."""
    open_in: str | None = None
    """Where else it may stand: a file in which its section is not known, empty for anywhere; None: nowhere else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldAnchors:
    """What one anchored case expects."""

    supports: tuple[GoldSupport, ...] = ()
    required_support_groups: tuple[tuple[int, ...], ...] = ()
    """Multi-hop: one hit in each group is needed."""
    equivalent: tuple[tuple[int, ...], ...] = ()
    """Classes of interchangeable supports: a hit on any member counts, and counts once."""
    answerable: bool = True
    recency_conflict_rule: ConflictRule | None = None

    def __post_init__(self) -> None:
        require(self, values.flag, "answerable")
        allow(self, one_of(ConflictRule), "recency_conflict_rule")
        for name in ("required_support_groups", "equivalent"):
            for group in getattr(self, name):
                self._check_group(name, group)
        members = [position for group in self.equivalent for position in group]
        if len(members) != len(set(members)):
            raise BadValue(f"equivalent {self.equivalent} names a support twice", remedy="Join the two classes.")

    def _check_group(self, name: str, group: tuple[int, ...]) -> None:
        if not group or not all(0 <= position < len(self.supports) for position in group):
            raise BadValue(
                f"{name} has the group {list(group)} over {len(self.supports)} supports",
                remedy="Name one or more supports by position, from 0.",
            )


def _heading_path(value: Any, field: str) -> str:
    return normalise(values.optional_label(value, field))


# --- Equivalence classes of memories that are interchangeably right ---


@dataclass(frozen=True, kw_only=True, slots=True)
class EquivalenceClasses:
    """Disjoint sets of ids. An id in none of them is equivalent only to itself."""

    classes: tuple[frozenset[str], ...] = ()
    _names: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {member: min(group) for group in self.classes for member in group}
        if len(names) != sum(len(group) for group in self.classes):
            raise BadValue("an id is in two equivalence classes", remedy="Join the two classes.")
        object.__setattr__(self, "_names", names)

    def name(self, one: str) -> str:
        """The id that represents a class: its smallest member."""
        return self._names.get(one, one)

    def names(self, ids: Iterable[str]) -> set[str]:
        """The classes that some ids belong to."""
        return {self.name(id_) for id_ in ids}


NO_CLASSES = EquivalenceClasses()


# --- Answers, their judgments, and answered cases ---
#
# A verdict is kept as the judge gave it, out of range or not: the metric decides whether it can be used.


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenAnswer:
    """What a system answered."""

    text: str
    references: tuple[RetrievedChunk, ...] = ()
    abstained: bool | None = None
    """None: neither the system nor a judge gave it."""
    confidence: float | None = None
    """The confidence that the system reported, from 0 to 1."""

    def __post_init__(self) -> None:
        require(self, values.text, "text")
        allow(self, values.flag, "abstained")
        allow(self, values.share, "confidence")


@dataclass(frozen=True, kw_only=True, slots=True)
class RubricVerdict:
    """The verdict of a judge on one answer under one rubric."""

    score: float | None
    """None: the reply could not be read."""
    reason: str = ""

    def __post_init__(self) -> None:
        require(self, values.text, "reason")


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """One statement of an answer and the references it points to."""

    text: str
    citations: tuple[int, ...] = ()
    """Positions in the answer's references, from 1, as the marks `[1]` in its text."""

    def __post_init__(self) -> None:
        require(self, values.text, "text")


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredCase:
    """One question, its answer, and a judge's verdict on whether the answer is correct."""

    answerable: bool
    answer: GivenAnswer
    correctness: RubricVerdict | None = None
    """None: not judged."""

    def __post_init__(self) -> None:
        require(self, values.flag, "answerable")
