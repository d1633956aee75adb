"""Background work that one process at a time does, over all processes and machines that share a store.

    with store.leases.holding("reembed:default") as held:
        if held is None:
            return  # another process is at it
        while not held.lost:
            ...
            with store.writing(scope) as work:
                held.check(work)
                ...

A lease is a row with an expiry. Its holder renews it while it works. A process that dies stops renewing, and another
takes the lease when it has expired. One that was only slow finds at its next `check` that it was replaced, in the same
transaction in which it would have written, so that nothing is done twice.
"""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta

from assay.clock import Clock
from assay.errors import AssayError
from assay.records.coordination import Lease
from assay.storage.work import Work

LEASE_S = 15.0
"""Seconds after which a lease that was not renewed may be taken by another process."""
RENEWALS = 3
"""How often a lease is renewed while it lasts."""
_log = logging.getLogger(__name__)

Coordinating = Callable[[], AbstractContextManager[Work]]
"""Opens a short transaction of the whole store."""


class HeldLease:
    """A lease that this process has taken."""

    def __init__(self, lease: Lease, clock: Clock, lasts_s: float) -> None:
        self.lease = lease
        self._clock = clock
        self._lasts_s = lasts_s
        self._renewed_at = clock.monotonic()
        self._replaced = False

    @property
    def lost(self) -> bool:
        """Whether another process may have it by now."""
        return self._replaced or self._clock.monotonic() - self._renewed_at >= self._lasts_s

    def check(self, work: Work) -> None:
        """Raise `StoreBusy` in a writing unit of work if another process has taken the lease."""
        work.leases.check(self.lease)

    def renew(self, coordinating: Coordinating) -> None:
        """Keep the lease for longer; a store that cannot be reached is asked again at the next renewal."""
        began = self._clock.monotonic()
        try:
            with coordinating() as work:
                self._replaced = not work.leases.renew(self.lease, timedelta(seconds=self._lasts_s))
        except AssayError as problem:
            _log.warning("the lease %s could not be renewed: %s", self.lease.name, problem)
            return
        if not self._replaced:
            self._renewed_at = began


class LeaseTaker:
    """Takes leases for this process."""

    def __init__(self, coordinating: Coordinating, *, clock: Clock, process_id: str, lasts_s: float = LEASE_S) -> None:
        self._coordinating = coordinating
        self._clock = clock
        self._lasts_s = lasts_s
        self.holder = f"{platform.node()}/{os.getpid()}/{process_id}"
        """How this process is named in leases: machine, process and a random part."""

    @contextmanager
    def holding(self, name: str) -> Iterator[HeldLease | None]:
        """Hold a lease while the body runs, renewing it from a thread; None: another process holds it."""
        # Two pieces of work of one process exclude each other too.
        holder = f"{self.holder}/{threading.get_ident()}"
        with self._coordinating() as work:
            taken = work.leases.take(name, holder, timedelta(seconds=self._lasts_s))
        if taken is None:
            yield None
            return
        held, ended = HeldLease(taken, self._clock, self._lasts_s), threading.Event()
        renewing = threading.Thread(target=self._keep, args=(held, ended), name="assay-lease", daemon=True)
        renewing.start()
        try:
            yield held
        finally:
            ended.set()
            renewing.join()
            # A store that is away keeps the lease until it expires.
            with suppress(AssayError), self._coordinating() as work:
                work.leases.give_back(taken)

    def _keep(self, held: HeldLease, ended: threading.Event) -> None:
        while not ended.wait(self._lasts_s / RENEWALS) and not held.lost:
            held.renew(self._coordinating)
