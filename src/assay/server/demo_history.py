"""Twelve weeks of questions for the demo: real answers of the pipeline, placed in earlier weeks.

Every answer is made now, by the rules, from the demo's own memory. What is made up is when it was asked: the records
are stored with earlier moments. Three things can be found in the history:

- One week was answered with a stricter operating point (`research.answer_from`). More questions were refused although
  a passage was there, and the Overview shows an alert.
- Questions for the newest of this year have no answer in the memory: a pattern.
- A few questions were asked again with a wider search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from assay.clock import Clock
from assay.memory.engine import Engine
from assay.records import Scope
from assay.records.research_log import QuestionOutcome, ResearchSession, TracedAnswer
from assay.settings import Settings
from assay.wiring.research import open_research

WEEKS = 12
QUESTIONS = 30
"""Answerable questions to research, spread over the whole dataset."""
A_WEEK = 30
"""Questions of each week, drawn in turn."""
STRIDE = 5
TODAY = 6
"""Answerable questions that are only asked now; with `OUTSIDE` they are the newest."""
STRICT_WEEK = 2
"""Weeks ago with the stricter operating point."""
STRICT_FROM = 0.9
"""The operating point of that week; the usual one is `assay.research.options.ANSWER_FROM`."""
OUTSIDE = ("Who won the chess world championship in 1972?", "How do I renew a passport for my cat?")
"""Questions that the memory cannot answer, to show abstention."""
NEWEST = (
    "What is the latest price of a ferry ticket this year?",
    "Which is the latest film in the village cinema this year?",
    "What are the latest opening hours of the museum this year?",
    "Who wrote the latest review in the travel magazine this year?",
    "What is the latest exchange rate of the krone this year?",
    "Which is the latest bus to the airport this year?",
    "What is the latest date of the harvest festival this year?",
    "Which band plays the latest concert on the pier this year?",
    "What is the latest score of the football club this year?",
    "Who is the latest mayor of the town this year?",
)
"""Questions that ask for the newest, of which the memory knows nothing."""
_TIMES = frozenset({"timestamp", "made_at"})
TAG = "demo"


class PastClock:
    """The clock of this machine, set back to a moment that can be changed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._back = timedelta(0)

    def set(self, moment: datetime) -> None:
        """Go on from a moment."""
        self._back = self._clock.now() - moment

    def now(self) -> datetime:
        """Return the moment it shows."""
        return self._clock.now() - self._back

    def monotonic(self) -> float:
        """Return seconds that pass as they do here."""
        return self._clock.monotonic()


class MovedRecord(NamedTuple):
    """An answered question as it is stored for another moment."""

    session: ResearchSession
    trace: Mapping[str, Any]


def ask_and_place(
    engine: Engine, settings: Settings, scope: Scope, answerable: Sequence[str], clock: PastClock
) -> list[TracedAnswer]:
    """Ask the questions of every week in their order, then those of today; return the answers of today.

    A question is asked once under each operating point. When its turn comes again, the record of its answer is stored
    again with the other moment.
    """
    today = clock.now()
    stricter = settings.change(research={**settings.research, "answer_from": STRICT_FROM})
    usual, strict = (open_research(given, engine, scope) for given in (settings, stricter))
    chosen = _spread(answerable)
    answers: dict[tuple[str, bool], TracedAnswer] = {}
    waiting: list[MovedRecord] = []
    for number, (question, moment, is_strict) in enumerate(_plan([*chosen[:-TODAY], *NEWEST], today)):
        known = answers.get((question, is_strict))
        if known is None:
            # Records are listed in the order in which they were stored.
            _put_all(engine, scope, waiting)
            clock.set(moment)
            answers[question, is_strict] = (strict if is_strict else usual).ask(scope, question, tags=(TAG,))
        else:
            waiting.append(_move(known, f"r_demo_{number:04}", moment))
    _put_all(engine, scope, waiting)
    clock.set(today)
    # Pages list the newest first, and the first questions of the dataset are the most typical.
    now = [usual.ask(scope, question, tags=(TAG,)) for question in (*OUTSIDE, *chosen[-TODAY:])]
    weak = [answer for answer in now if answer.outcome is not QuestionOutcome.ANSWERED][:1]
    return [*(usual.retry_search(scope, answer.log_id) for answer in weak), *now]


def _spread(answerable: Sequence[str]) -> list[str]:
    """Return questions from the whole dataset; the first ones, which are the most typical, come last."""
    step = max(1, len(answerable) // QUESTIONS)
    return list(reversed(answerable[::step][:QUESTIONS]))


def _plan(questions: Sequence[str], now: datetime) -> Iterator[tuple[str, datetime, bool]]:
    """Yield which question is asked when, and whether under the stricter operating point; oldest first."""
    monday = datetime.combine(now.astimezone(UTC).date() - timedelta(days=now.weekday()), datetime.min.time(), UTC)
    for week in range(WEEKS, 0, -1):
        for place in range(A_WEEK):
            # A stride without a common divisor, so that every question gets its turn.
            question = questions[(week * A_WEEK + place) * STRIDE % len(questions)]
            moment = monday - timedelta(weeks=week) + timedelta(hours=8 + place * 5, minutes=13 * place % 60)
            yield question, moment, week == STRICT_WEEK


def _move(answer: TracedAnswer, log_id: str, moment: datetime) -> MovedRecord:
    """Return a session and its record as if it had been asked at another moment."""
    later = moment - answer.session.created_at
    trace = _shift(answer.trace, later)
    return MovedRecord(replace(answer.session, log_id=log_id, created_at=moment), {**trace, "log_id": log_id})


def _put_all(engine: Engine, scope: Scope, waiting: list[MovedRecord]) -> None:
    """Store the records that wait in one transaction, and let none wait."""
    if waiting:
        with engine.store.writing(scope) as work:
            for record in waiting:
                work.research.put(record.session, record.trace)
        waiting.clear()


def _shift(value: Any, by: timedelta, name: str = "") -> Any:
    """Return a record with its moments moved."""
    if isinstance(value, Mapping):
        return {key: _shift(inner, by, key) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shift(inner, by) for inner in value]
    if name in _TIMES and isinstance(value, str):
        return (datetime.fromisoformat(value) + by).isoformat()
    return value
