"""What an update takes over from the memories it supersedes: every field that its writer did not give, and the links.

Whoever writes "not after 12:00" in place of "not after 14:00" says nothing about folder, tags, triggers or tier, and
means them to stay. Of several memories that are superseded together, lists are united, the tier is the most important,
and everything else is that of the first one that has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.memory.saving import quality, structure
from assay.memory.saving.preparing import Prepared, content_of
from assay.memory.saving.structure import RESERVED
from assay.records import Draft, Edge, EdgeKind, Inherited, MemoryRecord, Tier
from assay.records.saving import INHERITED
from assay.storage import Work

_IMPORTANCE = tuple(Tier)
_MOST = {"triggers": structure.MOST_TRIGGERS, "tags": structure.MOST_TAGS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """A draft together with what it takes over."""

    prepared: Prepared
    inherited: tuple[Inherited, ...] = ()
    links: tuple[Edge, ...] = ()
    """Edges of what is superseded that the new memory is to have too; their ends still name the old one."""


def update_of(work: Work, prepared: Prepared, older: Sequence[MemoryRecord], compared: Collection[str] = ()) -> Update:
    """A prepared draft as an update of older memories; `compared` are the memories that were compared with it."""
    if not older:
        return Update(prepared=prepared)
    filled = inherit(prepared, older)
    links = tuple(_links(work, [memory.id for memory in older], compared))
    changed = [
        Inherited(name, _readable(getattr(filled.draft, name)))
        for name in INHERITED
        if getattr(filled.draft, name) != getattr(prepared.draft, name)
    ]
    if links:
        changed.append(Inherited("links", str(len(links))))
    return Update(prepared=filled, inherited=tuple(changed), links=links)


def inherit(prepared: Prepared, older: Sequence[MemoryRecord]) -> Prepared:
    """A prepared draft with every field that was not given as the older memories have it."""
    missing = [name for name in INHERITED if not prepared.draft.was_given(name)]
    taken = {name: value for name in missing if (value := _value(name, older))}
    draft: Draft = replace(prepared.draft, **taken)
    return replace(
        prepared,
        draft=draft,
        source_hash=draft.source_hash or content_of(draft),
        quality=None if prepared.quality is None else quality.score(draft),
    )


def move_link(edge: Edge, old_ids: Collection[str], new_id: str) -> Edge:
    """An edge of an older memory as one of the memory that supersedes it."""
    if edge.source_id in old_ids:
        return replace(edge, source_id=new_id)
    return replace(edge, target_id=new_id)


def _value(name: str, older: Sequence[MemoryRecord]) -> Any:
    if name in _MOST:
        every = dict.fromkeys(label for memory in older for label in getattr(memory, name))
        return tuple(every)[: _MOST[name]]
    if name == "tier":
        return min((memory.tier for memory in older), key=_IMPORTANCE.index)
    if name == "metadata":
        return _own_metadata(older)
    return next((value for memory in older if (value := getattr(memory, name))), None)


def _own_metadata(older: Sequence[MemoryRecord]) -> dict[str, Any]:
    """What the writers of the older memories gave, without what saving keeps there itself."""
    found: dict[str, Any] = {}
    for memory in older:
        found = {**{key: value for key, value in memory.metadata.items() if key != RESERVED}, **found}
    return found


def _links(work: Work, old_ids: Sequence[str], compared: Collection[str]) -> Iterator[Edge]:
    """The edges to take over: none about versions, and no contradiction that this very save has looked at anew."""
    for old_id in old_ids:
        edges = work.edges.of(old_id)
        for edge in edges:
            other = _other_end(edge, old_id)
            judged_anew = edge.kind is EdgeKind.CONTRADICTS and other in compared
            if edge.kind is EdgeKind.SUPERSEDES or other in old_ids or judged_anew:
                continue
            if not _is_linked_to_successor(work, edge, other, old_id, edges):
                yield edge


def _is_linked_to_successor(work: Work, edge: Edge, other: str, old_id: str, edges: Iterable[Edge]) -> bool:
    """Whether the other end was superseded, and its successor took the same link over: then that one is enough."""
    successors = {
        one.source_id for one in work.edges.of(other) if one.kind is EdgeKind.SUPERSEDES and one.target_id == other
    }
    outgoing = edge.source_id == old_id
    return any(
        one.kind is edge.kind and (one.source_id == old_id) is outgoing and _other_end(one, old_id) in successors
        for one in edges
    )


def _other_end(edge: Edge, memory_id: str) -> str:
    return edge.target_id if edge.source_id == memory_id else edge.source_id


def _readable(value: Any) -> str:
    return str(value) if isinstance(value, str) else ", ".join(map(str, value))
