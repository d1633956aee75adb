"""Tools around a task: `task_preflight` says what is known before, `task_postflight` what was learnt."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from assay.access import acts
from assay.mcp.tool import Arguments, Calling, Result, SessionId, Tool
from assay.records.sessions import TaskReport

MOST_VERDICTS = 200

TaskId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="A name of your own for the task, of letters, digits, _ and -; the same before and after.",
    ),
]
Knowledge = Annotated[float, Field(ge=0.0, le=1.0, description="How much of what the task needs you know, 0 to 1.")]
Uncertainty = Annotated[float, Field(ge=0.0, le=1.0, description="How unsure you are of what you know, 0 to 1.")]
InView = Annotated[
    float, Field(ge=0.0, le=1.0, description="How much of what surrounds the task you have in view, 0 to 1.")
]
Verdicts = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=500)], ...], Field(max_length=MOST_VERDICTS)]


class PreflightArguments(Arguments):
    """What is known before a task."""

    task_id: TaskId
    knowledge: Knowledge
    uncertainty: Uncertainty
    context: InView
    goal: Annotated[str, Field(max_length=4_000, description="What is to be done, up to 4,000 characters.")] = ""
    folder: Annotated[str, Field(max_length=500, description="Where the task belongs.")] = ""
    session_id: SessionId = None


class TaskBegun(Result):
    """The task as it is kept."""

    task_id: str
    session_id: str | None
    begun_at: datetime


def _preflight(calling: Calling, given: PreflightArguments) -> TaskBegun:
    task = calling.engine.preflight(
        calling.scope,
        TaskReport(
            task_id=given.task_id,
            knowledge=given.knowledge,
            uncertainty=given.uncertainty,
            context=given.context,
            session_id=given.session_id,
            folder=given.folder,
            goal=given.goal,
        ),
    )
    return TaskBegun(task_id=task.task_id, session_id=task.session_id, begun_at=task.begun_at)


class PostflightArguments(Arguments):
    """What is known after it."""

    task_id: TaskId
    knowledge: Knowledge
    uncertainty: Uncertainty
    context: InView
    result: Annotated[str, Field(max_length=4_000, description="How it ended, up to 4,000 characters.")] = ""
    useful: Annotated[Verdicts, Field(description=f"Ids of memories that helped, up to {MOST_VERDICTS}.")] = ()
    not_useful: Annotated[Verdicts, Field(description=f"Ids of memories that did not, up to {MOST_VERDICTS}.")] = ()
    session_id: SessionId = None


class Unjudged(Result):
    """A memory that the session read and has not judged."""

    memory_id: str
    title: str


class TaskDone(Result):
    """What the task changed, by your own numbers; each from -1 to 1, and more is better."""

    task_id: str
    knowledge_delta: float
    uncertainty_reduction: float
    context_gain: float
    learning_index: float
    duration_minutes: float
    validated: int
    to_validate: list[Unjudged]
    """What to give a verdict on with memory_validate."""


def _postflight(calling: Calling, given: PostflightArguments) -> TaskDone:
    ended = calling.engine.postflight(
        calling.scope,
        TaskReport(
            task_id=given.task_id,
            knowledge=given.knowledge,
            uncertainty=given.uncertainty,
            context=given.context,
            session_id=given.session_id,
            result=given.result,
            useful=given.useful,
            not_useful=given.not_useful,
        ),
    )
    return TaskDone(
        task_id=ended.task.task_id,
        **ended.outcome._asdict(),
        validated=ended.validated,
        to_validate=[Unjudged(memory_id=one.memory_id, title=one.title or "") for one in ended.to_validate],
    )


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="task_preflight",
        title="Before a task",
        description="Say what you know before a task, so that what it taught can be told afterwards.",
        act=acts.TASK_RECORD,
        arguments=PreflightArguments,
        result=TaskBegun,
        call=_preflight,
    ),
    Tool(
        name="task_postflight",
        title="After a task",
        description="Say what you know after a task and which memories helped; the answer lists what is left to judge.",
        act=acts.TASK_RECORD,
        arguments=PostflightArguments,
        result=TaskDone,
        call=_postflight,
    ),
)
