"""Edges between memories, and what is near a memory by them.

- Edges of one tenant.
- Walking from memory to memory.

Edges are not in the change log. Every write of one is counted (`Meta.note_unlogged`), so that whoever keeps edges in
memory learns in the question for the end of the log whether they still hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, delete, func, or_, select, union_all
from sqlalchemy.exc import IntegrityError

from assay.errors import RecordNotFound
from assay.records import Edge, EdgeKind
from assay.storage.repositories.base import Bound, Meta, Repository, among, mine, open_savepoint
from assay.storage.rows import from_row, to_row, upsert
from assay.storage.tables import edges

# --- Edges of one tenant ---

MOST_EDGES = 250
"""Edges read for one hop, the strongest first: a memory that everything refers to must not stop a search."""
MOST_STANCES = 1_000
"""Contradictions and supports read for one search."""
DECAY = 0.5
KINDS = {kind.value: kind for kind in EdgeKind}
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


_new_reached: Callable[[tuple[str, str, int, float, tuple[str, ...]]], Reached] = partial(tuple.__new__, Reached)
"""Dozens are made in a search: without the call in Python that a named tuple makes for each."""


class _Ways(NamedTuple):
    """The strongest ways to memories that one hop reached, by memory id."""

    strengths: dict[str, float]
    """Of the whole path."""
    nears: dict[str, str]
    """The memory before it."""

    def find_strongest(self, limit: int) -> list[str]:
        """The memories with the strongest ways, equals by id."""
        by_id = sorted(self.strengths)
        by_id.sort(key=self.strengths.__getitem__, reverse=True)
        return by_id[:limit]


class EdgeRow(NamedTuple):
    """An edge without what it is based on."""

    source_id: str
    target_id: str
    kind: str
    strength: float


class Stance(NamedTuple):
    """One memory that contradicts or supports another."""

    source_id: str
    target_id: str
    kind: EdgeKind


# Both indexes of the table hold every column that these statements ask for, so that no row is read beside them.


def _steps() -> tuple[Select[Any], Select[Any]]:
    """The edges at some memories, whichever way they point: some of them, and the strongest of them."""
    there = select(edges.c.source_id.label("near"), edges.c.target_id.label("far"), edges.c.strength)
    back = select(edges.c.target_id, edges.c.source_id, edges.c.strength)
    both = union_all(
        there.where(mine(edges), among(edges.c.source_id, "ids")),
        back.where(mine(edges), among(edges.c.target_id, "ids")),
    ).subquery()
    some = select(both).limit(bindparam("most"))
    return some, some.order_by(both.c.strength.desc(), both.c.near, both.c.far)


_SOME_STEPS, _STRONGEST_STEPS = _steps()


def _stances() -> Select[Any]:
    """The strongest edges of these kinds that begin or end at some memories."""
    columns = (edges.c.source_id, edges.c.target_id, edges.c.kind, edges.c.strength)
    ours = (mine(edges), or_(edges.c.kind == str(EdgeKind.CONTRADICTS), edges.c.kind == str(EdgeKind.SUPPORTS)))
    both = union_all(
        select(*columns).where(*ours, among(edges.c.source_id, "ids")),
        select(*columns).where(*ours, among(edges.c.target_id, "ids")),
    ).subquery()
    statement = select(both.c.source_id, both.c.target_id, both.c.kind)
    return statement.order_by(both.c.strength.desc(), both.c.source_id, both.c.target_id).limit(MOST_STANCES)


_STANCES = _stances()
_EVERY = select(edges.c.source_id, edges.c.target_id, edges.c.kind, edges.c.strength).where(mine(edges))
_BEYOND = select(edges.c.kind).where(mine(edges)).limit(1).offset(bindparam("most"))
_EVIDENCE = select(edges.c.source_id, edges.c.target_id, edges.c.kind, edges.c.evidence).where(
    mine(edges), among(edges.c.source_id, "sources"), among(edges.c.target_id, "targets")
)


class Edges(Repository):
    """The edges of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._meta = Meta(bound)

    def put(self, edge: Edge) -> None:
        """Keep an edge; the same source, target and kind take the new strength and evidence."""
        statement = upsert(self._connection, edges, key=_KEY, fresh=("strength", "evidence", "created_at"))
        try:
            with open_savepoint(self._connection):
                self._insert(statement, [{"tenant": self._tenant, **to_row(edge, edges)}])
        except IntegrityError as problem:
            raise RecordNotFound(
                f"the edge {edge.source_id!r} {edge.kind} {edge.target_id!r} has an end that is not in this scope",
                remedy="Save both memories first.",
            ) from problem
        self._meta.note_unlogged()

    def of(self, memory_id: str) -> list[Edge]:
        """Every edge that begins or ends at a memory."""
        touching = or_(edges.c.source_id == memory_id, edges.c.target_id == memory_id)
        statement = self._select(edges, touching).order_by(edges.c.source_id, edges.c.target_id, edges.c.kind)
        return [from_row(Edge, row, edges) for row in self._connection.execute(statement)]

    def beginning_at(self, memory_ids: Sequence[str]) -> list[Edge]:
        """Every edge that begins at one of these memories."""
        statement = self._select(edges, self._among(edges.c.source_id, memory_ids))
        statement = statement.order_by(edges.c.source_id, edges.c.target_id, edges.c.kind)
        return [from_row(Edge, row, edges) for row in self._connection.execute(statement)]

    def around(self, memory_ids: Sequence[str], *, hops: int = 2, limit: int = 100) -> list[Reached]:
        """The memories within so many hops of any of these, whichever way the edges point; strongest first.

        Each hop goes on from the `limit` strongest memories of the one before: near a hub there are always more.
        """
        return walk_edges(self._read_steps, memory_ids, hops=hops, limit=limit)

    def stances(self, memory_ids: Sequence[str]) -> list[Stance]:
        """What contradicts or supports one of these memories, or is by it; strongest first, each edge once."""
        found = dict.fromkeys(map(tuple, self._tuples(_STANCES, ids=list(memory_ids))))
        return [Stance(source, target, KINDS[kind]) for source, target, kind in found]

    def evidence_of(self, stances: Collection[Stance]) -> dict[Stance, str]:
        """What each of these edges is based on; one that is gone is absent."""
        if not stances:
            return {}
        sources = sorted({stance.source_id for stance in stances})
        targets = sorted({stance.target_id for stance in stances})
        rows = self._tuples(_EVIDENCE, sources=sources, targets=targets)
        found = {Stance(source, target, KINDS[kind]): evidence for source, target, kind, evidence in rows}
        return {stance: found[stance] for stance in stances if stance in found}

    def read_all(self, most: int) -> Sequence[EdgeRow] | None:
        """Every edge, in no order; None when there are more than `most`."""
        if self._tuples(_BEYOND, most=most):
            return None
        return list(map(EdgeRow._make, self._tuples(_EVERY)))

    def _read_steps(self, memory_ids: Sequence[str]) -> Sequence[Sequence[Any]]:
        # Sorting takes as long as reading, and is seldom needed.
        found = self._tuples(_SOME_STEPS, ids=memory_ids, most=MOST_EDGES + 1)
        return found if len(found) <= MOST_EDGES else self._tuples(_STRONGEST_STEPS, ids=memory_ids, most=MOST_EDGES)

    def remove(self, source_id: str, target_id: str, kind: EdgeKind) -> None:
        """Delete one edge."""
        match = (edges.c.source_id == source_id, edges.c.target_id == target_id, edges.c.kind == str(kind))
        if not self._connection.execute(delete(edges).where(self._mine(edges), *match)).rowcount:
            raise RecordNotFound(
                f"there is no edge {source_id!r} {kind} {target_id!r} in this scope",
                remedy="Check both ids and the kind.",
            )
        self._meta.note_unlogged()

    def remove_of(self, memory_id: str) -> None:
        """Delete every edge that begins or ends at a memory."""
        touching = or_(edges.c.source_id == memory_id, edges.c.target_id == memory_id)
        if self._connection.execute(delete(edges).where(self._mine(edges), touching)).rowcount:
            self._meta.note_unlogged()

    def count(self) -> int:
        """How many edges there are."""
        counted = select(func.count()).select_from(edges).where(self._mine(edges))
        return int(self._connection.execute(counted).scalar_one())


# --- Walking from memory to memory ---

ReadSteps = Callable[[Sequence[str]], Sequence[Sequence[Any]]]
"""Return the strongest `MOST_EDGES` edges at some memories, whichever way they point and in no order: the memory asked
for, the one at the other end, and the strength."""


def walk_edges(read_steps: ReadSteps, memory_ids: Sequence[str], *, hops: int, limit: int) -> list[Reached]:
    """The memories within so many hops of any of these, as `Edges.around` returns them."""
    strengths = dict.fromkeys(memory_ids, 1.0)
    paths: dict[str, tuple[str, ...]] = {memory_id: (memory_id,) for memory_id in memory_ids}
    known, kept = set(strengths), list[tuple[str, str, int, float, tuple[str, ...]]]()
    for hop in range(1, hops + 1):
        if len(kept) >= limit and _strongest_first(kept)[limit - 1][3] > DECAY * max(strengths.values()):
            # No edge is stronger than 1, so that nothing behind this hop can be among the strongest.
            break
        steps = read_steps(list(strengths)) if strengths else ()
        ways = _choose_ways(steps, strengths, paths, known)
        known |= ways.strengths.keys()
        # What is not among the strongest of its hop is not among those of all hops either.
        strongest = ways.find_strongest(limit)
        strengths = {far: ways.strengths[far] for far in strongest}
        paths = {far: (*paths[ways.nears[far]], far) for far in strongest}
        kept += [(far, path[0], hop, strengths[far], path) for far, path in paths.items()]
    return list(map(_new_reached, _strongest_first(kept)[:limit]))


def _choose_ways(
    steps: Sequence[Sequence[Any]],
    strengths: Mapping[str, float],
    paths: Mapping[str, tuple[str, ...]],
    known: Collection[str],
) -> _Ways:
    """Return the memories one edge further that are not known yet, each with the strongest way to it.

    `strengths` and `paths` are those of the ways to the memories that the step begins at.
    """
    best, nears = dict[str, float](), dict[str, str]()
    for near, far, edge_strength in steps:
        if far in known:
            continue
        strength, held = strengths[near] * edge_strength * DECAY, best.get(far)
        # Of two ways that are as strong, the one whose path comes first by ids.
        if held is None or strength > held or (strength == held and paths[near] < paths[nears[far]]):
            best[far], nears[far] = strength, near
    return _Ways(best, nears)


def _strongest_first(
    reached: Iterable[tuple[str, str, int, float, tuple[str, ...]]],
) -> list[tuple[str, str, int, float, tuple[str, ...]]]:
    """By strength, then by id: two stable sorts, since a key of both would be a call in Python for each."""
    by_id = sorted(reached, key=itemgetter(0))
    by_id.sort(key=itemgetter(3), reverse=True)
    return by_id
