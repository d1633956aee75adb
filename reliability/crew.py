"""The processes of a program: forked from a warm server, killed by id, always reaped.

A member takes a deadline among its arguments and ends by itself when it has passed, also if this process is gone.
Forking from a server that holds no store and no thread is quick (milliseconds) and safe (nothing is inherited).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

REAP_S = 20.0
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["reliability.load"])


class Crew:
    """Processes that are gone when the `with` block ends."""

    def __init__(self) -> None:
        self._members: list[ForkServerProcess] = []

    def start(self, work: Callable[..., None], *arguments: Any) -> ForkServerProcess:
        """Start one more."""
        member = _CONTEXT.Process(target=_run, args=(work, *arguments), daemon=True)
        member.start()
        self._members.append(member)
        return member

    def kill(self, member: ForkServerProcess) -> None:
        """SIGKILL one, and wait until it is gone."""
        if member.pid is not None and member.is_alive():
            os.kill(member.pid, signal.SIGKILL)
        member.join(REAP_S)
        self._members.remove(member)

    def wait(self, seconds: float) -> list[int]:
        """Wait for every member to end by itself; give back the exit codes. Whoever is late is killed."""
        deadline = time.monotonic() + seconds
        for member in self._members:
            member.join(max(0.0, deadline - time.monotonic()))
        codes = [member.exitcode if member.exitcode is not None else -signal.SIGALRM for member in self._members]
        self._end()
        return codes

    def _end(self) -> None:
        for member in list(self._members):
            self.kill(member)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()


def wait_until(ready: Callable[[], bool], seconds: float, what: str) -> None:
    """Look every few milliseconds; raise when the time is up."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(0.002)


def all_exist(paths: Iterable[Path]) -> bool:
    """Whether every file is there and holds something."""
    return all(path.exists() and path.stat().st_size > 0 for path in paths)


def _run(work: Callable[..., None], *arguments: Any) -> None:
    try:
        work(*arguments)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        raise
