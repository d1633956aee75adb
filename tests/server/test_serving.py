"""Sockets of several processes: at one address, each with its share of the connections, and nobody else beside them."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from tests.server.serving import BOUND_S, services_at

from assay.errors import SettingError
from assay.server.services import LONG, Lane, Services
from assay.server.serving import address_of, listen, listen_together

HOST = "127.0.0.1"
CONNECTIONS = 64


def waiting(at: socket.socket) -> int:
    """How many connections wait at a socket; they are closed."""
    at.setblocking(False)
    for count in range(CONNECTIONS + 1):
        try:
            at.accept()[0].close()
        except BlockingIOError:
            return count
    raise AssertionError("more connections than were made")


@pytest.mark.parametrize("count", [1, 3])
def test_all_are_at_one_address(count: int) -> None:
    with ExitStack() as held:
        sockets = [held.enter_context(one) for one in listen_together(HOST, 0, count)]
        assert len(sockets) == count
        assert len({address_of(one) for one in sockets}) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes share one socket")
def test_connections_are_dealt_out() -> None:
    with ExitStack() as held:
        sockets = [held.enter_context(one) for one in listen_together(HOST, 0, 2)]
        port = sockets[0].getsockname()[1]
        for _ in range(CONNECTIONS):
            held.enter_context(socket.create_connection((HOST, port), timeout=10))
        shares = [waiting(one) for one in sockets]
    assert sum(shares) == CONNECTIONS
    assert min(shares) > 0


def test_a_second_server_at_the_same_address_is_refused() -> None:
    with ExitStack() as held:
        sockets = [held.enter_context(one) for one in listen_together(HOST, 0, 2)]
        port = sockets[0].getsockname()[1]
        with pytest.raises(SettingError, match=str(port)):
            listen_together(HOST, port, 2)
        with pytest.raises(SettingError, match=str(port)):
            listen(HOST, port)


@pytest.mark.parametrize("slow", [Lane.LONG, Lane.PAGES])
def test_what_takes_long_and_pages_keep_no_search_waiting(tmp_path: Path, slow: Lane) -> None:
    release = threading.Event()

    async def all_of_them(services: Services) -> str:
        async with anyio.create_task_group() as group:
            for _ in range(LONG + 1):
                group.start_soon(services.run, lambda: release.wait(BOUND_S), slow)
            await anyio.wait_all_tasks_blocked()
            found = await services.run(lambda: "quick")
            release.set()
        return found

    with services_at(tmp_path) as services:
        assert anyio.run(all_of_them, services) == "quick"
