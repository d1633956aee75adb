"""The socket, and one or several processes that serve on it.

- The socket and the server.
- Several processes on one socket.
"""

from __future__ import annotations

import asyncio
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
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import anyio
import uvicorn
from starlette.types import ASGIApp

from assay import wiring
from assay.errors import RunFailed
from assay.gateway import serving
from assay.gateway.logs import set_up_logs
from assay.gateway.serving import address_of, listen, need_token
from assay.server.application import Mount, build
from assay.server.services import FINISH_S, Services
from assay.server.streaming import Peers
from assay.settings import Settings
from assay.storage.rows import mask_value

__all__ = [
    "Server",
    "address_of",
    "listen",
    "listen_together",
    "make_server",
    "make_server_config",
    "need_token",
    "run",
    "serve",
]


# --- The socket and the server ---


def listen_together(host: str, port: int, count: int) -> list[socket.socket]:
    """Open a socket for each of `count` processes, all at one address.

    On Linux each process has its own, and the kernel distributes connections among them. With a shared socket, the
    process that wakes first would take every waiting connection.
    """
    alone = listen(host, port)
    if count == 1 or sys.platform != "linux":
        return [alone] * count
    with alone:
        # The first socket made sure that the address was free: with SO_REUSEPORT a second server would go unnoticed.
        port = alone.getsockname()[1]
    return [listen(host, port, beside_others=True) for _ in range(count)]


def make_server_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return uvicorn's configuration for the application."""
    return serving.make_config(app, settings, goodbye_s=settings.server_stop_s)


class Server(uvicorn.Server):
    """uvicorn's server, which turns unready before it stops, and ends event streams when it does."""

    def __init__(
        self,
        config: uvicorn.Config,
        on_stop: Callable[[], None],
        *,
        on_drain: Callable[[], None] = lambda: None,
        drain_s: float = 0.0,
    ) -> None:
        """`on_drain` is called at the first signal, `on_stop` when connections are refused, `drain_s` later.

        Ctrl-C, or a second signal, does not wait.
        """
        super().__init__(config)
        self._on_stop = on_stop
        self._on_drain = on_drain
        self._drain_s = drain_s
        self._draining = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Turn unready, and stop: after a while when asked by SIGTERM, else at once."""
        self._on_drain()
        stop = partial(super().handle_exit, sig, frame)
        if self._loop is None or self._draining or not self._drain_s or sig != signal.SIGTERM:
            stop()
            return
        self._draining = True
        self._loop.call_soon_threadsafe(self._loop.call_later, self._drain_s, stop)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Call `on_stop`, then wait for open requests."""
        self._on_drain()
        self._on_stop()
        await super().shutdown(sockets)


def run(app: ASGIApp, services: Services, at: socket.socket) -> None:
    """Serve until stopped (Ctrl-C, SIGTERM), with uvloop if it is installed."""
    anyio.run(serve, app, services, at, backend_options={"use_uvloop": find_spec("uvloop") is not None})


async def serve(app: ASGIApp, services: Services, at: socket.socket) -> None:
    """Serve until stopped, on the running event loop."""
    await make_server(app, services).serve(sockets=[at])


def make_server(app: ASGIApp, services: Services) -> Server:
    """Return the server of an application, with the patience of the settings."""
    settings = services.settings
    return Server(
        make_server_config(app, settings),
        services.streams.stop,
        on_drain=services.drain,
        drain_s=settings.server_drain_s,
    )


# --- Several processes on one socket ---
#
# Each process opens the store for itself; what one writes the others see. A process that dies is replaced. Over a
# SQLite file request rates are kept by each process separately, over PostgreSQL by all together
# (`design/several-servers.md`); live questions are shown by all of them (`Peers`). With
# as many processes as cores, each process is bound to one core (`design/worker-processes-and-cores.md`).

PROCESS_GOODBYE_S = 10.0
"""Seconds that a process may take to end before it is killed, besides what its work may take."""
MOST_DEATHS = 10
"""Processes that may die before the whole server stops."""
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Options of `mallopt`, by their numbers."""
LARGE = 256 * 1024
"""Bytes from which on a freed block goes back to the system."""
Begun = Callable[[], None]


class Serving(NamedTuple):
    """How to serve: settings, accepted callers and names, and what processes share."""

    settings: Settings
    open_here: bool
    names: tuple[str, ...]
    secret: bytes | None = None
    peers: Peers | None = None
    """The other processes, if several serve together."""
    mount: Mount | None = None
    """Another protocol to serve; only with one process, since its sessions are in memory."""


def serve_here(how: Serving, at: socket.socket, begun: Begun) -> None:
    """Serve in this process until stopped; `begun` is called just before the first connection is accepted."""
    _return_freed_memory()
    set_up_logs(how.settings, mask_value)
    with wiring.serving(how.settings) as engine:
        services = Services(engine, how.settings, peers=how.peers)
        if not how.open_here:
            need_token(at.getsockname()[0], stored=services.stored_tokens.exist())
        app = build(services, open_to_this_machine=how.open_here, names=how.names, secret=how.secret, mount=how.mount)
        _exempt_loaded_objects()
        begun()
        run(app, services, at)


def _return_freed_memory() -> None:
    """Let the C library return large freed blocks to the system, and let threads share two heaps.

    By default it raises its threshold after the first large block and keeps later ones, so that each folding of an
    index would leave some megabytes behind. If variables named `MALLOC_...` are set, nothing is changed.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return
    # Other C libraries have no such call.
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for option, value in ((MMAP_THRESHOLD, LARGE), (TRIM_THRESHOLD, LARGE), (ARENA_MAX, 2)):
            library.mallopt(option, value)


def _exempt_loaded_objects() -> None:
    """Exempt all loaded objects from garbage collection: they live as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def serve_together(how: Serving, at: Sequence[socket.socket], begun: Begun) -> None:
    """Serve in a process for each of these sockets until stopped."""
    # Open the store here first: a migration, or a store that cannot be opened, must not concern several processes.
    with wiring.open_engine(how.settings, run_once=True) as engine:
        if not how.open_here:
            stored = Services(engine, how.settings).stored_tokens.exist()
            need_token(at[0].getsockname()[0], stored=stored)
    shared = how._replace(secret=secrets.token_bytes(32))
    cores = choose_cores(how.settings, len(at), _cores_here())
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
            settings = how.settings
            _end(running, settings.server_drain_s + settings.server_stop_s + FINISH_S + PROCESS_GOODBYE_S)


class _Seat(NamedTuple):
    """The socket of a process, its core if it is bound to one, and its address for the other processes."""

    at: socket.socket
    core: int | None
    peers: Peers


def choose_cores(settings: Settings, processes: int, cores: Sequence[int]) -> Sequence[int | None]:
    """Return a core for each process, or None for each where the settings or the number of cores speak against it."""
    return cores_for(processes, cores) if settings.server_own_core == "yes" else [None] * processes


def cores_for(processes: int, cores: Sequence[int]) -> Sequence[int | None]:
    """Return a core for each process if there are as many cores as processes, else None for each."""
    return cores if len(cores) == processes else [None] * processes


def keep_to(core: int) -> None:
    """Bind this thread, and every thread it starts, to one core."""
    if sys.platform == "linux":
        # The core may no longer be available; then any core will do.
        with suppress(OSError):
            os.sched_setaffinity(0, {core})


def _cores_here() -> list[int]:
    """Return the cores this process may use; none on systems that do not list them."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


def _start_process(how: Serving, seat: _Seat) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(how, seat), name="assay-serve")
    process.start()
    return process


def _work(how: Serving, seat: _Seat) -> None:
    """Serve; the main function of each process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    if seat.core is not None:
        keep_to(seat.core)
    serve_here(how._replace(peers=seat.peers), seat.at, lambda: None)


def _replace_dead(how: Serving, seats: Sequence[_Seat], running: list[BaseProcess]) -> None:
    """Replace each process that dies, until too many have died."""
    for _ in range(MOST_DEATHS):
        wait([process.sentinel for process in running])
        running[:] = [
            process if process.is_alive() else _start_process(how, its)
            for process, its in zip(running, seats, strict=True)
        ]
    raise RunFailed(f"{MOST_DEATHS} serving processes died", remedy="Look at what they wrote, or use --workers 1.")


def _end(running: list[BaseProcess], patience_s: float) -> None:
    for process in running:
        process.terminate()
    for process in running:
        process.join(patience_s)
        if process.is_alive():
            process.kill()
