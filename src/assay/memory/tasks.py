"""Tasks: what an agent says it knows before one and after it, and what the session read in between.

A preflight opens a task, and may be said again until the task has ended. A postflight ends it, hands the verdicts that
came with it to whoever keeps validations, and gives back what was read but not yet judged. Saying a postflight again
replaces its numbers; verdicts are counted once, whatever is sent how often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from assay.clock import Clock
from assay.errors import InputError, RecordNotFound
from assay.hashing import HASH_PREFIX, content_hash
from assay.memory.summarising import memories_of
from assay.records import Scope, SessionMemory, TaskEnded, TaskRecord, TaskReport
from assay.storage import Store

Validate = Callable[[str, bool, str | None, str], object]
"""Keep a verdict: memory, whether it was useful, session, the key under which it counts once."""


def preflight(store: Store, scope: Scope, report: TaskReport, clock: Clock) -> TaskRecord:
    """Begin a task."""
    if report.result or report.useful or report.not_useful:
        raise InputError(
            f"the preflight of {report.task_id} tells how the task ended", remedy="Say that in the postflight."
        )
    with store.writing(scope) as work:
        known = work.tasks.find(report.task_id)
        if known is not None and known.ended_at is not None:
            raise InputError(
                f"the task {report.task_id} has ended already", remedy="Begin another one, under another id."
            )
        task = TaskRecord(
            task_id=report.task_id,
            session_id=report.session_id,
            folder=report.folder,
            goal=report.goal,
            knowledge_before=report.knowledge,
            uncertainty_before=report.uncertainty,
            context_before=report.context,
            begun_at=clock.now() if known is None else known.begun_at,
        )
        work.tasks.put(task)
    return task


def postflight(store: Store, scope: Scope, report: TaskReport, clock: Clock, validate: Validate) -> TaskEnded:
    """End a task; its verdicts are kept first, so that saying it again after a failure loses none."""
    with store.reading(scope) as work:
        task = work.tasks.get(report.task_id)
        session_id = report.session_id or task.session_id
        judged = [*report.useful, *report.not_useful]
        there = work.sessions.titles(judged)
    for memory_id in judged:
        if memory_id not in there:
            raise RecordNotFound(f"there is no memory {memory_id!r} in this scope", remedy="Check the id; see `show`.")
    for memory_id in judged:
        validate(memory_id, memory_id in report.useful, session_id, verdict_key(report.task_id, memory_id))
    task = replace(
        task,
        session_id=session_id,
        knowledge_after=report.knowledge,
        uncertainty_after=report.uncertainty,
        context_after=report.context,
        ended_at=clock.now(),
        result=report.result,
    )
    with store.writing(scope) as work:
        work.tasks.put(task)
    outcome = task.outcome
    assert outcome is not None  # noqa: S101 - every number was given just above
    return TaskEnded(
        task=task,
        outcome=outcome,
        validated=len(judged),
        to_validate=_open(store, scope, session_id) if session_id else (),
    )


def verdict_key(task_id: str, memory_id: str) -> str:
    """The key under which a task's verdict on a memory counts once."""
    return "task_" + content_hash([task_id, memory_id]).removeprefix(HASH_PREFIX)[:40]


def _open(store: Store, scope: Scope, session_id: str) -> tuple[SessionMemory, ...]:
    with store.reading(scope) as work:
        met = memories_of(work, session_id)
    return tuple(one for one in met if one.read and one.useful is None and one.title is not None)
