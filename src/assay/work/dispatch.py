"""Hands items to workers, a bounded number at a time, and takes them back from workers that are lost.

    first      a worker that has not shown yet that it can do the job gets one item and the description of the job
    then       batches that take about `BATCH_S`, two for each of its slots, so that it never waits
    lost       dead, silent or late: what it had is given to others; what comes from it later is not counted
    suspect    an item that was lost with a worker is sent alone, to a worker that has nothing else
    given up   an item whose workers were lost `tries` times becomes a typed failure
    refused    a worker of another version, or that cannot open the job, gets nothing more

An item is in exactly one place: not drawn yet, waiting, at one worker, or given back as one result. `Crew` is what
executors differ in: who the workers are, and how bytes reach them.
"""

from __future__ import annotations

import itertools
import operator
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol

from assay.clock import Clock, SystemClock
from assay.errors import BadValue, ClusterFailed
from assay.work.jobs import Hold, Item, Job, Result, WorkerFigures, draw
from assay.work.worker import Done, Refused, Request, Unknown, build, read_reply

BATCH_S = 0.4
"""How long a batch should take: long enough that sending it costs little, short enough that little is lost with it."""
MOST_ITEMS = 2_048
"""Items of one batch, so that the memory of the caller is bounded also where an item takes no time at all."""
AHEAD = 2
"""Batches at a worker for each of its slots."""
LOOK_S = 0.5
"""How often to look which workers there are."""


_DISPATCHERS = itertools.count()
"""Two dispatchers of one key never give two batches the same name."""


class WorkerState(NamedTuple):
    """A worker as its crew sees it now."""

    slots: int
    """Batches it performs at once."""
    heard: object = None
    """Changes whenever the worker shows that it is alive; None: it is known to be alive."""


class Reply(NamedTuple):
    """What came back for a batch: what `worker.perform` returned, or why there is nothing."""

    token: str
    found: tuple[str, tuple[Any, ...]] | None
    problem: str = ""


class Crew(Protocol):
    """Workers, and the way to them."""

    def workers(self) -> Mapping[str, WorkerState]:
        """Every worker that is there now; raises `ClusterFailed` where nobody can say any more."""
        ...

    def send(self, token: str, worker: str, request: Request) -> None:
        """Give a worker a batch."""
        ...

    def wait(self, seconds: float) -> Sequence[Reply]:
        """Wait for replies, at most so long."""
        ...

    def take_back(self, token: str, *, hung: bool) -> None:
        """Forget a batch; the worker that has it is gone, or `hung`."""
        ...

    def finish(self, key: str) -> None:
        """Tell workers that a job is done with."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatchRules:
    """How patient to be."""

    tries: int = 4
    """How often an item may be lost with its worker before it is given up."""
    silence_s: float = 30.0
    """A worker that was not heard of for so long is lost."""
    grace_s: float = 30.0
    """Allowed beside the time that the items themselves may take."""
    opening_s: float = 1_800.0
    """Allowed for the first item of a worker, which opens the job."""
    patience_s: float = 60.0
    """How long to wait for a worker when there is none."""

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise BadValue(f"tries {self.tries} is below 1", remedy="Give 1 or more.")


@dataclass(slots=True)
class _Attempt(Generic[Item]):
    """An item on its way."""

    item: Item
    lost: list[str] = field(default_factory=list)
    """Why each worker was lost that had it."""


@dataclass(slots=True)
class _Batch(Generic[Item]):
    """Items at a worker."""

    worker: str
    attempts: list[_Attempt[Item]]
    alone: bool
    deadline: float | None


@dataclass(slots=True)
class _Member:
    """What is known of one worker."""

    name: str
    slots: int
    heard: object
    heard_at: float
    proven: bool = False
    """Whether it has opened the job and finished an item of it."""
    silent: bool = False
    problem: str = ""
    done: int = 0
    lost: int = 0
    first_at: float | None = None
    last_at: float | None = None
    tokens: set[str] = field(default_factory=set)

    def figures(self) -> WorkerFigures:
        """Return what it did."""
        span = 0.0 if self.first_at is None or self.last_at is None else self.last_at - self.first_at
        return WorkerFigures(self.name, self.done, span, self.lost, self.problem)


class Dispatcher(Generic[Item, Result]):
    """Works through the items of one job."""

    def __init__(
        self,
        crew: Crew,
        job: Job[Item, Result],
        *,
        key: str,
        rules: DispatchRules | None = None,
        clock: Clock | None = None,
    ) -> None:
        if job.remote is None:
            raise BadValue(
                f"these {job.what} can be worked on in this process only",
                remedy="Leave out --cluster and --processes; --threads works. A model's budget holds in one process.",
            )
        self._crew = crew
        self._job = job
        self._key = key
        self._rules = rules or DispatchRules()
        self._clock = clock or SystemClock()
        self._description = pickle.dumps(job.remote())
        self._members: dict[str, _Member] = {}
        self._gone: list[_Member] = []
        self._refused: dict[str, str] = {}
        """Workers that get nothing more, and why."""
        self._busy: dict[str, _Batch[Item]] = {}
        self._suspects: deque[_Attempt[Item]] = deque()
        self._again: deque[_Attempt[Item]] = deque()
        self._numbers = itertools.count()
        self._began = next(_DISPATCHERS)
        self._exhausted = False
        self._item_s: float | None = None
        self._looked_at: float | None = None
        self._alone_since: float | None = None

    def figures(self) -> list[WorkerFigures]:
        """What each worker has done so far, also those that are gone."""
        return [member.figures() for member in (*self._gone, *self._members.values())]

    def run(self, items: Iterator[Item | Hold]) -> Generator[Result]:
        """Perform everything that is drawn; results come as they are ready."""
        try:
            while True:
                yield from self._look()
                self._fill(items)
                if self._exhausted and not (self._busy or self._again or self._suspects):
                    return
                for reply in self._crew.wait(LOOK_S):
                    yield from self._receive(reply)
        finally:
            for token in list(self._busy):
                self._crew.take_back(token, hung=False)
            self._busy.clear()
            if not self._job.keep:
                self._crew.finish(self._key)

    # Who is there

    def _look(self) -> Iterator[Result]:
        now = self._clock.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_S and self._members:
            return
        self._looked_at = now
        there = self._crew.workers()
        for name in [name for name in self._members if name not in there]:
            member = self._members.pop(name)
            member.problem = member.problem or "it is gone"
            self._gone.append(member)
            yield from self._lose(member, f"{name} died", blame=True)
        for name, state in there.items():
            if name not in self._refused:
                self._hear(name, state, now)
        yield from self._find_hung(now)
        self._check_patience(now)

    def _hear(self, name: str, state: WorkerState, now: float) -> None:
        member = self._members.get(name)
        if member is None:
            self._members[name] = _Member(name=name, slots=state.slots, heard=state.heard, heard_at=now)
        elif state.heard is None or state.heard != member.heard:
            member.slots, member.heard, member.heard_at, member.silent = state.slots, state.heard, now, False

    def _find_hung(self, now: float) -> Iterator[Result]:
        for member in list(self._members.values()):
            silence = now - member.heard_at
            if not member.silent and silence > self._rules.silence_s:
                member.silent = True
                yield from self._lose(member, f"{member.name} was silent for {silence:.0f} s", blame=True, hung=True)
            if any(self._is_late(token, now) for token in member.tokens):
                yield from self._refuse(member, f"{member.name} did not finish in time", blame=True, hung=True)

    def _is_late(self, token: str, now: float) -> bool:
        deadline = self._busy[token].deadline
        return deadline is not None and now > deadline

    def _check_patience(self, now: float) -> None:
        if any(not member.silent for member in self._members.values()):
            self._alone_since = None
            return
        there = self._crew.workers()
        if there and all(name in self._refused for name in there):
            reasons = "; ".join(f"{name}: {self._refused[name]}" for name in list(there)[:3])
            raise ClusterFailed(
                f"no worker can work on these {self._job.what}: {reasons}",
                remedy="Install the same Assay, models and files on every worker; `assay doctor --cluster` compares.",
            )
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since > self._rules.patience_s:
            raise ClusterFailed(
                f"there was no worker for {now - self._alone_since:.0f} s",
                remedy="Start one: `dask worker ADDRESS`. What is finished is kept.",
            )

    def _refuse(self, member: _Member, reason: str, *, blame: bool, hung: bool = False) -> Iterator[Result]:
        """Give a worker nothing more."""
        self._members.pop(member.name)
        self._gone.append(member)
        self._refused[member.name] = member.problem = reason
        self._looked_at = None  # it may have been the last one
        yield from self._lose(member, reason, blame=blame, hung=hung)

    def _lose(self, member: _Member, why: str, *, blame: bool, hung: bool = False) -> Iterator[Result]:
        """Take back everything a worker has."""
        for token in list(member.tokens):
            batch = self._busy.pop(token)
            self._crew.take_back(token, hung=hung)
            member.lost += len(batch.attempts)
            for attempt in batch.attempts:
                yield from self._put_back(attempt, why, blame=blame)
        member.tokens.clear()

    def _put_back(self, attempt: _Attempt[Item], why: str, *, blame: bool) -> Iterator[Result]:
        if not blame:
            (self._suspects if attempt.lost else self._again).append(attempt)
            return
        attempt.lost.append(why)
        if len(attempt.lost) < self._rules.tries:
            self._suspects.append(attempt)
        else:
            reasons = "; ".join(dict.fromkeys(attempt.lost))
            yield self._job.lost(attempt.item, f"it was lost with its worker {len(attempt.lost)} times: {reasons}")

    # Giving out

    def _fill(self, items: Iterator[Item | Hold]) -> None:
        """Give every worker what it has room for, one batch in turn, so that none waits while another has two."""
        more = True
        while more:
            more = False
            for member in sorted(self._members.values(), key=lambda member: len(member.tokens) / member.slots):
                if self._has_room(member):
                    batch, alone = self._next_batch(member, items)
                    if batch:
                        self._send(member, batch, alone=alone)
                        more = True

    def _has_room(self, member: _Member) -> bool:
        if member.silent:
            return False
        if any(self._busy[token].alone for token in member.tokens):
            return False
        return len(member.tokens) < (AHEAD * member.slots if member.proven else 1)

    def _next_batch(self, member: _Member, items: Iterator[Item | Hold]) -> tuple[list[_Attempt[Item]], bool]:
        if self._suspects:
            # It may be what killed its worker: nothing else should be lost with it again.
            if not member.tokens:
                return [self._suspects.popleft()], True
            if not any(not other.silent and not other.tokens for other in self._members.values()):
                return [], False
        size = self._batch_size(member, operator.length_hint(items))
        batch = [self._again.popleft() for _ in range(min(size, len(self._again)))]
        if len(batch) < size:
            drawn, self._exhausted = draw(items, size - len(batch))
            batch += [_Attempt(item) for item in drawn]
        return batch, False

    def _batch_size(self, member: _Member, left: int) -> int:
        """Return how many items to send; `left` is how many are not drawn yet, 0 where nobody knows."""
        if not member.proven or self._item_s is None:
            return 1
        size = min(MOST_ITEMS, int(BATCH_S / max(self._item_s, 1e-6)))
        if left:
            # Smaller batches towards the end, so that no worker waits long for the last one of another.
            slots = sum(other.slots for other in self._members.values() if not other.silent)
            size = min(size, left // (AHEAD * slots))
        return max(1, size)

    def _send(self, member: _Member, batch: list[_Attempt[Item]], *, alone: bool) -> None:
        token = f"assay-{self._key}-{self._began}-{next(self._numbers)}"
        now = self._clock.monotonic()
        limit, opening = self._job.limit_s, 0.0 if member.proven else self._rules.opening_s
        ahead = 1 + len(member.tokens) // member.slots
        allowed = None if limit is None else ahead * len(batch) * limit + self._rules.grace_s + opening
        request = Request(
            build=tuple(build()),
            key=self._key,
            job=None if member.proven else self._description,
            items=pickle.dumps([attempt.item for attempt in batch]),
        )
        self._busy[token] = _Batch(member.name, batch, alone, None if allowed is None else now + allowed)
        member.tokens.add(token)
        self._crew.send(token, member.name, request)

    # Taking in

    def _receive(self, reply: Reply) -> Iterator[Result]:
        batch = self._busy.get(reply.token)
        if batch is None:
            return  # It was taken back: whoever has it now gives the result that counts.
        member = self._members[batch.worker]
        del self._busy[reply.token]
        member.tokens.discard(reply.token)
        found = None if reply.found is None else read_reply(reply.found)
        if isinstance(found, Done):
            yield from self._take(found, member)
        elif isinstance(found, Refused):
            yield from self._return(batch, member, found.reason, blame=False)
            yield from self._refuse(member, found.reason, blame=False)
        elif isinstance(found, Unknown):
            member.proven = False
            yield from self._return(batch, member, "", blame=False)
        elif member.proven or member.name not in self._crew.workers():
            self._looked_at = None
            yield from self._return(batch, member, f"{member.name}: {reply.problem}", blame=True)
        else:  # It is there and never finished anything: it lacks Assay, or cannot read what it is sent.
            yield from self._return(batch, member, reply.problem, blame=False)
            yield from self._refuse(member, reply.problem, blame=False)

    def _return(self, batch: _Batch[Item], member: _Member, why: str, *, blame: bool) -> Iterator[Result]:
        member.lost += len(batch.attempts)
        for attempt in batch.attempts:
            yield from self._put_back(attempt, why, blame=blame)

    def _take(self, found: Done, member: _Member) -> Iterator[Result]:
        # Written by this very build of Assay, as the worker has checked.
        results = pickle.loads(found.results)  # noqa: S301
        member.proven, member.last_at = True, self._clock.monotonic()
        member.first_at = member.last_at - found.seconds if member.first_at is None else member.first_at
        member.done += len(results)
        each = found.seconds / max(1, len(results))
        self._item_s = each if self._item_s is None else 0.7 * self._item_s + 0.3 * each
        yield from results


@dataclass
class CrewExecutor:
    """An executor over any crew."""

    crew: Crew
    new_key: Callable[[], str]
    close_crew: Callable[[], None]
    rules: DispatchRules = field(default_factory=DispatchRules)
    clock: Clock = field(default_factory=SystemClock)
    _last: Callable[[], list[WorkerFigures]] | None = field(default=None, init=False, repr=False)
    _kept: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def run(self, items: Iterator[Item | Hold], job: Job[Item, Result]) -> Generator[Result]:
        """Perform what is drawn from the items."""
        key = self._kept.setdefault(job.keep, self.new_key()) if job.keep else self.new_key()
        dispatcher = Dispatcher(self.crew, job, key=key, rules=self.rules, clock=self.clock)
        self._last = dispatcher.figures
        yield from dispatcher.run(items)

    def workers(self) -> Sequence[WorkerFigures]:
        """What each worker has done of the last job."""
        return () if self._last is None else self._last()

    def close(self) -> None:
        """Give the workers back."""
        self.close_crew()
