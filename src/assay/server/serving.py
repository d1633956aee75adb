"""The socket, the server around the application, and what has to be so before either is made."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from importlib.util import find_spec

import anyio
import uvicorn
from starlette.types import ASGIApp

from assay.gateway import serving
from assay.gateway.serving import address_of, listen, need_token
from assay.settings import Settings

__all__ = ["Server", "address_of", "configured", "listen", "listen_together", "need_token", "run", "serve"]

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


def configured(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """How the application is served."""
    return serving.configured(app, settings, goodbye_s=GOODBYE_S)


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
    await Server(configured(app, settings), on_stop).serve(sockets=[at])
