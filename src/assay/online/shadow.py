"""Shadow runs: a treatment answers the same query after the control has answered, unseen and off the caller's path.

`Shadow` is an observer of searches. On the caller's side it only draws the sample and puts the search into a bounded
queue. What does not fit is dropped, and written down as dropped beside the comparisons: a figure over the searches that
fitted says nothing of the busy moments when others did not. One thread of its own asks the treatments of every flag
whose shadow is on, compares, and writes the comparison down. A treatment that raises, returns ids that do not exist or
takes too long is a comparison with a problem, and one that hangs too often is not asked any more.

Python runs one thread at a time, so a slow treatment would be felt by callers although it is not on their path. The
thread therefore rests after each run until treatments have computed for no more than `duty` of the time: however slow
they are, at most that share of searches can meet one. Waiting, as for a service, costs callers nothing and is no work.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from assay.clock import Clock
from assay.errors import AssayError
from assay.hashing import bucket
from assay.online.diffs import DROPPED, failed_run, shadow_run
from assay.records import Origin, Scope, SearchRequest, SearchResult, ShadowRun
from assay.storage import Store

DROPS_KEPT = 4_096
"""Dropped searches that wait to be written down; beyond them the oldest are only counted."""
Treatment = Callable[[Scope, SearchRequest, str], SearchResult]
"""Answers a request with history up to, and without, the query named last."""
Features = Callable[[Scope], Mapping[str, Treatment]]
"""The treatments to be asked for a tenant now, by feature."""
Rest = Callable[[float], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowOptions:
    """How much is shadowed and what it may cost."""

    percent: int = 10
    """How many of a hundred queries are shadowed, by their id."""
    capacity: int = 256
    """Searches that may wait; more are dropped, counted."""
    deadline_s: float = 30.0
    """A treatment that takes longer is left behind."""
    hangs: int = 3
    """After so many, a treatment is not asked any more."""
    duty: float = 0.02
    """The share of time that treatments may use."""


class Counts(NamedTuple):
    """What became of the searches seen by this process."""

    seen: int
    sampled: int
    dropped: int
    compared: int
    failed: int
    unwritten: int
    """Comparisons and drops that the store would not take, or that came faster than they could be written."""


class _Job(NamedTuple):
    scope: Scope
    request: SearchRequest
    control: SearchResult


class _Drop(NamedTuple):
    scope: Scope
    control: SearchResult


class _Answer(NamedTuple):
    given: SearchResult | str
    computed_s: float


class Shadow:
    """Observes searches and asks treatments the same."""

    def __init__(
        self,
        *,
        store: Store,
        features: Features,
        clock: Clock,
        options: ShadowOptions | None = None,
        rest: Rest | None = None,
    ) -> None:
        self._store = store
        self._features = features
        self._clock = clock
        self._options = options or ShadowOptions()
        self._waiting: queue.Queue[_Job | None] = queue.Queue(self._options.capacity)
        self._closing = threading.Event()
        self._rest: Rest = rest or self._closing.wait
        self._counts: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._hung: Counter[str] = Counter()
        self._dropped: deque[_Drop] = deque(maxlen=DROPS_KEPT)
        self._computed = 0.0
        self._worker = threading.Thread(target=self._work, name="assay-shadow", daemon=True)
        self._worker.start()

    def __call__(self, scope: Scope, request: SearchRequest, result: SearchResult) -> None:
        """A search has been answered. Takes microseconds, whatever the treatment does."""
        self._count("seen")
        if request.origin is not Origin.USE or bucket(result.query_id, "shadow") >= self._options.percent:
            return
        self._count("sampled")
        try:
            self._waiting.put_nowait(_Job(scope, request, result))
        except queue.Full:
            self._drop(scope, result)

    @property
    def counts(self) -> Counts:
        """What this process has seen and done."""
        return Counts(**{name: self._counts[name] for name in Counts._fields})

    def drain(self) -> None:
        """Wait until everything that waits has been compared."""
        self._waiting.join()

    def close(self, deadline_s: float = 5.0) -> None:
        """Finish the comparison at hand, if it ends in time, and drop what waits."""
        self._closing.set()
        while True:
            try:
                job = self._waiting.get_nowait()
            except queue.Empty:
                break
            if job is not None:
                self._drop(job.scope, job.control)
            self._waiting.task_done()
        # Whoever still searches may have filled the queue again, with a treatment that hangs before it.
        with suppress(queue.Full):
            self._waiting.put(None, timeout=deadline_s)
        self._worker.join(deadline_s)
        self._write_drops()

    def _count(self, name: str, many: int = 1) -> None:
        with self._counting:
            self._counts[name] += many

    def _drop(self, scope: Scope, control: SearchResult) -> None:
        """Count a search that will not be compared, and keep it until the thread writes it down."""
        self._count("dropped")
        if len(self._dropped) == DROPS_KEPT:
            self._count("unwritten")
        self._dropped.append(_Drop(scope, control))

    def _write_drops(self) -> None:
        """Write down what was dropped since the last time, one row for each flag that would have been compared."""
        drops: dict[Scope, list[SearchResult]] = {}
        while self._dropped:
            drop = self._dropped.popleft()
            drops.setdefault(drop.scope, []).append(drop.control)
        at = self._clock.now()
        for scope, controls in drops.items():
            features = self._features(scope)
            self._write(scope, [failed_run(name, one, DROPPED, at=at) for name in features for one in controls])

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            began, self._computed = time.thread_time(), 0.0
            try:
                self._compare(job)
                self._write_drops()
            except Exception:  # noqa: BLE001 - the shadow may fail, but not stop: the next search may fare better
                self._count("failed")
            finally:
                self._waiting.task_done()
            if not self._closing.is_set():
                used = self._computed + time.thread_time() - began
                self._rest(used * (1.0 / self._options.duty - 1.0))

    def _compare(self, job: _Job) -> None:
        for feature, treatment in self._features(job.scope).items():
            if self._hung[feature] < self._options.hangs:
                self._write(job.scope, [self._run(feature, treatment, job)])

    def _run(self, feature: str, treatment: Treatment, job: _Job) -> ShadowRun:
        answer = self._ask(feature, treatment, job)
        if isinstance(answer, SearchResult):
            with self._store.reading(job.scope) as work:
                foreign = sorted(set(answer.ids) - set(work.memories.numbers_of(answer.ids)))
                grades = work.judgments.of_text(job.request.query)
            if not foreign:
                self._count("compared")
                return shadow_run(feature, job.control, answer, grades=grades, at=self._clock.now())
            answer = f"returned {len(foreign)} ids that are not in the store, such as {foreign[0]!r}"
        self._count("failed")
        return failed_run(feature, job.control, answer, at=self._clock.now())

    def _ask(self, feature: str, treatment: Treatment, job: _Job) -> SearchResult | str:
        """The treatment's answer, or why there is none. It runs in a thread that can be left behind."""
        answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        request = replace(job.request, origin=Origin.SHADOW)

        def ask() -> None:
            given: SearchResult | str
            try:
                given = treatment(job.scope, request, job.control.query_id)
            except Exception as problem:  # noqa: BLE001 - whatever it is, it is the treatment's and is written down
                given = f"raised {type(problem).__name__}: {problem}"
            answers.put(_Answer(given, time.thread_time()))

        threading.Thread(target=ask, name=f"assay-shadow-{feature}", daemon=True).start()
        try:
            answer = answers.get(timeout=self._options.deadline_s)
        except queue.Empty:
            self._hung[feature] += 1
            return f"did not answer within {self._options.deadline_s:g} s"
        self._computed += answer.computed_s
        return answer.given

    def _write(self, scope: Scope, runs: Sequence[ShadowRun]) -> None:
        try:
            with self._store.writing(scope) as work:
                work.shadow_runs.add_many(runs)
        except AssayError:
            self._count("unwritten", len(runs))
