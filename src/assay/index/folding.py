"""Folding the tail into a new base: when asked, or in the background when the tail has grown.

One process at a time folds a tenant; others skip, and take over what it made when their own tail has grown. What goes
wrong in the background is kept for `status` and tried again later; searches never see it.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from datetime import timedelta

from assay.clock import Clock
from assay.errors import AssayError
from assay.index.base import Base
from assay.index.building import Progress, Stopped
from assay.index.native import give_back
from assay.index.options import IndexOptions
from assay.index.status import Folded
from assay.index.tenant import TenantIndex
from assay.records import Scope
from assay.storage import Store
from assay.storage.backend import of_file

_PATIENCE_S = 60.0
"""How long after a failure the next try is made."""
_BUSY_S = 2.0
"""How long after finding another process at it: what it makes is taken over."""
_LEAVE_S = 10.0
"""How long closing waits for a build to notice."""


class Folding:
    """The folding of every tenant of one store."""

    def __init__(self, store: Store, *, clock: Clock, options: IndexOptions) -> None:
        self._store = store
        self._clock = clock
        self._options = options
        self._mutex = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._not_before: dict[str, float] = {}
        self.problems: dict[str, str] = {}

    def begin(self, scope: Scope, tenant: TenantIndex) -> None:
        """Fold in the background, unless that is being done or has just failed."""
        with self._mutex:
            if self.is_running(scope) or self._clock.monotonic() < self._not_before.get(scope.tenant, 0.0):
                return
            thread = threading.Thread(
                target=self._in_background, args=(scope, tenant), name="assay-index-folding", daemon=True
            )
            self._threads[scope.tenant] = thread
            thread.start()

    def is_running(self, scope: Scope) -> bool:
        """Whether this process folds the tenant in the background now."""
        thread = self._threads.get(scope.tenant)
        return thread is not None and thread.is_alive()

    def run(self, scope: Scope, tenant: TenantIndex, progress: Progress | None = None, *, whole: bool = True) -> Folded:
        """Fold now; not `whole`, with as little work as will do."""
        began = self._clock.monotonic()
        with ExitStack() as held:
            generations = tenant.generations
            try:
                if generations is not None and not held.enter_context(generations.locked()):
                    holder = generations.lock_holder() or "another one"
                    return Folded(done=False, busy=True, reason=f"process {holder} is folding this index")
                base = tenant.fold(progress, whole=whole)
            except OSError as problem:
                raise of_file(problem, "cannot write the index") from problem
            except Stopped:
                return Folded(done=False, reason="stopped")
        give_back()
        self._index_in_database(scope)
        return self._report_folding(base, scope, began)

    def wait(self) -> None:
        """Wait for every fold that has begun in the background."""
        for thread in list(self._threads.values()):
            thread.join()

    def stop(self) -> None:
        """Wait for them a little; they have been told to stop."""
        for thread in list(self._threads.values()):
            thread.join(_LEAVE_S)

    def _in_background(self, scope: Scope, tenant: TenantIndex) -> None:
        try:
            folded = self._fold_or_take_over(scope, tenant)
        except Exception as problem:  # noqa: BLE001 - kept for `status`; a fold must never harm a search
            folded = Folded(done=False, reason=str(problem))
        with self._mutex:
            if folded is None or folded.done:
                self._not_before.pop(scope.tenant, None)
                self.problems.pop(scope.tenant, None)
            else:
                wait_s = _BUSY_S if folded.busy else _PATIENCE_S
                self._not_before[scope.tenant] = self._clock.monotonic() + wait_s
                self.problems[scope.tenant] = folded.reason

    def _fold_or_take_over(self, scope: Scope, tenant: TenantIndex) -> Folded | None:
        """What came of folding; None when another process had done it."""
        with self._store.reading(scope) as work:
            newer = tenant.newer_base(work)
        if newer is not None:
            tenant.adopt(newer)
            return None
        return self.run(scope, tenant, whole=False)

    def _report_folding(self, base: Base, scope: Scope, began: float) -> Folded:
        made = base.described()
        return Folded(
            done=True,
            reason=f"{made.passages} passages of {made.memories} memories",
            generation=made.generation,
            passages=made.passages,
            seconds=self._clock.monotonic() - began,
            log_lines_forgotten=self._forget_old_lines(scope),
        )

    def _forget_old_lines(self, scope: Scope) -> int:
        """A store that cannot be written to just now keeps them until next time."""
        before = self._clock.now() - timedelta(days=self._options.keep_log_days)
        try:
            with self._store.writing(scope) as work:
                return work.changes.trim_before(before)
        except AssayError:
            return 0

    def _index_in_database(self, scope: Scope) -> None:
        """PostgreSQL gets its own vector index once the tenant has outgrown exact search."""
        if self._store.backend_name != "postgres":
            return
        with self._store.reading(scope) as work:
            model = work.vectors.active()
            if model is None or work.vectors.count(model) <= self._options.exact_below:
                return
            dimension = work.vectors.page(model, limit=1).vectors.shape[1]
        self._store.build_vector_index(scope, model, dimension)
