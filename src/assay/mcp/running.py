"""Serve the memory to agents: over standard input and output, over HTTP, or within the server of the API."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import anyio

from assay import wiring
from assay.access import Access, Everybody, Grant, OneToken, StoredTokens
from assay.gateway.front import Front
from assay.mcp import http, stdio
from assay.mcp.server import Host, build_server
from assay.memory.engine import Engine
from assay.settings import Settings

TOKEN = "ASSAY_MCP_TOKEN"  # noqa: S105 - the name of a variable


class Where(NamedTuple):
    """Where to listen, and under which further names."""

    host: str
    port: int
    names: tuple[str, ...] = ()


def serve_stdio(settings: Settings, *, read_only: bool) -> None:
    """Serve one client on standard input and output until its input ends."""
    with _open_host(settings, read_only=read_only) as (host, grant):
        if sys.stdin.isatty():
            sys.stderr.write("Serving MCP on standard input and output; a client starts this. End it with Ctrl-D.\n")
        anyio.run(stdio.serve, build_server(host, local=grant))


def serve_http(settings: Settings, where: Where, *, read_only: bool, note: Callable[[str], object]) -> None:
    """Serve over HTTP until stopped; `note` is called with a line that names the address."""
    token = os.environ.get(TOKEN) or None
    with (
        _open_host(settings, read_only=read_only) as (host, grant),
        http.listen(where.host, where.port) as at,
    ):
        stored = StoredTokens(host.engine.store, host.engine.clock)
        http.need_token(where.host, token, stored=stored.exist(), variable=TOKEN)
        # Behind a proxy all callers seem to be on this machine.
        alone = http.is_loopback(where.host) and not settings.server_trusted_proxies
        here = Everybody(grant) if token is None and alone else None
        authoriser = stored.or_else(here if token is None else OneToken(token, grant))
        names, counts = (where.host, *where.names), http.counts_of(host.engine.store)
        app = http.build_guard(build_server(host), authoriser, settings, names=names, counts=counts)
        note(f"Serving MCP at {http.address_of(at)}; end it with Ctrl-C.")
        anyio.run(http.serve, app, settings, at)


def mount(
    engine: Engine,
    settings: Settings,
    stored: StoredTokens,
    front: Front,
    *,
    local: Grant | None,
    names: Collection[str],
) -> http.McpGuard:
    """Return the application that serves MCP within another server, behind its checks.

    `local`: the grant of callers on this machine without a token; None: they are refused.
    """
    authoriser = stored.or_else(None if local is None else Everybody(local))
    server = build_server(Host(engine, settings))
    return http.build_guard(server, authoriser, settings, names=names, clock=engine.clock, front=front)


@contextmanager
def _open_host(settings: Settings, *, read_only: bool) -> Iterator[tuple[Host, Grant]]:
    """Open the memory and its host; both are closed on SIGTERM too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with wiring.serving(settings, create=not read_only) as engine:
        scope = wiring.scope_of(settings, via="mcp")
        yield Host(engine, settings, read_only=read_only), Grant(scope, Access.OPERATOR)
