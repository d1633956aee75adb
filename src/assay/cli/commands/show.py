"""`assay show`: everything the store knows of one memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records import MemoryLine, MemoryRecord, ShownEdge, ShownMemory
from assay.verbs import reading

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory's id, as a search shows it.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "show")
    def show(surface: Surface, memory_id: IdArgument) -> None:
        """Show a memory with its chunks, edges, versions and the decisions that led to it."""
        found = surface.call(reading.SHOW, memory_id=memory_id)
        surface.show(reading.SHOW, found, "\n".join(_lines(found)))


def _lines(found: ShownMemory) -> Iterator[str]:
    yield from (f"{found.memory.title}", "")
    # What is in quarantine or forgotten is not superseded by anything.
    set_apart = bool(found.quarantined or found.forgotten)
    facts = (fact for fact in _facts(found.memory) if not (set_apart and fact[0] == "superseded"))
    yield from grid(list(facts), indent="  ")
    yield from (f"  in quarantine, no search finds it: {reason}" for reason in found.quarantined)
    if found.forgotten is not None:
        since, by = found.forgotten.forgotten_at, found.forgotten.forgotten_by
        yield f"  forgotten {since:%Y-%m-%d %H:%M} by {by}; bring it back: assay restore {found.memory.id}"
    yield from ("", found.memory.body.rstrip(), "")
    yield f"{len(found.chunks)} chunks, {sum(one.token_count for one in found.chunks):,} tokens"
    yield from (f"  {one.position}  {one.token_count:>4}  {one.heading_path}" for one in found.chunks)
    if found.edges:
        yield from ("edges", *(f"  {_edge(one)}" for one in found.edges))
    if len(found.versions) > 1:
        yield from ("versions", *grid([_version(one) for one in found.versions], indent="  "))
    if found.saves:
        rows = [(f"{one.at:%Y-%m-%d %H:%M}", str(one.decision), one.save_id) for one in found.saves]
        yield from ("saves", *grid(rows, indent="  "))


def _facts(memory: MemoryRecord) -> Iterator[tuple[str, str]]:
    facts = {
        "id": memory.id,
        "tier": memory.tier.value,
        "folder": memory.folder,
        "path": memory.rel_path,
        "tags": ", ".join(memory.tags),
        "triggers": ", ".join(memory.triggers),
        "learned triggers": ", ".join(memory.learned_triggers),
        "source": "" if memory.source_id is None else f"{memory.source_id} (version {memory.version})",
        "valid from": f"{memory.valid_from:%Y-%m-%d %H:%M}",
        "superseded": "" if memory.superseded_at is None else f"{memory.superseded_at:%Y-%m-%d %H:%M}",
        "confidence": f"{memory.confidence:.2f} after {memory.validation_count} validations",
        "written": f"{memory.written_by} with {memory.written_with}" if memory.written_with else memory.written_by,
    }
    yield from ((name, value) for name, value in facts.items() if value)


def _edge(one: ShownEdge) -> str:
    outwards = one.edge.target_id == one.other_id
    arrow = f"{one.edge.kind.value} ->" if outwards else f"<- {one.edge.kind.value}"
    evidence = f"  ({one.edge.evidence})" if one.edge.evidence else ""
    return f"{arrow} {one.other_id}  {one.other_title}  {one.edge.strength:.2f}{evidence}"


def _version(memory: MemoryLine) -> tuple[str, str, str]:
    gone = "current" if memory.superseded_at is None else f"until {memory.superseded_at:%Y-%m-%d %H:%M}"
    return f"{memory.version}", memory.memory_id, gone
