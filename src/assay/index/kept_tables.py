"""Tables of a tenant in memory, as long as nothing in them is written: what many searches would ask again.

- When a table is read, and when it is let go.
- Edges: a search follows some hundred of them.
- The memories that edges join: their first passages, and who wrote them.
- Facts: whether any leads on, and which results speak of the same.
- The tables of one tenant.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

from assay.records import EdgeKind
from assay.storage import (
    MOST_EDGES,
    MOST_STANCES,
    Authorship,
    EdgeRow,
    FactRow,
    Reached,
    Stance,
    Standing,
    Work,
    choose_contested,
    walk_edges,
)
from assay.text.facts import normalise_name

# --- When a table is read, and when it is let go ---
#
# A table holds for one version: the position of the change log, or the number of writes that the log does not tell of.
# A new one is read only after some searches at one version: where there are writes all the time, searches ask the
# store, as they do where there is too much to keep.

FEWEST_SEARCHES = 16
"""Searches at one version after which a table is read: a command that searches once needs none."""


class Rows(Protocol):
    """A table that was made of some rows."""

    @property
    def rows(self) -> int:
        """How many."""
        ...


Table = TypeVar("Table", bound=Rows)


class KeptTable(Generic[Table]):
    """The newest table of one kind. Threads share it."""

    def __init__(self, *, rows_a_search: int, most: int) -> None:
        """Reading `rows_a_search` rows takes as long as one search saves; of more than `most` none is kept."""
        self._rows_a_search = rows_a_search
        self._most = most
        self._lock = threading.Lock()
        self._version: Hashable = None
        """What the table and the count of searches belong to."""
        self._table: Table | None = None
        self._searches = 0
        self._needed = FEWEST_SEARCHES
        """Searches before the next table is read."""

    def at(self, version: Hashable, read: Callable[[int], Table | None]) -> Table | None:
        """Return the table of a version, for one search; None where the store has to be asked.

        `read` makes the table of that version, or returns None when there are more rows than it is given.
        """
        with self._lock:
            if version != self._version:
                self._version, self._table, self._searches = version, None, 0
            if self._table is not None:
                return self._table
            self._searches += 1
            if self._searches < self._needed:
                return None
            # Whoever comes meanwhile counts anew, and does not read it as well.
            self._searches = 0
        table = read(self._most)
        with self._lock:
            # With more rows, more searches come first.
            count = self._most if table is None else table.rows
            self._needed = max(FEWEST_SEARCHES, count // self._rows_a_search)
            if self._version == version:
                self._table = table
        return table


# --- Edges: a search follows some hundred of them ---

MOST_KEPT_EDGES = 100_000
"""Edges of a tenant that are kept in memory, some 20 MB."""
EDGES_A_SEARCH = 500
_STANCES = frozenset({EdgeKind.CONTRADICTS.value, EdgeKind.SUPPORTS.value})

Step = tuple[str, str, float]
"""A memory, another one that an edge joins it to, and the strength."""


class EdgeTable:
    """Every edge of a tenant at one moment, by memory."""

    def __init__(self, rows: Collection[EdgeRow]) -> None:
        self.rows = len(rows)
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

    @property
    def memory_ids(self) -> Collection[str]:
        """Every memory at an edge."""
        return self._steps.keys()

    @property
    def disputed_ids(self) -> Collection[str]:
        """Those that contradict or support another one, or the other way round."""
        return self._stances.keys()

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


# --- The memories that edges join ---

MOST_KEPT_ENDS = 50_000
"""Memories at edges of which first passages and authors are kept, each counted for itself: some 10 MB."""
ENDS_A_SEARCH = 25


class EndTable:
    """What searches ask of the memories that edges join, at one moment: what the graph reaches is one of them."""

    def __init__(
        self, memory_ids: Collection[str], firsts: Mapping[str, int], authors: Mapping[str, Authorship]
    ) -> None:
        self.rows = len(firsts) + len(authors)
        self.memory_ids = memory_ids
        self.firsts = firsts
        """The numbers of first passages; a memory without passages has none."""
        self.authors = authors
        """Who wrote those that others contradict or support."""


# --- Facts: whether any leads on, and which results speak of the same ---

MOST_KEPT_FACTS = 50_000
FACTS_A_SEARCH = 100


class FactTable:
    """Every fact of a tenant at one moment, in short: most searches learn that they need none."""

    def __init__(self, facts: Collection[FactRow]) -> None:
        self.rows = len(facts)
        subjects = {fact.subject for fact in facts}
        self._leading = frozenset(fact.subject for fact in facts if normalise_name(fact.shown) in subjects)
        self._topics: dict[str, list[tuple[str, str, bool]]] = {}
        for fact in facts:
            self._topics.setdefault(fact.memory_id, []).append((fact.memory_id, fact.topic, bool(fact.has_ended)))

    def may_lead_on(self, subjects: Iterable[str]) -> bool:
        """Whether a fact about one of these subjects names something that another fact is about."""
        return bool(self._leading) and not self._leading.isdisjoint(subjects)

    def find_contested(self, memory_ids: Iterable[str]) -> set[str]:
        """Those of some memories whose facts are on a topic that another one speaks of, or have ended."""
        return choose_contested(topic for memory_id in memory_ids for topic in self._topics.get(memory_id, ()))


# --- The tables of one tenant ---


class KeptTables:
    """What is kept of one tenant in this process."""

    def __init__(self) -> None:
        self._edges: KeptTable[EdgeTable] = KeptTable(rows_a_search=EDGES_A_SEARCH, most=MOST_KEPT_EDGES)
        self._ends: KeptTable[EndTable] = KeptTable(rows_a_search=ENDS_A_SEARCH, most=MOST_KEPT_ENDS)
        self._facts: KeptTable[FactTable] = KeptTable(rows_a_search=FACTS_A_SEARCH, most=MOST_KEPT_FACTS)

    def edges(self, standing: Standing, work: Work) -> EdgeTable | None:
        """The edges of a snapshot; None where they have to be read from the store."""

        def read(most: int) -> EdgeTable | None:
            rows = work.edges.read_all(most)
            return None if rows is None else EdgeTable(rows)

        return self._edges.at((standing.position.epoch, standing.unlogged_writes), read)

    def ends(self, standing: Standing, work: Work, edges: EdgeTable) -> EndTable | None:
        """What is known of the memories at the edges of a snapshot; None where the store has to be asked."""

        def read(most: int) -> EndTable | None:
            if len(edges.memory_ids) + len(edges.disputed_ids) > most:
                return None
            firsts = work.passages.first_numbers(edges.memory_ids)
            return EndTable(edges.memory_ids, firsts, work.memories.authors_of(edges.disputed_ids))

        return self._ends.at((standing.position, standing.unlogged_writes), read)

    def facts(self, standing: Standing, work: Work) -> FactTable | None:
        """The facts of a snapshot; None where the store has to be asked."""

        def read(most: int) -> FactTable | None:
            facts = work.facts.read_all(most)
            return None if facts is None else FactTable(facts)

        return self._facts.at((standing.position, standing.unlogged_writes), read)


class AnswersFromTables:
    """What a view answers from the kept tables of its tenant, or else from the store."""

    def __init__(self, work: Work, standing: Standing, tables: KeptTables) -> None:
        """`standing` is where the snapshot of the work stands."""
        self._work = work
        self._at = standing
        self._tables = tables

    @cached_property
    def _edges(self) -> EdgeTable | None:
        return self._tables.edges(self._at, self._work)

    @cached_property
    def _ends(self) -> EndTable | None:
        return None if self._edges is None else self._tables.ends(self._at, self._work, self._edges)

    @cached_property
    def _facts(self) -> FactTable | None:
        return self._tables.facts(self._at, self._work)

    def around(self, memory_ids: Sequence[str], *, hops: int, limit: int) -> list[Reached]:
        """The memories within so many hops of any of these, strongest first (`Edges.around`)."""
        if self._edges is None:
            return self._work.edges.around(memory_ids, hops=hops, limit=limit)
        return walk_edges(self._edges.read_steps, memory_ids, hops=hops, limit=limit)

    def stances(self, memory_ids: Sequence[str]) -> list[Stance]:
        """What contradicts or supports one of these memories, or is by it; strongest first, each edge once."""
        return (self._work.edges if self._edges is None else self._edges).stances(memory_ids)

    def may_lead_on(self, subjects: Iterable[str], *, most: int) -> bool:
        """Return False when no fact about these subjects names something that another fact is about."""
        if self._facts is None:
            return self._work.facts.may_lead_on(subjects, most=most)
        return self._facts.may_lead_on(subjects)

    def find_contested(self, memory_ids: Sequence[str]) -> set[str]:
        """Those of some memories whose facts are on a topic that another one speaks of, or have ended."""
        return (self._work.facts if self._facts is None else self._facts).find_contested(memory_ids)
