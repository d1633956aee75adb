"""Connections to MCP servers: the description file, bounded transports, and a client for ordinary code.

- The description file (`mcp:FILE.toml`).
- Transports over stdio and HTTP that limit the size of a message.
- A connection used from ordinary code; its event loop runs in a thread.

The description file (`mcp:FILE.toml`):

    timeout_s = 30                      # for one call
    start_timeout_s = 60
    largest_reply = 8388608             # bytes in one message of the server

    [server]                            # a command that talks over stdio ...
    command = "npx"
    args = ["-y", "@modelcontextprotocol/server-memory"]
    env = { MEMORY_FILE_PATH = "{scratch}/memory.jsonl", API_KEY = "${API_KEY}" }
    # url = "http://127.0.0.1:8000/mcp" # ... or one that is there already, with headers = { ... }

    [search]
    tool = "search_nodes"
    arguments = { query = "{query}" }   # {query} and {k} are filled in
    each_word = false                   # true: one call a term, for servers that search for the literal text

    [results]                           # dotted paths
    list = "entities"                   # the list in the reply; empty: the reply is the list
    id = "name"                         # within a result; empty: the result is the id
    text = "observations"

    [fill]                              # optional: put the dataset's documents in before the first question
    tool = "create_entities"
    list = "entities"                   # the argument that takes a batch; without it one call a document
    batch = 50
    document = { name = "{id}", entityType = "{entity_type}", observations = ["{title}", "{text}"] }

Also in [results]: `score`, `title`, `rel_path`, `heading_path` of a result, and `candidates`, `candidate_id`,
`candidate_score` and `stages` of the reply, as `http_service` describes them; or instead of paths a `pattern` for
servers that answer with text: a regular expression with a group `id` and, if there are such, `score` and `text`. A
document has `{id}`, `{title}`, `{text}`, `{entity_type}`, `{rel_path}`, `{folder}`, `{tags}`, `{date}`. `{scratch}` is
a fresh folder that is gone when the run ends: a server that keeps its memory there never touches yours.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, CallToolResult, TextContent, jsonrpc_message_adapter

from assay.errors import AssayError, EndpointMisbehaved, EndpointUnavailable, UnknownSystem
from assay.systems.replies import (
    STEP_PATHS,
    fill_template,
    from_environment,
    headers_for,
    read_toml,
    refuse_unknown,
    shape_of,
)
from mcp import Client, MCPError, Tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
    from pathlib import Path

    from anyio.abc import ByteReceiveStream, Process

    from assay.network import Gatekeeper

# --- The description file (`mcp:FILE.toml`) ---

WITHIN = ("id", "score", "text", "title", "rel_path", "heading_path")
"""What a path of [results] may lead to in one result."""
_TABLES = ("server", "search", "results", "fill")
_LIMITS = ("timeout_s", "start_timeout_s", "largest_reply")
_GUIDE = (
    'Write, for example: [server] command = "npx"; [search] tool = "search_nodes", arguments = { query = "{query}" }; '
    '[results] list = "entities", id = "name".'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerStart:
    """How the server is reached: a command, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCall:
    """How a question is put."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: {"query": "{query}"})
    each_word: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FillCall:
    """How documents are put in."""

    tool: str
    document: Mapping[str, Any]
    list: str = ""
    batch: int = 50
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class McpMapping:
    """The content of the file, without values of environment variables."""

    server: ServerStart
    search: SearchCall
    results: Mapping[str, str]
    fill: FillCall | None = None
    timeout_s: float = 30.0
    start_timeout_s: float = 60.0
    largest_reply: int = 8 << 20


def read_mapping(path: Path) -> McpMapping:
    """Read and check a file: unknown keys are refused with the nearest names."""
    found = read_toml(path, "the server's mapping: mcp:FILE.toml")
    refuse_unknown(path, found, (*_TABLES, *_LIMITS))
    tables = {name: _table(path, found, name) for name in _TABLES}
    for name, known in (
        ("server", ("command", "args", "env", "url", "headers")),
        ("search", ("tool", "arguments", "each_word")),
        ("results", ("list", "pattern", *WITHIN, *STEP_PATHS)),
        ("fill", ("tool", "document", "list", "batch", "arguments")),
    ):
        refuse_unknown(path, tables[name], known)
    _check(path, found, tables)
    server = tables["server"]
    return McpMapping(
        server=ServerStart(**{**server, "args": tuple(server.get("args", ()))}),
        search=SearchCall(**tables["search"]),
        results=tables["results"],
        fill=FillCall(**tables["fill"]) if tables["fill"] else None,
        **{name: found[name] for name in _LIMITS if name in found},
    )


def _table(path: Path, found: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = found.get(name, {})
    if not isinstance(table, dict):
        raise UnknownSystem(f"{path}: {name} is not a table", remedy=f"Write it below a line [{name}].")
    return table


def _check(path: Path, found: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> None:
    server, search, results, fill = (tables[name] for name in ("server", "search", "results", "fill"))
    limits = [found.get(name, 1) for name in _LIMITS]
    url = server.get("url", "")
    wrong = (
        (bool(server.get("command")) == bool(url), "[server] needs either a command or a url"),
        (not _texts(server.get("args", [])), "args is not a list of texts"),
        (not _texts(list(_values(server, "env") + _values(server, "headers"))), "env or headers hold more than texts"),
        (url != "" and not str(url).startswith(("http://", "https://")), f"url {url!r} is not an HTTP URL"),
        (not _is_name(search.get("tool")), "[search] has no tool"),
        (not isinstance(search.get("arguments", {}), dict), "the arguments of [search] are not a table"),
        (not isinstance(search.get("each_word", False), bool), "each_word is neither true nor false"),
        (not _texts(list(results.values())), "a path of [results] is not text"),
        (bool(fill) and not _is_name(fill.get("tool")), "[fill] has no tool"),
        (bool(fill) and not isinstance(fill.get("document"), dict), "[fill] has no table document"),
        (not _above_zero(fill.get("batch", 1), int), "batch is not a whole number above 0"),
        (not all(_above_zero(limit, int, float) for limit in limits), "a limit is not above 0"),
        (
            bool(results.get("pattern") or search.get("each_word")) and any(name in results for name in STEP_PATHS),
            "candidates and stages cannot be read with a pattern or each_word",
        ),
        (not _is_pattern(results.get("pattern", "(?P<id>)")), "pattern is not a regular expression with a group 'id'"),
    )
    for is_so, what in wrong:
        if is_so:
            raise UnknownSystem(f"{path}: {what}", remedy=_GUIDE)


def _values(table: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    inner = table.get(name, {})
    return tuple(inner.values()) if isinstance(inner, dict) else (inner, None)


def _texts(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(part, str) for part in found)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _above_zero(value: Any, *kinds: type) -> bool:
    return type(value) in kinds and value > 0


def _is_pattern(text: Any) -> bool:
    try:
        return "id" in re.compile(text).groupindex
    except (re.error, TypeError):
        return False


# --- Transports over stdio and HTTP that limit the size of a message ---
#
# The SDK's own stdio road keeps reading a line that never ends. Here such a server is ended, and whoever waits for its
# answer is told why; what it wrote to its standard error is kept, the last part of it, because that is where servers
# say what went wrong.

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
            tasks.start_soon(_read_messages, process, came, largest, told)
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


async def _read_messages(process: Process, came: Incoming, largest: int, told: Told) -> None:
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
            async for message in sending:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if process.stdin is not None:
                    await process.stdin.send(text.encode() + b"\n")


async def _listen(process: Process, told: Told) -> None:
    with suppress(*_GONE):
        async for piece in _bytes_of(process.stderr):
            told.errors = (told.errors + piece)[-_KEPT:]


async def _stop(process: Process) -> None:
    """As the protocol requires: close its input, wait a little, then end it with everything it started."""
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
    """Cuts off an answer that is too long, and checks every request with the gatekeeper, redirects included."""

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


# --- A connection used from ordinary code; its event loop runs in a thread ---
#
# Everything a server can do wrong becomes one of two errors: `EndpointUnavailable` (it does not start, dies, does not
# answer) and `EndpointMisbehaved` (it answers with what cannot be used). Nothing is tried again: a call may have
# changed something. A server that has died stays dead, and every later call says so.

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
            opened = self._portal.wrap_async_context_manager(self._open_client())
            self._client: Client = self._translate_errors("start", lambda: self._stack.enter_context(opened))
            self.tools: Mapping[str, Tool] = self._translate_errors("list its tools", self._list_tools)
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
        found = self._translate_errors(
            f"answer {tool}", lambda: self._portal.call(self._call_tool, tool, dict(arguments))
        )
        if found.is_error:
            raise EndpointMisbehaved(f"{tool} failed: {_text(found)[:300] or 'it does not say why'}", remedy="Try it.")
        if found.structured_content is not None:
            return found.structured_content
        return _parse_content(found)

    def close(self) -> None:
        """End the connection. Errors of a server while it ends are ignored; earlier ones were reported."""
        with suppress(Exception):
            self._stack.close()

    def _translate_errors(self, what: str, ask: Callable[[], T]) -> T:
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
    async def _open_client(self) -> AsyncGenerator[Client, None]:
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
        given = {name: _fill_start_value(value, name, scratch) for name, value in start.env.items()}
        args = [_fill_start_value(argument, "an argument", scratch) for argument in start.args]
        return over_stdio([start.command, *args], given, largest, told)

    def _list_tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self._portal.call(self._all_tools)}

    async def _all_tools(self) -> list[Tool]:
        with anyio.fail_after(self._mapping.timeout_s):
            page = await self._client.list_tools()
            found = list(page.tools)
            while page.next_cursor is not None and len(found) < _MOST_TOOLS:
                page = await self._client.list_tools(cursor=page.next_cursor)
                found += page.tools
        return found

    async def _call_tool(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        with anyio.fail_after(self._mapping.timeout_s):
            return await self._client.call_tool(tool, arguments)


_MOST_TOOLS = 10_000


def _fill_start_value(value: str, what: str, scratch: str) -> str:
    return str(fill_template(from_environment(value, None, what), {"scratch": scratch}))


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
    return "\n".join(content.text for content in found.content if isinstance(content, TextContent))


def _parse_content(found: CallToolResult) -> Any:
    """The JSON in the text; several texts of JSON are a list, as older servers write one."""
    parts = [content.text for content in found.content if isinstance(content, TextContent)]
    read = [_json(part) for part in parts]
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
