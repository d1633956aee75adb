"""Calls off the event loop: a bounded number at once, progress that grows, and an end for whoever has gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.mcp.serving import ADMIN, BOUND_S, host_at, settings_at

from assay.access import Access
from assay.errors import ServerBusy
from assay.mcp.server import THREADS, WAITING, Host
from assay.mcp.tools import BY_NAME, Calling


class Done(BaseModel):
    """Nothing to tell."""


class Nothing(BaseModel):
    """Nothing to say."""


async def silent(*_: object) -> None:
    pass


def calling(host: Host, work: Callable[[Calling], object], *, name: str = "memory_health", report: Any = silent) -> Any:
    """A call of a tool that does this instead."""

    def call(given: Calling, _: object) -> Done:
        work(given)
        return Done()

    tool = replace(BY_NAME[name], arguments=Nothing, result=Done, call=call)
    return partial(host.run, partial(host.perform, tool, ADMIN, {}, report))


def test_no_more_calls_run_at_once_than_there_are_threads_and_no_more_wait_than_allowed(tmp_path: Path) -> None:
    release, full = threading.Event(), threading.Event()
    running: list[int] = []
    most: list[int] = []

    def work(_: Calling) -> None:
        running.append(1)
        most.append(len(running))
        if len(most) == THREADS:
            full.set()
        assert release.wait(BOUND_S)
        running.pop()

    async def main() -> None:
        with host_at(tmp_path) as host:
            async with anyio.create_task_group() as group:
                for _ in range(THREADS + WAITING):
                    group.start_soon(calling(host, work))
                assert await anyio.to_thread.run_sync(full.wait, BOUND_S)
                await anyio.wait_all_tasks_blocked()
                with pytest.raises(ServerBusy, match=f"{WAITING} calls are waiting"):
                    await calling(host, work)()
                release.set()
        assert max(most) == THREADS
        assert len(most) == THREADS + WAITING

    anyio.run(main)


def test_one_evaluation_at_a_time(tmp_path: Path) -> None:
    begun, release = threading.Event(), threading.Event()

    def work(_: Calling) -> None:
        begun.set()
        assert release.wait(BOUND_S)

    async def main() -> None:
        with host_at(tmp_path) as host:
            async with anyio.create_task_group() as group:
                group.start_soon(calling(host, work, name="eval_run"))
                assert await anyio.to_thread.run_sync(begun.wait, BOUND_S)
                with pytest.raises(ServerBusy, match="running already"):
                    await calling(host, work, name="eval_run")()
                release.set()
            await calling(host, work, name="eval_run")()

    anyio.run(main)


def test_what_is_told_of_progress_only_grows(tmp_path: Path) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def report(done: float, of: float | None, what: str | None) -> None:
        told.append((done, of, what))

    def work(given: Calling) -> None:
        for number in range(1_000):
            given.progress(number + 1, 1_000, "documents")
        for number in range(5):
            given.progress(number + 1, 5, "cases")

    async def main() -> None:
        with host_at(tmp_path) as host:
            await calling(host, work, report=report)()

    anyio.run(main)
    assert len(told) <= 101 + 5
    assert [one[0] for one in told] == sorted({one[0] for one in told})
    assert told[-1] == (1_005, 1_005, "cases")


def test_work_stops_at_its_next_step_when_the_caller_has_gone(tmp_path: Path) -> None:
    begun, gone = threading.Event(), threading.Event()
    steps: list[int] = []

    def work(given: Calling) -> None:
        begun.set()
        assert gone.wait(BOUND_S)
        for number in range(1_000):
            given.progress(number, None, "steps")
            steps.append(number)

    async def main() -> None:
        with host_at(tmp_path) as host:
            async with anyio.create_task_group() as group:
                group.start_soon(calling(host, work))
                assert await anyio.to_thread.run_sync(begun.wait, BOUND_S)
                group.cancel_scope.cancel()
                gone.set()

    anyio.run(main)
    assert steps == []


def test_a_read_only_host_caps_every_grant(tmp_path: Path) -> None:
    with host_at(tmp_path) as host:
        assert host.cap(ADMIN) is ADMIN
        capped = Host(host.engine, settings_at(tmp_path), read_only=True).cap(ADMIN)
        assert capped.access is Access.READ
        assert capped.scope == ADMIN.scope
