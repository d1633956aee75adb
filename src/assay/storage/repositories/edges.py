"""Edges between memories: what caused, enabled, superseded, contradicts, derives from or supports what."""

from __future__ import annotations

from sqlalchemy import delete, func, or_, select
from sqlalchemy.exc import IntegrityError

from assay.errors import RecordNotFound
from assay.records import Edge, EdgeKind
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, insert, to_row
from assay.storage.tables import edges


class Edges(Repository):
    """The edges of one tenant."""

    def put(self, edge: Edge) -> None:
        """Keep an edge; the same source, target and kind take the new strength and evidence."""
        wanted = insert(self._connection, edges).values({"tenant": self._tenant, **to_row(edge, edges)})
        fresh = {name: wanted.excluded[name] for name in ("strength", "evidence", "created_at")}
        key = ["tenant", "source_id", "target_id", "kind"]
        try:
            # Inside a savepoint, so that the unit of work outlives a refusal on PostgreSQL too.
            with self._connection.begin_nested():
                self._connection.execute(wanted.on_conflict_do_update(index_elements=key, set_=fresh))
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
