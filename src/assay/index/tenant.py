"""The index of one tenant in this process: follows the log, opens or builds a base when it must, folds the tail.

A short lock is held while the log is followed; what searches get is a `State`, which needs none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from assay.index.base import Base, no_base
from assay.index.building import Plan, Progress, build
from assay.index.following import Follower
from assay.index.generations import Generations, NoBase
from assay.index.growing import grow, growth_of
from assay.index.options import IndexOptions
from assay.index.reading import Reader
from assay.index.state import State
from assay.records import LogPosition, Scope
from assay.storage import Store, Work

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

    def state(self, work: Work, progress: Progress | None = None) -> tuple[State, LogPosition]:
        """The index brought up to the snapshot of a unit of work, and where the snapshot stands."""
        standing = work.changes.standing()
        with self._mutex:
            self._wanted_model = None if self.vectors_in_database else standing.model
            follower = self._follower
            stands = follower is not None and follower.position == standing.position
            if follower is None or not self._is_fit(follower) or not (stands or self._follow(follower, work)):
                follower = self._follower = self._open_follower(work, progress)
                self._state = None
            if self._state is None or self._state.position != follower.position:
                self._state = follower.state()
            return self._state, standing.position

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
        outgrown = follower.tail.size > self._home.options.fold_beyond(follower.base.count)
        return outgrown or follower.model != self._wanted_model

    def fold(self, progress: Progress | None = None, *, whole: bool = True) -> Base:
        """Make a base at the end of the log and go on from it; not `whole`, grow the one there is if that can be done.

        Searches go on meanwhile.
        """
        base = None if whole else self._grow_base()
        if base is None:
            with self._home.store.reading(self._home.scope) as work:
                base = self._build_base(work, self._model(work), self._home.generations, progress)
        self.adopt(base)
        return base

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
            if self._follower is not None and self._follow(self._follower, work):
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
        ahead = base.described().seq - self._base_seq()
        left = work.changes.position().seq - base.described().seq
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
            follower = _follower_of(self._load_base(work, model))
            if self._follow(follower, work):
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
                mine = generations is not None and held.enter_context(generations.locked())
                return _follower_of(self._build_base(work, model, generations if mine else None, progress))
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
        plan = Plan(
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
        follower.take_pending(self._reader(work, follower.model))
        while True:
            followed = work.changes.follow(follower.position, limit=_LINES)
            if followed.must_rebuild or any(change.number is None for change in followed.changes):
                return False
            if followed.changes:
                follower.take(followed.changes, followed.position, self._reader(work, follower.model))
            if len(followed.changes) < _LINES:
                return True

    def _reader(self, work: Work, model: str | None) -> Reader:
        options = self._home.options
        return Reader(work, model=model, title_repeats=options.title_repeats, page=options.page)


def _follower_of(base: Base) -> Follower:
    manifest = base.described()
    return Follower(base, manifest.position, model=manifest.model)
