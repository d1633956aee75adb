"""Searching again for the same need, recorded the moment it happens.

- Which earlier search a search repeats.
- The watch: looks at every search of a session in a thread of its own.

Whoever asks the same in other words did not find what was needed; an agent that then gives up leaves nothing else
behind. `re_search` names the first of the two searches, once, whatever is reported later.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.clock import Clock
from assay.memory.learning.observing import SessionWatch
from assay.memory.learning.triggers import CHOICES
from assay.memory.learning.votes import bearing, subject
from assay.records import EventType, FeedbackEvent, Origin, Scope, SearchRequest, SearchResult
from assay.records.searching import TRIGGER_TOOLS
from assay.storage import Store

# --- Which earlier search a search repeats ---
#
# Of the session's last searches the newest that asks for the same: by shared words, or by meaning (the cosine of the
# two queries) where an embedder is loaded. It was in vain unless something it returned was read, reused or found useful
# before it was asked again. Thresholds: `python -m bench.repeated_searches`.

SOON = timedelta(minutes=30)
"""A search after more than this is for a new need."""
LOOKED_BACK = 5
"""Searches back that one can repeat: others may lie between."""
SAME_MEANING = 0.65
"""With the bundled embedder, of 100 labelled pairs: 60 % of the repeated needs, 2 % of the others."""
SAME_WORDS = 0.6
"""Of the stems of two queries together, without stop words, the share that both have: 18 % and none of the same."""
BUNDLED_RELATED = 0.75
"""Where the bundled embedder sees one subject; another embedder's threshold is moved in proportion."""


class AskedQuery(NamedTuple):
    """One search of a session."""

    query_id: str
    query: str
    created_at: datetime


class Likeness(NamedTuple):
    """How alike two queries are."""

    value: float
    threshold: float
    by: str
    """`meaning` or `words`."""

    @property
    def is_same_need(self) -> bool:
        """Whether the later query repeats the earlier one."""
        return self.value >= self.threshold


class Repeat(NamedTuple):
    """A search and the later one that repeats it."""

    first: AskedQuery
    again: AskedQuery
    likeness: Likeness


class ComparedQuery(NamedTuple):
    """A query as a unit vector, and from which cosine on its model sees one subject."""

    values: NDArray[np.float32]
    related: float


Embed = Callable[[str], ComparedQuery | None]
"""Makes the vector of a query; None: no model is loaded, or it failed."""
Compare = Callable[[str, str], Likeness]


def compare_words(first: str, second: str) -> Likeness:
    """Compare two queries by the words they share."""
    return Likeness(bearing(subject(first), subject(second)), SAME_WORDS, "words")


def compare_by(embed: Embed) -> Compare:
    """Return a comparison by words and, where those differ, by meaning, if the queries have vectors."""

    def compare(first: str, second: str) -> Likeness:
        by_words = compare_words(first, second)
        if by_words.is_same_need:
            return by_words
        one, other = embed(first), embed(second)
        if one is None or other is None:
            return by_words
        return Likeness(float(one.values @ other.values), SAME_MEANING * one.related / BUNDLED_RELATED, "meaning")

    return compare


def find_repeated(again: AskedQuery, earlier: Sequence[AskedQuery], compare: Compare) -> Repeat | None:
    """Return the newest of the earlier searches, oldest first, that asks for the same need; None: it is a new one."""
    for first in list(reversed(earlier))[:LOOKED_BACK]:
        if not timedelta(0) <= again.created_at - first.created_at <= SOON:
            continue
        likeness = compare(first.query, again.query)
        if likeness.is_same_need:
            return Repeat(first, again, likeness)
    return None


def make_event(repeat: Repeat, session_id: str, principal: str) -> FeedbackEvent:
    """Return the event of a repeated search. Its key is made from the first search: it counts once."""
    watch = SessionWatch(session_id=session_id, principal=principal, now=repeat.again.created_at)
    return watch.event(
        EventType.RE_SEARCH,
        repeat.first.query_id,
        None,
        None,
        again=repeat.again.query_id,
        alike=round(repeat.likeness.value, 3),
        by=repeat.likeness.by,
    )


# --- The watch: looks at every search of a session in a thread of its own ---
#
# A search only puts a line into a list. The thread compares and records, and ends with the engine, after what waits.

CAPACITY = 10_000
"""Searches that may wait; more are left out and counted."""
SESSIONS = 1_000
"""Sessions whose last searches a process remembers; the query log has the others."""


class _Noted(NamedTuple):
    scope: Scope
    session_id: str
    query: AskedQuery


class RepeatedSearches:
    """Records `re_search` for searches that repeat an earlier one of their session in vain."""

    def __init__(self, *, store: Store, embed: Embed, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._compare = compare_by(embed)
        self._waiting: deque[_Noted] = deque()
        self._recent: OrderedDict[tuple[str, str], deque[AskedQuery]] = OrderedDict()
        self._mutex = threading.Lock()
        self._working = threading.Lock()
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._counts = {"recorded": 0, "dropped": 0, "failed": 0}
        self.problem: str | None = None
        """What went wrong last."""

    def note(self, scope: Scope, request: SearchRequest, result: SearchResult) -> None:
        """Have a search looked at; costs its caller microseconds."""
        if request.session_id is None or request.origin is not Origin.USE or request.tool_name in TRIGGER_TOOLS:
            return
        query = AskedQuery(result.query_id, request.query, self._clock.now())
        with self._mutex:
            if self._stopped.is_set() or len(self._waiting) >= CAPACITY:
                self._counts["dropped"] += 1
                return
            self._waiting.append(_Noted(scope, request.session_id, query))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="assay-repeated-searches", daemon=True)
                self._thread.start()
        self._woken.set()

    def settle(self) -> None:
        """Look at everything that waits now, before what it leaves is read."""
        with self._working:
            while (noted := self._next()) is not None:
                self._look(noted)

    def counts(self) -> Mapping[str, int]:
        """Return how many repeated searches were recorded, left out because too many waited, or failed."""
        with self._mutex:
            return dict(self._counts)

    def close(self) -> None:
        """Look at what still waits, and end."""
        with self._mutex:
            self._stopped.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
        self.settle()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.wait()
            self._woken.clear()
            self.settle()

    def _next(self) -> _Noted | None:
        with self._mutex:
            return self._waiting.popleft() if self._waiting else None

    def _look(self, noted: _Noted) -> None:
        try:
            recorded = self._record(noted)
        except Exception as problem:  # noqa: BLE001 - a search was answered long ago; the thread goes on
            self.problem = f"{type(problem).__name__}: {problem}"
            self._count("failed")
        else:
            if recorded:
                self._count("recorded")

    def _record(self, noted: _Noted) -> bool:
        scope, session_id, again = noted
        earlier = self._earlier(noted)
        repeat = find_repeated(again, earlier, self._compare) if earlier else None
        if repeat is None or self._was_used(scope, repeat):
            return False
        self._store.log.make_sure_of(again.query_id)
        return self._store.record_feedback(scope, [make_event(repeat, session_id, scope.principal)]).new > 0

    def _earlier(self, noted: _Noted) -> list[AskedQuery]:
        """Return the session's searches before this one, oldest first: of the log, and of this process."""
        scope, session_id, again = noted
        with self._store.reading(scope) as work:
            used = work.usage.of_session(session_id, limit=2 * LOOKED_BACK)
        # A text whose trigger phrases were matched is not a question.
        logged = [query for query in used if query.tool_name not in TRIGGER_TOOLS]
        own = self._recent.setdefault((scope.tenant, session_id), deque(maxlen=LOOKED_BACK))
        self._recent.move_to_end((scope.tenant, session_id))
        if len(self._recent) > SESSIONS:
            self._recent.popitem(last=False)
        found = [AskedQuery(query.query_id, query.query, query.created_at) for query in logged]
        known = {query.query_id: query for query in (*own, *found)}
        own.append(again)
        # Ids of queries grow with time, whichever process made them.
        return [known[query_id] for query_id in sorted(known) if query_id < again.query_id]

    def _was_used(self, scope: Scope, repeat: Repeat) -> bool:
        """Whether something that the first search returned was used before it was asked again."""
        with self._store.reading(scope) as work:
            return bool(work.usage.events_of([repeat.first.query_id], CHOICES, until=repeat.again.created_at))

    def _count(self, what: str) -> None:
        with self._mutex:
            self._counts[what] += 1
