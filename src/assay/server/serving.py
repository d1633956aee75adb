"""The socket, and one or several processes that serve on it.

- The socket and the server.
- Several processes on one socket.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import anyio
import uvicorn
from starlette.types import ASGIApp

from assay import wiring
from assay.errors import RunFailed
from assay.gateway import serving
from assay.gateway.serving import address_of, listen, need_token
from assay.server.application import Mount, build
from assay.server.services import Services
from assay.server.streaming import Peers
from assay.settings import Settings

__all__ = [
    "Server",
    "address_of",
    "listen",
    "listen_together",
    "make_server_config",
    "need_token",
    "run",
    "serve",
]


# --- The socket and the server ---

GOODBYE_S = 10
"""How long requests under way may go on after the server was told to stop."""


def listen_together(host: str, port: int, count: int) -> list[socket.socket]:
    """A socket for each of so many processes, all at one address.

    On Linux each has its own, and the kernel deals connections out among them: of one that they share, the process that
    wakes first takes every connection that waits, and the others none.
    """
    alone = listen(host, port)
    if count == 1 or sys.platform != "linux":
        return [alone] * count
    with alone:
        # Nobody else was there: beside others, a second server at the same address would not be noticed.
        port = alone.getsockname()[1]
    return [listen(host, port, beside_others=True) for _ in range(count)]


def make_server_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """How the application is served."""
    return serving.make_config(app, settings, goodbye_s=GOODBYE_S)


class Server(uvicorn.Server):
    """uvicorn, which says that it stops before it waits for the connections that are open."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what would stay open by itself, then wait for requests under way."""
        self._on_stop()
        await super().shutdown(sockets)


def run(app: ASGIApp, settings: Settings, at: socket.socket, on_stop: Callable[[], None]) -> None:
    """Serve until told to stop (Ctrl-C, SIGTERM), on the quicker event loop where there is one.

    `on_stop` is called on the event loop when the server is told to stop.
    """
    anyio.run(serve, app, settings, at, on_stop, backend_options={"use_uvloop": find_spec("uvloop") is not None})


async def serve(app: ASGIApp, settings: Settings, at: socket.socket, on_stop: Callable[[], None]) -> None:
    """The same on a loop that runs already."""
    await Server(make_server_config(app, settings), on_stop).serve(sockets=[at])


# --- Several processes on one socket ---
#
# Each process opens the store for itself; what one writes the others see. A process that dies is replaced. What is
# counted or remembered in a process (rates, tokens of the last two seconds) is so for each of them; questions that are
# being answered are shown by all of them (`peers`). With a process for each core, each keeps to its own
# (`design/worker-processes-and-cores.md`).

PROCESS_GOODBYE_S = 40.0
"""How long a process may take to end before it is made to."""
MOST_DEATHS = 10
"""Processes that may die before the others are not let go on either."""
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Options of the C library, by their numbers."""
LARGE = 256 * 1024
"""Bytes from which on a block is worth giving back by itself."""
Begun = Callable[[], None]


class Serving(NamedTuple):
    """What is served, and to whom."""

    settings: Settings
    open_here: bool
    names: tuple[str, ...]
    secret: bytes | None = None
    peers: Peers | None = None
    """The other processes, where several serve together."""
    mount: Mount | None = None
    """Another protocol to serve; only by one process, since its sessions live in one."""


def serve_here(how: Serving, at: socket.socket, begun: Begun) -> None:
    """Serve in this process until told to stop; `begun` is called when the socket is about to be answered."""
    _return_freed_memory()
    with wiring.serving(how.settings) as engine:
        services = Services(engine, how.settings, threads=how.settings.server_threads, peers=how.peers)
        if not how.open_here:
            need_token(at.getsockname()[0], stored=services.stored_tokens.exist())
        app = build(services, open_to_this_machine=how.open_here, names=how.names, secret=how.secret, mount=how.mount)
        _exempt_loaded_objects()
        begun()
        run(app, how.settings, at, services.streams.stop)


def _return_freed_memory() -> None:
    """Let large blocks go back to the system when they are freed, and threads share two heaps.

    By itself the C library keeps such blocks after the first one, among others that stay; an index that is folded again
    and again would leave some megabytes behind each time. Whoever has set the library up has decided for themselves.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return
    # Other C libraries have no such call.
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for option, value in ((MMAP_THRESHOLD, LARGE), (TRIM_THRESHOLD, LARGE), (ARENA_MAX, 2)):
            library.mallopt(option, value)


def _exempt_loaded_objects() -> None:
    """What was loaded stays for as long as the process: looking through it for garbage again and again helps nobody."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def serve_together(how: Serving, at: Sequence[socket.socket], begun: Begun) -> None:
    """Serve in a process for each of these sockets until told to stop."""
    # Here first: a store that must be migrated, or cannot be opened, is no matter for several at once.
    with wiring.open_engine(how.settings, run_once=True) as engine:
        if not how.open_here:
            stored = Services(engine, how.settings).stored_tokens.exist()
            need_token(at[0].getsockname()[0], stored=stored)
    shared = how._replace(secret=secrets.token_bytes(32))
    cores = cores_for(len(at), _cores_here()) if how.settings.server_own_core == "yes" else [None] * len(at)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        seats = [
            _Seat(socket_, core, Peers(Path(folder), number))
            for number, (socket_, core) in enumerate(zip(at, cores, strict=True))
        ]
        running: list[BaseProcess] = []
        try:
            running += [_start_process(shared, seat) for seat in seats]
            begun()
            _replace_dead(shared, seats, running)
        finally:
            _end(running)


class _Seat(NamedTuple):
    """Where a process serves, on which core if on one alone, and where the other processes find it."""

    at: socket.socket
    core: int | None
    peers: Peers


def cores_for(processes: int, cores: Sequence[int]) -> Sequence[int | None]:
    """A core for each process when there are as many of both; none otherwise."""
    return cores if len(cores) == processes else [None] * processes


def keep_to(core: int) -> None:
    """Let this thread, and every thread it begins, run on one core alone."""
    if sys.platform == "linux":
        # A core may have been taken away meanwhile; any other does as well.
        with suppress(OSError):
            os.sched_setaffinity(0, {core})


def _cores_here() -> list[int]:
    """The cores this process may use, where they can be told apart."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


def _start_process(how: Serving, seat: _Seat) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(how, seat), name="assay-serve")
    process.start()
    return process


def _work(how: Serving, seat: _Seat) -> None:
    """What a process does."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    if seat.core is not None:
        keep_to(seat.core)
    serve_here(how._replace(peers=seat.peers), seat.at, lambda: None)


def _replace_dead(how: Serving, seats: Sequence[_Seat], running: list[BaseProcess]) -> None:
    """Start another, at the same place, for each that dies, until too many have."""
    for _ in range(MOST_DEATHS):
        wait([process.sentinel for process in running])
        running[:] = [
            process if process.is_alive() else _start_process(how, its)
            for process, its in zip(running, seats, strict=True)
        ]
    raise RunFailed(f"{MOST_DEATHS} serving processes died", remedy="Look at what they wrote, or use --workers 1.")


def _end(running: list[BaseProcess]) -> None:
    for process in running:
        process.terminate()
    for process in running:
        process.join(PROCESS_GOODBYE_S)
        if process.is_alive():
            process.kill()
