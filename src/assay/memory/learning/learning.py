"""The way in to learning: votes, observations, catching up, approving, taking back, showing.

- Evaluation cycles: complete with 100 distinct questions measured and 14 days since the first run.
- Status of learning for one tenant: what is on, what was learned, what keeps it from being applied.
- Background: learning from an event runs after the event was recorded, so the caller does not wait.
- Learning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from assay.clock import Clock
from assay.errors import NotReady, SettingError
from assay.flags import Flags, FlagState
from assay.memory.learning.kill_switch import Alarm, watch_exposure
from assay.memory.learning.observing import Observing
from assay.memory.learning.policy import Limits, Opening, Policy, Principals
from assay.memory.learning.rollback import Which, roll_back
from assay.memory.learning.triggers import CHOICES, Triggers, measure_noise
from assay.memory.learning.votes import Validating, Vote
from assay.memory.rights import check_readable
from assay.memory.sessions import Sessions
from assay.memory.showing import show
from assay.records import Scope, ShownMemory
from assay.records.learning import (
    CaughtUp,
    CycleEvidence,
    CycleRun,
    LearnedTerm,
    LearningChange,
    LearningStatus,
    Observation,
    Observed,
    RolledBack,
    TermState,
    Validated,
    evidence_from_json,
)
from assay.storage import Store, Work
from assay.storage.repositories.learning import Cycle
from assay.storage.repositories.queries import FullRun

# --- Evaluation cycles: complete with 100 distinct questions measured and 14 days since the first run ---
#
# Two are complete with 200 questions and 28 days, whichever comes last: nothing that was learned is applied before
# what it would change has been measured, twice. A question counts once in each 14 days, however often it is run: the
# same hundred measured again after two weeks are a second cycle, the same ten run twenty times are not. Only stored
# runs of Assay over documents of this memory count: `evaluation.running.own_memory` decides that when a run is stored.
# Time is when a row was stored, by the store's clock: the dates in a run's own files may say anything.


class MeasuredQuestions(NamedTuple):
    """What runs of this memory have measured."""

    began_at: datetime | None
    """When the first of them was stored; None: there is none."""
    questions: int
    """Distinct questions, each once in each period of a cycle's length."""
    runs: tuple[CycleRun, ...]
    """Every stored run, oldest first."""


def complete_cycles(work: Work, limits: Limits, now: datetime) -> list[Cycle]:
    """Write down every cycle that is complete by now; all of them, oldest first."""
    done = work.learned_terms.cycles()
    while (found := _next(work, limits, now, done)) is not None:
        work.learned_terms.add_cycle(found)
        detail = {"queries": found.queries, "ended_at": found.ended_at.isoformat()}
        work.audit.append("learning.cycle", f"cycle-{found.number}", detail)
        done.append(found)
    return done


def measure_questions(work: Work, limits: Limits, now: datetime) -> MeasuredQuestions:
    """Count the distinct questions that stored runs of this memory have measured."""
    began: datetime | None = None
    counted: set[tuple[int, str]] = set()
    runs: list[CycleRun] = []
    stored = [(run, evidence_from_json(run.metrics_json)) for run in work.usage.full_runs(until=now)]
    for run, evidence in sorted(stored, key=lambda pair: pair[1].stored_at or pair[0].created_at):
        new, reason = 0, evidence.reason
        if reason or evidence.stored_at is None:
            pass
        elif evidence.stored_at > now:
            reason = "it was stored at a time that has not come yet."
        else:
            began = began or evidence.stored_at
            period = _period(evidence.stored_at - began, limits.cycle_time)
            found = {(period, question) for question in evidence.questions} - counted
            counted |= found
            new = len(found)
            reason = "" if new else _ASKED_BEFORE.format(limits.cycle_time.days)
        runs.append(_describe_run(run, evidence, reason, new))
    return MeasuredQuestions(began, len(counted), tuple(runs))


_ASKED_BEFORE = "every question of it counted before, within the same {} days."


def _describe_run(run: FullRun, evidence: CycleEvidence, reason: str, new: int) -> CycleRun:
    return CycleRun(
        run_id=run.run_id,
        at=run.created_at,
        dataset=evidence.dataset,
        system=evidence.system,
        counted=not reason,
        questions=new,
        reason=reason,
    )


def _next(work: Work, limits: Limits, now: datetime, done: list[Cycle]) -> Cycle | None:
    number = len(done) + 1
    first = work.usage.first_scored_at()
    # Reading what runs asked costs more than looking whether the time can have come; further cycles open nothing.
    if number > limits.cycles or first is None or now - first < number * limits.cycle_time:
        return None
    measured = measure_questions(work, limits, now)
    if measured.began_at is None or now - measured.began_at < number * limits.cycle_time:
        return None
    if measured.questions < number * limits.cycle_queries:
        return None
    return Cycle(number, measured.began_at, now, measured.questions - sum(cycle.queries for cycle in done))


def _period(since: timedelta, length: timedelta) -> int:
    return since // length


# --- Status of learning for one tenant: what is on, what was learned, what keeps it from being applied ---

FLAG = "learn_from_selection"
SHOWN_RUNS = 10
"""Runs of which the status says whether they counted."""


def read_standing(work: Work, policy: Policy, flag: FlagState, now: datetime) -> LearningStatus:
    """Return the current status of learning."""
    progress = work.learned_terms.progress()
    since = flag.activated_at
    measured = measure_noise(work, policy.limits.trials)
    opening = Opening(
        activated_at=since,
        cycles=len(work.learned_terms.cycles()),
        noise=measured.rate,
        approved_at=flag.reviewed_at,
        killed_at=progress.killed_at,
    )
    every = work.learned_terms.of()
    limits = policy.limits
    questions = measure_questions(work, limits, now)
    closed = tuple(policy.find_refusals(opening, now))
    return LearningStatus(
        on=flag.on,
        applying=flag.on and not closed,
        activated_at=since,
        shadow_until=None if since is None else policy.shadow_until(since),
        approved_at=flag.reviewed_at,
        cycles=opening.cycles,
        questions=questions.questions,
        questions_needed=min(opening.cycles + 1, limits.cycles) * limits.cycle_queries,
        runs=questions.runs[: -SHOWN_RUNS - 1 : -1],
        noise=measured,
        terms={str(state): sum(term_row.state is state for term_row in every) for state in TermState},
        killed_at=progress.killed_at,
        killed_because=progress.killed_because,
        closed=closed,
    )


# --- Background: learning from an event runs after it was recorded ---
#
# One thread, begun by the first event. Many events of one tenant while it works are one more look afterwards. What
# fails is kept and shown by nobody's search: the events are in the store, and the next look begins where the last
# ended.

GATHER_S = 0.5
"""Events that come within this time are looked at together."""


class Background:
    """Calls `act` for every scope that was woken."""

    def __init__(self, act: Callable[[Scope], object]) -> None:
        self._act = act
        self._waiting: dict[str, Scope] = {}
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        """What went wrong last."""

    def wake(self, scope: Scope) -> None:
        """There is something to look at."""
        with self._lock:
            if self._stopped.is_set():
                return
            self._waiting[scope.tenant] = scope
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="assay-learning", daemon=True)
                self._thread.start()
        self._woken.set()

    def close(self) -> None:
        """Look at what still waits, and end."""
        with self._lock:
            self._stopped.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._woken.wait()
            self._woken.clear()
            self._stopped.wait(GATHER_S)
            while (scope := self._next()) is not None:
                try:
                    self._act(scope)
                except Exception as problem:  # noqa: BLE001 - the thread outlives whatever a look meets
                    self.problem = f"{type(problem).__name__}: {problem}"
            if self._stopped.is_set():
                return

    def _next(self) -> Scope | None:
        with self._lock:
            return self._waiting.popitem()[1] if self._waiting else None


# --- Learning ---
#
# Recording is quick and learning waits: `validate`, `observe` and `load` write events, `catch_up` learns from them. A
# process that lives on catches up in the background; one that ends does so when it closes.


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
        """Record a vote on a memory, useful or not."""
        done = self._validating.validate(scope, vote)
        if vote.useful and not done.repeated:
            self._background.wake(scope)
        return done

    def observe(self, scope: Scope, observation: Observation) -> Observed:
        """An agent was seen reading a memory or writing a text."""
        done = self._observing.observe(scope, observation)
        if done.new and any(event.event_type in CHOICES for event in done.events):
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
            stands = read_standing(work, self.policy, self._flags.states(work)[FLAG], now)
            applied = self._triggers.apply(work, now) if stands.applying else 0
            if stands.closed:
                self._triggers.retreat(work, stands.closed[0].said)
            alarm = watch_exposure(work) if self.policy.watched else None
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
            for memory_id in {term.memory_id for term in work.learned_terms.of()}:
                roll_back(work, self.policy, self._principals, Which(memory_id=memory_id), self._clock.now())

    def standing(self, scope: Scope) -> LearningStatus:
        """Return the status of learning."""
        with self._store.writing(scope) as work:
            now = self._clock.now()
            complete_cycles(work, self.policy.limits, now)
            return read_standing(work, self.policy, self._flags.states(work)[FLAG], now)

    def approve(self, scope: Scope) -> LearningStatus:
        """A person lets learned terms into memories. Refused while anything but the approval is missing."""
        stands = self.standing(scope)
        missing = [rule.said for rule in stands.closed if "approved" not in rule.said]
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
        """Return the learned terms, in any state."""
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
    """Do nothing: without a background thread, the caller catches up explicitly."""
