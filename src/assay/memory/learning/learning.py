"""The way in to learning: votes, observations, loads; catching up on them; approving, taking back, showing.

Recording is quick and learning waits: `validate`, `observe` and `load` write events, `catch_up` learns from them. A
process that lives on catches up in the background; one that ends does so when it closes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from assay.clock import Clock
from assay.errors import NotReady, SettingError
from assay.flags import Flags, FlagState
from assay.memory.learning.background import Background
from assay.memory.learning.cycles import complete_cycles
from assay.memory.learning.kill_switch import Alarm, watch
from assay.memory.learning.noise import CHOICES
from assay.memory.learning.observing import Observing
from assay.memory.learning.policy import Policy
from assay.memory.learning.principals import Principals
from assay.memory.learning.rollback import Which, roll_back
from assay.memory.learning.standing import FLAG, standing
from assay.memory.learning.triggers import Triggers
from assay.memory.learning.validation import Validating, Vote
from assay.memory.rights import check_readable
from assay.memory.sessions import Sessions
from assay.memory.showing import show
from assay.records import Scope, ShownMemory
from assay.records.learning import (
    CaughtUp,
    LearnedTerm,
    LearningChange,
    LearningStatus,
    Observation,
    Observed,
    RolledBack,
    Validated,
)
from assay.storage import Store


class Learning:
    """Learns from use. One serves any number of scopes and threads."""

    def __init__(
        self,
        *,
        store: Store,
        flags: Flags,
        sessions: Sessions,
        clock: Clock,
        policy: Policy | None = None,
        background: bool = True,
    ) -> None:
        self.policy = policy or Policy()
        self._store = store
        self._flags = flags
        self._clock = clock
        self._principals = Principals()
        self._validating = Validating(
            store=store, sessions=sessions, policy=self.policy, principals=self._principals, clock=clock
        )
        self._observing = Observing(store=store, sessions=sessions, clock=clock)
        self._triggers = Triggers(self.policy, self._principals)
        self._background = Background(self.catch_up if background else _wait)

    def validate(self, scope: Scope, vote: Vote) -> Validated:
        """Somebody says that a memory was useful, or was not."""
        done = self._validating.validate(scope, vote)
        if vote.useful and not done.repeated:
            self._background.wake(scope)
        return done

    def observe(self, scope: Scope, observation: Observation) -> Observed:
        """An agent was seen reading a memory or writing a text."""
        done = self._observing.observe(scope, observation)
        if done.new and any(one.event_type in CHOICES for one in done.events):
            self._background.wake(scope)
        return done

    def load(self, scope: Scope, memory_id: str, *, session_id: str | None = None) -> ShownMemory:
        """Read a memory whole; in a session that counts as a read."""
        with self._store.reading(scope) as work:
            found = show(work, memory_id)
        check_readable(found.memory)
        if session_id is not None:
            self.observe(scope, Observation(session_id=session_id, memory_id=memory_id))
        with self._store.writing(scope) as work:
            work.learning.count_access(memory_id)
        return found

    def catch_up(self, scope: Scope) -> CaughtUp:
        """Learn from what was recorded since the last time, apply what may be, end what is over, watch the whole."""
        events = learned = 0
        while True:
            with self._store.writing(scope) as work:
                flag, now = self._flags.states(work)[FLAG], self._clock.now()
                complete_cycles(work, self.policy.limits, now)
                if not flag.on:
                    work.learned_terms.put_progress(last_event=work.usage.last_event())
                    return CaughtUp(expired=self._triggers.expire(work, now))
                page = self._triggers.digest(work, flag.activated_at or now, now)
            events, learned = events + page.events, learned + page.learned
            if not page.more:
                break
        return self._act(scope, CaughtUp(events=events, learned=learned))

    def _act(self, scope: Scope, so_far: CaughtUp) -> CaughtUp:
        with self._store.writing(scope) as work:
            now = self._clock.now()
            expired = self._triggers.expire(work, now)
            stands = standing(work, self.policy, self._flags.states(work)[FLAG], now)
            applied = self._triggers.apply(work, now) if stands.applying else 0
            alarm = watch(work) if self.policy.watched else None
        if alarm is not None:
            self._stop(scope, alarm)
        return replace(so_far, applied=applied, expired=expired, stopped="" if alarm is None else str(alarm))

    def _stop(self, scope: Scope, alarm: Alarm) -> None:
        """Switch learning off; where the environment holds the switch, take its terms out of memories instead."""
        with self._store.writing(scope) as work:
            work.learned_terms.put_progress(killed_at=self._clock.now(), killed_because=str(alarm))
            work.audit.append("learning.kill_switch", FLAG, {"because": str(alarm)})
        try:
            self._flags.turn(self._store, scope, FLAG, False)
        except SettingError:
            self.roll_back_terms(scope)

    def roll_back_terms(self, scope: Scope) -> None:
        """Take every learned term out of its memory."""
        with self._store.writing(scope) as work:
            for memory_id in {one.memory_id for one in work.learned_terms.of()}:
                roll_back(work, self.policy, self._principals, Which(memory_id=memory_id), self._clock.now())

    def standing(self, scope: Scope) -> LearningStatus:
        """How learning stands."""
        with self._store.writing(scope) as work:
            now = self._clock.now()
            complete_cycles(work, self.policy.limits, now)
            return standing(work, self.policy, self._flags.states(work)[FLAG], now)

    def approve(self, scope: Scope) -> LearningStatus:
        """A person lets learned terms into memories. Refused while anything but the approval is missing."""
        stands = self.standing(scope)
        missing = [one.said for one in stands.closed if "approved" not in one.said]
        if not stands.on:
            missing.insert(0, f"the flag {FLAG} is off")
        if missing:
            with self._store.writing(scope) as work:
                work.audit.append("learning.gate", FLAG, {"said": "approval refused", "missing": missing})
            raise NotReady(
                f"learned triggers cannot be approved yet: {'; '.join(missing)}",
                remedy="See `assay learn status`; approve when nothing else is missing.",
            )
        self._flags.review(self._store, scope, FLAG)
        self.catch_up(scope)
        return self.standing(scope)

    def roll_back(self, scope: Scope, which: Which) -> RolledBack:
        """Take back what was learned: of a memory, from a moment on, by a writer."""
        with self._store.writing(scope) as work:
            return roll_back(work, self.policy, self._principals, which, self._clock.now())

    def terms(self, scope: Scope, memory_id: str | None = None) -> list[LearnedTerm]:
        """What was learned, in whatever state."""
        with self._store.reading(scope) as work:
            return work.learned_terms.of(memory_id=memory_id)

    def changes(
        self,
        scope: Scope,
        *,
        memory_id: str | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[LearningChange]:
        """What learning did to memories, oldest first, what was taken back included; `after` is the id to go on at."""
        with self._store.reading(scope) as work:
            return work.learning.changes(memory_id=memory_id, since=since, undone=True, after=after, limit=limit)

    def flag(self, scope: Scope) -> FlagState:
        """The switch."""
        with self._store.reading(scope) as work:
            return self._flags.states(work)[FLAG]

    def close(self) -> None:
        """Catch up on what still waits, and end."""
        self._background.close()


def _wait(_: Scope) -> None:
    """Whoever wants to catch up says so."""
