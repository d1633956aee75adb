"""What a judge is to everything that asks one: a question, an answer and its passages in, a verdict out.

A judge never raises for what it was given or for what its model did: a verdict without a value says why in its
`outcome`. The built-in judges and those that ask a model are told apart by `kind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from assay.records.judging import AbstentionVerdict, CorrectnessVerdict, GroundednessVerdict, JudgeKind


class GroundednessJudge(Protocol):
    """Says whether an answer's claims are supported by passages."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model judge."""
        ...

    def judge(self, question: str, answer: str, passages: Sequence[str]) -> GroundednessVerdict:
        """Judge one answer."""
        ...


class CorrectnessJudge(Protocol):
    """Says whether an answer is right."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model judge."""
        ...

    def judge(self, question: str, answer: str, passages: Sequence[str], *, reference: str = "") -> CorrectnessVerdict:
        """Judge one answer; a right answer helps where there is one."""
        ...


class AbstentionJudge(Protocol):
    """Says whether an answer declines to answer."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model judge."""
        ...

    def judge(self, question: str, answer: str) -> AbstentionVerdict:
        """Judge one answer."""
        ...
