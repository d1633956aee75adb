"""Searches of tasks by how the tasks ended, on both back ends, with numbers computed by hand."""

from __future__ import annotations

import pytest

from assay.analysis.task_outcomes import LEAST_TASKS, compare_task_outcomes
from assay.records import (
    EventType,
    FeedbackEvent,
    LoggedQuery,
    Scope,
    TaskOutcome,
    TaskOutcomes,
    TaskRecord,
)
from assay.records.sessions import GroupComparison, TaskGroup
from assay.storage import Store
from assay.testing import FixedClock


class Desk:
    """Puts tasks with searches into a store."""

    def __init__(self, store: Store, scope: Scope, clock: FixedClock) -> None:
        self.store, self.scope, self.clock = store, scope, clock
        self.count = 0

    def task(
        self,
        outcome: TaskOutcome | None,
        *searches: int | None,
        learned: float = 0.5,
        again: int = 0,
        proxy: float | None = None,
    ) -> None:
        """One task; each search gives the rank of the result that was used, or None."""
        self.count += 1
        session, begun = f"s{self.count}", self.clock.now()
        for number, rank in enumerate(searches):
            self.clock.advance(seconds=60)
            self.search(f"eq_{self.count}_{number}", session, rank, repeated=number < again, proxy=proxy)
        self.clock.advance(seconds=60)
        task = TaskRecord(
            task_id=f"t{self.count}",
            session_id=session,
            knowledge_before=0.5,
            uncertainty_before=0.5,
            context_before=0.5,
            begun_at=begun,
            knowledge_after=0.5 + learned / 2,
            uncertainty_after=0.5,
            context_after=0.5,
            ended_at=self.clock.now(),
            outcome=outcome,
        )
        with self.store.writing(self.scope) as work:
            work.tasks.put(task)

    def search(
        self, query_id: str, session: str, rank: int | None, *, repeated: bool = False, proxy: float | None = None
    ) -> None:
        now = self.clock.now()
        query = LoggedQuery(
            query_id=query_id,
            query="where",
            tool_name="memory_search",
            created_at=now,
            session_id=session,
            result_ids=("m_1", "m_2", "m_3", "m_4"),
            quality_proxy_score=proxy,
        )
        self.store.log.append(self.scope, query)
        self.store.log.flush()
        kinds: list[tuple[EventType, str | None]] = []
        if rank is not None:
            kinds.append((EventType.READ_AFTER_SEARCH, f"m_{rank}"))
        if repeated:
            kinds.append((EventType.RE_SEARCH, None))
        events = [
            FeedbackEvent(
                event_key=f"{query_id}-{kind}",
                event_type=kind,
                session_id=session,
                created_at=now,
                query_id=query_id,
                memory_id=memory_id,
            )
            for kind, memory_id in kinds
        ]
        self.store.record_feedback(self.scope, events)

    def compare(self) -> TaskOutcomes:
        with self.store.reading(self.scope) as work:
            return compare_task_outcomes(work)


@pytest.fixture
def desk(store: Store, scope: Scope, clock: FixedClock) -> Desk:
    return Desk(store, scope, clock)


def by(found: TaskOutcomes, name: str) -> GroupComparison:
    return next(comparison for comparison in found.comparisons if comparison.by == name)


def means(group: TaskGroup) -> dict[str, float]:
    return {entry.measure: entry.mean for entry in group.measures}


def test_without_tasks_nothing_is_concluded(desk: Desk) -> None:
    found = desk.compare()
    assert (found.ended, found.without_outcome, found.without_searches) == (0, 0, 0)
    assert by(found, "outcome").differences == ()
    assert by(found, "outcome").conclusion.startswith("Too few to compare: 0 done and 0 failed tasks")


def test_measures_are_means_over_tasks_by_hand(desk: Desk) -> None:
    desk.task(TaskOutcome.DONE, 1, 2, None, proxy=0.8)
    desk.task(TaskOutcome.DONE, 4, proxy=0.6)
    desk.task(TaskOutcome.FAILED, None, None, again=1)
    desk.task(TaskOutcome.FAILED)
    desk.task(None, 1)

    found = desk.compare()
    done, failed, abandoned = by(found, "outcome").groups

    assert (found.ended, found.without_outcome, found.without_searches) == (5, 1, 1)
    assert (done.tasks, done.searched, done.searches) == (2, 2, 4)
    # used: 2 of 3 and 1 of 1; first used: (1 + 1/2) / 2 and 1/4.
    assert means(done) == pytest.approx(
        {"used": (2 / 3 + 1) / 2, "first_used": (0.75 + 0.25) / 2, "asked_again": 0, "quality_proxy": 0.7}
    )
    # Nothing was used and no proxy logged: both are missing, not 0.
    assert means(failed) == {"used": 0.0, "asked_again": 0.5}
    assert (failed.tasks, failed.searched) == (2, 1)
    assert (abandoned.tasks, abandoned.measures) == (0, ())


def test_few_tasks_have_a_difference_without_an_interval(desk: Desk) -> None:
    desk.task(TaskOutcome.DONE, 1, None)
    desk.task(TaskOutcome.FAILED, None)

    outcome = by(desk.compare(), "outcome")

    used = outcome.differences[0]
    assert (used.measure, used.difference, used.low, used.high, used.tasks) == ("used", 0.5, None, None, (1, 1))
    assert outcome.conclusion == (
        f"Too few to compare: 1 done and 1 failed tasks have searches, and at least {LEAST_TASKS} of each are needed."
    )


def test_a_difference_that_chance_does_not_give_is_named_with_its_interval(desk: Desk) -> None:
    for number in range(12):
        desk.task(TaskOutcome.DONE, 1, 1, 1 if number % 2 else None)
        desk.task(TaskOutcome.FAILED, None, None, 3 if number % 2 else None)

    outcome = by(desk.compare(), "outcome")

    used = next(difference for difference in outcome.differences if difference.measure == "used")
    assert used.difference == pytest.approx(2 / 3)
    assert used.low is not None
    assert 0 < used.low < used.difference
    assert "searches with something used +0.667 [+" in outcome.conclusion


def test_searches_alike_are_called_alike(desk: Desk) -> None:
    for number in range(12):
        for outcome in (TaskOutcome.DONE, TaskOutcome.FAILED):
            desk.task(outcome, 1 if number % 2 else None)

    conclusion = by(desk.compare(), "outcome").conclusion
    assert conclusion == (
        "No measure differs between the searches of 12 done and 12 failed tasks by more than chance gives."
    )


def test_tasks_without_an_outcome_are_compared_by_what_they_taught(desk: Desk) -> None:
    desk.task(None, 1, learned=0.4)
    desk.task(None, None, learned=0.0)

    learned, not_learned = by(desk.compare(), "learning").groups

    assert (learned.tasks, means(learned)["used"]) == (1, 1.0)
    assert (not_learned.tasks, means(not_learned)["used"]) == (1, 0.0)


def test_searches_before_and_after_the_task_are_not_its_own(desk: Desk) -> None:
    desk.search("eq_early", "s1", 1)
    desk.clock.advance(seconds=300)
    desk.task(TaskOutcome.DONE, None)
    desk.clock.advance(seconds=300)
    desk.search("eq_late", "s1", 1)

    done = by(desk.compare(), "outcome").groups[0]
    assert (done.searches, means(done)["used"]) == (1, 0.0)


def test_another_tenant_is_not_seen(desk: Desk, scope: Scope) -> None:
    desk.task(TaskOutcome.DONE, 1)
    with desk.store.reading(Scope(tenant="other")) as work:
        assert compare_task_outcomes(work).ended == 0
    assert desk.compare().ended == 1
