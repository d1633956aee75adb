"""Evaluation cycles: one is complete with every 100 distinct questions measured *and* 14 days since the first run.

Two are complete with 200 questions and 28 days, whichever comes last: nothing that was learned is applied before what
it would change has been measured, twice. A question counts once in each 14 days, however often it is run: the same
hundred measured again after two weeks are a second cycle, the same ten run twenty times are not. Only stored runs of
Assay over documents of this memory count; what a run of another system scored says nothing about it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from assay.memory.learning.policy import Limits
from assay.records.learning import evidence_from_json
from assay.storage import Work
from assay.storage.repositories.learning import Cycle


class Measured(NamedTuple):
    """What runs of this memory have measured."""

    began_at: datetime | None
    """When the first of them was stored; None: there is none."""
    questions: int
    """Distinct questions, each once in each period of a cycle's length."""


def complete_cycles(work: Work, limits: Limits, now: datetime) -> list[Cycle]:
    """Write down every cycle that is complete by now; all of them, oldest first."""
    done = work.learned_terms.cycles()
    while (found := _next(work, limits, now, done)) is not None:
        work.learned_terms.add_cycle(found)
        detail = {"queries": found.queries, "ended_at": found.ended_at.isoformat()}
        work.audit.append("learning.cycle", f"cycle-{found.number}", detail)
        done.append(found)
    return done


def measure_questions(work: Work, limits: Limits, now: datetime) -> Measured:
    """Count the distinct questions that stored runs of this memory have measured."""
    began: datetime | None = None
    counted: set[tuple[int, str]] = set()
    for run in work.usage.full_runs(until=now):
        evidence = evidence_from_json(run.metrics_json)
        if evidence.own and evidence.questions:
            began = began or run.created_at
            period = _period(run.created_at - began, limits.cycle_time)
            counted.update((period, question) for question in evidence.questions)
    return Measured(began, len(counted))


def _next(work: Work, limits: Limits, now: datetime, done: list[Cycle]) -> Cycle | None:
    number = len(done) + 1
    first = work.usage.first_scored_at()
    # Reading what runs asked costs more than looking whether the time can have come; further cycles open nothing.
    if number > limits.cycles or first is None or now - first < number * limits.cycle_time:
        return None
    measured = measure_questions(work, limits, now)
    if measured.began_at is None or now - measured.began_at < number * limits.cycle_time:
        return None
    if measured.questions < number * limits.cycle_queries:
        return None
    return Cycle(number, measured.began_at, now, measured.questions - sum(cycle.queries for cycle in done))


def _period(since: timedelta, length: timedelta) -> int:
    return since // length
