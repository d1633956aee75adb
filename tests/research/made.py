"""Pipelines for tests: planners, synthesisers and panels that do what they are told, over a real store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.judging.panels import ANSWER, PASSAGE, alike

from assay.clock import Clock
from assay.judging.panel import Panel
from assay.records import Scope
from assay.records.judging import JudgeKind, RoleResult
from assay.records.research import (
    Checkpoint,
    IterationMode,
    Material,
    Passage,
    Plan,
    PlanFeedback,
    PlannedQuery,
    Role,
    Synthesis,
    roles_at,
)
from assay.research.checkpoints import CheckpointEvaluator
from assay.research.options import ResearchOptions
from assay.research.pipeline import Observe, ResearchPipeline
from assay.research.run import PipelineParts
from assay.research.search import FoundPassages, SearchLimits
from assay.storage import Store
from assay.testing import FixedClock

Script = Callable[[Material, int], Sequence[RoleResult]]


class Planning:
    """Makes numbered plans and remembers the feedback; may raise instead."""

    def __init__(self, *raises_at: int) -> None:
        self._raises_at = raises_at
        self.feedback: list[PlanFeedback | None] = []

    @property
    def modes(self) -> list[IterationMode | None]:
        return [None if one is None else one.mode for one in self.feedback]

    def plan(self, question: str, *, feedback: PlanFeedback | None = None) -> Plan:
        self.feedback.append(feedback)
        number = len(self.feedback)
        if number in self._raises_at:
            raise RuntimeError(f"no plan {number}")
        return Plan(question=question, queries=(PlannedQuery(text=f"query {number}"),), planner="planning")


class Answering:
    """Gives the same answer, numbered; may raise or abstain instead."""

    def __init__(self, *raises_at: int, abstains: bool = False) -> None:
        self._raises_at = raises_at
        self._abstains = abstains
        self.feedback: list[str] = []

    def synthesise(
        self, question: str, passages: Sequence[Passage], *, plan: Plan | None = None, feedback: str = ""
    ) -> Synthesis:
        assert question
        assert plan is not None
        self.feedback.append(feedback)
        if len(self.feedback) in self._raises_at:
            raise RuntimeError("no answer")
        if self._abstains or not passages:
            return Synthesis(text="Not known.", abstained=True, reason="nothing says so")
        return replace(ANSWER, text=f"Answer {len(self.feedback)}. [1]")


class Finding:
    """Finds one passage, and remembers what was wanted."""

    def __init__(self, found: FoundPassages | Exception | None = None) -> None:
        self._found = found or FoundPassages(passages=(PASSAGE,), query_ids=("q_1",))
        self.wanted: list[tuple[Plan, SearchLimits]] = []

    def __call__(self, scope: Scope, plan: Plan, wanted: SearchLimits) -> FoundPassages:
        assert scope.tenant
        self.wanted.append((plan, wanted))
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


class Scripted:
    """A member of a panel that plays its part of a script; attempts are counted for each checkpoint."""

    kind: JudgeKind = "builtin"
    name = "scripted"

    def __init__(self, role: Role, script: Script) -> None:
        self.role = role.value
        self._script = script
        self._asked: dict[Checkpoint, int] = {}

    def examine(self, material: Material, deadline_s: float) -> RoleResult:
        assert deadline_s > 0
        number = self._asked[material.checkpoint] = self._asked.get(material.checkpoint, 0) + 1
        said = self._script(material, number)
        return next(one for one in said if one.role == self.role)


def scores(plan: Sequence[Any] = (0.9,), retrieval: Any = 0.9, answer: Sequence[Any] = (0.9,)) -> Script:
    """A script in which all roles agree: one entry for each attempt, the last one for good."""

    def script(material: Material, number: int) -> Sequence[RoleResult]:
        listed = {Checkpoint.PLAN: plan, Checkpoint.RETRIEVAL: (retrieval,), Checkpoint.ANSWER: answer}
        line = listed[material.checkpoint]
        return alike(material.checkpoint, line[min(number, len(line)) - 1])

    return script


def members(script: Script) -> dict[Checkpoint, list[Scripted]]:
    """A scripted panel's seats."""
    return {one: [Scripted(role, script) for role in roles_at(one)] for one in Checkpoint}


def pipeline(
    store: Store,
    script: Script | None = None,
    *,
    planner: Any = None,
    synthesiser: Any = None,
    find: Any = None,
    options: ResearchOptions | None = None,
    reviewer: Any = None,
    seats: Mapping[Checkpoint, Sequence[Any]] | None = None,
    observe: Observe | None = None,
    clock_of_panel: Clock | None = None,
) -> ResearchPipeline:
    """A pipeline whose parts do what they are told."""
    chosen = options or ResearchOptions()
    clock = FixedClock()
    seated = seats or members(script or scores())
    panel = Panel(seated, clock=clock_of_panel or clock, options=chosen.panel, reviewer=reviewer)
    parts = PipelineParts(
        planner=planner or Planning(),
        synthesiser=synthesiser or Answering(),
        find=find or Finding(),
        checkpoints=CheckpointEvaluator(panel, options=chosen, clock=clock),
        clock=clock,
        options=chosen,
    )
    return ResearchPipeline(parts, store=store, observe=observe)
