"""The threads of a lane: answers and errors come back, calls wait in order, and nobody works for who has gone."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest
from tests.server.serving import BOUND_S

from assay.errors import ServerBusy
from assay.server.services import WorkerThreads


def raised(problem: BaseException) -> None:
    raise problem


def test_an_answer_comes_back_from_another_thread() -> None:
    found = asyncio.run(WorkerThreads(2, 0).run(threading.current_thread))
    assert found is not threading.current_thread()


@pytest.mark.parametrize("problem", [ValueError("wrong"), SystemExit(3), StopIteration("over")])
def test_an_error_comes_back_too_and_the_thread_goes_on(problem: BaseException) -> None:
    async def both(crew: WorkerThreads) -> str:
        with pytest.raises(BaseException, match=str(problem)):
            await crew.run(partial(raised, problem))
        return await crew.run(lambda: "next")

    assert asyncio.run(both(WorkerThreads(1, 0))) == "next"


def test_calls_wait_in_order_and_too_many_are_refused() -> None:
    release = threading.Event()
    order: list[int] = []

    async def all_of_them(crew: WorkerThreads) -> None:
        first = asyncio.ensure_future(crew.run(lambda: release.wait(BOUND_S)))
        waiting = [asyncio.ensure_future(crew.run(partial(order.append, number))) for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(ServerBusy, match="3 calls"):
            await crew.run(lambda: None)
        release.set()
        await asyncio.gather(first, *waiting)
        await crew.run(lambda: None)

    asyncio.run(all_of_them(WorkerThreads(1, 3)))
    assert order == [0, 1, 2]


def test_no_more_threads_work_than_there_may_be() -> None:
    release = threading.Event()
    crew = WorkerThreads(2, 10)

    async def all_of_them() -> list[bool]:
        calls = [asyncio.ensure_future(crew.run(lambda: release.wait(BOUND_S))) for _ in range(6)]
        await asyncio.sleep(0)
        assert crew.threads == 2
        release.set()
        return await asyncio.gather(*calls)

    assert all(asyncio.run(all_of_them()))


def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    release, begun = threading.Event(), threading.Event()

    async def one_gone(crew: WorkerThreads) -> None:
        first = asyncio.ensure_future(crew.run(lambda: release.wait(BOUND_S)))
        gone = asyncio.ensure_future(crew.run(begun.set))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        release.set()
        await first
        await crew.run(lambda: None)

    asyncio.run(one_gone(WorkerThreads(1, 1)))
    assert not begun.is_set()


def test_an_answer_that_comes_after_the_loop_has_ended_does_no_harm() -> None:
    release, begun = threading.Event(), threading.Event()
    crew = WorkerThreads(1, 0)

    def work() -> None:
        begun.set()
        release.wait(BOUND_S)

    async def left_behind() -> None:
        call = asyncio.ensure_future(crew.run(work))
        await asyncio.to_thread(begun.wait, BOUND_S)
        call.cancel()

    asyncio.run(left_behind())
    release.set()
    assert asyncio.run(crew.run(lambda: "next")) == "next"


def test_a_thread_that_has_nothing_to_do_ends_and_another_begins_when_needed() -> None:
    crew = WorkerThreads(1, 0, idle_s=0.001)
    for _ in range(3):
        worker = asyncio.run(crew.run(threading.current_thread))
        worker.join(BOUND_S)
        assert not worker.is_alive()
        assert crew.threads == 0
