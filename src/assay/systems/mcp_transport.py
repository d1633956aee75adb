"""Roads to an MCP server that no server can flood: every message has a largest size, over stdio and over HTTP.

The SDK's own stdio road keeps reading a line that never ends. Here such a server is ended, and whoever waits for its
answer is told why; what it wrote to its standard error is kept, the last part of it, because that is where servers say
what went wrong.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from assay.network import Gatekeeper

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
_GRACE_S = 2.0
_POLL_S = 0.01
_KEPT = 2_000
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


@dataclass
class Told:
    """What is known of a server besides its answers."""

    problem: str = ""
    """Why the road ended, if it did."""
    stray: str = ""
    """The first line it wrote that is no message."""
    errors: bytes = b""
    """The end of what it wrote to its standard error."""

    def __str__(self) -> str:
        said = [f"It wrote {self.stray!r} where messages belong."] if self.stray else []
        tail = " ".join(self.errors.decode(errors="replace").split())[-300:]
        return " ".join([*said, *([f"Its standard error ends: {tail!r}."] if tail else [])])


@asynccontextmanager
async def over_stdio(
    command: list[str], env: Mapping[str, str], largest: int, told: Told
) -> AsyncGenerator[Streams, None]:
    """Start a server and talk to it over its standard input and output; it is ended with everything it started."""
    process = await anyio.open_process(command, env=get_default_environment() | dict(env), start_new_session=True)
    came, coming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, sending = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, came, largest, told)
            tasks.start_soon(_write, process, sending)
            tasks.start_soon(_listen, process, told)
            try:
                yield coming, sent
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                tasks.cancel_scope.cancel()
    finally:
        for stream in (came, coming, sent, sending):
            stream.close()
        with suppress(ProcessLookupError, *_GONE):
            await process.aclose()


async def _read(process: Process, came: Incoming, largest: int, told: Told) -> None:
    async with came:
        with suppress(*_GONE):
            async for line in _lines(process, largest, told):
                await came.send(_message(line, told))
        if not told.problem:
            told.problem = "the server ended"


async def _lines(process: Process, largest: int, told: Told) -> AsyncIterator[bytes]:
    """Whole lines; a line that grows beyond what is allowed ends the server."""
    parts: list[bytes] = []
    held = 0
    async for piece in _bytes_of(process.stdout):
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts, held = [], 0
        parts.append(rest)
        held += len(rest)
        if held > largest:
            told.problem = f"the server sent a message of more than {largest:,} bytes"
            process.kill()
            return


async def _bytes_of(stream: ByteReceiveStream | None) -> AsyncIterator[bytes]:
    if stream is not None:
        async for piece in stream:
            yield piece


def _message(line: bytes, told: Told) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as problem:
        told.stray = told.stray or line[:200].decode(errors="replace").strip()
        return problem


async def _write(process: Process, sending: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(*_GONE):
        async with sending:
            async for one in sending:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                if process.stdin is not None:
                    await process.stdin.send(text.encode() + b"\n")


async def _listen(process: Process, told: Told) -> None:
    with suppress(*_GONE):
        async for piece in _bytes_of(process.stderr):
            told.errors = (told.errors + piece)[-_KEPT:]


async def _stop(process: Process) -> None:
    """As the protocol asks: close its input, wait a little, then end it with everything it started."""
    with suppress(*_GONE):
        if process.stdin is not None:
            await process.stdin.aclose()
    with anyio.move_on_after(_GRACE_S):
        while process.returncode is None:  # noqa: ASYNC110 - waiting for it would also wait for its children's pipes
            await anyio.sleep(_POLL_S)
    await terminate_posix_process_tree(process, _GRACE_S)


@asynccontextmanager
async def over_http(
    url: str, headers: Mapping[str, str], *, bounds: tuple[int, float], told: Told, gate: Gatekeeper
) -> AsyncGenerator[object, None]:
    """Talk to a server that is there already; `bounds` are the largest answer in bytes and the time in seconds."""
    largest, timeout_s = bounds
    road = _Bounded(largest, told, gate)
    limits = httpx2.Timeout(timeout_s)
    async with (
        httpx2.AsyncClient(headers=dict(headers), transport=road, timeout=limits) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=largest) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncHTTPTransport):
    """Cuts off an answer that is too long, and asks the gatekeeper of every request, redirects included."""

    def __init__(self, largest: int, told: Told, gate: Gatekeeper) -> None:
        super().__init__()
        self._gate = gate
        self._largest = largest
        self._told = told

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._gate.check(str(request.url))
        response = await super().handle_async_request(request)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            body = response.stream
            if isinstance(body, httpx2.AsyncByteStream):
                response.stream = _Counted(body, self._largest, self._told)
        return response


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, largest: int, told: Told) -> None:
        self._inner = inner
        self._largest = largest
        self._told = told

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for piece in self._inner:
            seen += len(piece)
            if seen > self._largest:
                self._told.problem = f"the server sent a message of more than {self._largest:,} bytes"
                raise httpx2.ReadError(self._told.problem)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
