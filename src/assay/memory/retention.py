"""Retention: old searches and feedback leave the store for an archive, old comparisons and log lines for good.

Order makes it safe to be killed anywhere: the store notes the archive's name, the archive is written, made durable and
read back, and only then are exactly those rows deleted. What was archived twice comes back once. On PostgreSQL a month
of searches that is all old is dropped as a whole once its rows are archived.

One process at a time does it for a tenant, by a lease. `ScheduledRetention` does it in servers, every so many hours:
whichever server looks first, and another if that one dies.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from assay.clock import Clock
from assay.errors import AssayError, BadValue, InputError, MalformedFile, StoreBusy, StoreCorrupt
from assay.records import Scope
from assay.records.maintenance import BroughtBack, RetentionReport
from assay.storage import HeldLease, Store, Work, archives
from assay.storage.repositories.month_partitions import Month
from assay.storage.repositories.retention import Numbered

KIND = "archive"
LONGEST_DAYS = 365_000.0
"""A thousand years: as good as for ever, and the calendar does not go back much further."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionPolicy:
    """How long what is kept."""

    query_days: float = 90.0
    """Searches with their candidates, and feedback."""
    shadow_days: float = 30.0
    change_days: float = 30.0
    """Lines of the change log, but never the newest ten thousand."""
    rows_in_archive: int = 5_000


def plan(store: Store, scope: Scope, policy: RetentionPolicy, clock: Clock) -> RetentionReport:
    """What a run would do now."""
    store.log.flush()
    before, shadow_before, _ = _limits(policy, clock)
    with store.reading(scope) as work:
        old = work.retention.count(before, shadow_before=shadow_before)
    return RetentionReport(
        dry_run=True, log_lines=None, queries_before=before, shadow_before=shadow_before, **old._asdict()
    )


def lease_of(scope: Scope) -> str:
    """Return the name of the lease of a tenant's retention."""
    return f"retention:{scope.tenant}"


def run(store: Store, scope: Scope, folder: Path, policy: RetentionPolicy, clock: Clock) -> RetentionReport:
    """Archive and remove what is older than the policy allows; refuse while another process does so."""
    with store.leases.holding(lease_of(scope)) as lease:
        if lease is None:
            raise StoreBusy(
                f"another process archives old rows of the tenant {scope.tenant}",
                remedy="Wait until it has ended; if it was killed, try again in half a minute.",
            )
        return run_held(store, scope, folder, policy, clock, lease=lease)


def run_held(
    store: Store, scope: Scope, folder: Path, policy: RetentionPolicy, clock: Clock, *, lease: HeldLease
) -> RetentionReport:
    """Do the same for whoever holds the lease; each write needs it."""
    planned = plan(store, scope, policy, clock)
    before, shadow_before, change_before = _limits(policy, clock)
    moving = _Moving(store, scope, folder, policy.rows_in_archive, lease)
    months, queries = moving.drop_months(before)
    queries += moving.move(
        "queries",
        lambda work, after, limit: work.retention.old_queries(before, after=after, limit=limit),
        lambda work, numbers: work.retention.remove_queries(numbers),
    )
    events = moving.move(
        "feedback",
        lambda work, after, limit: work.retention.old_events(before, after=after, limit=limit),
        lambda work, numbers: work.retention.remove_events(numbers),
    )
    with store.writing(scope) as work:
        lease.check(work)
        shadow_runs = work.retention.drop_shadow_months(shadow_before)
        shadow_runs += work.shadow_runs.remove_before(shadow_before)
        log_lines = work.changes.trim_before(change_before)
        if queries or events or shadow_runs or log_lines:
            gone = {"queries": queries, "events": events, "shadow_runs": shadow_runs, "log_lines": log_lines}
            if months:
                gone["months"] = months
            work.audit.append("retention.run", scope.tenant, gone)
    return RetentionReport(
        dry_run=False,
        queries=queries,
        events=events,
        exempt_queries=planned.exempt_queries,
        shadow_runs=shadow_runs,
        log_lines=log_lines,
        queries_before=before,
        shadow_before=shadow_before,
        archives=tuple(moving.written),
    )


def bring_back(store: Store, scope: Scope, path: Path) -> BroughtBack:
    """Put the rows of an archive back: all of them, or none when anything is wrong with it."""
    found = archives.verify(path)
    if found.tenant != scope.tenant:
        raise InputError(
            f"{path} holds rows of the tenant {found.tenant!r}, not of {scope.tenant!r}",
            remedy=f"Name that tenant: --tenant {found.tenant}.",
        )
    new = 0
    with store.writing(scope) as work:
        rows = archives.read(path)
        while some := list(islice(rows, 500)):
            new += _put(work, path, some)
        work.audit.append("retention.restore", scope.tenant, {"rows": found.rows, "new": new})
    return BroughtBack(rows=found.rows, new=new)


def _put(work: Work, path: Path, rows: Sequence[Mapping[str, Any]]) -> int:
    try:
        return work.retention.bring_back(rows)
    except (KeyError, TypeError, ValueError, AttributeError, BadValue, StoreCorrupt) as problem:
        raise MalformedFile(
            f"{path} holds a row that is none of this store: {problem}", remedy="Nothing was read into the store."
        ) from problem


def _limits(policy: RetentionPolicy, clock: Clock) -> list[datetime]:
    """Before which searches, comparisons and log lines are old."""
    now = clock.now()
    return [
        now - timedelta(days=min(days, LONGEST_DAYS))
        for days in (policy.query_days, policy.shadow_days, policy.change_days)
    ]


Read = Callable[[Work, int, int], list[Numbered]]
Remove = Callable[[Work, Sequence[int]], int]


class _Moving:
    """Moves rows into archives, a slice at a time."""

    def __init__(self, store: Store, scope: Scope, folder: Path, size: int, lease: HeldLease) -> None:
        self._store = store
        self._scope = scope
        self._folder = folder
        self._size = size
        self._lease = lease
        self.written: list[str] = []

    def move(self, name: str, read: Read, remove: Remove) -> int:
        """Archive and delete everything that `read` finds; how many rows went."""
        gone = after = 0
        while rows := self._some(read, after):
            after = rows[-1].number
            self._archive(name, rows)
            with self._store.writing(self._scope) as work:
                self._lease.check(work)
                gone += remove(work, [row.number for row in rows])
        return gone

    def drop_months(self, before: datetime) -> tuple[int, int]:
        """Archive and drop the months of the log that are all old; return how many months and searches went."""
        with self._store.reading(self._scope) as work:
            months = work.retention.find_months(before)
        dropped = gone = 0
        for month in months:
            archived = self._archive_month(month, before)
            with self._store.writing(self._scope) as work:
                self._lease.check(work)
                if work.retention.drop_month(month, before, archived):
                    dropped, gone = dropped + 1, gone + archived
        return dropped, gone

    def _archive_month(self, month: Month, before: datetime) -> int:
        archived = after = 0

        def read(work: Work, after: int, limit: int) -> list[Numbered]:
            return work.retention.old_queries(before, after=after, limit=limit, month=month)

        while rows := self._some(read, after):
            after = rows[-1].number
            self._archive("queries", rows)
            archived += len(rows)
        return archived

    def _some(self, read: Read, after: int) -> list[Numbered]:
        with self._store.reading(self._scope) as work:
            return read(work, after, self._size)

    def _archive(self, name: str, rows: Sequence[Numbered]) -> None:
        path = self._folder / f"{name}-{self._store.ids.new('ar')}{archives.SUFFIX}"
        with self._store.writing(self._scope) as work:
            work.files.note(str(path), KIND)
        archives.write(path, self._scope.tenant, (row.row for row in rows))
        self.written.append(str(path))


# --- Retention in servers, every so many hours ---

LOOK_S = 60.0
"""Seconds between two looks at whether a tenant is due."""
PRINCIPAL = "assay"
"""Who archives old rows in a server, as the audit log has it."""
RAN = "retention_ran:"
"""Beginning of the key, followed by a tenant, under which the store keeps when its old rows were archived last."""
_log = logging.getLogger(__name__)

RunHeld = Callable[[Scope, HeldLease], object]
"""Archives the old rows of a tenant."""


class ScheduledRetention:
    """Archives the old rows of every tenant when they are due, in one of the processes that share the store."""

    def __init__(self, store: Store, run: RunHeld, *, every: timedelta, clock: Clock, look_s: float = LOOK_S) -> None:
        self._store = store
        self._run = run
        self._every = every
        self._clock = clock
        self._look_s = look_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="assay-retention", daemon=True)

    def start(self) -> None:
        """Begin to look, in a thread."""
        self._thread.start()

    def close(self) -> None:
        """End after the tenant at hand."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> list[str]:
        """Archive the old rows of each tenant that is due; return the tenants that were done here."""
        with self._store.reading(Scope(principal=PRINCIPAL)) as work:
            tenants = work.audit.tenants()
        return [tenant for tenant in tenants if not self._stop.is_set() and self._look_at(tenant)]

    def _look_at(self, tenant: str) -> bool:
        scope = Scope(tenant=tenant, principal=PRINCIPAL, via="server")
        if not self._is_due(scope):
            return False
        with self._store.leases.holding(lease_of(scope)) as lease:
            # Another process may have done it between the two looks.
            if lease is None or not self._is_due(scope):
                return False
            self._run(scope, lease)
            with self._store.writing(scope) as work:
                lease.check(work)
                work.meta.put(RAN + tenant, self._clock.now().isoformat())
        return True

    def _is_due(self, scope: Scope) -> bool:
        with self._store.reading(scope) as work:
            last = work.meta.get(RAN + scope.tenant)
        return last is None or self._clock.now() - datetime.fromisoformat(last) >= self._every

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except AssayError as problem:
                # What was archived so far is kept; the rest is due at the next look.
                _log.warning("old rows could not be archived: %s", problem)
            self._stop.wait(self._look_s)
