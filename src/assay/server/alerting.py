"""Looks for alerts while the server runs, and sends those that are new."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from assay.errors import AssayError
from assay.server.services import Services
from assay.wiring.alerts import send_new_alerts, sends_alerts

EVERY_S = 300.0
"""Seconds between two looks."""
_log = logging.getLogger(__name__)


@asynccontextmanager
async def watch_alerts(services: Services, *, every_s: float = EVERY_S) -> AsyncIterator[None]:
    """Look for alerts of the server's own tenant every so often; nothing where the settings send them nowhere."""
    if not sends_alerts(services.settings):
        yield
        return
    task = asyncio.create_task(_watch(services, every_s))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _watch(services: Services, every_s: float) -> None:
    while True:
        look = partial(
            send_new_alerts, services.settings, services.engine.store, services.own_scope, services.engine.clock
        )
        try:
            for alert in await services.run(look):
                _log.warning("alert %s: %s", alert.id, alert.sentence)
        except AssayError as problem:
            _log.warning("alerts could not be looked for: %s", problem.message)
        await asyncio.sleep(every_s)
