"""The verb that checks a memory: does every channel find what it must, and how is everything around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.access import acts
from assay.records import Scope
from assay.records.memory_list import HealthReport, report_health
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Verb

if TYPE_CHECKING:
    from assay.memory.engine import Engine


class HealthRequest(Request):
    """Nothing to say."""


def check(caller: Caller, request: HealthRequest) -> HealthReport:  # noqa: ARG001 - one shape for all verbs
    """Check every part of the memory."""
    return check_engine(caller.engine, caller.scope)


def check_engine(engine: Engine, scope: Scope) -> HealthReport:
    """Check channels, indexes, gate and log, then metrics, drift, learning and tests."""
    # Verbs import nothing heavy: a client of another machine's server does without these.
    import numpy as np  # noqa: PLC0415

    from assay.online.health import online_lines  # noqa: PLC0415

    found = engine.health(scope)
    beside = online_lines(engine, scope, rng=np.random.default_rng(0))
    return report_health((*found.parts, *beside), found.at)


HEALTH = Verb(
    name="memory.health",
    summary="Check whether every way of searching finds what it must, and how indexes, gate, learning and log are.",
    act=acts.MEMORY_HEALTH,
    request=HealthRequest,
    result=HealthReport,
    call=check,
    http=HttpRoute("GET", "/api/memory/health"),
    tool=McpTool(
        name="memory_health",
        title="Health of the memory",
        description="Whether every way of searching finds what it must, and how indexes, gate, learning and log are.",
    ),
    command="health",
    client="health",
    python="Memory.health",
)

FAMILY = Family(name="health", verbs=(HEALTH,))
