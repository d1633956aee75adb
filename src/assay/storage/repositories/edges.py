"""Edges between memories: what caused, enabled, superseded, contradicts, derives from or supports what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, Select, delete, func, or_, select, union_all
from sqlalchemy.exc import IntegrityError

from assay.errors import RecordNotFound
from assay.records import Edge, EdgeKind
from assay.storage.repositories.base import Repository, among, mine, sheltered
from assay.storage.rows import from_row, to_row, upsert
from assay.storage.tables import edges

MOST_EDGES = 250
"""Edges read for one hop, the strongest first: a memory that everything refers to must not stop a search."""
MOST_STANCES = 1_000
"""Contradictions and supports read for one search."""
DECAY = 0.5
_KEY = ("tenant", "source_id", "target_id", "kind")


class Reached(NamedTuple):
    """A memory near others, and the strongest way to it."""

    memory_id: str
    seed: str
    hops: int
    strength: float
    """The product of the strengths on the way, halved for every hop."""
    path: tuple[str, ...]
    """From the seed to the memory, both included."""


class Stance(NamedTuple):
    """One memory that contradicts or supports another."""

    source_id: str
    target_id: str
    kind: EdgeKind
    evidence: str


def _steps() -> Select[Any]:
    """The strongest edges at some memories, whichever way they point."""
    there = select(edges.c.source_id.label("near"), edges.c.target_id.label("far"), edges.c.strength)
    back = select(edges.c.target_id, edges.c.source_id, edges.c.strength)
    both = union_all(
        there.where(mine(edges), among(edges.c.source_id, "ids")),
        back.where(mine(edges), among(edges.c.target_id, "ids")),
    ).subquery()
    return select(both).order_by(both.c.strength.desc(), both.c.near, both.c.far).limit(MOST_EDGES)


_STEPS = _steps()


def _stances() -> Select[Any]:
    """The strongest edges of these kinds that begin or end at some memories."""
    columns = (edges.c.source_id, edges.c.target_id, edges.c.kind, edges.c.evidence, edges.c.strength)
    ours = (mine(edges), or_(edges.c.kind == str(EdgeKind.CONTRADICTS), edges.c.kind == str(EdgeKind.SUPPORTS)))
    both = union_all(
        select(*columns).where(*ours, among(edges.c.source_id, "ids")),
        select(*columns).where(*ours, among(edges.c.target_id, "ids")),
    ).subquery()
    wanted = select(both.c.source_id, both.c.target_id, both.c.kind, both.c.evidence)
    return wanted.order_by(both.c.strength.desc(), both.c.source_id, both.c.target_id).limit(MOST_STANCES)


_STANCES = _stances()


class Edges(Repository):
    """The edges of one tenant."""

    def put(self, edge: Edge) -> None:
        """Keep an edge; the same source, target and kind take the new strength and evidence."""
        wanted = upsert(self._connection, edges, key=_KEY, fresh=("strength", "evidence", "created_at"))
        try:
            with sheltered(self._connection):
                self._insert(wanted, [{"tenant": self._tenant, **to_row(edge, edges)}])
        except IntegrityError as problem:
            raise RecordNotFound(
                f"the edge {edge.source_id!r} {edge.kind} {edge.target_id!r} has an end that is not in this scope",
                remedy="Save both memories first.",
            ) from problem

    def of(self, memory_id: str) -> list[Edge]:
        """Every edge that begins or ends at a memory."""
        touching = or_(edges.c.source_id == memory_id, edges.c.target_id == memory_id)
        wanted = self._select(edges, touching).order_by(edges.c.source_id, edges.c.target_id, edges.c.kind)
        return [from_row(Edge, row, edges) for row in self._connection.execute(wanted)]

    def beginning_at(self, memory_ids: Sequence[str]) -> list[Edge]:
        """Every edge that begins at one of these memories."""
        wanted = self._select(edges, self._among(edges.c.source_id, memory_ids))
        wanted = wanted.order_by(edges.c.source_id, edges.c.target_id, edges.c.kind)
        return [from_row(Edge, row, edges) for row in self._connection.execute(wanted)]

    def around(self, memory_ids: Sequence[str], *, hops: int = 2, limit: int = 100) -> list[Reached]:
        """The memories within so many hops of any of these, whichever way the edges point; strongest first.

        Each hop goes on from the `limit` strongest memories of the one before: near a hub there are always more.
        """
        seeds = {memory_id: Reached(memory_id, memory_id, 0, 1.0, (memory_id,)) for memory_id in memory_ids}
        best: dict[str, Reached] = {}
        frontier = seeds
        for _ in range(hops):
            frontier = _strongest(
                step
                for step in self._steps_from(frontier)
                if step.memory_id not in seeds and step.memory_id not in best
            )
            best |= frontier
            frontier = {one.memory_id: one for one in sorted(frontier.values(), key=_rank)[:limit]}
        return sorted(best.values(), key=_rank)[:limit]

    def stances(self, memory_ids: Sequence[str]) -> list[Stance]:
        """What contradicts or supports one of these memories, or is by it; strongest first, each edge once."""
        rows = self._rows(_STANCES, ids=list(memory_ids))
        found = [Stance(row.source_id, row.target_id, EdgeKind(row.kind), row.evidence) for row in rows]
        return list(dict.fromkeys(found))

    def _steps_from(self, frontier: dict[str, Reached]) -> list[Reached]:
        if not frontier:
            return []
        rows = self._rows(_STEPS, ids=list(frontier))
        return [_step(frontier[row.near], row) for row in rows]

    def remove(self, source_id: str, target_id: str, kind: EdgeKind) -> None:
        """Delete one edge."""
        match = (edges.c.source_id == source_id, edges.c.target_id == target_id, edges.c.kind == str(kind))
        if not self._connection.execute(delete(edges).where(self._mine(edges), *match)).rowcount:
            raise RecordNotFound(
                f"there is no edge {source_id!r} {kind} {target_id!r} in this scope",
                remedy="Check both ids and the kind.",
            )

    def count(self) -> int:
        """How many edges there are."""
        counted = select(func.count()).select_from(edges).where(self._mine(edges))
        return int(self._connection.execute(counted).scalar_one())


def _step(start: Reached, edge: Row[Any]) -> Reached:
    strength = start.strength * edge.strength * DECAY
    return Reached(edge.far, start.seed, start.hops + 1, strength, (*start.path, edge.far))


def _strongest(steps: Iterable[Reached]) -> dict[str, Reached]:
    return {step.memory_id: step for step in sorted(steps, key=_rank, reverse=True)}


def _rank(step: Reached) -> tuple[float, str, tuple[str, ...]]:
    return (-step.strength, step.memory_id, step.path)
