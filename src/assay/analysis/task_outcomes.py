"""Whether tasks that went well had better searches than tasks that did not.

The unit is a task: its outcome is one observation, however many searches it has. A task's searches are those of its
session between its preflight and its postflight; tasks of one session that overlap share searches. Each measure is the
mean over a task's searches, then over tasks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assay.records import EventType, FeedbackEvent, LoggedQuery, TaskOutcome, TaskOutcomes, TaskRecord
from assay.records.sessions import MEASURE_TITLES, GroupComparison, GroupDifference, GroupMeasure, TaskGroup
from assay.statistics.independent_samples import half_width
from assay.storage import Work

MOST_TASKS = 1_000
"""Ended tasks that are looked at, the newest first."""
LEAST_TASKS = 10
"""Tasks of each of two groups below which no interval is given: it would rest on the assumption, not on the tasks."""
LEVEL = 0.95
"""Of all intervals of a comparison together."""
USED = frozenset({EventType.READ_AFTER_SEARCH, EventType.REFERENCE, EventType.VALIDATE_USEFUL})
"""Events that say that a result was used."""
CAUTION = "This is an association: a hard task may fail and be hard to search for, whatever the searches give."


class _TaskSearches(NamedTuple):
    """A task with the measures of its searches."""

    task: TaskRecord
    searches: int
    measures: Mapping[str, float]


def compare_task_outcomes(work: Work) -> TaskOutcomes:
    """Compare the searches of tasks by how they ended, and by what they taught."""
    ended = work.tasks.ended(limit=MOST_TASKS)
    session_ids = sorted({task.session_id for task in ended if task.session_id is not None})
    searches, events = _by_session(work.sessions.searches_of(session_ids)), work.sessions.events_of(session_ids)
    feedback = _by_query(events)
    tasks = [_measure_task(task, searches.get(task.session_id or "", ()), feedback) for task in ended]
    return TaskOutcomes(
        ended=len(ended),
        without_outcome=sum(task.outcome is None for task in ended),
        without_searches=sum(not task.searches for task in tasks),
        comparisons=(
            _compare("outcome", tasks, [outcome.value for outcome in TaskOutcome], _name_outcome),
            _compare("learning", tasks, ["learned", "not learned"], _name_learning),
        ),
        caution=CAUTION,
    )


def _by_session(searches: Sequence[LoggedQuery]) -> Mapping[str, Sequence[LoggedQuery]]:
    found: dict[str, list[LoggedQuery]] = defaultdict(list)
    for search in searches:
        found[search.session_id or ""].append(search)
    return found


def _by_query(events: Sequence[FeedbackEvent]) -> Mapping[str, Sequence[FeedbackEvent]]:
    found: dict[str, list[FeedbackEvent]] = defaultdict(list)
    for event in events:
        if event.query_id is not None:
            found[event.query_id].append(event)
    return found


# --- One task ---


def _measure_task(
    task: TaskRecord, searches: Sequence[LoggedQuery], feedback: Mapping[str, Sequence[FeedbackEvent]]
) -> _TaskSearches:
    own = [search for search in searches if task.begun_at <= search.created_at and _is_before_end(search, task)]
    events = [feedback.get(search.query_id, ()) for search in own]
    used = [_find_used(own_events) for own_events in events]
    ranks = [rank for search, memories in zip(own, used, strict=True) if (rank := _rank_first(search, memories))]
    values = {
        "used": [float(bool(memories)) for memories in used],
        "first_used": [1.0 / rank for rank in ranks],
        "asked_again": [float(_is_repeated(own_events)) for own_events in events],
        "quality_proxy": [search.quality_proxy_score for search in own if search.quality_proxy_score is not None],
    }
    # A measure without a single value is missing, not 0.
    return _TaskSearches(task, len(own), {name: _mean(given) for name, given in values.items() if given})


def _is_before_end(search: LoggedQuery, task: TaskRecord) -> bool:
    return task.ended_at is not None and search.created_at <= task.ended_at


def _find_used(events: Sequence[FeedbackEvent]) -> frozenset[str]:
    return frozenset(event.memory_id for event in events if event.memory_id is not None and event.event_type in USED)


def _rank_first(search: LoggedQuery, used: frozenset[str]) -> int | None:
    """The rank of the first result that was used; None when none was, or what was used is not among the results."""
    return next((rank for rank, memory_id in enumerate(search.result_ids, 1) if memory_id in used), None)


def _is_repeated(events: Sequence[FeedbackEvent]) -> bool:
    return any(event.event_type is EventType.RE_SEARCH for event in events)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


# --- Groups of tasks ---


def _name_outcome(task: TaskRecord) -> str | None:
    return None if task.outcome is None else task.outcome.value


def _name_learning(task: TaskRecord) -> str | None:
    if task.change is None:
        return None
    return "learned" if task.change.learning_index > 0.0 else "not learned"


def _compare(
    by: str, tasks: Sequence[_TaskSearches], names: Sequence[str], name_of: Callable[[TaskRecord], str | None]
) -> GroupComparison:
    """Compare the first two of the named groups."""
    members = {name: [task for task in tasks if name_of(task.task) == name] for name in names}
    groups = tuple(_sum_up(name, own) for name, own in members.items())
    first, second = names[:2]
    differences = tuple(
        difference
        for measure in MEASURE_TITLES
        if (difference := _differ(measure, members[first], members[second])) is not None
    )
    return GroupComparison(
        by=by, groups=groups, differences=differences, conclusion=_conclude(groups[0], groups[1], differences)
    )


def _sum_up(name: str, tasks: Sequence[_TaskSearches]) -> TaskGroup:
    measures = (
        GroupMeasure(measure=measure, mean=_mean(values), tasks=len(values))
        for measure in MEASURE_TITLES
        if (values := _values(measure, tasks))
    )
    return TaskGroup(
        name=name,
        tasks=len(tasks),
        searched=sum(bool(task.searches) for task in tasks),
        searches=sum(task.searches for task in tasks),
        measures=tuple(measures),
    )


def _values(measure: str, tasks: Sequence[_TaskSearches]) -> list[float]:
    return [task.measures[measure] for task in tasks if measure in task.measures]


def _differ(measure: str, first: Sequence[_TaskSearches], second: Sequence[_TaskSearches]) -> GroupDifference | None:
    one, other = _values(measure, first), _values(measure, second)
    if not one or not other:
        return None
    difference = _mean(one) - _mean(other)
    enough = min(len(one), len(other)) >= LEAST_TASKS
    # Each interval is wider than 95 %, so that all of a comparison hold together (Bonferroni).
    level = 1.0 - (1.0 - LEVEL) / len(MEASURE_TITLES)
    half = half_width(_size_and_variance(one), _size_and_variance(other), level) if enough else None
    return GroupDifference(
        measure=measure,
        difference=difference,
        low=None if half is None else difference - half,
        high=None if half is None else difference + half,
        tasks=(len(one), len(other)),
    )


def _size_and_variance(values: Sequence[float]) -> tuple[float, float]:
    return len(values), float(np.var(values, ddof=1))


def _conclude(first: TaskGroup, second: TaskGroup, differences: Sequence[GroupDifference]) -> str:
    counts = f"{first.searched:,} {first.name} and {second.searched:,} {second.name} tasks"
    if min(first.searched, second.searched) < LEAST_TASKS:
        return f"Too few to compare: {counts} have searches, and at least {LEAST_TASKS} of each are needed."
    clear = [difference for difference in differences if _excludes_zero(difference)]
    if not clear:
        return f"No measure differs between the searches of {counts} by more than chance gives."
    listed = "; ".join(
        f"{MEASURE_TITLES[difference.measure]} {difference.difference:+.3f} "
        f"[{difference.low:+.3f}, {difference.high:+.3f}]"
        for difference in clear
    )
    return f"Between the searches of {counts} these differ by more than chance gives: {listed}."


def _excludes_zero(difference: GroupDifference) -> bool:
    low, high = difference.low, difference.high
    return low is not None and high is not None and (low > 0.0 or high < 0.0)
