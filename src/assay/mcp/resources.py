"""What a client can read without a tool: `health://`, and each memory as `memory://ID`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import Resource, ResourceTemplate

from assay.errors import RecordNotFound
from assay.mcp.framing import framed, neutral
from assay.memory.rights import check_readable
from assay.records import MemoryStatus, Scope
from assay.verbs import health

if TYPE_CHECKING:
    from assay.memory.engine import Engine

HEALTH = "health://"
MEMORY = "memory://"
PAGE = 100
"""Memories listed at a time."""
LONGEST = 1_000_000
"""Characters of a memory that a resource gives; the rest is for memory_load."""

TEMPLATES = (
    ResourceTemplate(
        uri_template=f"{MEMORY}{{id}}",
        name="memory",
        title="A memory",
        description="One memory as text, by its id.",
        mime_type="text/markdown",
    ),
)
_HEALTH = Resource(
    uri=HEALTH,
    name="health",
    title="Health of the memory",
    description="Whether every way of searching finds what it must.",
    mime_type="application/json",
)


def listed(engine: Engine, scope: Scope, after: str | None) -> tuple[list[Resource], str | None]:
    """One page of resources, in the order of the memories' ids, and where the next begins."""
    with engine.store.reading(scope) as work:
        page = work.memories.page(after=after or "", limit=PAGE + 1)
    shown = [
        Resource(uri=f"{MEMORY}{one.id}", name=one.id, title=neutral(one.title), mime_type="text/markdown")
        for one in page[:PAGE]
        if one.status is not MemoryStatus.FORGOTTEN
    ]
    return ([] if after else [_HEALTH]) + shown, page[PAGE - 1].id if len(page) > PAGE else None


def read(engine: Engine, scope: Scope, uri: str) -> tuple[str, str]:
    """The media type and text of a resource."""
    if uri == HEALTH:
        return "application/json", health.HEALTH.write(health.check_engine(engine, scope)).decode()
    if not uri.startswith(MEMORY):
        raise RecordNotFound(f"there is no resource {uri!r}", remedy=f"Read {HEALTH} or {MEMORY}ID.")
    with engine.store.reading(scope) as work:
        memory = work.memories.get(uri.removeprefix(MEMORY))
    check_readable(memory)
    more = "" if len(memory.body) <= LONGEST else "\n\n(it goes on; read the rest with memory_load)"
    return "text/markdown", framed(f"# {memory.title}\n\n{memory.body[:LONGEST]}{more}", what=MEMORY)
