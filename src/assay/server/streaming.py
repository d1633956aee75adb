"""Work that tells its steps while it goes on, as server-sent events.

The work runs off the event loop and to its end, whoever stops listening: what it keeps is kept all the same. A line of
comment keeps a silent connection open.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, NamedTuple

from starlette.responses import StreamingResponse

from assay.errors import AssayError
from assay.server.services import Lane, Services

SILENCE_S = 15.0
"""After so long without a step, a comment is sent."""
KIND = "text/event-stream"
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["stage", "answer", "error"]},
        "data": {"type": "string", "description": "JSON: the step, the answer, or the error in its one shape."},
    },
    "required": ["event", "data"],
}
STREAMED = {200: {"content": {KIND: {"schema": _EVENT}}}}
"""How the description of the API speaks of it."""


class Told(NamedTuple):
    """One event."""

    name: str
    data: dict[str, Any]

    def written(self) -> str:
        """As it goes over the wire."""
        return f"event: {self.name}\ndata: {json.dumps(self.data, allow_nan=False, default=str)}\n\n"


Tell = Callable[[str, dict[str, Any]], None]
"""Sends one event: its name and what it says. Called from the thread of the work."""
Work = Callable[[Tell], None]


def streamed(services: Services, request_id: str, work: Work) -> StreamingResponse:
    """A response that tells what `work` tells, until it ends."""
    return StreamingResponse(_events(services, request_id, work), media_type=KIND, headers={"X-Accel-Buffering": "no"})


async def _events(services: Services, request_id: str, work: Work) -> AsyncIterator[str]:
    waiting: asyncio.Queue[Told | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def tell(name: str, data: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(waiting.put_nowait, Told(name, data))

    task = services.keep(_ended(services, partial(work, tell), waiting, request_id))
    while True:
        try:
            told = await asyncio.wait_for(waiting.get(), SILENCE_S)
        except TimeoutError:
            yield ": still at work\n\n"
            continue
        if told is None:
            break
        yield told.written()
    await task


async def _ended(
    services: Services, work: Callable[[], None], waiting: asyncio.Queue[Told | None], request_id: str
) -> None:
    """Do the work; an error is its last event."""
    try:
        await services.run(work, Lane.LONG)
    except AssayError as problem:
        waiting.put_nowait(Told("error", {"error": {**problem.as_json()["error"], "request_id": request_id}}))
    finally:
        waiting.put_nowait(None)
