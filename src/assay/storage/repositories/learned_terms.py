"""Terms that memories learned, the evidence they rest on, and how far learning has come."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, select

from assay.records.learning import LearnedTerm, TermEvidence, TermState
from assay.storage.repositories.base import Repository, among, mine
from assay.storage.rows import from_row, insert, to_row
from assay.storage.tables import learned_terms, learning_cycles, learning_evidence, learning_progress


class AppliedTerm(NamedTuple):
    """A term that search may use, and since when it is known."""

    memory_id: str
    term: str
    learned_at: datetime


class Cycle(NamedTuple):
    """One finished cycle of use: enough queries, over enough days."""

    number: int
    began_at: datetime
    ended_at: datetime
    queries: int


class Progress(NamedTuple):
    """How far learning has read, and whether it was stopped."""

    last_event: int = 0
    """The newest feedback event that was learned from."""
    last_watched: int = 0
    """The newest logged query that the kill switch has looked at."""
    killed_at: datetime | None = None
    killed_because: str = ""


_APPLIED = select(learned_terms.c.memory_id, learned_terms.c.term, learned_terms.c.learned_at).where(
    mine(learned_terms), among(learned_terms.c.memory_id, "ids"), learned_terms.c.state == str(TermState.APPLIED)
)


class LearnedTerms(Repository):
    """The learned terms of one tenant."""

    def applied(self, memory_ids: Collection[str]) -> list[AppliedTerm]:
        """What these memories have learned and search may use."""
        return [AppliedTerm(*row) for row in self._rows(_APPLIED, ids=memory_ids)] if memory_ids else []

    def of(self, *, memory_id: str | None = None, states: Collection[TermState] = ()) -> list[LearnedTerm]:
        """Terms in the order they were learned: of one memory, in some states."""
        conditions: list[ColumnElement[bool]] = []
        if memory_id is not None:
            conditions.append(learned_terms.c.memory_id == memory_id)
        if states:
            conditions.append(learned_terms.c.state.in_([str(one) for one in states]))
        order = (learned_terms.c.learned_at, learned_terms.c.memory_id, learned_terms.c.term)
        wanted = self._select(learned_terms, *conditions).order_by(*order)
        return [from_row(LearnedTerm, row, learned_terms) for row in self._connection.execute(wanted)]

    def put(self, term: LearnedTerm) -> None:
        """Keep a term as it stands now."""
        row = to_row(term, learned_terms)
        wanted = insert(self._connection, learned_terms).values({"tenant": self._tenant, **row})
        fresh = {name: wanted.excluded[name] for name in row if name not in ("memory_id", "term")}
        key = ["memory_id", "term", "tenant"]
        self._connection.execute(wanted.on_conflict_do_update(index_elements=key, set_=fresh))

    def add_evidence(self, evidence: Sequence[TermEvidence]) -> None:
        """Keep evidence; of one session, the first counts."""
        if not evidence:
            return
        key = ["memory_id", "term", "session_id", "tenant"]
        wanted = insert(self._connection, learning_evidence).on_conflict_do_nothing(index_elements=key)
        rows = [{"tenant": self._tenant, **to_row(one, learning_evidence)} for one in evidence]
        self._connection.execute(wanted, rows)

    def evidence(self, *, memory_id: str | None = None, principal: str | None = None) -> list[TermEvidence]:
        """Evidence in its order: for one memory, by one principal."""
        table = learning_evidence
        conditions: list[ColumnElement[bool]] = []
        if memory_id is not None:
            conditions.append(table.c.memory_id == memory_id)
        if principal is not None:
            conditions.append(table.c.principal == principal)
        wanted = self._select(table, *conditions).order_by(table.c.at, table.c.session_id, table.c.term)
        return [from_row(TermEvidence, row, table) for row in self._connection.execute(wanted)]

    def remove_evidence(self, memory_id: str, terms: Collection[str], *, principal: str | None = None) -> None:
        """Forget what some terms rest on, or one principal's part of it."""
        table = learning_evidence
        chosen: list[ColumnElement[bool]] = [table.c.memory_id == memory_id, self._among(table.c.term, terms)]
        if principal is not None:
            chosen.append(table.c.principal == principal)
        self._connection.execute(delete(table).where(self._mine(table), *chosen))

    def cycles(self) -> list[Cycle]:
        """Every finished cycle, oldest first."""
        wanted = self._select(learning_cycles).order_by(learning_cycles.c.number)
        return [Cycle(row.number, row.began_at, row.ended_at, row.queries) for row in self._connection.execute(wanted)]

    def add_cycle(self, cycle: Cycle) -> None:
        """Keep a finished cycle."""
        self._connection.execute(learning_cycles.insert().values(tenant=self._tenant, **cycle._asdict()))

    def progress(self) -> Progress:
        """How far learning has come; nowhere, if nothing is stored."""
        row = self._connection.execute(self._select(learning_progress)).one_or_none()
        return Progress() if row is None else Progress(*row[1:])

    def put_progress(self, **changed: Any) -> None:
        """Keep how far learning has come; what is not said stays."""
        known = self.progress()._replace(**changed)._asdict()
        wanted = insert(self._connection, learning_progress).values(tenant=self._tenant, **known)
        fresh = {name: wanted.excluded[name] for name in known}
        self._connection.execute(wanted.on_conflict_do_update(index_elements=["tenant"], set_=fresh))
