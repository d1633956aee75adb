"""Observations: what an agent read or wrote, and which earlier results that confirms.

- Which events follow from what an agent read or wrote, given what its session was shown.
- The observation hook, which records these events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from assay.clock import Clock
from assay.memory.learning.votes import event_key, rank_of
from assay.memory.sessions import Sessions, Turn
from assay.records import EventType, FeedbackEvent, Scope
from assay.records.learning import Observation, Observed
from assay.storage import Store, Work
from assay.storage.repositories.queries import GivenMemory
from assay.text.terms import words

# --- Which events follow from what an agent read or wrote, given what its session was shown ---
#
# `read_after_search`: it read a memory that a search of the session returned. `scroll_past`: results above it in that
# list that it did not read. `reference`: it wrote a text that repeats a memory it was given word for word.
# Pure: lists in, events out; every event has a key of its own, so that whatever is derived twice counts once. Searches
# that repeat an earlier one are recorded when they happen: see `repeated_searches`.

RUN = 8
"""Words in a row that make a repetition; a stock phrase is shorter."""
STRIDE = 4
"""Runs of a memory begin at every fourth word, so any eleven repeated words contain one run."""
READ_WORDS = 3_000
"""Words of a written text, and of a memory, that are compared."""
SKIPPED = 20
"""Results above the one that was read that count as passed over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionWatch:
    """Whose events they are, and when."""

    session_id: str
    principal: str
    now: datetime

    def event(
        self, kind: EventType, query_id: str, memory_id: str | None, rank: int | None, *, key: str = "", **more: Any
    ) -> FeedbackEvent:
        """One event of this session. `key` is what its sender calls it."""
        return FeedbackEvent(
            event_key=key or event_key(kind, self.session_id, query_id, memory_id),
            event_type=kind,
            session_id=self.session_id,
            created_at=self.now,
            query_id=query_id,
            memory_id=memory_id,
            rank_in_results=rank,
            metadata={"principal": self.principal, **more},
        )


def find_reads(watch: SessionWatch, memory_id: str, turns: Sequence[Turn], *, key: str = "") -> list[FeedbackEvent]:
    """Return the events of a read: of the memory in the newest search that returned it, and of what was above."""
    turn = _newest(memory_id, turns)
    if turn is None:
        return []
    rank = rank_of(memory_id, turn.memory_ids) or 0
    above = turn.memory_ids[: rank - 1][:SKIPPED]
    found = watch.event(EventType.READ_AFTER_SEARCH, turn.query_id, memory_id, rank, key=key)
    passed = (
        watch.event(EventType.SCROLL_PAST, turn.query_id, skipped_id, place, read_at=rank)
        for place, skipped_id in enumerate(above, start=1)
    )
    return [found, *passed]


def find_references(
    watch: SessionWatch, wrote: str, bodies: Iterable[tuple[str, str]], turns: Sequence[Turn], *, key: str = ""
) -> list[FeedbackEvent]:
    """A text was written: one event for each memory of the session whose words it repeats."""
    said = words(wrote)[:READ_WORDS]
    runs = {tuple(said[start : start + RUN]) for start in range(len(said) - RUN + 1)}
    if not runs:
        return []
    repeated = [memory_id for memory_id, body in bodies if not _runs(body).isdisjoint(runs)]
    return [
        watch.event(
            EventType.REFERENCE,
            turn.query_id,
            memory_id,
            rank_of(memory_id, turn.memory_ids),
            key=_number_key(key, place),
        )
        for place, memory_id in enumerate(repeated)
        if (turn := _newest(memory_id, turns)) is not None
    ]


def _newest(memory_id: str, turns: Sequence[Turn]) -> Turn | None:
    return next((turn for turn in reversed(turns) if turn.query_id and memory_id in turn.memory_ids), None)


def _number_key(key: str, place: int) -> str:
    return key and (key if place == 0 else f"{key}.{place + 1}")


@lru_cache(maxsize=2_000)
def _runs(body: str) -> frozenset[tuple[str, ...]]:
    found = words(body)[:READ_WORDS]
    return frozenset(tuple(found[start : start + RUN]) for start in range(0, len(found) - RUN + 1, STRIDE))


# --- The observation hook, which records these events ---
#
# Only what a search of origin `use` returned to the same session counts; everything else leaves no event. A path is
# looked up among the memories that the session was given, so the hook costs the same however large the store is.

TURNS = 20
"""Searches of the session that an observation can belong to."""
WRITTEN_TURNS = 5
"""The same for a text that was written: what is older has left the agent's sight."""


class Observing:
    """Turns what was seen into events."""

    def __init__(self, *, store: Store, sessions: Sessions, clock: Clock) -> None:
        self._store = store
        self._sessions = sessions
        self._clock = clock

    def observe(self, scope: Scope, observation: Observation) -> Observed:
        """Record the events that follow from an observation; none if it relates to no search of the session."""
        watch = SessionWatch(session_id=observation.session_id, principal=scope.principal, now=self._clock.now())
        newest = self._sessions.newest(scope, observation.session_id)
        if newest is not None:
            self._store.log.make_sure_of(newest.query_id)
        with self._store.reading(scope) as work:
            turns = self._sessions.history(work, scope, observation.session_id).turns[-TURNS:]
            if observation.memory_id is not None:
                work.learning.state(observation.memory_id)
            events = self._derive_events(work, watch, observation, turns)
        if not events:
            return Observed()
        recorded = self._store.record_feedback(scope, events)
        return Observed(events=tuple(events), new=recorded.new, repeated=recorded.repeated)

    def _derive_events(
        self, work: Work, watch: SessionWatch, observation: Observation, turns: Sequence[Turn]
    ) -> list[FeedbackEvent]:
        key = observation.event_key or ""
        if observation.wrote is not None:
            newest = turns[-WRITTEN_TURNS:]
            bodies = work.usage.bodies({memory_id for turn in newest for memory_id in turn.memory_ids})
            return find_references(watch, observation.wrote, sorted(bodies.items()), newest, key=key)
        memory_id = observation.memory_id
        if memory_id is None:
            given = work.usage.find_given({memory_id for turn in turns for memory_id in turn.memory_ids})
            memory_id = read_from(observation.path or "", given)
        return [] if memory_id is None else find_reads(watch, memory_id, turns, key=key)


def read_from(path: str, given: Sequence[GivenMemory]) -> str | None:
    """Which of some memories a path leads to: the one whose own path is its end, the longest first."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    found = [memory for memory in given if memory.rel_path and _ends_with(parts, PurePosixPath(memory.rel_path).parts)]
    best = max(found, key=lambda one: (len(one.rel_path), one.id), default=None)
    if best is not None:
        return best.id
    return next((memory.id for memory in given if memory.source_id == path), None)


def _ends_with(parts: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return bool(end) and parts[-len(end) :] == end
