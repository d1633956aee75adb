"""The derived indexes of a store, one set per tenant. The database is the truth; these can be deleted at any time.

indexes = Indexes(store, folder=default_folder(store), clock=clock)
with store.reading(scope) as work:
    view = indexes.view(work)
    view.lexical({"cooki": 1.0}, limit=50)
"""

from __future__ import annotations

import atexit
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from assay.clock import Clock
from assay.index.building import Progress
from assay.index.folding import Folding
from assay.index.generations import Generations
from assay.index.options import IndexOptions
from assay.index.status import Folded, IndexStatus, Recall
from assay.index.telling import recall_of, status_of
from assay.index.tenant import Home, TenantIndex
from assay.index.view import View
from assay.records import Scope
from assay.storage import Store, Work


class Indexes:
    """Thread-safe. Close it before the store."""

    def __init__(self, store: Store, folder: Path | None, *, clock: Clock, options: IndexOptions | None = None) -> None:
        self._store = store
        self._folder = folder
        self._clock = clock
        self._options = options or IndexOptions()
        self._identity = f"{store.backend_name}:{store.place}"
        self._closed = threading.Event()
        self._mutex = threading.Lock()
        self._tenants: dict[str, TenantIndex] = {}
        self._folding = Folding(store, clock=clock, options=self._options)
        atexit.register(self.close)

    def view(self, work: Work, *, progress: Progress | None = None) -> View:
        """What a search in this unit of work sees: everything its snapshot holds.

        Only for `Store.reading`: what a writing unit of work has not committed must not reach other searches.
        """
        tenant = self._of(work.scope)
        state, standing = tenant.state(work, progress)
        if self._options.background and not self._closed.is_set() and tenant.wants_folding():
            self._folding.begin(work.scope, tenant)
        in_database = self._store.backend_name == "postgres"
        return View(state, work, standing=standing, options=self._options, vectors_in_database=in_database)

    def compact(self, scope: Scope, progress: Progress | None = None, *, whole: bool = True) -> Folded:
        """Fold the tail into a new base now; does nothing when another process is at it.

        A base is built whole, so that the same data give the same base; not `whole`, the one there is may be grown, as
        it is in the background.
        """
        return self._folding.run(scope, self._of(scope), progress, whole=whole)

    def status(self, scope: Scope) -> IndexStatus:
        """How the index stands, brought up to date first."""
        tenant = self._of(scope)
        with self._store.reading(scope) as work:
            return status_of(tenant, work, self._folding, now=self._clock.now())

    def recall(self, scope: Scope, *, sample: int, rng: np.random.Generator, depth: int = 50) -> Recall:
        """How much of the exact answer the vector index gives, for stored vectors as queries."""
        with self._store.reading(scope) as work:
            return recall_of(self.view(work), work, sample=sample, rng=rng, depth=depth)

    def erase(self, scope: Scope) -> Path | None:
        """Delete a tenant's files, once nobody is making new ones of an older state; says where they were."""
        generations = self._of(scope).generations
        return None if generations is None else generations.erase()

    def wait(self) -> None:
        """Wait for what is folded in the background."""
        self._folding.wait()

    def close(self) -> None:
        """Stop what is folded in the background. Closing twice is fine."""
        atexit.unregister(self.close)
        self._closed.set()
        self._folding.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _of(self, scope: Scope) -> TenantIndex:
        with self._mutex:
            found = self._tenants.get(scope.tenant)
            if found is None:
                found = self._tenants[scope.tenant] = TenantIndex(self._home(scope))
            return found

    def _home(self, scope: Scope) -> Home:
        generations = None
        if self._folder is not None:
            generations = Generations(self._folder, store=self._identity, tenant=scope.tenant)
        return Home(
            store=self._store,
            scope=scope,
            identity=self._identity,
            generations=generations,
            options=self._options,
            stopped=self._closed.is_set,
        )
