"""Whether the server lives (`/healthz`), can work (`/readyz`), and its numbers (`/metrics`)."""

from __future__ import annotations

from starlette.responses import Response

from assay.access import acts
from assay.errors import ServerBusy
from assay.server.routing import Asked, Resource, Result

RESOURCE = Resource("", "health")


class Alive(Result):
    """The process answers."""

    status: str


class Ready(Result):
    """The store can be read, and the server is not being stopped."""

    status: str
    store: str
    """`sqlite` or `postgres`."""


@RESOURCE.get("/healthz", acts.SERVER_PROBE)
async def get_liveness(asked: Asked) -> Alive:  # noqa: ARG001 - a busy server lives too
    """Whether the process answers."""
    return Alive(status="ok")


@RESOURCE.get("/readyz", acts.SERVER_PROBE)
def get_readiness(asked: Asked) -> Ready:
    """Whether requests may be sent here: 503 when the store cannot be read, or the server is being stopped."""
    if asked.services.draining:
        raise ServerBusy("this server is being stopped", remedy="Send requests to another one.")
    store = asked.engine.store
    with store.reading(asked.services.own_scope) as work:
        work.meta.get("epoch")
    return Ready(status="ok", store=store.backend_name)


@RESOURCE.get(
    "/metrics", acts.SERVER_METRICS, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
)
def get_server_metrics(asked: Asked) -> Response:
    """The server's own numbers, in the text format of Prometheus."""
    metrics = asked.services.metrics
    metrics.log_dropped.set(asked.engine.store.log.status().dropped)
    for what, count in asked.engine.counters.get("shadow", dict)().items():
        metrics.shadow.labels(what).set(count)
    for what, count in asked.engine.repeated.counts().items():
        metrics.repeated.labels(what).set(count)
    return Response(metrics.write(), media_type="text/plain; version=0.0.4; charset=utf-8")
