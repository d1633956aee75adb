"""The kinds of system that come with Assay, registered like those of a package. `SYSTEMS` imports this when needed."""

from __future__ import annotations

from pathlib import Path

from assay.errors import UnknownSystem
from assay.extras import need_extra
from assay.network import Gatekeeper
from assay.settings import load_settings
from assay.systems.http_service import open_service
from assay.systems.protocol import System
from assay.systems.python_function import load_function
from assay.systems.registry import SystemRequest, add_builtin
from assay.systems.run_file import RunFile
from assay.wiring.network import gatekeeper_of
from assay.wiring.stores import open_store, scope_of
from assay.wiring.systems import open_assay


@add_builtin(
    "assay",
    summary="Assay over the dataset's documents; `assay:answer` also answers the questions.",
    example="assay, assay:mode=quick, assay:answer",
    needs_target=False,
)
def open_assay_kind(request: SystemRequest) -> System:
    """Open Assay over the dataset's documents."""
    return open_assay(request)


@add_builtin("python", summary="A function of query and k.", example="python:my_module:search")
def open_python(request: SystemRequest) -> System:
    """Open a function that a module has."""
    return load_function(request.target, request.folder)


@add_builtin("http", summary="A service that a TOML file describes.", example="http:service.toml")
def open_http(request: SystemRequest) -> System:
    """Open a service."""
    return open_service(Path(request.target).expanduser(), request.dataset, gate=_gate())


@add_builtin("mcp", summary="An MCP server that a TOML file describes.", example="mcp:server.toml")
def open_mcp(request: SystemRequest) -> System:
    """Open an MCP server."""
    need_extra("mcp", "mcp")
    from assay.systems.mcp_server import open_server  # noqa: PLC0415 - see the package's docstring

    return open_server(Path(request.target).expanduser(), request.dataset, request.on_document, gate=_gate())


@add_builtin("run", summary="Rankings that were made before, as a TREC run.", example="run:file.trec")
def open_run_file(request: SystemRequest) -> System:
    """Open a run file."""
    return RunFile(Path(request.target).expanduser())


@add_builtin(
    "traces",
    summary="What recorded traces of this store retrieved and answered; for datasets made of them.",
    example="traces",
    needs_target=False,
)
def open_traces(request: SystemRequest) -> System:
    """Open the traces of the store."""
    if request.target:
        raise UnknownSystem(f"the system traces takes no {request.target!r}", remedy="Ask for it as traces.")
    settings = load_settings().settings
    store = open_store(settings, create=False)
    from assay.traces.replaying import RecordedTraces  # noqa: PLC0415 - see the package's docstring

    return RecordedTraces(store, scope_of(settings), store.close)


def _gate() -> Gatekeeper:
    """Return the gatekeeper for a system whose address comes from a file of its own."""
    return gatekeeper_of(load_settings().settings)
