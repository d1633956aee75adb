"""The one way a system is called: anything it does becomes an outcome, and no exception gets through.

    raises, returns what cannot be read, NaN        error, with the reason
    takes longer than it may                        timeout; what it returns later is thrown away
    nothing found                                   empty: an answer, which ranking metrics read as an empty list
    a document listed twice                         ok; the first place counts, with a note
    more than were requested                        ok; the first k count, with a note
    ids the dataset does not have                   ok; they are kept, unjudged, with a note

Time is taken around the system's own work only. A call that hangs cannot be ended, only left behind: its thread does
not keep the process alive, and the next case gets a fresh one.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from assay.errors import AssayError, BadValue, EndpointUnavailable, ModelError
from assay.records.datasets import Asking, Case, build_query
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved, Seen
from assay.systems.protocol import System

Stopwatch = Callable[[], float]
LONGEST_MESSAGE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """The conditions under which a system is called."""

    k: int = 10
    timeout_s: float | None = 60.0
    """For one case; None: it may take as long as it likes."""
    known: Collection[str] = field(default_factory=frozenset)
    """The dataset's documents; empty: not known."""
    asking: Asking = Asking.LAST
    """What of a conversation is the query."""
    stopwatch: Stopwatch = time.perf_counter


class Failure(NamedTuple):
    """Why there is no list."""

    kind: CaseStatus
    message: str
    tries: int | None = None
    """How often the system was called, where that is known."""
    unreachable: bool = False
    """Nothing answered: no connection could be made, or it broke off."""


class _Timed(NamedTuple):
    given: Retrieved | Failure
    total_ms: float | None


class Asker:
    """Calls one system, one case at a time; each thread of a run has its own."""

    def __init__(self, system: System, terms: Terms) -> None:
        self._system = system
        self._terms = terms
        self._worker: _Worker | None = None

    def ask(self, case: Case, repeat: int = 0) -> CaseResult:
        """One case. Raises nothing but what ends the program."""
        timed = self._call_with_deadline(case)
        given = timed.given if isinstance(timed.given, Failure) else _check(timed.given, self._terms)
        if isinstance(given, Failure):
            return CaseResult(
                case_id=case.id,
                repeat=repeat,
                status=given.kind,
                error=given.message,
                total_ms=timed.total_ms,
                tries=given.tries,
                unreachable=given.unreachable,
            )
        status = CaseStatus.OK if given.ids or given.answer is not None else CaseStatus.EMPTY
        given = self._with_seen(case, given)
        return CaseResult(
            case_id=case.id,
            repeat=repeat,
            status=status,
            retrieved=given,
            total_ms=timed.total_ms,
            cost=given.cost,
            tries=given.tries,
        )

    def _call_with_deadline(self, case: Case) -> _Timed:
        if self._terms.timeout_s is None:
            return self._call(case)
        if self._worker is None:
            self._worker = _Worker(self._call)
        found = self._worker.ask(case, self._terms.timeout_s)
        if found is None:
            self._worker = None
            late = Failure(CaseStatus.TIMEOUT, f"no answer within {self._terms.timeout_s:g} s")
            return _Timed(late, self._terms.timeout_s * 1000.0)  # it took at least that long
        return found

    def _call(self, case: Case) -> _Timed:
        begun = self._terms.stopwatch()
        try:
            given: Retrieved | Failure = self._call_system(case)
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise  # whoever watches the run wants it to end; nobody sends it to another thread
            given = failure_of(problem)
        return _Timed(given, (self._terms.stopwatch() - begun) * 1000.0)

    def _call_system(self, case: Case) -> Retrieved:
        query = build_query(case, self._terms.asking)
        found = self._system.retrieve(query, self._terms.k, case) if case.save is None else self._system.save(case)
        if not isinstance(found, Retrieved):
            raise BadValue(f"the system returned {type(found).__name__}", remedy="Return Retrieved.")
        answer = self._system.answer(query, case)
        return found if answer is None else replace(found, answer=answer)

    def _with_seen(self, case: Case, given: Retrieved) -> Retrieved:
        """What the system reports about how it got there; an error in the report does not fail the case."""
        try:
            seen = self._system.seen(case, given) or self._find_held(case, given)
        except Exception as problem:  # noqa: BLE001 - as above
            why = failure_of(problem).message
            return replace(given, notes=(*given.notes, f"how the list was made is not known: {why}"))
        return given if seen is None else replace(given, seen=seen)

    def _find_held(self, case: Case, given: Retrieved) -> Seen | None:
        """Which judged documents the index holds, of a system that knows this and reports nothing more itself."""
        held = self._system.holds(case.labels) if case.labels and case.save is None else None
        if held is None:
            return None
        indexed = tuple(document for document in case.labels if document in held)
        return replace(given.seen or Seen(), indexed=indexed)

    def close(self) -> None:
        """Let the thread go."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None


LOOK_UP_S = 0.5
"""A Ctrl-C just before a wait begins, or one that another thread hears, is seen only when the wait ends."""


class _Worker:
    """A thread that makes calls, and can be left behind with one that hangs."""

    def __init__(self, call: Callable[[Case], _Timed]) -> None:
        self._call = call
        self._asked: queue.SimpleQueue[Case | None] = queue.SimpleQueue()
        self._call_system: queue.SimpleQueue[_Timed] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="assay-case", daemon=True).start()

    def ask(self, case: Case, timeout_s: float) -> _Timed | None:
        """The answer; None: it did not come in time, and this worker is of no more use."""
        self._asked.put(case)
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            with suppress(queue.Empty):
                return self._call_system.get(timeout=min(left, LOOK_UP_S))
        self.stop()
        return None

    def stop(self) -> None:
        self._asked.put(None)

    def _run(self) -> None:
        while (case := self._asked.get()) is not None:
            self._call_system.put(self._call(case))


def failure_of(problem: BaseException) -> Failure:
    """An error as an outcome, in one line that can be stored."""
    told = problem.message if isinstance(problem, AssayError) else f"{type(problem).__name__}: {_text_of(problem)}"
    kind = CaseStatus.TIMEOUT if isinstance(problem, TimeoutError) else CaseStatus.ERROR
    printable = "".join(
        character if character.isprintable() else " " for character in told.encode(errors="replace").decode()
    )
    message = " ".join(printable.split())[:LONGEST_MESSAGE]
    tries = problem.tries or None if isinstance(problem, ModelError) else None
    return Failure(kind, message, tries, is_unreachable(problem))


def is_unreachable(problem: BaseException) -> bool:
    """Whether nothing answered at all: a refused or broken connection, of an adapter or inside a function."""
    return isinstance(problem, ConnectionError) or (isinstance(problem, EndpointUnavailable) and problem.unreachable)


def _text_of(problem: BaseException) -> str:
    try:
        return str(problem) or "no message"
    except Exception:  # noqa: BLE001 - even its message may raise
        return "its message cannot be read"


def _check(given: Retrieved, terms: Terms) -> Retrieved | Failure:
    try:
        return _usable(given, terms)
    except Exception as problem:  # noqa: BLE001 - a field of a type nobody foresaw
        return failure_of(problem)


def _usable(given: Retrieved, terms: Terms) -> Retrieved:
    for identifier in given.ids:
        if not identifier:
            raise BadValue("an id is empty", remedy="Give every result an id.")
        identifier.encode()
    scores = _scores(given)
    places = _first_places(given.ids)
    kept = places[: terms.k]
    notes = [*given.notes, *_notes(given, places, terms)]
    kept_all = len(kept) == len(given.ids) and len(notes) == len(given.notes)
    if kept_all and all(type(part) in _UNCHANGING for part in (given.ids, given.scores, given.notes)):
        return given
    return replace(
        given,
        ids=tuple(given.ids[place] for place in kept),
        scores=None if scores is None else tuple(scores[place] for place in kept),
        notes=tuple(notes),
    )


_UNCHANGING = (tuple, type(None))
"""What nobody can change after it was returned."""


def _scores(given: Retrieved) -> tuple[float, ...] | None:
    if given.scores is None:
        return None
    if len(given.scores) != len(given.ids):
        raise BadValue(f"{len(given.ids)} results have {len(given.scores)} scores", remedy="Give each a score.")
    for score in given.scores:
        if not math.isfinite(score):
            raise BadValue(f"a score is {score}", remedy="Give finite scores.")
    return given.scores


def _first_places(ids: tuple[str, ...]) -> list[int]:
    first: dict[str, int] = {}
    for place, identifier in enumerate(ids):
        first.setdefault(identifier, place)
    return list(first.values())


def _notes(given: Retrieved, places: list[int], terms: Terms) -> list[str]:
    shown = [given.ids[place] for place in places[: terms.k]]
    # What a save made is of course not among the documents that were there before.
    compared = terms.known and given.saved is None
    foreign = [document for document in shown if document not in terms.known] if compared else []
    told = (
        (len(given.ids) - len(places), "repeated results dropped"),
        (max(0, len(places) - terms.k), "results beyond k dropped"),
        (len(foreign), f"ids that the dataset does not have, such as {foreign[0] if foreign else ''}"),
    )
    return [f"{count} {what}" for count, what in told if count]
