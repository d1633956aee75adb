"""PostgreSQL as the index (`index.kind = database`): no files on this machine, nothing that follows the change log.

- Putting a tenant into the index.
- The indexes of all tenants.

Words and vectors are indexed by the transaction that writes a chunk, so a search sees exactly what its snapshot holds.
`database_view` is what one search sees. `assay.index.indexes` is the same over files; `protocol` is what both answer.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np

from assay.clock import Clock
from assay.errors import AssayError, NotReady, SettingError
from assay.index.building import Progress
from assay.index.database_view import DatabaseTenant, DatabaseView
from assay.index.options import Folded, IndexOptions, IndexStatus, Recall
from assay.index.status import measure_recall
from assay.records import Scope
from assay.storage import Store, Work
from assay.storage.repositories.stems import StemTotals
from assay.text.terms import ANALYSIS_VERSION

# --- Putting a tenant into the index ---
#
# Saves go on meanwhile: from `begin` on they write their own stems, and each batch here holds the tenant's write lock
# only while it is written. Whoever is cut short goes on where the index ends.


def fill_index(store: Store, scope: Scope, options: IndexOptions, progress: Progress | None = None) -> int:
    """Put every passage into the word index of the database; return how many were missing."""
    with store.writing(scope) as work:
        work.stems.begin(options.title_repeats)
    added, after = 0, 0
    while True:
        with store.writing(scope) as work:
            rows = work.stems.read_missing(after=after, limit=options.page)
            work.stems.write_passages(rows)
            if not rows:
                work.stems.complete()
                return added
        added, after = added + len(rows), rows[-1].number
        if progress is not None:
            with store.reading(scope) as work:
                progress(added, work.memories.count_chunks())


def build_vector_index(store: Store, scope: Scope, options: IndexOptions) -> bool:
    """Let PostgreSQL index a tenant's vectors once it has outgrown exact search; return whether it has the index."""
    with store.reading(scope) as work:
        model = work.vectors.active()
        if model is None or work.vectors.count(model) <= options.exact_below:
            return False
        dimension = work.vectors.page(model, limit=1).vectors.shape[1]
    store.build_vector_index(scope, model, dimension)
    return True


# --- The indexes of all tenants ---

_LEAVE_S = 10.0
"""How long closing waits for what is done in the background."""


class DatabaseIndexes:
    """The indexes of all tenants of a PostgreSQL store. Thread-safe; close it before the store.

    indexes = DatabaseIndexes(store, clock=clock)
    indexes.prepare(scope)
    with store.reading(scope) as work:
        indexes.view(work).lexical({"cooki": 1.0}, limit=50)
    """

    def __init__(self, store: Store, *, clock: Clock, options: IndexOptions | None = None) -> None:
        if store.backend_name != "postgres":
            raise SettingError(
                f"index.kind is 'database', and {store.place} is a SQLite file",
                remedy="Set index.kind to local, or name a PostgreSQL database with --db or ASSAY_DB.",
            )
        self._store = store
        self._clock = clock
        self._options = options or IndexOptions()
        self._mutex = threading.Lock()
        self._tenants: dict[str, DatabaseTenant] = {}
        self._closed = threading.Event()
        atexit.register(self.close)

    def prepare(self, scope: Scope) -> None:
        """Put a tenant into the index if it is not: a small one now, a large one in the background.

        A store that cannot be written to leaves it as it is; searches then say what is missing.
        """
        tenant = self._of(scope)
        if tenant.is_complete:
            return
        with self._store.reading(scope) as work:
            tenant.is_complete = _is_usable(work.stems.totals(), self._options)
            if tenant.is_complete:
                return
            small = work.memories.count_chunks() <= self._options.whole_below
        if small or not self._options.background:
            self._fill(scope, tenant)
        else:
            self._begin(scope, tenant, self._fill)

    def view(self, work: Work, *, progress: Progress | None = None) -> DatabaseView:  # noqa: ARG002 - of the protocol
        """What a search in this unit of work sees: everything its snapshot holds."""
        tenant = self._of(work.scope)
        totals = work.stems.totals()
        if totals is None or not _is_usable(totals, self._options):
            tenant.is_complete = False
            raise self._not_ready(work, tenant, totals)
        view = DatabaseView(work, tenant, totals, self._options)
        outgrown = view.document_count > self._options.exact_below and tenant.indexed_model != view.model
        if outgrown and self._options.background and not self._closed.is_set():
            self._begin(work.scope, tenant, self._index_vectors)
        return view

    def compact(self, scope: Scope, progress: Progress | None = None, *, whole: bool = True) -> Folded:
        """Put what is missing into the index, and build the vector index if it is due.

        `whole` also lets PostgreSQL clean up and count the tables of the index.
        """
        began, tenant = self._clock.monotonic(), self._of(scope)
        added = fill_index(self._store, scope, self._options, progress)
        tenant.is_complete, tenant.problem = True, None
        self._index_vectors(scope, tenant)
        if whole:
            self._store.tidy_stems()
        with self._store.reading(scope) as work:
            totals = work.stems.totals()
        passages = 0 if totals is None else totals.passages
        return Folded(
            done=True,
            reason=f"{passages} passages in the database, {added} of them new",
            passages=passages,
            seconds=self._clock.monotonic() - began,
            log_lines_forgotten=self._forget_old_lines(scope),
        )

    def status(self, scope: Scope) -> IndexStatus:
        """Return the status of the index."""
        tenant = self._of(scope)
        with self._store.reading(scope) as work:
            totals, standing = work.stems.totals(), work.changes.standing()
            usable = _is_usable(totals, self._options)
            indexed = standing.model is not None and work.vectors.has_index(standing.model)
            return IndexStatus(
                kind="database",
                generation=None,
                on_disk=False,
                passages=0 if totals is None else totals.passages,
                memories=work.filtered.count_memories(),
                base_passages=0 if totals is None else totals.passages,
                tail_passages=0,
                position=standing.position,
                log_end=standing.position,
                vector_kind="none" if standing.model is None else "hnsw" if indexed else "exact",
                model=standing.model,
                active_model=standing.model,
                vectors=None if standing.model is None else work.vectors.count(standing.model),
                folder=None,
                bytes_on_disk=0,
                bytes_in_database=work.filtered.stem_bytes()
                + (0 if standing.model is None else work.vectors.index_bytes(standing.model)),
                rebuilt_because=None,
                last_problem=tenant.problem if usable else str(self._not_ready(work, tenant, totals)),
                folding=tenant.thread is not None and tenant.thread.is_alive(),
                lock_holder=None,
                at=self._clock.now(),
            )

    def recall(self, scope: Scope, *, sample: int, rng: np.random.Generator, depth: int = 50) -> Recall:
        """How much of the exact answer the vector index gives, for stored vectors as queries."""
        self.prepare(scope)
        with self._store.reading(scope) as work:
            return measure_recall(self.view(work), work, sample=sample, rng=rng, depth=depth)

    def erase(self, scope: Scope) -> Path | None:
        """Nothing: an erased text left the index in the transaction that erased it."""
        self._of(scope).samples.clear()
        return None

    def delete(self, scope: Scope) -> str | None:
        """Delete the word index of a tenant in the database; return what was deleted."""
        tenant = self._of(scope)
        with self._store.writing(scope) as work:
            passages = work.stems.forget()
        tenant.is_complete = False
        return f"the words of {passages} passages in the database" if passages else None

    def wait(self) -> None:
        """Wait for what is done in the background."""
        for tenant in list(self._tenants.values()):
            if tenant.thread is not None:
                tenant.thread.join()

    def close(self) -> None:
        """Wait a little for what is done in the background. Closing twice is fine."""
        atexit.unregister(self.close)
        self._closed.set()
        for tenant in list(self._tenants.values()):
            if tenant.thread is not None:
                tenant.thread.join(_LEAVE_S)

    def _of(self, scope: Scope) -> DatabaseTenant:
        with self._mutex:
            return self._tenants.setdefault(scope.tenant, DatabaseTenant())

    def _fill(self, scope: Scope, tenant: DatabaseTenant) -> None:
        try:
            fill_index(self._store, scope, self._options, self._give_up)
            tenant.is_complete, tenant.problem = True, None
        except _Closing:
            return
        except AssayError as problem:
            tenant.problem = str(problem)

    def _index_vectors(self, scope: Scope, tenant: DatabaseTenant) -> None:
        with self._store.reading(scope) as work:
            model = work.vectors.active()
        if build_vector_index(self._store, scope, self._options):
            tenant.indexed_model = model

    def _forget_old_lines(self, scope: Scope) -> int:
        """No index follows the change log here; what is kept is for processes with files, which may share the store."""
        before = self._clock.now() - timedelta(days=self._options.keep_log_days)
        with self._store.writing(scope) as work:
            return work.changes.trim_before(before)

    def _begin(self, scope: Scope, tenant: DatabaseTenant, act: Callable[[Scope, DatabaseTenant], None]) -> None:
        """Do something in the background, unless something is being done."""

        def run() -> None:
            try:
                act(scope, tenant)
            except AssayError as problem:
                tenant.problem = str(problem)

        with tenant.mutex:
            if tenant.thread is None or not tenant.thread.is_alive():
                tenant.thread = threading.Thread(target=run, name="assay-database-index", daemon=True)
                tenant.thread.start()

    def _give_up(self, done: int, total: int) -> None:  # noqa: ARG002 - of `Progress`
        if self._closed.is_set():
            raise _Closing

    def _not_ready(self, work: Work, tenant: DatabaseTenant, totals: StemTotals | None) -> NotReady:
        held = 0 if totals is None else totals.passages
        because = "" if tenant.problem is None else f" ({tenant.problem})"
        return NotReady(
            f"the index in the database holds {held:,} of {work.memories.count_chunks():,} passages{because}",
            remedy="Run `assay index compact`, or wait for the process that is at it.",
        )


class _Closing(Exception):
    """The process ends while an index is filled."""


def _is_usable(totals: StemTotals | None, options: IndexOptions) -> bool:
    """Whether an index holds every passage, as this version analyses it."""
    if totals is None or not totals.complete:
        return False
    return (totals.analysis, totals.title_repeats) == (ANALYSIS_VERSION, options.title_repeats)
