"""Trust in ranking: a program's note never ranks above a person's note that it contradicts or repeats.

`arrange` is the rule, a pure function over ids. `Contradictions` is its input: the `contradicts` and `supports`
edges around the results, and who wrote either end. `design/trust-in-ranking.md` has the reasons for the rule.

| the person's note | what happens |
| --- | --- |
| is among the places that are shown | the program's note waits until the person's note has had its turn |
| was found further down, or not at all | it is raised to just above the program's note, at most three in a search |
| is beyond those three | the program's note goes to the end |
| may not be shown (a filter, another folder) | nothing moves; the hit still lists what it contradicts |

A note that repeats a person's note (saving joins it by a `supports` edge) only waits; nothing is raised for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from assay.index import SearchView
from assay.records import Author, AuthorKind, Contradiction, EdgeKind, TrustMove
from assay.storage import Authorship, Stance, Work

MOST_RAISED = 3
"""Notes of persons that one search brings up because a program contradicts them."""
BEYOND = 20
"""Results behind those that are shown whose contradictions are looked up too: some of them move up."""
MOST_NAMED = 10
"""Contradictions that a hit names in each direction, the strongest first."""


ReadEvidence = Callable[[Collection[Stance]], Mapping[Stance, str]]
"""Reads what edges are based on."""


class Opposed(NamedTuple):
    """A program's note and a person's note that it contradicts or repeats."""

    program_id: str
    person_id: str
    evidence: str = ""
    repeats: bool = False
    """Whether the program's note repeats the person's note, rather than contradicting it."""


class Arranged(NamedTuple):
    """A ranking after the rule."""

    order: list[str]
    moves: dict[str, TrustMove]
    """Why a result is not where its score would put it, by memory id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradictions:
    """The contradictions around some results."""

    edges: Sequence[Stance] = ()
    authors: Mapping[str, Authorship] = field(default_factory=dict)
    """Of both ends of every edge."""

    def find_opposed(self, read_evidence: ReadEvidence) -> list[Opposed]:
        """Return the pairs in which a program wrote one note and a person the other; contradictions count both ways."""
        kinds = {memory_id: wrote.author.kind for memory_id, wrote in self.authors.items()}
        if AuthorKind.PROGRAM not in kinds.values():
            return []
        found: list[tuple[str, str, Stance]] = []
        for edge in self.edges:
            ways = ((edge.source_id, edge.target_id), (edge.target_id, edge.source_id))
            for program_id, person_id in ways[:1] if edge.kind is EdgeKind.SUPPORTS else ways:
                if kinds.get(program_id) is AuthorKind.PROGRAM and kinds.get(person_id) is AuthorKind.PERSON:
                    found.append((program_id, person_id, edge))
        # Only these are told with what they are based on.
        evidence = read_evidence({edge for _, _, edge in found}) if found else {}
        return [
            Opposed(program_id, person_id, evidence.get(edge, ""), edge.kind is EdgeKind.SUPPORTS)
            for program_id, person_id, edge in found
        ]

    def contradicts(self, memory_id: str) -> tuple[Contradiction, ...]:
        """What a memory was saved against."""
        return self.name_contradicted((memory_id,)).get(memory_id, ())

    def contradictions_of(self, memory_id: str) -> tuple[Contradiction, ...]:
        """Return the memories that contradict a memory."""
        return self.name_contradicting((memory_id,)).get(memory_id, ())

    def name_contradicted(self, memory_ids: Collection[str]) -> dict[str, tuple[Contradiction, ...]]:
        """Return what each of these memories was saved against, by its id."""
        edges = self._against
        return self._describe((edge.source_id, edge.target_id) for edge in edges if edge.source_id in memory_ids)

    def name_contradicting(self, memory_ids: Collection[str]) -> dict[str, tuple[Contradiction, ...]]:
        """Return what contradicts each of these memories, by its id."""
        edges = self._against
        return self._describe((edge.target_id, edge.source_id) for edge in edges if edge.target_id in memory_ids)

    @property
    def _against(self) -> list[Stance]:
        return [edge for edge in self.edges if edge.kind is EdgeKind.CONTRADICTS]

    def _describe(self, pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[Contradiction, ...]]:
        """Name the second of each pair with the first: current memories, each once, the strongest ones."""
        others: dict[str, dict[str, Author]] = {}
        for memory_id, other_id in pairs:
            wrote = self.authors.get(other_id)
            if wrote is not None and wrote.is_current:
                others.setdefault(memory_id, {})[other_id] = wrote.author
        return {
            memory_id: tuple(
                Contradiction(memory_id=other_id, author=author)
                for other_id, author in islice(named.items(), MOST_NAMED)
            )
            for memory_id, named in others.items()
        }


NONE = Contradictions()


def look_up(work: Work, memory_ids: Sequence[str], view: SearchView | None = None) -> Contradictions:
    """The contradictions of results; most searches have none, and pay one question to the store.

    `view` is the index of the same snapshot, which keeps edges and who wrote what.
    """
    read_stances = work.edges.stances if view is None else view.stances
    edges = read_stances(memory_ids) if memory_ids else []
    if not edges:
        return NONE
    ends = {end for edge in edges for end in (edge.source_id, edge.target_id)}
    authors = work.memories.authors_of(ends) if view is None else view.authors_of(ends)
    return Contradictions(edges=edges, authors=authors)


def arrange(
    order: Sequence[str], opposed: Collection[Opposed], *, shown: int, may_raise: Callable[[str], bool]
) -> Arranged:
    """Put every program's note below the persons' notes that it contradicts.

    `shown` is the number of places that count. `may_raise` decides whether a person's note outside them may be raised
    into them; at most `MOST_RAISED` notes are raised.
    """
    return _Arranging(order, opposed, shown=shown, may_raise=may_raise).run()


class _Arranging:
    """One ranking on its way through the rule, from the top down."""

    def __init__(
        self, order: Sequence[str], opposed: Collection[Opposed], *, shown: int, may_raise: Callable[[str], bool]
    ) -> None:
        self._order = order
        self._shown = shown
        self._may_raise = may_raise
        self._rank = {memory_id: rank for rank, memory_id in enumerate(order, start=1)}
        self._persons: dict[str, dict[str, Opposed]] = {}
        for pair in sorted(opposed, key=lambda pair: pair.repeats):
            self._persons.setdefault(pair.program_id, {}).setdefault(pair.person_id, pair)
        self._waiting: dict[str, list[str]] = {}
        """Programs' notes that wait for a person's note, by the latter."""
        self._last: list[str] = []
        self._raised = 0
        self._placed: dict[str, None] = {}
        self._moves: dict[str, TrustMove] = {}

    def run(self) -> Arranged:
        for memory_id in self._order:
            if memory_id in self._placed:
                continue
            if memory_id in self._persons:
                self._take_program(memory_id)
            else:
                self._place(memory_id)
        for memory_id in self._last:
            self._placed.setdefault(memory_id)
        return Arranged(list(self._placed), self._moves)

    def _take_program(self, program_id: str) -> None:
        """Place a program's note, once every person's note that it contradicts is placed."""
        for person_id, pair in self._persons[program_id].items():
            if person_id in self._placed or len(self._placed) >= self._shown:
                continue
            if self._rank.get(person_id, self._shown + 1) <= self._shown:
                self._waiting.setdefault(person_id, []).append(program_id)
                self._hold(program_id, person_id)
                return
            if pair.repeats:
                continue
            if self._raised >= MOST_RAISED:
                self._last.append(program_id)
                self._hold(program_id, person_id)
                return
            if self._may_raise(person_id):
                self._raised += 1
                self._moves[person_id] = self._raise(person_id, program_id)
                self._place(person_id)
        self._placed.setdefault(program_id)

    def _place(self, memory_id: str) -> None:
        self._placed.setdefault(memory_id)
        for program_id in self._waiting.pop(memory_id, ()):
            self._take_program(program_id)

    def _hold(self, program_id: str, person_id: str) -> None:
        pair = self._persons[program_id][person_id]
        verb = "repeats" if pair.repeats else "contradicts"
        self._moves[program_id] = TrustMove(
            raised=False,
            from_rank=self._rank.get(program_id),
            other_id=person_id,
            reason=f"a program wrote it, and it {verb} {person_id}, which a person wrote{_evidence(pair.evidence)}",
        )

    def _raise(self, person_id: str, program_id: str) -> TrustMove:
        evidence = self._persons[program_id][person_id].evidence
        return TrustMove(
            raised=True,
            from_rank=self._rank.get(person_id),
            other_id=program_id,
            reason=f"a person wrote it, and {program_id}, which a program wrote, contradicts it{_evidence(evidence)}",
        )


def _evidence(evidence: str) -> str:
    return f" ({evidence})" if evidence else ""
