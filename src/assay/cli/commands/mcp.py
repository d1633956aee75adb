"""`assay mcp`: serve the memory to agents over the Model Context Protocol."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.access import Access, Everybody, Grant, OneToken
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.extras import need_extra

if TYPE_CHECKING:
    from assay.mcp.server import Host

TOKEN = "ASSAY_MCP_TOKEN"  # noqa: S105 - the name of a variable
DEFAULT_PORT = 8765

HttpOption = Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input and output.")]
HostOption = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond loopback a token is needed.")
]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 takes any free port.")]
AllowOption = Annotated[
    list[str],
    typer.Option("--allow-host", metavar="NAME", help="Also answer to this host name, and to its pages; may repeat."),
]
ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Leave out every tool that writes.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "mcp")
    def mcp(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        http: HttpOption = False,
        host: HostOption = "127.0.0.1",
        port: PortOption = DEFAULT_PORT,
        allow_host: AllowOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        read_only: ReadOnlyOption = False,
    ) -> None:
        """Serve the memory to agents (MCP); tokens of `assay token create`, or ASSAY_MCP_TOKEN, open --http."""
        need_extra("mcp")
        if surface.common.json:
            raise InputError("a server has no result to print as JSON", remedy="Leave --json out.")
        if http:
            _over_http(surface, host, port, allow_host, read_only=read_only)
        else:
            _over_stdio(surface, read_only=read_only)


def _over_stdio(surface: Surface, *, read_only: bool) -> None:
    import anyio  # noqa: PLC0415 - the extra "mcp"

    from assay.mcp import stdio  # noqa: PLC0415 - the extra "mcp"
    from assay.mcp.server import build_server  # noqa: PLC0415 - the extra "mcp"

    with _serving(surface, read_only=read_only) as (host, grant):
        if sys.stdin.isatty():
            sys.stderr.write("Speaking MCP on standard input and output; a client starts this. End it with Ctrl-D.\n")
        anyio.run(stdio.serve, build_server(host, local=grant))


def _over_http(surface: Surface, address: str, port: int, names: list[str], *, read_only: bool) -> None:
    import anyio  # noqa: PLC0415 - the extra "mcp"

    from assay.access import StoredTokens  # noqa: PLC0415 - the extra "memory"
    from assay.mcp import http  # noqa: PLC0415 - the extra "mcp"
    from assay.mcp.server import build_server  # noqa: PLC0415 - the extra "mcp"

    token = os.environ.get(TOKEN) or None
    with _serving(surface, read_only=read_only) as (host, grant), http.listen(address, port) as at:
        stored = StoredTokens(host.engine.store, host.engine.clock)
        http.need_token(address, token, stored=stored.exist(), variable=TOKEN)
        # Behind a proxy everybody seems to be on this machine.
        alone = http.is_loopback(address) and not surface.settings.server_trusted_proxies
        here = Everybody(grant) if token is None and alone else None
        authoriser = stored.or_else(here if token is None else OneToken(token, grant))
        app = http.guarded(build_server(host), authoriser, surface.settings, names=(address, *names))
        surface.note(f"Serving MCP at {http.address_of(at)}; end it with Ctrl-C.")
        anyio.run(http.serve, app, surface.settings, at)


@contextmanager
def _serving(surface: Surface, *, read_only: bool) -> Iterator[tuple[Host, Grant]]:
    """The memory at work, given back also when the process is told to end."""
    from assay.mcp.server import Host  # noqa: PLC0415 - the extra "mcp"

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with wiring.serving(surface.settings, create=not read_only) as engine:
        scope = wiring.scope_of(surface.settings, via="mcp")
        yield Host(engine, surface.settings, read_only=read_only), Grant(scope, Access.OPERATOR)
