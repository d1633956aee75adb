"""The observation hook: it is told what an agent read or wrote, and records what that says of earlier results.

Only what a search of origin `use` returned to the same session counts; everything else leaves no event. A path is
looked up among the memories that the session was given, so the hook costs the same however large the store is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from assay.clock import Clock
from assay.memory.learning import implicit
from assay.memory.learning.implicit import Watch
from assay.memory.learning.noise import CHOICES
from assay.memory.sessions import Sessions, Turn
from assay.records import FeedbackEvent, Scope
from assay.records.learning import Observation, Observed
from assay.storage import Store, Work
from assay.storage.repositories.queries import GivenMemory

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
        """Record what an observation says; nothing, when it has to do with no search of the session."""
        watch = Watch(session_id=observation.session_id, principal=scope.principal, now=self._clock.now())
        newest = self._sessions.newest(scope, observation.session_id)
        if newest is not None:
            self._store.log.make_sure_of(newest.query_id)
        with self._store.reading(scope) as work:
            turns = self._sessions.history(work, scope, observation.session_id).turns[-TURNS:]
            if observation.memory_id is not None:
                work.learning.state(observation.memory_id)
            events = self._derive_events(work, watch, observation, turns)
            events += self._find_asked_again(work, watch, turns, {one.query_id for one in events if one.query_id})
        if not events:
            return Observed()
        recorded = self._store.record_feedback(scope, events)
        return Observed(events=tuple(events), new=recorded.new, repeated=recorded.repeated)

    def _derive_events(
        self, work: Work, watch: Watch, observation: Observation, turns: Sequence[Turn]
    ) -> list[FeedbackEvent]:
        key = observation.event_key or ""
        if observation.wrote is not None:
            newest = turns[-WRITTEN_TURNS:]
            bodies = work.usage.bodies({one for turn in newest for one in turn.memory_ids})
            return implicit.references(watch, observation.wrote, sorted(bodies.items()), newest, key=key)
        memory_id = observation.memory_id
        if memory_id is None:
            given = work.usage.given({one for turn in turns for one in turn.memory_ids})
            memory_id = read_from(observation.path or "", given)
        return [] if memory_id is None else implicit.read(watch, memory_id, turns, key=key)

    def _find_asked_again(
        self, work: Work, watch: Watch, turns: Sequence[Turn], chosen: Collection[str]
    ) -> list[FeedbackEvent]:
        if len(turns) < 2:
            return []
        asked = work.usage.of_session(watch.session_id, limit=TURNS)
        before = work.usage.events_of([one.query_id for one in asked], CHOICES)
        return list(implicit.re_searches(watch, asked, {*chosen, *(query for query, _ in before)}))


def read_from(path: str, given: Sequence[GivenMemory]) -> str | None:
    """Which of some memories a path leads to: the one whose own path is its end, the longest first."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    found = [one for one in given if one.rel_path and _ends_with(parts, PurePosixPath(one.rel_path).parts)]
    best = max(found, key=lambda one: (len(one.rel_path), one.id), default=None)
    if best is not None:
        return best.id
    return next((one.id for one in given if one.source_id == path), None)


def _ends_with(parts: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return bool(end) and parts[-len(end) :] == end
