"""A crew without processes: workers that die, hang, come and answer late when a test says so, in time it sets."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.work.dispatch import CrewExecutor, DispatchRules, Reply, WorkerState
from assay.work.jobs import Hold, Job, WorkerFigures
from assay.work.worker import Request, perform


class SetClock:
    """A clock that moves only when it is set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


class PickledExecutor:
    """Does everything in this process as workers would: what crosses is pickled, and results come backwards."""

    def __init__(self) -> None:
        self.done = 0
        self.opened: list[str] = []

    def run(self, items: Iterator[Any], job: Job[Any, Any]) -> Generator[Any]:
        assert job.remote is not None
        description = pickle.loads(pickle.dumps(job.remote()))
        self.opened.append(type(description).__name__)
        opened = description.open()
        for item in reversed([item for item in items if not isinstance(item, Hold)]):
            self.done += 1
            yield pickle.loads(pickle.dumps(opened.perform(pickle.loads(pickle.dumps(item)))))
        opened.close()

    def workers(self) -> Sequence[WorkerFigures]:
        return [WorkerFigures("made", self.done, 1.0)] if self.done else []

    def close(self) -> None:
        pass


class MadeCrew:
    """Workers in this process; `act` is called before each wait and may do anything to them."""

    def __init__(self, clock: SetClock, *, workers: int = 2, slots: int = 1, rng: random.Random | None = None) -> None:
        self.clock = clock
        self.rng = rng or random.Random(1)
        self.slots = slots
        self.named = 0
        self.there: dict[str, deque[tuple[str, Request]]] = {}
        self.hung: set[str] = set()
        self.performed: list[tuple[str, str]] = []
        self.act: Callable[[MadeCrew], None] = lambda crew: None
        self.answer: Callable[[str, Request], Any] = lambda worker, request: perform(tuple(request))
        self.late: list[Reply] = []
        self.most_out = 0
        self.finished: list[str] = []
        for _ in range(workers):
            self.start()

    def start(self) -> str:
        self.named += 1
        self.there[f"w{self.named}"] = deque()
        return f"w{self.named}"

    def kill(self, name: str) -> None:
        # Dask may still deliver what a worker finished just before.
        self.late += [Reply(token, perform(tuple(request))) for token, request in self.there.pop(name)]
        self.hung.discard(name)

    def workers(self) -> Mapping[str, WorkerState]:
        return {
            name: WorkerState(slots=self.slots, heard="never" if name in self.hung else self.clock.seconds)
            for name in self.there
        }

    def send(self, token: str, worker: str, request: Request) -> None:
        if worker in self.there:
            self.there[worker].append((token, request))
        self.most_out = max(self.most_out, sum(map(len, self.there.values())))

    def wait(self, seconds: float) -> Sequence[Reply]:
        self.act(self)
        self.clock.seconds += seconds
        replies = [self.late.pop() for _ in range(len(self.late)) if self.rng.random() < 0.5]
        for name in [name for name in self.there if name not in self.hung and self.there[name]]:
            token, request = self.there[name].popleft()
            self.performed.append((name, token))
            found = self.answer(name, request)
            if found is not None:
                replies.append(Reply(token, found) if isinstance(found, tuple) else Reply(token, None, found))
        self.rng.shuffle(replies)
        return replies

    def take_back(self, token: str, *, hung: bool) -> None:
        for waiting in self.there.values():
            for entry in [entry for entry in waiting if entry[0] == token]:
                waiting.remove(entry)

    def finish(self, key: str) -> None:
        self.finished.append(key)


_KEYS = itertools.count()


def restless_executor(seed: int, workers: int) -> CrewExecutor:
    """Workers of whom some die and some hang now and then, drawn from the seed; nothing is ever given up."""
    rng = random.Random(seed)
    crew = MadeCrew(SetClock(), workers=workers, rng=rng)

    def disturb(crew: MadeCrew) -> None:
        if crew.there and rng.random() < 0.15:
            crew.kill(rng.choice(sorted(crew.there)))
        if crew.there and rng.random() < 0.05:
            crew.hung.add(rng.choice(sorted(crew.there)))
        if crew.hung and rng.random() < 0.2:
            crew.hung.pop()
        if len(crew.there) < workers:
            crew.start()

    crew.act = disturb
    return CrewExecutor(
        crew=crew,
        new_key=lambda: f"restless-{next(_KEYS)}",
        close_crew=lambda: None,
        rules=DispatchRules(tries=10**6, silence_s=5.0, patience_s=1e9),
        clock=crew.clock,
    )
