"""The protocol over standard input and output: one JSON message a line, nothing else on either.

While it serves, prints of other code go to standard error. A line that is too long or not a message is answered with an
error instead of being dropped, so that no client waits in vain. When the input ends, open calls get a few seconds to be
answered.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, BinaryIO, NamedTuple

import anyio
import mcp_types as types
from anyio import from_thread, lowlevel, to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

LONGEST = 4 * 1024 * 1024
"""Bytes of one message."""
LOOKED_AT = 4 * LONGEST
"""Bytes of an overlong message that are still searched for its id."""
LINGER_S = 5.0
"""Seconds that open calls may take after the input has ended."""
TICK_S = 0.02

Incoming = MemoryObjectSendStream[SessionMessage | Exception]


async def serve(server: Server[Any]) -> None:
    """Serve one client until its input ends."""
    with _wire() as (source, sink):
        async with _streams(source, sink) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


@contextmanager
def _wire() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield standard input and output, and redirect them for all other code: no input, output to standard error."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        # Not closed: a thread may still wait for the next line, and the descriptor must not be reused for another file.
        yield os.fdopen(source, "rb", closefd=False), os.fdopen(sink, "wb", closefd=False)
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)


class _Exchange(NamedTuple):
    """What the reading thread and the two tasks share."""

    token: lowlevel.EventLoopToken
    incoming: Incoming
    outgoing: MemoryObjectSendStream[SessionMessage]
    open_calls: set[types.RequestId]


@asynccontextmanager
async def _streams(
    source: BinaryIO, sink: BinaryIO
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    send_in, receive_in = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    send_out, receive_out = anyio.create_memory_object_stream[SessionMessage](0)
    exchange = _Exchange(lowlevel.current_token(), send_in, send_out.clone(), set())
    # A daemon: at the end it may be waiting for a line that never comes.
    threading.Thread(target=_read, args=(source, exchange), name="assay-mcp-stdin", daemon=True).start()
    async with anyio.create_task_group() as group:
        group.start_soon(_write, sink, receive_out, exchange)
        yield receive_in, send_out
        group.cancel_scope.cancel()


def _read(source: BinaryIO, exchange: _Exchange) -> None:
    """Read messages and pass them on; runs in its own thread."""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError, OSError):
        while line := source.readline(LONGEST + 1):
            if len(line) > LONGEST:
                _answer(exchange, _too_long(source, line))
            elif line.strip():
                _hand_on(line, exchange)
        from_thread.run(_finish, exchange, token=exchange.token)


def _hand_on(line: bytes, exchange: _Exchange) -> None:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        _answer(exchange, _no_message(line))
        return
    if isinstance(message, types.JSONRPCRequest):
        exchange.open_calls.add(message.id)
    elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
        # A cancelled call gets no answer.
        cancelled = (message.params or {}).get("requestId")
        if isinstance(cancelled, (str, int)):  # anything else names no call, and a list cannot be looked up
            exchange.open_calls.discard(cancelled)
    from_thread.run(exchange.incoming.send, SessionMessage(message), token=exchange.token)


def _answer(exchange: _Exchange, problem: types.JSONRPCError) -> None:
    from_thread.run(exchange.outgoing.send, SessionMessage(problem), token=exchange.token)


def _too_long(source: BinaryIO, begun: bytes) -> types.JSONRPCError:
    """Read the rest of an overlong line, keeping only what is needed to find the message's id."""
    kept = bytearray(begun)
    while not begun.endswith(b"\n") and (begun := source.readline(LONGEST)):
        if len(kept) <= LOOKED_AT:
            kept += begun
    problem = f"the message is over {LONGEST:,} bytes, the most this server takes. Send less at a time."
    found = _id_in(bytes(kept)) if len(kept) <= LOOKED_AT else None
    return _error(found, types.INVALID_REQUEST, problem)


def _no_message(line: bytes) -> types.JSONRPCError:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "the line is not JSON. Send one JSON-RPC message per line, in UTF-8.")
    return _error(_id_in(line), types.INVALID_REQUEST, "the line is not a JSON-RPC 2.0 message")


def _id_in(line: bytes) -> str | int | None:
    try:
        found = json.loads(line).get("id")
    except (ValueError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def _error(call: str | int | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=call, error=types.ErrorData(code=code, message=message))


async def _finish(exchange: _Exchange) -> None:
    """Wait until open calls are answered, then close the stream of messages."""
    with anyio.move_on_after(LINGER_S):
        while exchange.open_calls:  # noqa: ASYNC110 - once, at the very end
            await anyio.sleep(TICK_S)
    await exchange.incoming.aclose()


async def _write(sink: BinaryIO, outgoing: MemoryObjectReceiveStream[SessionMessage], exchange: _Exchange) -> None:
    async with outgoing:
        async for sent in outgoing:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
            try:
                await to_thread.run_sync(_put, sink, text.encode())
            except OSError:
                # The client has closed its end, so open calls are of no use.
                await exchange.incoming.aclose()
                return
            if isinstance(sent.message, (types.JSONRPCResponse, types.JSONRPCError)) and sent.message.id is not None:
                exchange.open_calls.discard(sent.message.id)


def _put(sink: BinaryIO, line: bytes) -> None:
    sink.write(line)
    sink.flush()
