"""Answers: what a system said, what a judge made of it, and one answered case as the answer metrics read it.

A verdict is kept as the judge gave it, out of range or not: the metric decides whether it can be used.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.records import values
from assay.records.anchors import RetrievedChunk
from assay.records.checked import allow, require


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenAnswer:
    """What a system answered."""

    text: str
    references: tuple[RetrievedChunk, ...] = ()
    abstained: bool | None = None
    """None: neither the system nor a judge said."""
    confidence: float | None = None
    """How sure the system said it was, from 0 to 1."""

    def __post_init__(self) -> None:
        require(self, values.text, "text")
        allow(self, values.flag, "abstained")
        allow(self, values.share, "confidence")


@dataclass(frozen=True, kw_only=True, slots=True)
class RubricVerdict:
    """What a judge said of one answer under one rubric."""

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
    """One question, its answer, and what a judge said of the answer's correctness."""

    answerable: bool
    answer: GivenAnswer
    correctness: RubricVerdict | None = None
    """None: not judged."""

    def __post_init__(self) -> None:
        require(self, values.flag, "answerable")
