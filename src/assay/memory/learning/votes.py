"""Votes: ratings of a memory as useful or not useful.

- Promotion: a memory that was useful often enough rises one tier, never to constitutional.
- Counting a vote.
- Which questions a useful vote counts for: those like the one it was cast on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from assay.clock import Clock
from assay.errors import InputError
from assay.hashing import HASH_PREFIX, content_hash
from assay.memory.learning.policy import DENYLIST, READ_WORDS, Policy, Principals, count_votes
from assay.memory.rights import check_readable
from assay.memory.sessions import Sessions
from assay.records import EventType, FeedbackEvent, MemoryRecord, Origin, Scope, Tier, values
from assay.records.learning import ChangeKind, Safeguard, Validated
from assay.storage import Store, Work
from assay.storage.repositories.learning import Tally
from assay.text.terms import stems_of, words

# --- Promotion: a memory that was useful often enough rises one tier, never to constitutional ---
#
# `normal -> important` at 5 positive votes, or with a confidence of 0.9 after 5 votes; `important -> critical` at 10
# positive votes. The way by confidence leads to `important` alone: otherwise the sixth vote would do what the tenth
# should. Each promotion is a change of its own, with a line in the audit log, and can be undone.

FIRST, SECOND = 5, 10
"""Positive votes."""
CONFIDENT = 0.9


def raise_tier(tier: Tier, *, positive: int, confidence: float, votes: int) -> Tier | None:
    """The tier a memory rises to, or None."""
    if tier is Tier.NORMAL and (positive >= FIRST or (confidence >= CONFIDENT and votes >= FIRST)):
        return Tier.IMPORTANT
    if tier is Tier.IMPORTANT and positive >= SECOND:
        return Tier.CRITICAL
    return None


# --- Counting a vote ---
#
# It is tied to the session's newest query that returned the memory, recorded once for each event key, and moves the
# confidence by +0.10 or -0.05 within 0 to 1. A principal has one ballot for each memory, question and side, in however
# many sessions it is cast; votes outside any question have one ballot together. One principal's votes move a memory by
# at most half of the range (`MOST_OF_ONE`), so that nobody alone makes a memory critical; where several principals
# work in one scope, `policy.counted` bounds what one of them can do further, and nobody's votes raise what they wrote
# themselves. Everything that moved is a `LearningChange`, so that `rollback` can take it back.

UP, DOWN = 0.10, -0.05
"""What one vote does to the confidence."""
MOST_OF_ONE = {True: 5, False: 10}
"""Votes of one principal on one side of a memory (useful, or not) that count: as many as move its confidence by 0.5."""
NO_SESSION = "no-session"
"""The origin of an event outside any session."""
LONGEST_NOTE = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """A vote on a memory."""

    memory_id: str
    useful: bool
    session_id: str | None = None
    query_id: str | None = None
    event_key: str | None = None
    note: str = ""

    def __post_init__(self) -> None:
        values.identifier(self.memory_id, "memory_id")
        values.flag(self.useful, "was_useful")
        values.text(self.note, "note", longest=LONGEST_NOTE)
        if self.session_id is not None:
            values.short_label(self.session_id, "session_id")
        for name in ("query_id", "event_key"):
            if getattr(self, name) is not None:
                values.identifier(getattr(self, name), name)

    @property
    def kind(self) -> EventType:
        """Its kind of event."""
        return EventType.VALIDATE_USEFUL if self.useful else EventType.VALIDATE_NOT_USEFUL


@dataclass(frozen=True, kw_only=True, slots=True)
class Origins:
    """The query a vote is about."""

    query_id: str | None = None
    rank: int | None = None


class Validating:
    """Takes votes."""

    def __init__(
        self, *, store: Store, sessions: Sessions, policy: Policy, principals: Principals, clock: Clock
    ) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions
        self._policy = policy
        self._principals = principals

    def validate(self, scope: Scope, vote: Vote) -> Validated:
        """Count a vote, once."""
        if vote.query_id is not None:
            self._store.log.make_sure_of(vote.query_id)
        with self._store.reading(scope) as work:
            work.learning.state(vote.memory_id)
            about = self._origins(work, scope, vote)
        if about.query_id is not None:
            self._store.log.make_sure_of(about.query_id)
        key = vote.event_key or self._key(vote, about)
        with self._store.writing(scope) as work:
            memory = work.memories.get(vote.memory_id)
            check_readable(memory)
            event = self._event(scope, vote, about, key)
            if work.feedback.record([event]).repeated:
                return _leave_unmoved(memory, vote, about, key, "it was recorded before", repeated=True)
            return self._count(work, memory, vote, about, key)

    def _event(self, scope: Scope, vote: Vote, about: Origins, key: str) -> FeedbackEvent:
        note = {"note": vote.note} if vote.note else {}
        return FeedbackEvent(
            event_key=key,
            event_type=vote.kind,
            session_id=vote.session_id or NO_SESSION,
            created_at=self._clock.now(),
            query_id=about.query_id,
            memory_id=vote.memory_id,
            rank_in_results=about.rank,
            metadata={"principal": scope.principal, **note},
        )

    def _origins(self, work: Work, scope: Scope, vote: Vote) -> Origins:
        if vote.query_id is not None:
            query = work.queries.get(vote.query_id)
            if query.origin is not Origin.USE:
                raise InputError(
                    f"the query {vote.query_id!r} was asked by an {query.origin.value}, not in use",
                    remedy="Give the query id of a logged search made in use, or leave it out.",
                )
            return Origins(query_id=vote.query_id, rank=rank_of(vote.memory_id, query.result_ids))
        if vote.session_id is None:
            return Origins()
        turns = self._sessions.history(work, scope, vote.session_id).turns
        newest = next((turn for turn in reversed(turns) if vote.memory_id in turn.memory_ids), None)
        if newest is None:
            return Origins()
        return Origins(query_id=newest.query_id, rank=rank_of(vote.memory_id, newest.memory_ids))

    def _key(self, vote: Vote, about: Origins) -> str:
        """Of a session, the same vote on the same query is the same event; outside sessions each is its own."""
        if vote.session_id is None:
            return self._store.ids.new("ev")
        return event_key(vote.kind, vote.session_id, about.query_id, vote.memory_id)

    def _count(self, work: Work, memory: MemoryRecord, vote: Vote, about: Origins, key: str) -> Validated:
        tally = work.learning.tally(memory.id)
        shared = self._is_shared(work, tally)
        before = self._votes(tally, memory, useful=vote.useful, shared=shared)
        alone = shared and not _others(tally, memory, work.scope.principal, useful=vote.useful)
        if alone and self._is_spent(work):
            _audit(work, memory, vote, about, {"counted": 0})
            return _leave_unmoved(
                memory, vote, about, key, "the votes of one principal alone move a limited number of memories"
            )
        ballot = _ballot(work, vote, about)
        if not work.learning.vote(memory.id, ballot, useful=vote.useful):
            _audit(work, memory, vote, about, {"counted": 0})
            return _leave_unmoved(memory, vote, about, key, _SAID_BEFORE[about.query_id is not None])
        tally = work.learning.tally(memory.id)
        steps = self._votes(tally, memory, useful=vote.useful, shared=shared) - before
        if not steps:
            _audit(work, memory, vote, about, {"counted": 0})
            return _leave_unmoved(memory, vote, about, key, _why_not(work, memory, vote, shared=shared))
        confidence, count = step_confidence(memory.confidence, vote.useful, steps), memory.validation_count + steps
        work.learning.change(
            memory.id,
            ChangeKind.VOTE,
            {"confidence": confidence, "validation_count": count},
            {"ballot": ballot, "useful": vote.useful, "steps": steps, "query_id": about.query_id, "alone": alone},
        )
        _audit(work, memory, vote, about, {"counted": steps, "before": memory.confidence, "after": confidence})
        positive = self._votes(tally, memory, useful=True, shared=shared)
        tier = _promote(work, memory, positive=positive, confidence=confidence, votes=count)
        return Validated(
            memory_id=memory.id,
            was_useful=vote.useful,
            event_key=key,
            repeated=False,
            counted=steps,
            confidence_before=memory.confidence,
            confidence=confidence,
            validation_count=count,
            tier_before=memory.tier,
            tier=tier,
            query_id=about.query_id,
            rank=about.rank,
        )

    def _votes(self, tally: Tally, memory: MemoryRecord, *, useful: bool, shared: bool) -> int:
        """Return how many votes on one side of a memory count."""
        votes = votes_that_count(tally, memory, useful=useful, shared=shared)
        if self._policy.holds(Safeguard.GATE):
            votes = {principal: min(count, MOST_OF_ONE[useful]) for principal, count in votes.items()}
        return count_votes(votes, shared=shared)

    def _is_spent(self, work: Work) -> bool:
        """Whether the principal's votes have moved as many memories alone as they may."""
        limits = self._policy.limits
        since = self._clock.now() - limits.alone_within
        return work.learning.votes_alone(since=since) >= limits.alone

    def _is_shared(self, work: Work, tally: Tally) -> bool:
        voters = {work.scope.principal, *tally.useful, *tally.useless}
        return self._policy.holds(Safeguard.GATE) and self._principals.several(work, voters)


def votes_that_count(tally: Tally, memory: MemoryRecord, *, useful: bool, shared: bool) -> dict[str, int]:
    """Return the votes of one side that count: with several principals, not the writer's own useful vote."""
    said = dict(tally.side(useful=useful))
    if shared and useful and memory.written_by:
        said.pop(memory.written_by, None)
    return said


def _others(tally: Tally, memory: MemoryRecord, principal: str, *, useful: bool) -> set[str]:
    """Return the other principals who cast the same vote on a memory."""
    return votes_that_count(tally, memory, useful=useful, shared=True).keys() - {principal}


_SAID_BEFORE = {
    True: "you have said so of this question before",
    False: "you have said so before, outside any question: a vote on the search that returned it counts for itself",
}


def _ballot(work: Work, vote: Vote, about: Origins) -> str:
    """Return the name of a ballot: the same for the same principal, question, memory and side."""
    question = None
    if about.query_id is not None:
        question = " ".join(work.queries.get(about.query_id).query.casefold().split())
    return event_key(vote.kind, work.scope.principal, question, vote.memory_id)


def _why_not(work: Work, memory: MemoryRecord, vote: Vote, *, shared: bool) -> str:
    if shared and vote.useful and memory.written_by == work.scope.principal:
        return "where others work too, a writer's own votes do not raise what they wrote"
    return "one principal's votes alone move a memory no further"


def step_confidence(confidence: float, useful: bool, steps: int) -> float:
    """Return the confidence after this many votes of one side."""
    return round(min(max(confidence + steps * (UP if useful else DOWN), 0.0), 1.0), 10)


def rank_of(memory_id: str, shown: tuple[str, ...]) -> int | None:
    """The place of a memory in a list, from 1; None where it is not in it."""
    return shown.index(memory_id) + 1 if memory_id in shown else None


def event_key(kind: EventType, whose: str, *parts: str | None) -> str:
    """One name for the same event of a session or principal, however often it is sent."""
    return f"{kind.value}:{content_hash([whose, *parts]).removeprefix(HASH_PREFIX)[:32]}"


def _promote(work: Work, memory: MemoryRecord, *, positive: int, confidence: float, votes: int) -> Tier:
    higher = raise_tier(memory.tier, positive=positive, confidence=confidence, votes=votes)
    # A tier that was set with `assay tier` stays, whatever votes come.
    if higher is None or memory.tier_was_set:
        return memory.tier
    work.learning.change(memory.id, ChangeKind.PROMOTE, {"tier": higher.value}, {"positive": positive})
    work.audit.append(
        "learning.promote", memory.id, {"before": memory.tier.value, "after": higher.value, "positive": positive}
    )
    return higher


def _audit(work: Work, memory: MemoryRecord, vote: Vote, about: Origins, what: Mapping[str, Any]) -> None:
    note = {"note": vote.note} if vote.note else {}
    detail = {"useful": vote.useful, "session": vote.session_id, "query_id": about.query_id, **note, **what}
    work.audit.append("learning.validate", memory.id, detail)


def _leave_unmoved(
    memory: MemoryRecord, vote: Vote, about: Origins, key: str, reason: str, *, repeated: bool = False
) -> Validated:
    return Validated(
        memory_id=memory.id,
        was_useful=vote.useful,
        event_key=key,
        repeated=repeated,
        counted=0,
        confidence_before=memory.confidence,
        confidence=memory.confidence,
        validation_count=memory.validation_count,
        tier_before=memory.tier,
        tier=memory.tier,
        query_id=about.query_id,
        rank=about.rank,
        reason=reason,
    )


# --- Which questions a useful vote counts for: those like the one it was cast on ---
#
# Somebody who finds a result useful says so of one question. Were the memory raised for every question, it would push
# in where nobody wanted it, be seen more, and be voted for more. So a vote bears on another question in the share of
# words that both have; a vote outside any question, or on one that the log has forgotten, raises nothing. What lowers
# a memory is another matter: what is wrong is wrong whatever is asked.


class Praise(NamedTuple):
    """A useful vote that counted."""

    question: str
    steps: int
    """As how many it counted."""


def raise_for_question(question: str, praises: Iterable[Praise]) -> float:
    """Return how much useful votes raise the confidence for a question, each weighted by its similarity."""
    asked = subject(question)
    return UP * sum(praise.steps * bearing(asked, subject(praise.question)) for praise in praises)


@lru_cache(maxsize=2_000)
def subject(question: str) -> frozenset[str]:
    """What a question is about: the stems of its words, without those that stand in any question."""
    return frozenset(stems_of([word for word in words(question)[:READ_WORDS] if word not in DENYLIST]))


def bearing(one: frozenset[str], other: frozenset[str]) -> float:
    """Of what two questions are about, the share that both are about."""
    return len(one & other) / len(one | other) if one | other else 0.0
