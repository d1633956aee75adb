"""Shadow runs: a treatment answers the query after the control, unseen and off the caller's path.

- How a treatment's results differ from the control's.
- Shadow runs beside live searches.
- Shadow runs of logged searches.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import AssayError, InputError
from assay.hashing import bucket
from assay.online.judged import Grades, Judged, deltas, read_judged
from assay.records import LoggedQuery, Mode, Origin, Scope, SearchRequest, SearchResult, ShadowRun
from assay.records.evidence import JudgmentReader
from assay.statistics.agreement import rank_agreement

if TYPE_CHECKING:
    from datetime import datetime

    from assay.clock import Clock
    from assay.storage import Store, Work

# --- How a treatment's results differ from the control's ---


def shadow_run(
    feature_id: str, control: SearchResult, treatment: SearchResult | RankedIds, *, grades: Grades | None, at: datetime
) -> ShadowRun:
    """Both answers side by side."""
    took = treatment.latency_ms if isinstance(treatment, RankedIds) else treatment.telemetry.total_latency_ms
    agreement = rank_agreement(control.ids, treatment.ids)
    gained = deltas(control.ids, treatment.ids, grades)
    return ShadowRun(
        query_id=control.query_id,
        feature_id=feature_id,
        control_result_ids=control.ids,
        treatment_result_ids=treatment.ids,
        created_at=at,
        rank_correlation=agreement.tau_b,
        set_overlap=agreement.jaccard,
        rbo=agreement.rbo,
        classified=agreement.classified,
        top_result_changed=agreement.top_changed,
        order_differences=agreement.order_differences,
        mrr_delta=gained.mrr,
        ndcg_delta=gained.ndcg,
        control_latency_ms=control.telemetry.total_latency_ms,
        treatment_latency_ms=took,
    )


def explain_failure(problem: Exception) -> str:
    """Say why a treatment gave no answer."""
    return problem.message if isinstance(problem, AssayError) else f"raised {type(problem).__name__}: {problem}"


DROPPED = "dropped: too many searches waited to be compared"
"""The problem of a search that was in the sample and never compared."""


def make_failed_run(feature_id: str, control: SearchResult, problem: str, *, at: datetime) -> ShadowRun:
    """A treatment that gave no answer."""
    return ShadowRun(
        query_id=control.query_id,
        feature_id=feature_id,
        control_result_ids=control.ids,
        treatment_result_ids=(),
        created_at=at,
        control_latency_ms=control.telemetry.total_latency_ms,
        problem=problem,
    )


# --- Shadow runs beside live searches ---
#
# `Shadow` is an observer of searches. On the caller's side it only draws the sample and puts the search into a bounded
# queue. What does not fit is dropped, and written down as dropped beside the comparisons: a figure over the searches
# that fitted says nothing of the busy moments when others did not. One thread of its own asks the treatments of every
# flag whose shadow is on, compares, and writes the comparison down. A treatment that raises, returns ids that do not
# exist or takes too long is a comparison with a problem, and one that hangs too often is not asked any more.
#
# Python runs one thread at a time, so a slow treatment would be felt by callers although it is not on their path. The
# thread therefore rests after each run until treatments have computed for no more than `duty` of the time: however
# slow they are, at most that share of searches can meet one. Waiting, as for a service, costs callers nothing and is
# no work.

DROPS_KEPT = 4_096
"""Dropped searches that wait to be written down; beyond them the oldest are only counted."""
SearchTreatment = Callable[[Scope, SearchRequest, str], SearchResult]
"""Answers a request with history up to, and without, the query named last."""


class RankedIds(NamedTuple):
    """What another system answered: memories of this store, best first."""

    ids: tuple[str, ...]
    latency_ms: float | None = None


Treatment = Callable[[Scope, SearchRequest, str], SearchResult | RankedIds]
"""Answers a request as this memory would by another configuration, or as another system does."""
Features = Callable[[Scope], Mapping[str, Treatment]]
"""Returns the treatments to run for a tenant now, by feature."""
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
    """Timeouts after which a treatment is not run any more."""
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
    given: SearchResult | RankedIds | str
    computed_s: float


class Shadow:
    """Observes searches and runs treatments on the same queries."""

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
        self._judged: dict[str, tuple[tuple[int, str], Judged]] = {}
        self._worker = threading.Thread(target=self._work, name="assay-shadow", daemon=True)
        self._worker.start()

    def __call__(self, scope: Scope, request: SearchRequest, result: SearchResult) -> None:
        """Observe a finished search. Takes microseconds, however slow the treatment is."""
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
            self._write(
                scope, [make_failed_run(name, control, DROPPED, at=at) for name in features for control in controls]
            )

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
        if not isinstance(answer, str):
            try:
                _check_known(self._store, job.scope, answer.ids)
                with self._store.reading(job.scope) as work:
                    grades = self._read_judged(work, job.scope).grades(job.request.query)
                self._count("compared")
                return shadow_run(feature, job.control, answer, grades=grades, at=self._clock.now())
            except InputError as problem:
                answer = problem.message
        self._count("failed")
        return make_failed_run(feature, job.control, answer, at=self._clock.now())

    def _read_judged(self, work: Work, scope: Scope) -> Judged:
        """Read the judgments of a tenant, again only after one was given."""
        state = work.judgments.state()
        known = self._judged.get(scope.tenant)
        if known is None or known[0] != state:
            known = state, read_judged(work, JudgmentReader.SHADOW)
            self._judged[scope.tenant] = known
        return known[1]

    def _ask(self, feature: str, treatment: Treatment, job: _Job) -> SearchResult | RankedIds | str:
        """The treatment's answer, or why there is none. It runs in a thread that can be left behind."""
        answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        request = replace(job.request, origin=Origin.SHADOW)

        def ask() -> None:
            given: SearchResult | RankedIds | str
            try:
                given = treatment(job.scope, request, job.control.query_id)
            except Exception as problem:  # noqa: BLE001 - whatever it is, it is the treatment's and is written down
                given = explain_failure(problem)
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


# --- Shadow runs of logged searches ---


def replay(
    store: Store,
    scope: Scope,
    feature_id: str,
    control: SearchTreatment,
    treatment: Treatment,
    *,
    last: int,
    clock: Clock,
) -> list[ShadowRun]:
    """Ask and compare; the comparisons are kept, newest query first."""
    store.log.flush()
    with store.reading(scope) as work:
        queries = {query.query: query for query in reversed(work.queries.recent(limit=last, origin=Origin.USE))}
        judged = read_judged(work, JudgmentReader.SHADOW)
    for query in [*queries.values()][:1]:
        # The first search of a process loads what it needs; whoever comes second would look quick.
        control(scope, _request(query), query.query_id)
    runs = []
    for query in queries.values():
        request = _request(query)
        # What is compared is the search that was asked, not its repetition: that one has the session and the grades.
        before = replace(control(scope, request, query.query_id), query_id=query.query_id)
        try:
            after = treatment(scope, request, query.query_id)
            _check_known(store, scope, after.ids)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the treatment's and is written down
            runs.append(make_failed_run(feature_id, before, explain_failure(problem), at=clock.now()))
            continue
        runs.append(shadow_run(feature_id, before, after, grades=judged.grades(query.query), at=clock.now()))
    with store.writing(scope) as work:
        work.shadow_runs.add_many(runs)
    return runs[::-1]


def _check_known(store: Store, scope: Scope, ids: Sequence[str]) -> None:
    """Refuse an answer with ids that this memory does not hold."""
    with store.reading(scope) as work:
        foreign = sorted(set(ids) - set(work.memories.numbers_of(ids)))
    if foreign:
        raise InputError(
            f"returned {len(foreign)} ids that are not in the store, such as {foreign[0]!r}",
            remedy="Let it return ids or source ids of this memory.",
        )


def _request(query: LoggedQuery) -> SearchRequest:
    return SearchRequest(
        query=query.query,
        k=max(query.result_count, 1),
        mode=Mode(query.mode) if query.mode else Mode.AUTO,
        session_id=query.session_id,
        context_type=query.context_type,
        previous_query=query.previous_query,
        origin=Origin.SHADOW,
        tool_name=query.tool_name,
    )
