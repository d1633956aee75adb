"""A server for tests: an engine of its own, a client in the same process, and a real HTTP server on loopback."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import uvicorn
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from assay import wiring
from assay.access import Access, Authoriser, Everybody, Grant
from assay.clock import Clock
from assay.mcp import http
from assay.mcp.server import Host, build_server
from assay.memory.engine import Engine
from assay.records import Scope
from assay.settings import Settings, load_settings
from assay.testing import FixedClock, HashedEmbedder
from mcp import Client

BOUND_S = 60.0
"""How long a test waits for a server or a client before it fails."""
SCOPE = Scope(tenant="acme", principal="agent")
ADMIN = Grant(SCOPE, Access.ADMIN)
OPERATOR = Grant(SCOPE, Access.OPERATOR)
"""What a caller on this machine has who needs no token."""


def settings_at(folder: Path) -> Settings:
    """Settings for a store below a folder."""
    loaded = load_settings(options={"db": str(folder / "notes.db")})
    return loaded.settings.change(
        tenant=SCOPE.tenant,
        principal=SCOPE.principal,
        runs_folder=folder / "runs",
    )


@contextmanager
def engine_at(folder: Path) -> Iterator[Engine]:
    """An engine that needs no model."""
    with wiring.open_engine(settings_at(folder), clock=FixedClock(), embedder=HashedEmbedder()) as engine:
        yield engine


@contextmanager
def host_at(folder: Path, *, read_only: bool = False) -> Iterator[Host]:
    """A host over an engine of its own."""
    with engine_at(folder) as engine:
        yield Host(engine, settings_at(folder), read_only=read_only)


def asking(
    folder: Path, talk: Callable[[Client], Awaitable[None]], *, read_only: bool = False, grant: Grant = OPERATOR
) -> None:
    """A conversation with a server in this process, through the protocol but without a wire."""

    async def main() -> None:
        with anyio.fail_after(BOUND_S), host_at(folder, read_only=read_only) as host:
            async with Client(build_server(host, local=grant)) as client:
                await talk(client)

    anyio.run(main)


@contextmanager
def serving_http(
    folder: Path,
    authoriser: Authoriser | None = None,
    *,
    read_only: bool = False,
    also: tuple[str, ...] = (),
    clock: Clock | None = None,
    **settings: Any,
) -> Iterator[str]:
    """A server at a free port of this machine, by its address; without `clock` its limits know the real time."""
    with host_at(folder, read_only=read_only) as host, http.listen("127.0.0.1", 0) as at:
        host.settings = chosen = host.settings.change(**settings)
        app = http.build_guard(
            build_server(host), authoriser or Everybody(OPERATOR), chosen, names=("127.0.0.1", *also), clock=clock
        )
        running = uvicorn.Server(http.make_server_config(app, chosen))
        thread = threading.Thread(target=lambda: anyio.run(_served, running, at), daemon=True)
        thread.start()
        try:
            yield http.address_of(at)
        finally:
            running.should_exit = True
            thread.join(BOUND_S)
            assert not thread.is_alive()


async def _served(server: uvicorn.Server, at: Any) -> None:
    await server.serve(sockets=[at])


@asynccontextmanager
async def connected(address: str, *, token: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client over HTTP."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=BOUND_S) as sender:
        transport = streamable_http_client(address, http_client=sender)
        async with Client(transport, mode=mode, read_timeout_seconds=BOUND_S) as client:
            yield client


async def told(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, when it answers."""
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, text_of(answer)
    structured: dict[str, Any] = answer.structured_content
    return structured


async def refused(client: Client, name: str, /, **arguments: Any) -> dict[str, str]:
    """What a tool says when it refuses."""
    answer = await client.call_tool(name, arguments)
    assert answer.is_error
    problem: dict[str, str] = answer.structured_content["error"]
    assert problem["message"] in text_of(answer)
    return problem


def text_of(answer: CallToolResult) -> str:
    """The text a model reads."""
    return "\n".join(one.text for one in answer.content if one.type == "text")


LESSON = {
    "title": "Tabs in Makefiles",
    "body": "We decided to indent Makefiles with tabs, because make refuses spaces there.",
    "triggers": ["makefile indentation"],
}
