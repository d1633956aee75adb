"""Commands that serve: serve (HTTP API and dashboard) and mcp (agents).

- `assay serve`: the HTTP API and the dashboard.
- `assay mcp`: serve the memory to agents over the Model Context Protocol.
"""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from assay import mcp as mcp_server
from assay import server
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.extras import need_extra
from assay.gateway.headers import is_loopback
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.access import Grant
    from assay.gateway.front import Front
    from assay.server.application import Mount, Mounted
    from assay.server.services import Services


# --- `assay serve`: the HTTP API and the dashboard ---


class LogLevel(StrEnum):
    """From which level on a server logs problems."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a server writes its logs."""

    TEXT = "text"
    JSON = "json"


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
LogLevelOption = Annotated[
    LogLevel | None, typer.Option("--log-level", help="From which level on problems are logged. Unset: the setting.")
]
AccessLogOption = Annotated[
    bool | None,
    typer.Option("--access-log/--no-access-log", help="Log every request: caller, status, time. Unset: the setting."),
]
LogFormatOption = Annotated[
    LogFormat | None, typer.Option("--log-format", help="Logs as text or as JSON lines. Unset: the setting.")
]
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
        log_level: LogLevelOption = None,
        access_log: AccessLogOption = None,
        log_format: LogFormatOption = None,
        demo: DemoOption = False,
        demo_folder: FolderOption = None,
    ) -> None:
        """Serve the HTTP API and the dashboard until stopped (Ctrl-C, SIGTERM)."""
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
        settings = _set_logs(settings, log_level, log_format, access_log=access_log)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        if demo:
            _fill(surface, settings)
        _serve(surface, settings, _Where(host, port, tuple(allow_host), require_token, workers, mcp))


def _set_logs(
    settings: Settings, level: LogLevel | None, form: LogFormat | None, *, access_log: bool | None
) -> Settings:
    """Return the settings with what the options say about logs."""
    given: dict[str, str] = {}
    if level is not None:
        given["server_log_level"] = level
    if form is not None:
        given["server_log_format"] = form
    if access_log is not None:
        given["server_access_log"] = "yes" if access_log else "no"
    return settings.change(**given)


class _Where(NamedTuple):
    """Values of the options."""

    host: str
    port: int
    names: tuple[str, ...]
    require_token: bool
    workers: int
    mcp: bool


def _serve(surface: Surface, settings: Settings, where: _Where) -> None:
    # Behind a proxy every caller seems to be on this machine.
    open_here = is_loopback(where.host) and not where.require_token and not settings.server_trusted_proxies
    names = (where.host, *where.names)
    mount = mcp_mount(names) if where.mcp else None
    serving = server.serving.Serving(settings=settings, open_here=open_here, names=names, mount=mount)
    with ExitStack() as held:
        sockets = server.serving.listen_together(where.host, where.port, where.workers)
        at = [held.enter_context(socket) for socket in sockets]
        access = "open to this machine" if open_here else "a token is needed"
        also = " and MCP at /mcp" if where.mcp else ""
        message = f"Serving at {server.serving.address_of(at[0])}{also} ({access}); end it with Ctrl-C."
        if where.workers == 1:
            server.serving.serve_here(serving, at[0], lambda: surface.note(message))
        else:
            server.serving.serve_together(serving, at, lambda: surface.note(message))


def mcp_mount(names: tuple[str, ...]) -> Mount:
    """Return what serves MCP within the server of the API, to the same callers."""

    def mount(services: Services, front: Front, local: Grant | None) -> Mounted:
        return mcp_server.mount(
            services.engine, services.settings, services.stored_tokens, front, local=local, names=names
        )

    return mount


def _demo_settings(settings: Settings, folder: Path | None) -> Settings:
    chosen = server.demo.demo_settings(settings, folder or server.demo.FOLDER)
    server.demo.clear(chosen)
    return chosen


def _fill(surface: Surface, settings: Settings) -> None:
    server.demo.fill(settings, surface.note)


# --- `assay mcp`: serve the memory to agents over the Model Context Protocol ---

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
            where = mcp_server.Where(host, port, tuple(allow_host))
            mcp_server.serve_http(surface.settings, where, read_only=read_only, note=surface.note)
        else:
            mcp_server.serve_stdio(surface.settings, read_only=read_only)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_serve(app)
    register_mcp(app)
