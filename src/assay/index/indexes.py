"""The derived indexes of a store, one set per tenant; they can be deleted at any time.

- The index of one tenant in this process: follows the log, opens or builds a base, folds the tail.
- Folding the tail into a new base: on request, or in the background when the tail has grown.
- Collecting the status for `index status` and health.
- The indexes of all tenants.
"""

from __future__ import annotations

import atexit
import shutil
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from assay.clock import Clock
from assay.errors import AssayError
from assay.index.base import Base, Generations, NoBase, no_base
from assay.index.building import BuildPlan, Progress, Stopped, build, grow, growth_of
from assay.index.kept_tables import KeptTables
from assay.index.native import give_back
from assay.index.options import Folded, IndexOptions, IndexStatus, Recall
from assay.index.shared_files import forget_pages
from assay.index.state import Follower, State
from assay.index.status import count_memories, count_vectors, measure_recall, name_vector_kind
from assay.index.tail import Reader
from assay.index.view import View
from assay.records import Scope
from assay.storage import Standing, Store, Work
from assay.storage.backend import of_file

# --- The index of one tenant in this process: follows the log, opens or builds a base, folds the tail ---
#
# A short lock is held while the log is followed; what searches get is a `State`, which needs none.

_LINES = 10_000
"""Lines of the change log read at a time."""


class Home(NamedTuple):
    """Where a tenant's index comes from and where its bases lie."""

    store: Store
    scope: Scope
    identity: str
    """Which store it is."""
    generations: Generations | None
    """None: bases stay in memory."""
    options: IndexOptions
    stopped: Callable[[], bool]
    """Whether a build should give up."""


SLOW_TO_FREE = 500_000
"""Passages from which on letting a base go, and deleting it, waits for the searches that use it."""
SWEEP_PATIENCE_S = 10.0
"""How long it waits."""


class TenantIndex:
    """Made by `Indexes`, one for each tenant."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.generations = home.generations
        self.vectors_in_database = home.store.backend_name == "postgres"
        self._mutex = threading.Lock()
        self._follower: Follower | None = None
        self._state: State | None = None
        self._wanted_model: str | None = None
        self.rebuilt_because: str | None = None
        self.tables = KeptTables()

    def state(self, work: Work, progress: Progress | None = None) -> tuple[State, Standing]:
        """Return the index brought up to the snapshot of a unit of work, and where the snapshot stands."""
        standing = work.changes.standing()
        with self._mutex:
            self._wanted_model = None if self.vectors_in_database else standing.model
            follower = self._follower
            if follower is not None and not self._is_fit(follower):
                follower = None
            if follower is not None and follower.position != standing.position:
                follower = self._catch_up(follower, work, fold=True)
            if follower is None:
                follower = self._open_follower(work, progress)
                self._state = None
            self._follower = follower
            if self._state is None or self._state.position != follower.position:
                self._state = follower.state()
            return self._state, standing

    def current(self) -> State | None:
        """The newest state that any search has seen."""
        return self._state

    def tail_size(self) -> int:
        """Places in the tail, dead ones too."""
        follower = self._follower
        return 0 if follower is None else follower.tail.size

    def wants_folding(self) -> bool:
        """Whether the tail has outgrown the base, or the base is of another model than search uses."""
        follower = self._follower
        if follower is None:
            return False
        # Memories whose facts changed count as well: a table of them is copied with each change.
        size = max(follower.tail.size, follower.tail.memories.shape[1])
        outgrown = size > self._home.options.fold_beyond(follower.base.count)
        return outgrown or follower.model != self._wanted_model

    def fold(self, progress: Progress | None = None, *, whole: bool = True) -> Base:
        """Make a base at the end of the log and go on from it; not `whole`, grow the one there is if that can be done.

        Searches go on meanwhile.
        """
        base = None if whole else self._grow_base()
        if base is None:
            with self._home.store.reading(self._home.scope) as work:
                base = self._build_base(work, self._model(work), self._home.generations, progress)
        last = None if self._state is None else _LastBase(self._state.base)
        self.adopt(base)
        if last is not None and base.count >= SLOW_TO_FREE:
            last.let_go(SWEEP_PATIENCE_S)
        self._sweep(base)
        return base

    def _sweep(self, base: Base) -> None:
        """Delete the files of older bases."""
        if self._home.generations is not None and base.folder is not None:
            self._home.generations.sweep(keep=base.folder.name)

    def adopt(self, base: Base) -> None:
        """Go on from another base, unless the past was rewritten meanwhile."""
        fresh = _follower_of(base)
        with self._home.store.reading(self._home.scope) as work:
            if not self._follow(fresh, work):
                return
        # What came meanwhile is little. The snapshot comes first: searches hold theirs while they wait for the lock.
        with self._home.store.reading(self._home.scope) as work, self._mutex:
            if not self._follow(fresh, work):
                return
            # Only one that is near: following the log by the million to keep some words would cost more than they do.
            near = self._follower is not None and fresh.position.seq - self._follower.position.seq <= _LINES
            if near and self._follower is not None and self._follow(self._follower, work):
                fresh.keep(self._follower)
            self._follower, self._state = fresh, fresh.state()

    def _grow_base(self) -> Base | None:
        """The base with the tail added to it; None when there is none on disk that can be grown."""
        home, state = self._home, self._state
        fits = state is not None and state.model == self._wanted_model
        if home.generations is None or state is None or not fits or not home.generations.is_current(state.base):
            return None
        growth = growth_of(state, home.options)
        return None if growth is None else grow(growth, home.generations, options=home.options, stopped=home.stopped)

    def newer_base(self, work: Work) -> Base | None:
        """A base that another process made and that is far enough ahead of ours to be worth taking.

        One that lies on disk is worth it in place of one that does not, too: it can be grown.
        """
        generations, follower = self._home.generations, self._follower
        if generations is None or follower is None or generations.is_current(follower.base):
            return None
        try:
            base = self._load_base(work, self._model(work))
        except NoBase:
            return None
        ahead = base.require_manifest().seq - self._base_seq()
        left = work.changes.position().seq - base.require_manifest().seq
        of_disk = follower.base.folder is None and self._base_seq() >= 0 <= ahead
        return base if of_disk or ahead > left else None

    def _base_seq(self) -> int:
        follower = self._follower
        manifest = None if follower is None else follower.base.manifest
        return -1 if manifest is None else manifest.seq

    def _model(self, work: Work) -> str | None:
        return None if self.vectors_in_database else work.vectors.active()

    def _is_fit(self, follower: Follower) -> bool:
        """A small index changes its model at once; a large one goes on without vectors until it is folded."""
        if follower.model == self._wanted_model:
            return True
        size = follower.base.count + follower.tail.live
        return self._home.options.background and size > self._home.options.whole_below

    def _open_follower(self, work: Work, progress: Progress | None) -> Follower:
        """From the base on disk, or else from the tables: into the tail when small, else by building a base."""
        model = self._wanted_model
        try:
            follower = self._catch_up(_follower_of(self._load_base(work, model)), work, fold=True)
            if follower is not None:
                return follower
            reason = "the change log no longer reaches back to it"
        except NoBase as problem:
            reason = str(problem)
        self.rebuilt_because = reason
        if work.memories.count_chunks() <= self._home.options.whole_below:
            return self._read_whole(work, model)
        return self._build_first(work, model, progress)

    def _read_whole(self, work: Work, model: str | None) -> Follower:
        follower = Follower(no_base(), work.changes.position(), model=model)
        follower.take_all(self._reader(work, model))
        return follower

    def _build_first(self, work: Work, model: str | None, progress: Progress | None) -> Follower:
        """On disk if this process may write there now; in memory otherwise."""
        generations = self._home.generations
        with ExitStack() as held:
            try:
                mine = generations is not None and held.enter_context(generations.lock())
                base = self._build_base(work, model, generations if mine else None, progress)
                self._sweep(base)
                return _follower_of(base)
            except OSError as problem:
                self.rebuilt_because = f"{self.rebuilt_because}; in memory, since {problem}"
        return _follower_of(self._build_base(work, model, None, progress))

    def _load_base(self, work: Work, model: str | None) -> Base:
        if self._home.generations is None:
            raise NoBase("bases are kept in memory only")
        return self._home.generations.load(model, work.changes.position(), options=self._home.options)

    def _build_base(
        self, work: Work, model: str | None, generations: Generations | None, progress: Progress | None
    ) -> Base:
        home = self._home
        plan = BuildPlan(
            reader=self._reader(work, model),
            position=work.changes.position(),
            model=model,
            store=home.identity,
            tenant=home.scope.tenant,
            total=work.memories.count_chunks(),
            options=home.options,
            progress=progress,
            stopped=home.stopped,
        )
        return build(plan, generations)

    def _follow(self, follower: Follower, work: Work) -> bool:
        """Bring a follower up to a snapshot; False when it has to begin anew."""
        return self._catch_up(follower, work, fold=False) is not None

    def _catch_up(self, follower: Follower, work: Work, *, fold: bool) -> Follower | None:
        """Bring a follower up to a snapshot; None when it has to begin anew.

        With `fold`, a tail that has become too large on the way is folded in, and another follower goes on from there:
        after a million notes were taken in, the next search must not hold all of them in memory.
        """
        follower.take_pending(self._reader(work, follower.model))
        limit = min(_LINES, 2 * self._home.options.tail_most)
        while True:
            followed = work.changes.follow(follower.position, limit=limit)
            if followed.must_rebuild or any(change.number is None for change in followed.changes):
                return None
            if followed.changes:
                follower.take(followed.changes, followed.position, self._reader(work, follower.model))
            if len(followed.changes) < limit:
                return follower
            if fold and follower.tail.size > self._home.options.tail_most:
                follower = self._fold_on_the_way(follower, work)

    def _fold_on_the_way(self, follower: Follower, work: Work) -> Follower:
        """Return a follower from the grown base; the same follower where its base cannot be grown now."""
        home, generations = self._home, self._home.generations
        if generations is None:
            return follower
        try:
            with generations.lock() as mine:
                growth = growth_of(follower.state(), home.options) if mine else None
                if growth is None or not generations.is_current(follower.base):
                    return follower
                base = grow(growth, generations, options=home.options, stopped=home.stopped)
                self._sweep(base)
        except (OSError, Stopped):
            # A search needs no files.
            return follower
        fresh = _follower_of(base)
        fresh.take_pending(self._reader(work, fresh.model))
        return fresh

    def _reader(self, work: Work, model: str | None) -> Reader:
        options = self._home.options
        return Reader(work, model=model, title_repeats=options.title_repeats, page=options.page)


class _LastBase:
    """What a base consists of, held by whoever made the next one until no search uses it any more.

    Whoever is the last to let it go unmaps it, and gives the pages back of files that were deleted: of ten million
    passages that takes a third of a second or more, which must not be that of a search.
    """

    def __init__(self, base: Base) -> None:
        vectors = base.vectors
        of_vectors = () if vectors is None else (vectors.matrix, vectors.places)
        codes = () if vectors is None or vectors.codes is None else (vectors.codes.columns,)
        self._arrays = [base.memories, base.passages, *of_vectors, *codes]
        self._words = base.lexical
        self._unused = threading.Event()
        self._watch = weakref.ref(base, lambda _: self._unused.set())

    def let_go(self, patience_s: float) -> None:
        """Wait for the searches that use it, and unmap it."""
        if self._unused.wait(patience_s):
            for array in self._arrays:
                forget_pages(array)
        self._arrays.clear()
        self._words = None


def _follower_of(base: Base) -> Follower:
    manifest = base.require_manifest()
    return Follower(base, manifest.position, model=manifest.model)


# --- Folding the tail into a new base: when asked, or in the background when the tail has grown ---
#
# One process at a time folds a tenant; others skip, and take over what it made when their own tail has grown. What
# goes wrong in the background is kept for `status` and tried again later; searches never see it.

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
                if generations is not None and not held.enter_context(generations.lock()):
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
        """Wait a little for the background folds to end, after they were stopped."""
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
        made = base.require_manifest()
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
        # Each machine folds its own files; the database's index is built by one of them. When that one dies, whoever
        # folds next builds it.
        with self._store.leases.holding(f"vector-index:{scope.tenant}") as lease:
            if lease is not None:
                self._store.build_vector_index(scope, model, dimension)


# --- Collecting the status for `index status` and health ---


def read_status(tenant: TenantIndex, work: Work, folding: Folding, *, now: datetime) -> IndexStatus:
    """Return the status of a tenant's index after following the log to the snapshot."""
    state, _ = tenant.state(work)
    base, manifest, generations = state.base, state.base.manifest, tenant.generations
    active = work.vectors.active()
    return IndexStatus(
        kind="local",
        generation=None if manifest is None else manifest.generation,
        on_disk=base.folder is not None and base.folder.is_dir(),
        passages=state.alive.count,
        memories=count_memories(state),
        base_passages=base.count,
        tail_passages=int(np.count_nonzero(state.tail.alive)),
        position=state.position,
        log_end=work.changes.position(),
        vector_kind=name_vector_kind(state, active, in_database=tenant.vectors_in_database),
        model=active if tenant.vectors_in_database else state.model,
        active_model=active,
        vectors=None if tenant.vectors_in_database else count_vectors(state),
        folder=None if generations is None else str(generations.folder),
        bytes_on_disk=0 if generations is None else generations.bytes_on_disk(),
        bytes_in_database=None,
        rebuilt_because=tenant.rebuilt_because,
        last_problem=folding.problems.get(work.scope.tenant),
        folding=folding.is_running(work.scope),
        lock_holder=None if generations is None else generations.lock_holder(),
        at=now,
    )


# --- The indexes of all tenants ---


class Indexes:
    """The indexes of all tenants of a store. Thread-safe; close it before the store.

    indexes = Indexes(store, folder=default_folder(store), clock=clock)
    with store.reading(scope) as work:
        view = indexes.view(work)
        view.lexical({"cooki": 1.0}, limit=50)
    """

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

    def prepare(self, scope: Scope) -> None:
        """Nothing: the first search of a tenant makes what it needs."""

    def view(self, work: Work, *, progress: Progress | None = None) -> View:
        """What a search in this unit of work sees: everything its snapshot holds.

        Only for `Store.reading`: what a writing unit of work has not committed must not reach other searches.
        """
        tenant = self._of(work.scope)
        state, standing = tenant.state(work, progress)
        if self._options.background and not self._closed.is_set() and tenant.wants_folding():
            self._folding.begin(work.scope, tenant)
        return View(
            state,
            work,
            standing=standing,
            options=self._options,
            vectors_in_database=self._store.backend_name == "postgres",
            tables=tenant.tables,
        )

    def compact(self, scope: Scope, progress: Progress | None = None, *, whole: bool = True) -> Folded:
        """Fold the tail into a new base now; does nothing when another process is at it.

        A base is built whole, so that the same data give the same base; not `whole`, the one there is may be grown, as
        it is in the background.
        """
        return self._folding.run(scope, self._of(scope), progress, whole=whole)

    def status(self, scope: Scope) -> IndexStatus:
        """Return the status of the index, brought up to date first."""
        tenant = self._of(scope)
        with self._store.reading(scope) as work:
            return read_status(tenant, work, self._folding, now=self._clock.now())

    def recall(self, scope: Scope, *, sample: int, rng: np.random.Generator, depth: int = 50) -> Recall:
        """How much of the exact answer the vector index gives, for stored vectors as queries."""
        with self._store.reading(scope) as work:
            return measure_recall(self.view(work), work, sample=sample, rng=rng, depth=depth)

    def erase(self, scope: Scope) -> Path | None:
        """Delete a tenant's files, once no fold of an older state is running; return their folder."""
        generations = self._of(scope).generations
        return None if generations is None else generations.erase()

    def delete(self, scope: Scope) -> str | None:
        """Remove a tenant's files; return their folder. Processes that have them mapped go on."""
        generations = self._of(scope).generations
        if generations is None or not generations.folder.is_dir():
            return None
        shutil.rmtree(generations.folder, ignore_errors=True)
        return str(generations.folder)

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
