"""How serving processes read each other's live questions.

With `--workers N` a browser's connections end in any of N processes, and a question lives in the one that answers it.
Each process listens at a Unix socket, in a folder that only this user can open. A process that is asked about another's
question connects there and gets one JSON line for each thing that happens, when it happens: nothing polls, and nothing
passes through the store.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Tell = Callable[[str, str], AsyncIterator[Line]]
"""What a process tells of a question, by tenant and ticket; nothing: it does not know it."""
ANSWER_S = 5.0
"""Seconds in which a process must say whether it knows a question."""


class Peers:
    """This process, by its number, among those that serve together."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self.number = number

    def _door(self, number: int) -> Path:
        return self._folder / f"{number}.sock"

    @asynccontextmanager
    async def answering(self, tell: Tell) -> AsyncIterator[None]:
        """Answer the other processes for as long as this lasts."""
        door = self._door(self.number)
        # A process that died left its socket behind; this one takes its place.
        door.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(partial(_answer, tell), door)
        try:
            yield
        finally:
            server.close()
            door.unlink(missing_ok=True)

    def ask(self, number: int, tenant: str, ticket: str) -> Iterator[Line]:
        """Yield what another process tells of a question, as it tells it; nothing where it cannot be reached."""
        with suppress(OSError, ValueError), closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(ANSWER_S)
            connection.connect(str(self._door(number)))
            connection.sendall(_written({"tenant": tenant, "ticket": ticket}))
            with connection.makefile("rb") as lines:
                for place, line in enumerate(lines):
                    if place == 0:
                        # Minutes may pass between two events; a process that ends closes the connection.
                        connection.settimeout(None)
                    yield json.loads(line)


async def _answer(tell: Tell, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # A peer that has gone, or speaks otherwise, is not waited for.
    with suppress(OSError, ValueError, TimeoutError):
        asked = json.loads(await asyncio.wait_for(reader.readline(), ANSWER_S))
        async for line in tell(asked["tenant"], asked["ticket"]):
            writer.write(_written(line))
            await writer.drain()
    writer.close()


def _written(line: Line) -> bytes:
    return json.dumps(line, allow_nan=False, default=str).encode() + b"\n"
