"""How the server begins and ends. What is under way when it is told to stop may finish; what cannot is written down."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from fastapi import FastAPI

from assay.errors import AssayError
from assay.server.services import Services

FINISH_S = 20.0
"""How long work whose caller has gone may go on after the server was told to stop."""
_log = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Around the time in which the application serves."""
    services: Services = app.state.services
    async with AsyncExitStack() as held:
        if services.live.peers is not None:
            await held.enter_async_context(services.live.peers.answering(partial(services.live.tell, services.streams)))
        for enter in services.alongside:
            await held.enter_async_context(enter())
        yield
    left = await services.finish(FINISH_S)
    services.interrupted += [("", "streamed work")] * left
    if services.interrupted:
        await services.run(partial(record_interrupted, services))


def record_interrupted(services: Services) -> None:
    """Write each request that was cut off to the audit log of the server's own tenant."""
    try:
        with services.engine.store.writing(services.own_scope) as work:
            for request_id, what in services.interrupted:
                work.audit.append("server.interrupted", request_id, {"request": what})
    except AssayError:
        _log.exception("%d interrupted requests could not be written down", len(services.interrupted))
