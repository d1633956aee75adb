"""What learning changes: votes, memory columns, learned terms and their evidence.

- Votes and changes of memories.
- Learned terms and the progress of learning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Integer, bindparam, delete, func, select, update

from assay.errors import BadValue, RecordNotFound
from assay.records import Operation, RowKind
from assay.records.learning import ChangeKind, LearnedTerm, LearningChange, TermEvidence, TermState
from assay.storage.repositories.base import Bound, Repository, among, mine
from assay.storage.repositories.history import ChangedRow, Changes
from assay.storage.rows import from_row, insert, to_row
from assay.storage.tables import (
    eval_queries,
    learned_terms,
    learning_changes,
    learning_cycles,
    learning_evidence,
    learning_progress,
    memories,
    memory_votes,
)

# --- Votes and changes of memories ---
#
# `adjust` is the only way in which learning writes to a memory, and it changes four columns only: all others, such as
# the text, stay as they were written.

LEARNED_COLUMNS = ("confidence", "validation_count", "tier", "learned_triggers")
"""Columns of a memory that learning may change. A vote does not make a memory newer, so `updated_at` is not here."""


LOOKED_BACK = 20_000
"""Newest changes in which the votes of one principal are counted, so that a vote takes the same time in any store."""

NEWEST = 10
"""Newest votes of a memory that a search reads: twice as many as have an effect."""


class Tally(NamedTuple):
    """Ballots by principal."""

    useful: dict[str, int]
    useless: dict[str, int]

    def side(self, *, useful: bool) -> dict[str, int]:
        """Those on one side."""
        return self.useful if useful else self.useless


class UsefulVote(NamedTuple):
    """A standing vote for a memory, on a question that is still known."""

    memory_id: str
    question: str
    steps: int
    """As how many it counted."""


class Writers(NamedTuple):
    """Who wrote memories, and the highest number among those."""

    last: int
    writers: frozenset[str]


_STATE = select(memories.c.number, *(memories.c[name] for name in LEARNED_COLUMNS)).where(
    mine(memories), memories.c.id == bindparam("memory_id")
)
_VOTES = (
    select(learning_changes.c.memory_id, learning_changes.c.detail)
    .where(
        mine(learning_changes),
        learning_changes.c.memory_id == bindparam("memory_id"),
        learning_changes.c.kind == ChangeKind.VOTE.value,
        learning_changes.c.undone_at.is_(None),
    )
    .order_by(learning_changes.c.id.desc())
    .limit(bindparam("newest", type_=Integer))
)
_TALLY = (
    select(memory_votes.c.useful, memory_votes.c.principal, func.count())
    .where(mine(memory_votes), memory_votes.c.memory_id == bindparam("memory_id"))
    .group_by(memory_votes.c.useful, memory_votes.c.principal)
)


class LearningRows(Repository):
    """Votes and changes of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._changes = Changes(bound)

    def state(self, memory_id: str) -> dict[str, Any]:
        """The columns of a memory that learning may change."""
        row = self._row(memory_id)
        return {name: getattr(row, name) for name in LEARNED_COLUMNS}

    def _row(self, memory_id: str) -> Any:
        rows = self._rows(_STATE, memory_id=memory_id)
        if not rows:
            raise RecordNotFound(
                f"there is no memory {memory_id!r} in this scope", remedy="Check the id and the tenant."
            )
        return rows[0]

    def adjust(self, memory_id: str, changed: Mapping[str, Any]) -> dict[str, Any]:
        """Give a memory other values in some of those columns; what was there before."""
        foreign = sorted(set(changed) - set(LEARNED_COLUMNS))
        if foreign:
            raise BadValue(
                f"learning cannot change {foreign[0]!r} of a memory",
                remedy=f"It may change {', '.join(LEARNED_COLUMNS)}.",
            )
        row = self._row(memory_id)
        own = (self._mine(memories), memories.c.id == memory_id)
        self._connection.execute(update(memories).where(*own).values(dict(changed)))
        self._changes.append(Operation.UPDATE, [ChangedRow(RowKind.MEMORY, memory_id, row.number)])
        return {name: getattr(row, name) for name in changed}

    def change(
        self,
        memory_id: str,
        kind: ChangeKind,
        after: Mapping[str, Any],
        detail: Mapping[str, Any],
        *,
        writer: str | None = None,
    ) -> None:
        """Change a memory and record its earlier values; the actor is the scope's principal unless one is given."""
        before = self.adjust(memory_id, after)
        made = LearningChange(
            memory_id=memory_id,
            kind=kind,
            before=before,
            after=dict(after),
            detail=detail,
            writer=self._principal if writer is None else writer,
            at=self._clock.now(),
        )
        row = to_row(made, learning_changes)
        row.pop("id")
        self._connection.execute(learning_changes.insert().values({"tenant": self._tenant, **row}))

    def count_access(self, memory_id: str) -> None:
        """Count one more read of a memory. Search does not use it, so the change log is not written."""
        own = (self._mine(memories), memories.c.id == memory_id)
        self._connection.execute(update(memories).where(*own).values(access_count=memories.c.access_count + 1))

    def vote(self, memory_id: str, ballot: str, *, useful: bool) -> bool:
        """Cast a ballot of the scope's principal; return False if it was cast before."""
        row = {
            "tenant": self._tenant,
            "memory_id": memory_id,
            "ballot": ballot,
            "principal": self._principal,
            "useful": useful,
            "at": self._clock.now(),
        }
        key = ["memory_id", "ballot", "tenant"]
        statement = insert(self._connection, memory_votes).values(row).on_conflict_do_nothing(index_elements=key)
        counted = self._connection.execution_options(preserve_rowcount=True)
        return bool(counted.execute(statement).rowcount)

    def tally(self, memory_id: str) -> Tally:
        """How many ballots each principal cast on either side."""
        found = Tally({}, {})
        for useful, principal, count in self._rows(_TALLY, memory_id=memory_id):
            (found.useful if useful else found.useless)[principal] = int(count)
        return found

    def votes_alone(self, *, since: datetime) -> int:
        """Count valid votes of the scope's principal that changed a memory without agreement of another principal."""
        table = learning_changes
        newest = select(func.coalesce(func.max(table.c.id), 0) - LOOKED_BACK).scalar_subquery()
        statement = select(table.c.detail).where(
            self._mine(table),
            table.c.id > newest,
            table.c.writer == self._principal,
            table.c.kind == ChangeKind.VOTE.value,
            table.c.at >= since,
            table.c.undone_at.is_(None),
        )
        return sum(bool(row.detail.get("alone")) for row in self._connection.execute(statement))

    def useful_votes(self, memory_ids: Collection[str], *, newest: int = NEWEST) -> list[UsefulVote]:
        """Return the newest valid votes that changed these memories, without votes on questions no longer known."""
        found = [row for memory_id in memory_ids for row in self._rows(_VOTES, memory_id=memory_id, newest=newest)]
        praising = [row for row in found if row.detail.get("useful") and row.detail.get("query_id")]
        questions = self._questions({row.detail["query_id"] for row in praising})
        return [
            UsefulVote(row.memory_id, questions[query], int(row.detail["steps"]))
            for row in praising
            if (query := row.detail["query_id"]) in questions
        ]

    def _questions(self, query_ids: Collection[str]) -> dict[str, str]:
        if not query_ids:
            return {}
        own = (self._mine(eval_queries), self._among(eval_queries.c.query_id, query_ids))
        rows = self._connection.execute(select(eval_queries.c.query_id, eval_queries.c.query).where(*own))
        return {row.query_id: row.query for row in rows}

    def remove_votes(self, memory_id: str, ballots: Collection[str]) -> None:
        """Withdraw ballots."""
        chosen = (memory_votes.c.memory_id == memory_id, self._among(memory_votes.c.ballot, ballots))
        self._connection.execute(delete(memory_votes).where(self._mine(memory_votes), *chosen))

    def writers_after(self, number: int) -> Writers:
        """Who wrote the memories with higher numbers than this."""
        own = (self._mine(memories), memories.c.number > number)
        statement = (
            select(memories.c.written_by, func.max(memories.c.number)).where(*own).group_by(memories.c.written_by)
        )
        rows = self._connection.execute(statement).all()
        return Writers(max((row[1] for row in rows), default=number), frozenset(row[0] for row in rows))

    def changes(
        self,
        *,
        memory_id: str | None = None,
        writer: str | None = None,
        since: datetime | None = None,
        undone: bool = False,
        after: int = 0,
        limit: int | None = None,
    ) -> list[LearningChange]:
        """Return changes in their order: of one memory, by one writer, from a moment on, behind a change.

        Undone changes are left out unless `undone` is given.
        """
        table = learning_changes
        conditions: list[ColumnElement[bool]] = [] if undone else [table.c.undone_at.is_(None)]
        if memory_id is not None:
            conditions.append(table.c.memory_id == memory_id)
        if writer is not None:
            conditions.append(table.c.writer == writer)
        if since is not None:
            conditions.append(table.c.at >= since)
        if after:
            conditions.append(table.c.id > after)
        statement = self._select(table, *conditions).order_by(table.c.id)
        return [from_row(LearningChange, row, table) for row in self._connection.execute(statement.limit(limit))]

    def rebase(self, change_id: int, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Update the values of a change after earlier ones were undone."""
        chosen = (self._mine(learning_changes), learning_changes.c.id == change_id)
        values = {"before": dict(before), "after": dict(after)}
        self._connection.execute(update(learning_changes).where(*chosen).values(values))

    def mark_undone(self, ids: Collection[int]) -> None:
        """Mark changes as undone now."""
        chosen = (self._mine(learning_changes), self._among(learning_changes.c.id, ids))
        self._connection.execute(update(learning_changes).where(*chosen).values(undone_at=self._clock.now()))


# --- Learned terms and the progress of learning ---


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


class LearnedTermRows(Repository):
    """The learned terms of one tenant."""

    def list_applied(self, memory_ids: Collection[str]) -> list[AppliedTerm]:
        """Return the learned terms of these memories that search may use."""
        return [AppliedTerm(*row) for row in self._rows(_APPLIED, ids=memory_ids)] if memory_ids else []

    def of(self, *, memory_id: str | None = None, states: Collection[TermState] = ()) -> list[LearnedTerm]:
        """Terms in the order they were learned: of one memory, in some states."""
        conditions: list[ColumnElement[bool]] = []
        if memory_id is not None:
            conditions.append(learned_terms.c.memory_id == memory_id)
        if states:
            conditions.append(learned_terms.c.state.in_([str(state) for state in states]))
        order = (learned_terms.c.learned_at, learned_terms.c.memory_id, learned_terms.c.term)
        statement = self._select(learned_terms, *conditions).order_by(*order)
        return [from_row(LearnedTerm, row, learned_terms) for row in self._connection.execute(statement)]

    def put(self, term: LearnedTerm) -> None:
        """Store the current state of a term."""
        row = to_row(term, learned_terms)
        statement = insert(self._connection, learned_terms).values({"tenant": self._tenant, **row})
        fresh = {name: statement.excluded[name] for name in row if name not in ("memory_id", "term")}
        key = ["memory_id", "term", "tenant"]
        self._connection.execute(statement.on_conflict_do_update(index_elements=key, set_=fresh))

    def add_evidence(self, evidence: Sequence[TermEvidence]) -> None:
        """Keep evidence; of one session, the first counts."""
        if not evidence:
            return
        key = ["memory_id", "term", "session_id", "tenant"]
        statement = insert(self._connection, learning_evidence).on_conflict_do_nothing(index_elements=key)
        rows = [{"tenant": self._tenant, **to_row(record, learning_evidence)} for record in evidence]
        self._connection.execute(statement, rows)

    def evidence(self, *, memory_id: str | None = None, principal: str | None = None) -> list[TermEvidence]:
        """Evidence in its order: for one memory, by one principal."""
        table = learning_evidence
        conditions: list[ColumnElement[bool]] = []
        if memory_id is not None:
            conditions.append(table.c.memory_id == memory_id)
        if principal is not None:
            conditions.append(table.c.principal == principal)
        statement = self._select(table, *conditions).order_by(table.c.at, table.c.session_id, table.c.term)
        return [from_row(TermEvidence, row, table) for row in self._connection.execute(statement)]

    def remove_evidence(self, memory_id: str, terms: Collection[str], *, principal: str | None = None) -> None:
        """Delete the evidence of some terms, or one principal's part of it."""
        table = learning_evidence
        chosen: list[ColumnElement[bool]] = [table.c.memory_id == memory_id, self._among(table.c.term, terms)]
        if principal is not None:
            chosen.append(table.c.principal == principal)
        self._connection.execute(delete(table).where(self._mine(table), *chosen))

    def cycles(self) -> list[Cycle]:
        """Every finished cycle, oldest first."""
        statement = self._select(learning_cycles).order_by(learning_cycles.c.number)
        return [
            Cycle(row.number, row.began_at, row.ended_at, row.queries) for row in self._connection.execute(statement)
        ]

    def add_cycle(self, cycle: Cycle) -> None:
        """Keep a finished cycle."""
        self._connection.execute(learning_cycles.insert().values(tenant=self._tenant, **cycle._asdict()))

    def progress(self) -> Progress:
        """Return the progress of learning; zero if none is stored."""
        row = self._connection.execute(self._select(learning_progress)).one_or_none()
        return Progress() if row is None else Progress(*row[1:])

    def put_progress(self, **changed: Any) -> None:
        """Store some fields of the progress of learning; the others stay."""
        known = self.progress()._replace(**changed)._asdict()
        statement = insert(self._connection, learning_progress).values(tenant=self._tenant, **known)
        fresh = {name: statement.excluded[name] for name in known}
        self._connection.execute(statement.on_conflict_do_update(index_elements=["tenant"], set_=fresh))
