"""One MCP server, asked from ordinary code: the SDK's client on a loop of its own in one thread.

Everything a server can do wrong becomes one of two errors: `EndpointUnavailable` (it does not start, dies, does not
answer) and `EndpointMisbehaved` (it answers with what cannot be used). Nothing is tried again: a call may have changed
something. A server that has died stays dead, and every later call says so.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from typing import Any, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp_types import CONNECTION_CLOSED, CallToolResult, TextContent

from assay.errors import AssayError, EndpointMisbehaved, EndpointUnavailable
from assay.network import Gatekeeper
from assay.systems.descriptions import filled, from_environment, headers_for, shape_of
from assay.systems.mcp_mapping import McpMapping, ServerStart
from assay.systems.mcp_transport import Told, over_http, over_stdio
from mcp import Client, MCPError, Tool

T = TypeVar("T")


class McpConnection:
    """An open connection; closing it ends a server that was started for it."""

    def __init__(self, mapping: McpMapping, *, gate: Gatekeeper) -> None:
        if mapping.server.url:
            gate.check(mapping.server.url)
        self._mapping = mapping
        self._gate = gate
        self._told = Told()
        self._stack = ExitStack()
        try:
            self._portal: BlockingPortal = self._stack.enter_context(start_blocking_portal(name="assay-mcp"))
            opened = self._portal.wrap_async_context_manager(self._opened())
            self._client: Client = self._asked("start", lambda: self._stack.enter_context(opened))
            self.tools: Mapping[str, Tool] = self._asked("list its tools", self._listed)
        except BaseException:
            self.close()
            raise

    @property
    def server(self) -> str:
        """What the server calls itself, with its version."""
        told = self._client.server_info
        return "" if told is None else f"{told.name} {told.version}".strip()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What a tool gave back: its structured content, or the JSON in its text, or its text."""
        found = self._asked(f"answer {tool}", lambda: self._portal.call(self._called, tool, dict(arguments)))
        if found.is_error:
            raise EndpointMisbehaved(f"{tool} failed: {_text(found)[:300] or 'it does not say why'}", remedy="Try it.")
        if found.structured_content is not None:
            return found.structured_content
        return _read(found)

    def close(self) -> None:
        """End the connection. A server that ends badly has been told of where it mattered."""
        with suppress(Exception):
            self._stack.close()

    def _asked(self, what: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except TimeoutError as problem:
            message = f"the server {self._name} did not {what} in time. {self._told}".strip()
            raise TimeoutError(message) from problem
        except AssayError:
            raise
        except Exception as problem:
            cause = self._told.problem or _reason(problem)
            message = f"the server {self._name} did not {what}: {cause}. {self._told}".strip()
            remedy = "Start it by hand and look at what it says."
            if "more than" in self._told.problem:
                raise EndpointMisbehaved(message, remedy=remedy) from problem
            unavailable = EndpointUnavailable(message, remedy=remedy)
            unavailable.unreachable = _is_away(problem)
            raise unavailable from problem

    @property
    def _name(self) -> str:
        start = self._mapping.server
        return repr(start.url or " ".join([start.command, *start.args])[:120])

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Client, None]:
        client = Client(self._road(self._mapping.server), read_timeout_seconds=self._mapping.timeout_s)
        with anyio.fail_after(self._mapping.start_timeout_s) as deadline:
            async with client:
                deadline.deadline = float("inf")
                yield client

    def _road(self, start: ServerStart) -> AbstractAsyncContextManager[Any]:
        largest, told = self._mapping.largest_reply, self._told
        if start.url:
            headers = headers_for(start.url, start.headers)
            return over_http(start.url, headers, bounds=(largest, self._mapping.timeout_s), told=told, gate=self._gate)
        scratch = self._stack.enter_context(
            tempfile.TemporaryDirectory(prefix="assay-mcp-", ignore_cleanup_errors=True)
        )
        given = {name: _started_with(value, name, scratch) for name, value in start.env.items()}
        args = [_started_with(one, "an argument", scratch) for one in start.args]
        return over_stdio([start.command, *args], given, largest, told)

    def _listed(self) -> dict[str, Tool]:
        return {one.name: one for one in self._portal.call(self._all_tools)}

    async def _all_tools(self) -> list[Tool]:
        with anyio.fail_after(self._mapping.timeout_s):
            page = await self._client.list_tools()
            found = list(page.tools)
            while page.next_cursor is not None and len(found) < _MOST_TOOLS:
                page = await self._client.list_tools(cursor=page.next_cursor)
                found += page.tools
        return found

    async def _called(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        with anyio.fail_after(self._mapping.timeout_s):
            return await self._client.call_tool(tool, arguments)


_MOST_TOOLS = 10_000


def _started_with(value: str, what: str, scratch: str) -> str:
    return str(filled(from_environment(value, None, what), {"scratch": scratch}))


def _is_away(problem: BaseException) -> bool:
    """Whether the server is gone, rather than alive and refusing this call."""
    inner = _innermost(problem)
    return not isinstance(inner, MCPError) or inner.code == CONNECTION_CLOSED


def _innermost(problem: BaseException) -> BaseException:
    """The error that task groups wrapped."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def _reason(problem: BaseException) -> str:
    """The innermost error in words."""
    problem = _innermost(problem)
    said = problem.message if isinstance(problem, MCPError) else str(problem)
    return f"{type(problem).__name__}: {said}" if said else type(problem).__name__


def _text(found: CallToolResult) -> str:
    return "\n".join(one.text for one in found.content if isinstance(one, TextContent))


def _read(found: CallToolResult) -> Any:
    """The JSON in the text; several texts of JSON are a list, as older servers write one."""
    parts = [one.text for one in found.content if isinstance(one, TextContent)]
    read = [_json(one) for one in parts]
    if len(read) == 1:
        return parts[0] if read[0] is _NOT_JSON else read[0]
    return _text(found) if _NOT_JSON in read else read


_NOT_JSON = object()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOT_JSON


def no_json(tool: str, reply: Any) -> EndpointMisbehaved:
    """The error for text where results were expected."""
    return EndpointMisbehaved(
        f"{tool} answered with text, not JSON: {shape_of(reply)}",
        remedy="Give a `pattern` in [results], or name a tool that answers with JSON.",
    )
