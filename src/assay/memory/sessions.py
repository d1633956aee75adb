"""Sessions: what a session was given, its tasks, and a summary of it.

- History: what a session was given, what it still has in view, and what it therefore attends to.
- Summary: searches, what was read and validated after each, tasks, and totals.
- Tasks: what an agent reports to know before and after a task.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from assay.clock import Clock
from assay.errors import InputError, RecordNotFound
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import (
    EventType,
    FeedbackEvent,
    Judgment,
    LoggedQuery,
    Origin,
    Scope,
    SessionMemory,
    SessionSummary,
    SessionTotals,
    SummarisedQuery,
    TaskEnded,
    TaskRecord,
    TaskReport,
)
from assay.records.searching import TRIGGER_TOOLS
from assay.storage import Store, Work

# --- History: what a session was given, what it still has in view, and what it therefore attends to ---
#
# The query log is the history; a process adds the searches that its log has not written yet. Only searches of origin
# `use` count: a canary or an evaluation leaves no trace in a session.
#
# A result is in view when it was near the top of one of the session's last searches. What is in view is named in later
# results and not given again; everything else is given as often as it is found. See `design/session-hold-back.md`.
#
# Attention is working memory: what was near the top of the last search has attention 1, and each further search
# multiplies it by `DECAY`, so that it halves in about three searches; beyond `TURNS` searches it is forgotten.
# Attention acts on what surrounds a memory and never on the memory itself: a result must not rise because it was shown
# before.

DECAY = 0.8
"""What one further search leaves of attention."""
TURNS = 20
"""How many searches back a session remembers what it attended to."""
HISTORY = 500
"""How many searches back a session remembers at all."""
PAST = 200
"""How many searches of a tenant are looked at for what was found together."""
SESSIONS = 1_000
"""How many sessions a process keeps before it forgets the one not used for longest; the log still has them."""


class Turn(NamedTuple):
    """One search of a session."""

    query_id: str
    memory_ids: tuple[str, ...]
    near_top: int | None = None
    """How many of them, from the first, were near the top; None: not known, then the first one counts."""

    @property
    def foremost(self) -> tuple[str, ...]:
        """Those near the top."""
        return self.memory_ids[: 1 if self.near_top is None else self.near_top]


class History(NamedTuple):
    """What a session was given, oldest search first."""

    turns: tuple[Turn, ...] = ()

    @property
    def cold(self) -> bool:
        """Whether the session has no history yet."""
        return not self.turns

    def holding(self, memory_ids: tuple[str, ...]) -> History:
        """Add memories that the caller already holds, as if the last search had returned them near its top."""
        return History((*self.turns, Turn("", memory_ids, len(memory_ids)))) if memory_ids else self

    def in_view(self, searches: int) -> dict[str, str]:
        """What was near the top of one of the last searches, each with the newest search that gave it."""
        recent = self.turns[-searches:] if searches else ()
        return {memory_id: turn.query_id for turn in recent for memory_id in turn.foremost}

    def memories_given(self) -> frozenset[str]:
        """Return every memory that the session was given."""
        return frozenset(memory_id for turn in self.turns for memory_id in turn.memory_ids)

    def attention(self) -> dict[str, float]:
        """What it attends to, in (0, 1]: what was near the top most recently most."""
        held: dict[str, float] = {}
        for back, turn in enumerate(reversed(self.turns[-TURNS:])):
            for memory_id in turn.foremost:
                held.setdefault(memory_id, DECAY**back)
        return held


def _when(turn: Turn) -> str:
    """What orders searches: ids of queries grow with time."""
    return turn.query_id


def earlier(turns: tuple[Turn, ...], before: str | None) -> tuple[Turn, ...]:
    """The searches that came before a query; all of them without one. Ids of queries grow with time."""
    return turns if before is None else tuple(turn for turn in turns if turn.query_id < before)


class Sessions:
    """The histories of all sessions in this process."""

    def __init__(self) -> None:
        self._own: OrderedDict[tuple[str, str], deque[Turn]] = OrderedDict()
        self._past: dict[str, deque[Turn]] = {}
        self._read: set[str] = set()
        self._lock = threading.Lock()

    def note(self, scope: Scope, session_id: str | None, turn: Turn) -> None:
        """Remember a search that the log may not have written yet."""
        with self._lock:
            self._past.setdefault(scope.tenant, deque(maxlen=PAST)).append(turn)
            if session_id is not None:
                key = (scope.tenant, session_id)
                self._own.setdefault(key, deque(maxlen=HISTORY)).append(turn)
                self._own.move_to_end(key)
                if len(self._own) > SESSIONS:
                    self._own.popitem(last=False)

    def history(self, work: Work, scope: Scope, session_id: str) -> History:
        """What the session was given, by this process and by every other whose log is written."""
        logged = work.queries.of_session(session_id, limit=HISTORY)
        written = [Turn(row.query_id, row.result_ids, row.near_top) for row in logged]
        known = {turn.query_id for turn in written}
        with self._lock:
            own = tuple(self._own.get((scope.tenant, session_id), ()))
        # Ids of queries grow with time, whichever process made them.
        every = [*written, *(turn for turn in own if turn.query_id not in known)]
        return History(tuple(sorted(every, key=_when)))

    def newest(self, scope: Scope, session_id: str) -> Turn | None:
        """Return the session's last search in this process; it may not be in the log yet."""
        with self._lock:
            own = self._own.get((scope.tenant, session_id))
            return own[-1] if own else None

    def past(self, work: Work, scope: Scope) -> tuple[Turn, ...]:
        """Return the tenant's newest searches in any session: the log's at first use, then also this process's."""
        with self._lock:
            if scope.tenant in self._read:
                return tuple(self._past[scope.tenant])
        recent = work.queries.recent(limit=PAST, origin=Origin.USE)
        logged = [Turn(query.query_id, query.result_ids, query.near_top) for query in recent]
        with self._lock:
            every = sorted({*logged, *self._past.get(scope.tenant, ())}, key=_when)
            self._past[scope.tenant] = deque(every, maxlen=PAST)
            self._read.add(scope.tenant)
            return tuple(self._past[scope.tenant])


# --- Summary: searches, what was read and validated after each, tasks, and totals ---
#
# Only what is written down counts: searches of origin `use`, feedback events, judgments, tasks. A read is an event
# `read_after_search` or `reference`; a search counts as asked again when a `re_search` event names it.

RELEVANT_FROM = 2
"""The grade from which a judged result counts as relevant."""

READS = frozenset({EventType.READ_AFTER_SEARCH, EventType.REFERENCE})
VERDICTS = {EventType.VALIDATE_USEFUL: True, EventType.VALIDATE_NOT_USEFUL: False}


class _SessionEvents(NamedTuple):
    """Everything that is written down of a session."""

    searches: Sequence[LoggedQuery]
    events: Sequence[FeedbackEvent]
    judgments: Sequence[Judgment]
    tasks: Sequence[TaskRecord]


def summarise_session(work: Work, session_id: str) -> SessionSummary:
    """The summary of one session; a session nothing is known of is refused."""
    searches = work.sessions.searches(session_id)
    seen = _SessionEvents(
        searches=searches,
        events=work.sessions.events(session_id),
        judgments=work.sessions.judgments([search.query_id for search in searches]),
        tasks=work.tasks.of_session(session_id),
    )
    moments = [
        *(search.created_at for search in seen.searches),
        *(event.created_at for event in seen.events),
        *(moment for task in seen.tasks for moment in (task.begun_at, task.ended_at) if moment is not None),
    ]
    if not moments:
        raise RecordNotFound(
            f"nothing is known of a session {session_id!r} in this scope",
            remedy="See `assay session list`, and check the tenant.",
        )
    minutes = (max(moments) - min(moments)).total_seconds() / 60
    return SessionSummary(
        session_id=session_id,
        began_at=min(moments),
        queries=tuple(_query(search, seen.events) for search in searches),
        memories=_memories(work, seen),
        tasks=tuple(seen.tasks),
        totals=_totals(seen, minutes),
    )


def memories_of(work: Work, session_id: str) -> tuple[SessionMemory, ...]:
    """The memories a session met, without the rest of its summary; none when it met none."""
    return _memories(work, _SessionEvents(work.sessions.searches(session_id), work.sessions.events(session_id), (), ()))


def _query(search: LoggedQuery, events: Sequence[FeedbackEvent]) -> SummarisedQuery:
    own = [event for event in events if event.query_id == search.query_id]
    return SummarisedQuery(
        query_id=search.query_id,
        query=search.query,
        asked_at=search.created_at,
        intent=search.intent,
        result_ids=search.result_ids,
        selected_ids=tuple(dict.fromkeys(_ids(own, READS))),
        validated=tuple(_verdicts(own).items()),
        searched_again=any(event.event_type is EventType.RE_SEARCH for event in own),
        pressure_level=search.pressure_level,
        tokens_saved=search.tokens_saved,
    )


def _ids(events: Iterable[FeedbackEvent], kinds: frozenset[EventType]) -> Iterable[str]:
    return (event.memory_id for event in events if event.memory_id is not None and event.event_type in kinds)


def _verdicts(events: Iterable[FeedbackEvent]) -> dict[str, bool]:
    """The last verdict on each memory."""
    return {
        event.memory_id: VERDICTS[event.event_type]
        for event in events
        if event.memory_id is not None and event.event_type in VERDICTS
    }


def _memories(work: Work, seen: _SessionEvents) -> tuple[SessionMemory, ...]:
    shown = Counter(memory_id for search in seen.searches for memory_id in search.result_ids)
    read = frozenset(_ids(seen.events, READS))
    verdicts = _verdicts(seen.events)
    met = dict.fromkeys([*shown, *read, *verdicts])
    titles = work.sessions.titles(met)
    found = [
        SessionMemory(
            memory_id=memory_id,
            title=titles.get(memory_id),
            shown=shown[memory_id],
            read=memory_id in read,
            useful=verdicts.get(memory_id),
        )
        for memory_id in met
    ]
    return tuple(sorted(found, key=lambda memory: (not memory.read, -memory.shown, memory.memory_id)))


def _totals(seen: _SessionEvents, minutes: float) -> SessionTotals:
    searches = len(seen.searches)
    asked = {search.query_id for search in seen.searches}
    again = {event.query_id for event in seen.events if event.event_type is EventType.RE_SEARCH} & asked
    # A text whose trigger phrases were matched is not a question.
    questions = sum(search.tool_name not in TRIGGER_TOOLS for search in seen.searches)
    needs = questions - len(again)
    return SessionTotals(
        total_searches=searches,
        total_memories_accessed=len(frozenset(_ids(seen.events, READS))),
        avg_mrr=_mean_reciprocal_rank(seen),
        re_search_rate=len(again) / searches if searches else None,
        needs=needs,
        searches_per_need=questions / needs if needs else None,
        session_duration_minutes=minutes,
        memories_given=len({memory_id for search in seen.searches for memory_id in search.result_ids}),
        tokens_saved=sum(search.tokens_saved or 0 for search in seen.searches),
        held_back=sum(search.held_back or 0 for search in seen.searches),
    )


def _mean_reciprocal_rank(seen: _SessionEvents) -> float | None:
    """Return the mean over judged searches; a judged search without a relevant result counts as 0."""
    grades: dict[str, dict[str, int]] = {}
    for judgment in seen.judgments:
        grades.setdefault(judgment.query_id, {})[judgment.memory_id] = max(
            judgment.relevance, grades.get(judgment.query_id, {}).get(judgment.memory_id, 0)
        )
    ranks = [
        next(
            (
                1 / rank
                for rank, memory_id in enumerate(search.result_ids, 1)
                if graded.get(memory_id, 0) >= RELEVANT_FROM
            ),
            0.0,
        )
        for search in seen.searches
        if (graded := grades.get(search.query_id))
    ]
    return math.fsum(ranks) / len(ranks) if ranks else None


# --- Tasks: what an agent reports to know before and after a task ---
#
# A preflight opens a task, and may be said again until the task has ended. A postflight ends it, hands the verdicts
# that came with it to whoever keeps validations, and gives back what was read but not yet judged. Saying a postflight
# again replaces its numbers; verdicts are counted once, whatever is sent how often.

Validate = Callable[[str, bool, str | None, str], object]
"""Keep a verdict: memory, whether it was useful, session, the key under which it counts once."""


def preflight(store: Store, scope: Scope, report: TaskReport, clock: Clock) -> TaskRecord:
    """Begin a task."""
    if report.result or report.outcome or report.useful or report.not_useful:
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
        # Said again for its verdicts alone, a postflight does not take back how the task ended.
        outcome=report.outcome or task.outcome,
    )
    with store.writing(scope) as work:
        work.tasks.put(task)
    change = task.change
    assert change is not None  # noqa: S101 - every number was given just above
    return TaskEnded(
        task=task,
        change=change,
        validated=len(judged),
        to_validate=_open(store, scope, session_id) if session_id else (),
    )


def verdict_key(task_id: str, memory_id: str) -> str:
    """The key under which a task's verdict on a memory counts once."""
    return "task_" + content_hash([task_id, memory_id]).removeprefix(HASH_PREFIX)[:40]


def _open(store: Store, scope: Scope, session_id: str) -> tuple[SessionMemory, ...]:
    with store.reading(scope) as work:
        met = memories_of(work, session_id)
    return tuple(memory for memory in met if memory.read and memory.useful is None and memory.title is not None)
