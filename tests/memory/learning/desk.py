"""A desk at which memories are searched and chosen, with a log that is written by hand and a clock that is moved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from tests.memory.searching.shelf import Shelf

from assay.flags import Flags
from assay.memory.learning import Learning, Policy, Vote
from assay.records import (
    AuditEntry,
    EvalResult,
    EventType,
    FeedbackEvent,
    LoggedQuery,
    MemoryRecord,
    Origin,
    RunType,
    Scope,
)
from assay.records.learning import LearnedTerm, Observation, Observed, Validated, cycle_evidence, evidence_to_json
from assay.storage import Store
from assay.testing import FixedClock, note

OTHERS = ("m_a", "m_b", "m_c")
"""Three memories that stand above whatever a test is about."""
FLAG = "learn_from_selection"
SIX = ("s_1", "s_2", "s_3", "s_4", "s_5", "s_6")
"""As many sessions as teach a word."""


class Desk:
    """One tenant's memories in use."""

    def __init__(self, store: Store, clock: FixedClock, *, policy: Policy | None = None) -> None:
        self.store, self.clock = store, clock
        self.scope = Scope(tenant="acme", principal="ada")
        self.flags = Flags(clock=clock)
        self.shelf = Shelf(store, self.scope, clock)
        self.learning = Learning(
            store=store,
            flags=self.flags,
            sessions=self.shelf.searcher.sessions,
            clock=clock,
            policy=policy,
            background=False,
        )
        self._numbers = count(1)

    def put(self, *ids: str, **given: Any) -> None:
        """Keep memories, and the three others, written now."""
        filled = {**dict.fromkeys(("created_at", "updated_at", "valid_from"), self.clock.now()), **given}
        with self.store.reading(self.scope) as work:
            missing = [one for one in (*OTHERS, *ids) if work.memories.find(one) is None]
        self.shelf.put(*(note(one, **filled) for one in missing))

    def on(self) -> None:
        """Switch learning on."""
        self.flags.turn(self.store, self.scope, FLAG, True)

    def asked(
        self,
        query: str,
        results: tuple[str, ...] = (*OTHERS, "m_1"),
        *,
        session: str | None = "s_1",
        origin: Origin = Origin.USE,
    ) -> str:
        """Log a search as it would be."""
        query_id = f"eq_{next(self._numbers):06}"
        line = LoggedQuery(
            query_id=query_id,
            query=query,
            tool_name="search",
            created_at=self.clock.now(),
            origin=origin,
            session_id=session,
            result_ids=results,
        )
        with self.store.writing(self.scope) as work:
            work.queries.add_many([line])
        return query_id

    def measured(self, queries: int, *, reason: str = "", questions: Sequence[str] | None = None) -> None:
        """Store a run that scored so many queries, each a question of its own unless they are named."""
        asked = [f"question {next(self._numbers)}" for _ in range(queries)] if questions is None else questions
        result = EvalResult(
            run_id=f"r_{next(self._numbers):06}",
            run_type=RunType.FULL,
            query_count=queries,
            created_at=self.clock.now(),
            metrics_json=evidence_to_json(cycle_evidence(asked, stored_at=self.clock.now(), reason=reason)),
        )
        with self.store.writing(self.scope) as work:
            work.results.add(result)

    def many(self, how_many: int, query: str = "anything", results: tuple[str, ...] = OTHERS) -> None:
        """Log many searches at once."""
        lines = [
            LoggedQuery(
                query_id=f"eq_{next(self._numbers):06}",
                query=query,
                tool_name="search",
                created_at=self.clock.now(),
                result_ids=results,
            )
            for _ in range(how_many)
        ]
        with self.store.writing(self.scope) as work:
            work.queries.add_many(lines)

    def by(self, principal: str) -> Scope:
        """Another principal of the tenant."""
        return Scope(tenant="acme", principal=principal)

    def read(self, memory_id: str, session: str = "s_1", *, principal: str = "ada", **given: Any) -> Observed:
        """A memory is read."""
        seen = Observation(session_id=session, memory_id=memory_id, **given)
        return self.learning.observe(self.by(principal), seen)

    def chosen(
        self, query: str, memory_id: str = "m_1", *, session: str = "s_1", principal: str = "ada", rank: int = 4
    ) -> str:
        """Somebody searches, and reads what stands at a rank."""
        query_id = self.asked(query, (*("m_a", "m_b", "m_c", "m_d")[: rank - 1], memory_id), session=session)
        self.read(memory_id, session, principal=principal)
        return query_id

    def learn(self, query: str, memory_id: str = "m_1", *, sessions: tuple[str, ...] = SIX) -> None:
        """Six sessions choose a memory for a query, and what that teaches is written down."""
        for session in sessions:
            self.chosen(query, memory_id, session=session)
        self.learning.catch_up(self.scope)

    def try_out(self, query: str, memory_id: str = "m_1", *, chosen: int = 1) -> list[str]:
        """Ten later searches return a memory, and some of them choose it; the ids of all."""
        self.clock.advance(seconds=1)
        found = []
        for number in range(10):
            session = f"try_{next(self._numbers)}"
            found.append(self.asked(query, (*OTHERS, memory_id), session=session))
            if number < chosen:
                self.read(memory_id, session)
        return found

    def vote(self, memory_id: str = "m_1", useful: bool = True, *, principal: str = "ada", **given: Any) -> Validated:
        """Somebody says what a memory was worth."""
        return self.learning.validate(self.by(principal), Vote(memory_id=memory_id, useful=useful, **given))

    def vote_on(
        self, question: str, memory_id: str = "m_1", useful: bool = True, *, principal: str = "ada"
    ) -> Validated:
        """Somebody asks a question and says what a memory was worth for it."""
        query_id = self.asked(question, (memory_id,), session=None)
        return self.vote(memory_id, useful, principal=principal, query_id=query_id)

    def memory(self, memory_id: str = "m_1") -> MemoryRecord:
        with self.store.reading(self.scope) as work:
            return work.memories.get(memory_id)

    def terms(self, *states: str) -> list[str]:
        """What was learned, by name; in some states only."""
        return sorted(one.term for one in self.learned() if not states or one.state.value in states)

    def learned(self) -> list[LearnedTerm]:
        return self.learning.terms(self.scope)

    def audit(self, action: str) -> list[AuditEntry]:
        """The lines of one kind, newest first."""
        with self.store.reading(self.scope) as work:
            return [one for one in work.audit.entries(limit=10_000) if one.action == action]

    def events(self, *query_ids: str) -> list[FeedbackEvent]:
        with self.store.reading(self.scope) as work:
            return [event for one in query_ids for event in work.feedback.of_query(one)]

    def kinds(self, *query_ids: str) -> list[EventType]:
        return [one.event_type for one in self.events(*query_ids)]

    def open_the_gate(self) -> None:
        """Everything that has to happen before terms apply, but the terms."""
        self.on()
        self.measured(200)
        self.clock.advance(days=21)
        self.learn("quagga habitat")
        self.try_out("quagga habitat again")
        self.clock.advance(days=7)
        self.learning.approve(self.scope)
