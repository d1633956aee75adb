"""The edges of a tenant in memory, while nobody writes any: a search follows some hundred of them.

Edges are not in the change log. The store counts how often they were written, in the question for the end of the log,
so a table of them holds as long as that number stays. A new table is read only after some searches at one number: where
edges are written all the time, they are read from the store, as they are where there are too many to keep.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from assay.records import EdgeKind
from assay.storage import MOST_EDGES, MOST_STANCES, EdgeRow, Stance, Standing

MOST_KEPT = 100_000
"""Edges of a tenant that are kept in memory, some 20 MB; where there are more, none are."""
FEWEST_SEARCHES = 16
"""Searches at one number after which edges are read: a command that searches once needs none of them."""
EDGES_A_SEARCH = 500
"""Reading so many edges takes about as long as one search saves: with more edges, more searches come first."""
_STANCES = frozenset({EdgeKind.CONTRADICTS.value, EdgeKind.SUPPORTS.value})

Step = tuple[str, str, float]
"""A memory, another one that an edge joins it to, and the strength."""


class EdgeTable:
    """Every edge of a tenant at one moment, by memory."""

    def __init__(self, rows: Iterable[EdgeRow]) -> None:
        steps: dict[str, list[Step]] = {}
        stances: dict[str, list[EdgeRow]] = {}
        same: dict[str, str] = {}
        for row in rows:
            # One text for each memory, however many edges it has.
            source = same.setdefault(row.source_id, row.source_id)
            target = same.setdefault(row.target_id, row.target_id)
            kind, strength = row.kind, row.strength
            steps.setdefault(source, []).append((source, target, strength))
            steps.setdefault(target, []).append((target, source, strength))
            if kind in _STANCES:
                stance = EdgeRow(source, target, kind, strength)
                stances.setdefault(source, []).append(stance)
                if target != source:
                    stances.setdefault(target, []).append(stance)
        # What is not among the strongest of one memory is not among those of several.
        self._steps = {near: _strongest_steps(own) for near, own in steps.items()}
        self._stances = {near: _strongest_stances(own) for near, own in stances.items()}

    def read_steps(self, memory_ids: Sequence[str]) -> list[Step]:
        """The strongest edges at some memories, as `walk_edges` takes them."""
        found = [step for near in memory_ids for step in self._steps.get(near, ())]
        return found if len(found) <= MOST_EDGES else _strongest_steps(found)

    def stances(self, memory_ids: Sequence[str]) -> list[Stance]:
        """What contradicts or supports one of these memories, or is by it; strongest first, each edge once."""
        found = dict.fromkeys(row for near in memory_ids for row in self._stances.get(near, ()))
        return [Stance(row.source_id, row.target_id, EdgeKind(row.kind)) for row in _strongest_stances(found)]


def _strongest_steps(steps: list[Step]) -> list[Step]:
    by_ids = sorted(steps)
    by_ids.sort(key=itemgetter(2), reverse=True)
    return by_ids[:MOST_EDGES]


def _strongest_stances(rows: Iterable[EdgeRow]) -> list[EdgeRow]:
    by_ids = sorted(rows)
    by_ids.sort(key=itemgetter(3), reverse=True)
    return by_ids[:MOST_STANCES]


class KeptEdges:
    """The newest table of one tenant's edges. Threads share it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._written: tuple[str, int] = ("", 0)
        """The number that the table and the count of searches belong to."""
        self._table: EdgeTable | None = None
        self._searches = 0
        self._needed = FEWEST_SEARCHES
        """Searches before the next table is read."""

    def at(self, standing: Standing, read_all: Callable[[int], Sequence[EdgeRow] | None]) -> EdgeTable | None:
        """Return the edges as they stand in a snapshot; None where they have to be read from the store.

        `read_all` reads every edge of the snapshot, unless there are more than it is given.
        """
        written = (standing.position.epoch, standing.edges_written)
        with self._lock:
            if written != self._written:
                self._written, self._table, self._searches = written, None, 0
            if self._table is not None:
                return self._table
            self._searches += 1
            if self._searches < self._needed:
                return None
            # Whoever comes meanwhile counts anew, and does not read them as well.
            self._searches = 0
        rows = read_all(self._most)
        table = None if rows is None else EdgeTable(rows)
        with self._lock:
            count = self._most if rows is None else len(rows)
            self._needed = max(FEWEST_SEARCHES, count // EDGES_A_SEARCH)
            if self._written == written:
                self._table = table
        return table
