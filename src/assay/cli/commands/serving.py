"""Commands that serve: serve (HTTP API and dashboard) and mcp (agents).

- `assay serve`: the HTTP API and the dashboard.
- `assay mcp`: serve the memory to agents over the Model Context Protocol.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from assay import wiring
from assay.access import Access, Everybody, Grant, OneToken
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.extras import need_extra
from assay.gateway.headers import is_loopback
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.access import Grant
    from assay.gateway.front import Front
    from assay.mcp.server import Host
    from assay.server.application import Mount, Mounted
    from assay.server.services import Services


# --- `assay serve`: the HTTP API and the dashboard ---

SERVE_DEFAULT_PORT = 8710

ServeHostOption = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond loopback callers need a token.")
]
ServePortOption = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 takes any free port.")
]
ServeAllowOption = Annotated[
    list[str],
    typer.Option("--allow-host", metavar="NAME", help="Also answer to this host name, and to its pages; may repeat."),
]
TokenOption = Annotated[bool, typer.Option("--require-token", help="Ask for a token on this machine too.")]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=1, max=64, help="Processes that serve; one uses about one core.")
]
McpOption = Annotated[bool, typer.Option("--mcp", help="Also serve MCP, at /mcp, with the same tokens and limits.")]
DemoOption = Annotated[bool, typer.Option("--demo", help="Serve a store filled by really running what comes along.")]
FolderOption = Annotated[
    Path | None, typer.Option("--demo-folder", metavar="FOLDER", help="Where --demo keeps what it makes.")
]


def register_serve(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "serve")
    def serve(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        host: ServeHostOption = "127.0.0.1",
        port: ServePortOption = SERVE_DEFAULT_PORT,
        allow_host: ServeAllowOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        require_token: TokenOption = False,
        workers: WorkersOption = 1,
        mcp: McpOption = False,
        demo: DemoOption = False,
        demo_folder: FolderOption = None,
    ) -> None:
        """Serve the HTTP API and the dashboard until told to stop (Ctrl-C, SIGTERM)."""
        need_extra("serve")
        if surface.common.json:
            raise InputError("a server has no result to print as JSON", remedy="Leave --json out.")
        if mcp:
            need_extra("mcp")
            if workers > 1:
                raise InputError(
                    "MCP cannot be served by several processes, since its sessions live in one",
                    remedy="Leave out --mcp or --workers, or start `assay mcp --http` beside it.",
                )
        settings = _demo_settings(surface.settings, demo_folder) if demo else surface.settings
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        if demo:
            _fill(surface, settings)
        _serve(surface, settings, _Where(host, port, tuple(allow_host), require_token, workers, mcp))


class _Where(NamedTuple):
    """What the options said."""

    host: str
    port: int
    names: tuple[str, ...]
    require_token: bool
    workers: int
    mcp: bool


def _serve(surface: Surface, settings: Settings, where: _Where) -> None:
    from assay.server import serving  # noqa: PLC0415 - the extra "serve"

    # Behind a proxy everybody seems to be on this machine.
    open_here = is_loopback(where.host) and not where.require_token and not settings.server_trusted_proxies
    names = (where.host, *where.names)
    mount = mcp_mount(names) if where.mcp else None
    how = serving.Serving(settings=settings, open_here=open_here, names=names, mount=mount)
    with ExitStack() as held:
        at = [held.enter_context(one) for one in serving.listen_together(where.host, where.port, where.workers)]
        access = "open to this machine" if open_here else "a token is needed"
        also = " and MCP at /mcp" if where.mcp else ""
        told = f"Serving at {serving.address_of(at[0])}{also} ({access}); end it with Ctrl-C."
        if where.workers == 1:
            serving.serve_here(how, at[0], lambda: surface.note(told))
        else:
            serving.serve_together(how, at, lambda: surface.note(told))


def mcp_mount(names: tuple[str, ...]) -> Mount:
    """What serves MCP within the server of the API, to the same callers."""
    from assay.mcp import http  # noqa: PLC0415 - the extra "mcp"
    from assay.mcp.server import Host, build_server  # noqa: PLC0415 - the same

    def mount(services: Services, front: Front, local: Grant | None) -> Mounted:
        authoriser = services.stored_tokens.or_else(None if local is None else Everybody(local))
        server = build_server(Host(services.engine, services.settings))
        return http.guarded(server, authoriser, services.settings, names=names, clock=services.clock, front=front)

    return mount


def _demo_settings(settings: Settings, folder: Path | None) -> Settings:
    from assay.server import demo  # noqa: PLC0415 - the extra "memory"

    chosen = demo.demo_settings(settings, folder or demo.FOLDER)
    demo.clear(chosen)
    return chosen


def _fill(surface: Surface, settings: Settings) -> None:
    from assay.server import demo  # noqa: PLC0415 - the extra "memory"

    if not demo.is_filled(settings):
        with wiring.serving(settings) as engine:
            demo.fill(engine, settings, surface.note)


# --- `assay mcp`: serve the memory to agents over the Model Context Protocol ---

TOKEN = "ASSAY_MCP_TOKEN"  # noqa: S105 - the name of a variable
MCP_DEFAULT_PORT = 8765

HttpOption = Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input and output.")]
McpHostOption = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond loopback a token is needed.")
]
McpPortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 takes any free port.")]
McpAllowOption = Annotated[
    list[str],
    typer.Option("--allow-host", metavar="NAME", help="Also answer to this host name, and to its pages; may repeat."),
]
ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Leave out every tool that writes.")]


def register_mcp(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "mcp")
    def mcp(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        http: HttpOption = False,
        host: McpHostOption = "127.0.0.1",
        port: McpPortOption = MCP_DEFAULT_PORT,
        allow_host: McpAllowOption = [],  # noqa: B006 - typer reads the default, nobody changes it
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


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_serve(app)
    register_mcp(app)
