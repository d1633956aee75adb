"""One memory: all its stored data, its links, and the reasons for its state.

- The graph: link two memories, and trace the reasons behind one.
- All stored data about one memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.errors import BadValue
from assay.memory.rights import check_readable
from assay.records import (
    Edge,
    EdgeKind,
    MemoryRecord,
    MemoryStatus,
    Reason,
    SaveLine,
    Scope,
    ShownEdge,
    ShownFact,
    ShownMemory,
    Why,
    line_of,
)
from assay.storage import SaveRecord, Store, Work

# --- The graph: link two memories, and trace the reasons behind one ---
#
# `why` walks from a memory to what stands behind it: what caused, enabled or supports it, what it was derived from,
#   what
# it took the place of. Contradictions explain nothing, so they are listed but not followed.

DEPTH = 5
"""How many steps back a chain is followed."""
WIDTH = 100
"""How many memories one answer may hold."""

_INTO = frozenset({EdgeKind.CAUSED, EdgeKind.ENABLED, EdgeKind.SUPPORTS})
"""Kinds of edges whose source is a reason for the target."""
_OUT_OF = frozenset({EdgeKind.DERIVED_FROM, EdgeKind.SUPERSEDES})
"""Kinds of edges whose target is a reason for the source."""


class _Step(NamedTuple):
    """One edge, read in the direction of the question."""

    source: str
    to: str
    edge: Edge


def link(store: Store, scope: Scope, edge: Edge) -> None:
    """Join two memories of one scope; the same pair and kind take the new strength and evidence. Audited."""
    if edge.source_id == edge.target_id:
        raise BadValue(f"an edge from {edge.source_id!r} to itself says nothing", remedy="Name two different memories.")
    with store.writing(scope) as work:
        for end in filter(None, map(work.memories.find, (edge.source_id, edge.target_id))):
            check_readable(end)
        work.edges.put(edge)
        detail = {"kind": str(edge.kind), "target": edge.target_id, "strength": edge.strength}
        work.audit.append("memory.link", edge.source_id, detail)


def why(work: Work, memory_id: str, *, depth: int = DEPTH, width: int = WIDTH) -> Why:
    """Return the memories behind a memory, strongest first, each where it is first reached."""
    asked = work.memories.get(memory_id)
    steps, cut = _walk(work, memory_id, depth, width)
    titles = {step.to: work.memories.get(step.to).title for step in steps}
    behind: dict[str, list[_Step]] = {}
    for step in steps:
        behind.setdefault(step.source, []).append(step)
    chain = Reason(
        memory_id=memory_id,
        title=asked.title,
        kind=None,
        strength=1.0,
        evidence="",
        behind=_reasons(memory_id, 1.0, behind, titles),
    )
    return Why(chain=chain, contradicted_by=_contradicting(work, memory_id), cut=cut)


def _walk(work: Work, start: str, depth: int, width: int) -> tuple[list[_Step], bool]:
    """The steps of the tree, level by level, and whether there would be more."""
    seen, level, taken = {start}, [start], list[_Step]()
    for _ in range(depth):
        found = [step for reached_step in level for step in _steps_from(work, reached_step)]
        level = []
        for step in found:
            if step.to in seen:
                continue
            if len(taken) == width:
                return taken, True
            seen.add(step.to)
            taken.append(step)
            level.append(step.to)
    return taken, any(step.to not in seen for reached_step in level for step in _steps_from(work, reached_step))


def _steps_from(work: Work, memory_id: str) -> list[_Step]:
    """Return the edges to the memories behind one, strongest first."""
    steps = []
    for edge in work.edges.of(memory_id):
        if edge.kind in _INTO and edge.target_id == memory_id:
            steps.append(_Step(memory_id, edge.source_id, edge))
        elif edge.kind in _OUT_OF and edge.source_id == memory_id:
            steps.append(_Step(memory_id, edge.target_id, edge))
    return sorted(steps, key=lambda step: (-step.edge.strength, step.to, step.edge.kind))


def _reasons(
    memory_id: str, strength: float, behind: Mapping[str, Sequence[_Step]], titles: Mapping[str, str]
) -> tuple[Reason, ...]:
    return tuple(
        Reason(
            memory_id=step.to,
            title=titles[step.to],
            kind=step.edge.kind,
            strength=strength * step.edge.strength,
            evidence=step.edge.evidence,
            behind=_reasons(step.to, strength * step.edge.strength, behind, titles),
        )
        for step in behind.get(memory_id, ())
    )


def _contradicting(work: Work, memory_id: str) -> tuple[str, ...]:
    ends = [
        edge.target_id if edge.source_id == memory_id else edge.source_id
        for edge in work.edges.of(memory_id)
        if edge.kind is EdgeKind.CONTRADICTS
    ]
    return tuple(dict.fromkeys(ends))


# --- All stored data about one memory ---


def show(work: Work, memory_id: str) -> ShownMemory:
    """The memory, its chunks, edges, versions and the saves behind it."""
    from assay.memory.saving import restoring  # noqa: PLC0415 - a search does not wait for what saves
    from assay.memory.saving.spam_filter import quarantine_reasons  # noqa: PLC0415 - the same

    memory = work.memories.get(memory_id)
    return ShownMemory(
        memory=memory,
        status=memory.status,
        characters=len(memory.body),
        chunks=tuple(work.memories.chunks_of(memory_id)),
        edges=tuple(_edges(work, memory_id)),
        versions=tuple(map(line_of, work.memories.by_source(memory.source_id))) if memory.source_id else (),
        saves=tuple(map(_save, reversed(work.saves.of(memory_id)))),
        facts=tuple(_facts(work, memory)),
        quarantined=quarantine_reasons(memory),
        forgotten=restoring.describe_forgotten(memory) if memory.status is MemoryStatus.FORGOTTEN else None,
    )


def _edges(work: Work, memory_id: str) -> list[ShownEdge]:
    shown = []
    for edge in work.edges.of(memory_id):
        other = edge.target_id if edge.source_id == memory_id else edge.source_id
        found = work.memories.find(other)
        shown.append(ShownEdge(edge=edge, other_id=other, other_title="" if found is None else found.title))
    return shown


def _facts(work: Work, memory: MemoryRecord) -> list[ShownFact]:
    own = work.facts.of_memories([memory.id])
    enders = sorted({fact.ended_by for fact in own if fact.ended_by is not None})
    instead = {(fact.memory_id, fact.topic): fact.shown for fact in work.facts.of_memories(enders)}
    return [
        ShownFact(
            statement=memory.body[fact.start : fact.stop],
            subject=fact.subject,
            relation=fact.relation,
            value=fact.shown,
            negated=fact.negated,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            ended_by=fact.ended_by,
            now=instead.get((fact.ended_by or "", fact.topic), ""),
            confirmed_at=fact.confirmed_at,
        )
        for fact in own
    ]


def _save(save: SaveRecord) -> SaveLine:
    return SaveLine(
        save_id=save.save_id,
        decision=save.decision,
        at=save.at,
        actor=save.actor,
        quality=save.quality,
        similarity=save.similarity,
        neighbour_id=save.neighbour_id,
    )
