"""Workers as processes of this machine: a pipe to each, and a new process for each that dies or hangs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from assay.clock import Clock, SystemClock
from assay.errors import BadValue
from assay.work.dispatch import CrewExecutor, DispatchRules, Reply, WorkerState
from assay.work.worker import Request, close_job, perform

MOST_PROCESSES = 512
_CLOSE_S = 5.0


@dataclass(slots=True)
class _Member:
    process: SpawnProcess
    pipe: Connection
    waiting: deque[tuple[str, Request]] = field(default_factory=deque)
    """Batches that are not sent yet: a pipe that is full would make the caller wait."""
    at_work: str | None = None


class ProcessCrew:
    """Processes that are started new, so that they share nothing with this one."""

    def __init__(self, count: int) -> None:
        if not 1 <= count <= MOST_PROCESSES:
            raise BadValue(f"processes {count} is not from 1 to {MOST_PROCESSES}", remedy="Give the number of cores.")
        self._context = multiprocessing.get_context("spawn")
        self._count = count
        self._started = 0
        self._members: dict[str, _Member] = {}
        self._closed = False

    def workers(self) -> Mapping[str, WorkerState]:
        """Every process; those that died are replaced."""
        for name, member in list(self._members.items()):
            if not member.process.is_alive():
                self._end(name)
        while len(self._members) < self._count and not self._closed:
            self._start()
        return dict.fromkeys(self._members, WorkerState(slots=1))

    def _start(self) -> None:
        own, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._started += 1
        self._members[f"process {self._started}"] = _Member(process, own)

    def _end(self, name: str) -> None:
        member = self._members.pop(name)
        if member.process.pid is not None and member.process.is_alive():
            os.kill(member.process.pid, signal.SIGKILL)
        member.process.join(_CLOSE_S)
        member.pipe.close()

    def send(self, token: str, worker: str, request: Request) -> None:
        """Give a process a batch."""
        member = self._members.get(worker)
        if member is not None:  # else the next look finds it gone
            member.waiting.append((token, request))
            self._push(member)

    @staticmethod
    def _push(member: _Member) -> None:
        if member.at_work is None and member.waiting:
            member.at_work, request = member.waiting.popleft()
            with suppress(OSError):  # it died; the next look finds that
                member.pipe.send(tuple(request))

    def wait(self, seconds: float) -> Sequence[Reply]:
        """Wait for replies of any process."""
        by_pipe = {member.pipe: member for member in self._members.values()}
        replies = []
        for pipe in wait(list(by_pipe), seconds):  # the pipe of a process that died is ready, too
            if isinstance(pipe, Connection):
                member = by_pipe[pipe]
                try:
                    while pipe.poll():
                        replies.append(self._read(member))
                except (EOFError, OSError):
                    member.process.join(_CLOSE_S)
                    replies.append(Reply(member.at_work or "", None, "it died"))
        return replies

    def _read(self, member: _Member) -> Reply:
        found = member.pipe.recv()
        token, member.at_work = member.at_work or "", None
        self._push(member)
        return Reply(token, found["reply"], found["problem"])

    def take_back(self, token: str, *, hung: bool) -> None:
        """Forget a batch; a process that hangs is ended, and the next look starts another."""
        for name, member in list(self._members.items()):
            if any(waiting == token for waiting, _ in member.waiting):
                member.waiting = deque(entry for entry in member.waiting if entry[0] != token)
            elif member.at_work == token and hung:
                self._end(name)

    def finish(self, key: str) -> None:
        """Tell processes that a job is done with."""
        for member in self._members.values():
            with suppress(OSError):
                member.pipe.send(key)

    def close(self) -> None:
        """End every process."""
        self._closed = True
        for name in list(self._members):
            self._end(name)


def serve(pipe: Connection) -> None:
    """What a process does: perform batches until the caller is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller hears Ctrl-C, and ends this process
    with suppress(EOFError, OSError):
        while True:
            found: Any = pipe.recv()
            if isinstance(found, str):
                close_job(found)
                continue
            try:
                reply, problem = perform(found), ""
            except Exception as failure:  # noqa: BLE001 - the caller decides what it means
                reply, problem = None, f"{type(failure).__name__}: {failure}"
            pipe.send({"reply": reply, "problem": problem})


def open_processes(count: int, *, rules: DispatchRules | None = None, clock: Clock | None = None) -> CrewExecutor:
    """An executor of so many processes."""
    crew = ProcessCrew(count)
    return CrewExecutor(
        crew=crew,
        new_key=lambda: uuid.uuid4().hex[:12],
        close_crew=crew.close,
        rules=rules or DispatchRules(),
        clock=clock or SystemClock(),
    )
