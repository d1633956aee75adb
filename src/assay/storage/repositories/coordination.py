"""Leases, shared limits and live questions: what several servers over one store agree on.

- The time that all of them share.
- Leases of background work.
- Rate limits of all servers together.
- Live questions that another server answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, delete, or_, select, text, update

from assay.errors import StoreBusy
from assay.records.coordination import Granted, Lease, LiveEvent, LiveRow
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, insert, mask_row, to_row
from assay.storage.tables import leases, live_events, live_questions, shared_limits

# --- The time that all of them share ---

_DATABASE_TIME = text("SELECT clock_timestamp()")


class SharedTime(Repository):
    """Tells the time by which leases end and limits fill again."""

    def now(self) -> datetime:
        """Return PostgreSQL's time, since clocks of servers differ; on SQLite, whose users share a machine, ours."""
        if self._connection.dialect.name == "sqlite":
            return self._clock.now()
        told: datetime = self._connection.execute(_DATABASE_TIME).scalar_one()
        return told.astimezone(UTC)


# --- Leases of background work ---


class Leases(SharedTime):
    """The leases of a store."""

    def take(self, name: str, holder: str, lasts: timedelta) -> Lease | None:
        """Take a lease that is free, expired or held by this holder already; return None if another has it."""
        now = self.now()
        made = Lease(name=name, holder=holder, term=1, taken_at=now, expires_at=now + lasts)
        statement = insert(self._connection, leases).values(to_row(made, leases))
        kept = statement.on_conflict_do_update(
            index_elements=["name"],
            set_={
                "holder": statement.excluded.holder,
                "term": leases.c.term + 1,
                "taken_at": statement.excluded.taken_at,
                "expires_at": statement.excluded.expires_at,
            },
            where=or_(leases.c.expires_at <= now, leases.c.holder == holder),
        )
        counted = self._connection.execution_options(preserve_rowcount=True)
        return self.find(name) if counted.execute(kept).rowcount else None

    def renew(self, lease: Lease, lasts: timedelta) -> bool:
        """Keep a lease for longer; return whether it is still held. An expired one that nobody took is."""
        same = (leases.c.name == lease.name, leases.c.holder == lease.holder, leases.c.term == lease.term)
        statement = update(leases).where(*same).values(expires_at=self.now() + lasts)
        return bool(self._connection.execute(statement).rowcount)

    def give_back(self, lease: Lease) -> None:
        """Let others take a lease at once, if it is still held."""
        same = (leases.c.name == lease.name, leases.c.holder == lease.holder, leases.c.term == lease.term)
        self._connection.execute(update(leases).where(*same).values(expires_at=self.now()))

    def find(self, name: str) -> Lease | None:
        """Return a lease as it stands, expired or not."""
        row = self._connection.execute(select(leases).where(leases.c.name == name)).one_or_none()
        return None if row is None else from_row(Lease, row, leases)

    def check(self, lease: Lease) -> None:
        """Refuse to go on in this transaction with a lease that another has taken.

        The row stays locked until the transaction ends, so nobody can take the lease between this check and the
        commit.
        """
        wanted = select(leases.c.holder, leases.c.term).where(leases.c.name == lease.name).with_for_update(read=True)
        row = self._connection.execute(wanted).one_or_none()
        if row is None or (row.holder, row.term) != (lease.holder, lease.term):
            holder = "nobody" if row is None else row.holder
            raise StoreBusy(
                f"the work {lease.name} was taken over by {holder}", remedy="Nothing is to be done: it goes on there."
            )


# --- Rate limits of all servers together ---


class SharedLimits(SharedTime):
    """How many requests each caller may still make, over all servers."""

    def take(self, bucket: str, *, wanted: int, size: float, per_second: float) -> Granted:
        """Take up to `wanted` requests from a caller's bucket, which holds at most `size`."""
        now = self.now()
        new = {"bucket": bucket, "left_over": size, "counted_at": now}
        self._connection.execute(insert(self._connection, shared_limits).values(new).on_conflict_do_nothing())
        mine = shared_limits.c.bucket == bucket
        row = self._connection.execute(select(shared_limits).where(mine).with_for_update()).one()
        # Another server may have counted while this one waited for the row.
        since = max((now - row.counted_at).total_seconds(), 0.0)
        left = min(row.left_over + since * per_second, size)
        given = min(wanted, int(left))
        values = {"left_over": left - given, "counted_at": max(now, row.counted_at)}
        self._connection.execute(update(shared_limits).where(mine).values(values))
        return Granted(given, 0.0 if given else (1.0 - left) / per_second)

    def remove_before(self, moment: datetime) -> int:
        """Delete buckets that nobody took from since a moment; they would be full."""
        return int(self._connection.execute(delete(shared_limits).where(shared_limits.c.counted_at < moment)).rowcount)


# --- Live questions that another server answers ---


class LiveQuestionRows(SharedTime):
    """The live questions of one tenant."""

    def begin(self, ticket: str, question: str) -> None:
        """Record that a question is being answered."""
        now = self.now()
        row = to_row(LiveRow(ticket=ticket, question=question, started_at=now, seen_at=now), live_questions)
        self._connection.execute(live_questions.insert().values({"tenant": self._tenant, **row}))

    def add_event(self, ticket: str, event: LiveEvent) -> None:
        """Append an event."""
        row = mask_row(live_events.name, {"ticket": ticket, "tenant": self._tenant, **event._asdict()})
        self._connection.execute(live_events.insert().values(row))

    def see(self, ticket: str) -> None:
        """Record that its server is still at work on it."""
        self._connection.execute(update(live_questions).where(*self._same(ticket)).values(seen_at=self.now()))

    def end(self, ticket: str, *, log_id: str, problem: str) -> None:
        """Record how it ended."""
        ended = mask_row(live_questions.name, {"ended_at": self.now(), "log_id": log_id, "problem": problem})
        self._connection.execute(update(live_questions).where(*self._same(ticket)).values(ended))

    def find(self, ticket: str) -> LiveRow | None:
        """Return a question, if this tenant has it."""
        row = self._connection.execute(select(live_questions).where(*self._same(ticket))).one_or_none()
        return None if row is None else from_row(LiveRow, row, live_questions)

    def events(self, ticket: str, *, after: int) -> Sequence[LiveEvent]:
        """Return the events after a place, in order."""
        table = live_events
        columns = select(table.c.place, table.c.name, table.c.data)
        wanted = columns.where(self._mine(table), table.c.ticket == ticket, table.c.place > after)
        return [LiveEvent(*row) for row in self._connection.execute(wanted.order_by(table.c.place))]

    def remove_before(self, moment: datetime) -> int:
        """Delete questions that began before a moment, with their events."""
        table = live_questions
        old = select(table.c.ticket).where(self._mine(table), table.c.started_at < moment)
        events = delete(live_events).where(self._mine(live_events), live_events.c.ticket.in_(old))
        self._connection.execute(events)
        gone = delete(table).where(self._mine(table), table.c.started_at < moment)
        return int(self._connection.execute(gone).rowcount)

    def _same(self, ticket: str) -> tuple[ColumnElement[bool], ...]:
        return self._mine(live_questions), live_questions.c.ticket == ticket
