"""Sessions: what a session was given so far, what it still has in view, and what it therefore attends to.

The query log is the history; a process adds the searches that its log has not written yet. Only searches of origin
`use` count: a canary or an evaluation leaves no trace in a session.

A result is in view when it was near the top of one of the session's last searches. What is in view is named in later
results and not given again; everything else is given as often as it is found. See `design/session-hold-back.md`.

Attention is working memory: what was near the top of the last search has attention 1, and each further search
multiplies it by `DECAY`, so that it halves in about three searches; beyond `TURNS` searches it is forgotten. Attention
acts on what surrounds a memory and never on the memory itself: a result must not rise because it was shown before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import NamedTuple

from assay.records import Origin, Scope
from assay.storage import Work

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
        """The same with memories that the caller says it holds, as if the last search had them near its top."""
        return History((*self.turns, Turn("", memory_ids, len(memory_ids)))) if memory_ids else self

    def in_view(self, searches: int) -> dict[str, str]:
        """What was near the top of one of the last searches, each with the newest search that gave it."""
        recent = self.turns[-searches:] if searches else ()
        return {memory_id: turn.query_id for turn in recent for memory_id in turn.foremost}

    def given(self) -> frozenset[str]:
        """Every memory it was given."""
        return frozenset(one for turn in self.turns for one in turn.memory_ids)

    def attention(self) -> dict[str, float]:
        """What it attends to, in (0, 1]: what was near the top most recently most."""
        held: dict[str, float] = {}
        for back, turn in enumerate(reversed(self.turns[-TURNS:])):
            for one in turn.foremost:
                held.setdefault(one, DECAY**back)
        return held


def _when(turn: Turn) -> str:
    """What orders searches: ids of queries grow with time."""
    return turn.query_id


def earlier(turns: tuple[Turn, ...], before: str | None) -> tuple[Turn, ...]:
    """The searches that came before a query; all of them without one. Ids of queries grow with time."""
    return turns if before is None else tuple(turn for turn in turns if turn.query_id < before)


class Sessions:
    """The histories of all sessions, as this process knows them."""

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
        """The last search that this process knows of the session; the log may not have written it yet."""
        with self._lock:
            own = self._own.get((scope.tenant, session_id))
            return own[-1] if own else None

    def past(self, work: Work, scope: Scope) -> tuple[Turn, ...]:
        """The newest searches of the tenant, in any session: the log's when first asked, this process's besides."""
        with self._lock:
            if scope.tenant in self._read:
                return tuple(self._past[scope.tenant])
        recent = work.queries.recent(limit=PAST, origin=Origin.USE)
        logged = [Turn(one.query_id, one.result_ids, one.near_top) for one in recent]
        with self._lock:
            every = sorted({*logged, *self._past.get(scope.tenant, ())}, key=_when)
            self._past[scope.tenant] = deque(every, maxlen=PAST)
            self._read.add(scope.tenant)
            return tuple(self._past[scope.tenant])
