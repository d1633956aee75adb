"""A server over a store of its own, with callers of every kind, in this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from sse_starlette.sse import AppStatus
from starlette.testclient import TestClient

from assay import wiring
from assay.clock import Clock
from assay.gateway.serving import make_config
from assay.records import Scope
from assay.records.access import Access
from assay.server import serving
from assay.server.application import build
from assay.server.services import Services
from assay.settings import Settings, load_settings
from assay.testing import HashedEmbedder

BOUND_S = 60.0
"""How long a test waits for a server to end before it fails."""
HERE = "http://127.0.0.1:8710"
OWN = Scope(tenant="default", principal="local")
FOREIGN = Scope(tenant="other", principal="eve")


def settings_at(folder: Path, **more: Any) -> Settings:
    """Settings whose store, runs and datasets are in a folder."""
    given: dict[str, Any] = {"db": str(folder / "notes.db"), "runs_folder": folder / "runs", **more}
    return load_settings().settings.change(**given)


@contextmanager
def services_at(
    folder: Path, *, clock: Clock | None = None, configured: bool = False, **more: Any
) -> Iterator[Services]:
    """What a server serves with; `configured`: with the embedder of the settings, not one that needs no model."""
    settings = settings_at(folder, **more)
    with wiring.serving(settings, clock=clock, embedder=None if configured else HashedEmbedder()) as engine:
        yield Services(engine, settings)


@contextmanager
def reaching(services: Services, *, local: bool = True, pages: bool = False, **more: Any) -> Iterator[TestClient]:
    """A client of the guarded application; `local`: it needs no token."""
    app = build(services, open_to_this_machine=local, pages=pages, **more)
    with TestClient(app, base_url=HERE, raise_server_exceptions=True, follow_redirects=False) as client:
        yield client


def bearer(services: Services, access: Access = Access.ADMIN, scope: Scope = OWN, **more: Any) -> dict[str, str]:
    """The header of a new token."""
    return {"Authorization": f"Bearer {services.tokens.create(scope, 'test', access, **more).text}"}


def token_text(services: Services, access: Access = Access.ADMIN, scope: Scope = OWN, **more: Any) -> str:
    """The text of a new token."""
    return services.tokens.create(scope, "test", access, **more).text


def cookie_secret(services: Services, token: str) -> str:
    """What the cookie of a browser holds after signing in with a token."""
    made = services.sign_ins.begin(token, "browser test")
    assert made is not None
    return made.text


@contextmanager
def served(
    services: Services, *, local: bool = True, pages: bool = False, quick: bool | None = None, **more: Any
) -> Iterator[str]:
    """A real server at a free port of this machine, by its address; `quick`: which parser reads HTTP."""
    app = build(services, open_to_this_machine=local, pages=pages, **more)
    with serving.listen("127.0.0.1", 0) as at:
        how = make_config(app, services.settings, goodbye_s=services.settings.server_stop_s, quick=quick)
        running = serving.Server(how, services.streams.stop)
        thread = threading.Thread(target=lambda: anyio.run(_run, running, at), daemon=True)
        thread.start()
        try:
            yield serving.address_of(at)
        finally:
            running.should_exit = True
            thread.join(BOUND_S)
            assert not thread.is_alive()


async def _run(running: serving.Server, at: socket.socket) -> None:
    await running.serve(sockets=[at])


@contextmanager
def stopping_nothing_else() -> Iterator[None]:
    """For a server that is told to stop by a call: the package of event streams would end those of all later ones."""
    try:
        yield
    finally:
        AppStatus.should_exit = False
