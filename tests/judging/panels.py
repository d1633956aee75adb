"""Panels for tests: roles that say what they are told to, and material for each checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.judging.panel import Panel, PanelMember
from assay.judging.panel_options import PanelOptions
from assay.records.judging import JudgeKind, RoleOutcome, RoleResult
from assay.records.research import (
    DIMENSIONS,
    Checkpoint,
    Citation,
    Issue,
    Material,
    Passage,
    Plan,
    PlannedQuery,
    Role,
    Statement,
    Synthesis,
    roles_at,
)
from assay.testing import FixedClock

QUESTION = "How long does the session cookie live?"
PLAN = Plan(question=QUESTION, queries=(PlannedQuery(text="session cookie life"),))
PASSAGE = Passage(number=1, text="The session cookie lives for twelve hours.", memory_id="m_1", title="Cookie")
ANSWER = Synthesis(
    text="Twelve hours. [1]",
    statements=(Statement(text="Twelve hours.", citations=(1,)),),
    citations=(Citation(number=1, memory_id="m_1"),),
)
Says = Callable[[Material], RoleResult]


def material(checkpoint: Checkpoint = Checkpoint.PLAN, **given: Any) -> Material:
    """Something to look at."""
    filled: dict[str, Any] = {"checkpoint": checkpoint, "question": QUESTION, "plan": PLAN}
    if checkpoint is not Checkpoint.PLAN:
        filled["passages"] = (PASSAGE,)
    if checkpoint is Checkpoint.ANSWER:
        filled["synthesis"] = ANSWER
    return Material(**{**filled, **given})


def result(role: Role, scores: Mapping[str, float], confidence: float = 0.9, **more: Any) -> RoleResult:
    """What a role said."""
    filled: dict[str, Any] = {"evaluator": "told", "kind": "builtin", "critique": f"{role} has spoken"}
    return RoleResult(role=role.value, scores=scores, confidence=confidence, **{**filled, **more})


def lost(role: Role, outcome: RoleOutcome = RoleOutcome.UNAVAILABLE, reason: str = "it is down") -> RoleResult:
    """A role that gave nothing."""
    return RoleResult(role=role.value, evaluator="told", kind="model", outcome=outcome, reason=reason)


def alike(checkpoint: Checkpoint, score: float | Mapping[str, float], confidence: float = 0.9) -> list[RoleResult]:
    """Every role of a checkpoint says the same."""
    given = score if isinstance(score, Mapping) else {one.value: score for one in DIMENSIONS[checkpoint]}
    issue = Issue(issue="it is vague", fix="be exact", terms=("exact",))
    return [result(role, given, confidence, issues=(issue,)) for role in roles_at(checkpoint)]


class PassingClock(FixedClock):
    """For the thread that made it so many seconds pass with every look; for all others it stands still.

    So a deadline passes once the first answer is there, however long a busy machine took to give it.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._owner = threading.get_ident()

    def monotonic(self) -> float:
        if threading.get_ident() == self._owner:
            self.advance(seconds=self._seconds)
        return super().monotonic()


class Told:
    """A member that says what it is told, or raises it, or waits for it."""

    kind: JudgeKind = "builtin"
    name = "told"

    def __init__(self, role: Role, says: RoleResult | Exception | threading.Event | Says) -> None:
        self.role = role.value
        self._says = says
        self.asked = 0

    def examine(self, material: Material, deadline_s: float) -> RoleResult:
        self.asked += 1
        if isinstance(self._says, Exception):
            raise self._says
        if isinstance(self._says, threading.Event):
            self._says.wait(20)
            raise TimeoutError
        return self._says if isinstance(self._says, RoleResult) else self._says(material)


def panel(members: Mapping[Checkpoint, Sequence[PanelMember]], **options: Any) -> Panel:
    """A panel of these."""
    reviewer, clock = options.pop("reviewer", None), options.pop("clock", FixedClock())
    return Panel(members, clock=clock, options=PanelOptions(**options), reviewer=reviewer)


def saying(results: Sequence[RoleResult]) -> list[Told]:
    """Members that say these."""
    return [Told(Role(one.role), one) for one in results]
