"""What a draft's facts do to memories that state something else on the same topic, however unlike their texts are.

A fact is compared with the current facts on its topic: the words that name its subject and its relation. A memory of
which nothing would be left is superseded; a longer note stays, and the one fact in it gets an end. Where the words do
not tell whether a relation holds one value or several, both stay, joined by `contradicts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import NamedTuple

from assay.memory.saving.neighbours import Neighbour, Pair, Verdict, is_protected
from assay.memory.saving.preparing import Prepared
from assay.records import Draft, MemoryRecord
from assay.records.memory import INGESTED_WITH
from assay.storage import StoredFact, Work
from assay.storage.repositories.facts import replaces_value
from assay.text.facts import StatedFact, count_sentences, is_same_value, read_facts
from assay.text.relations import RelationKind

MOST_MEMORIES = 20
"""Memories with another value that one draft is held against, the newest."""
SAME_FACT = "the same subject and relation"


class ReplacedFact(NamedTuple):
    """A fact of a memory that stays, and what holds instead."""

    memory_id: str
    statement: str
    value: str
    now: str
    since: date | None
    """The day that the draft names, from which the new value holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FactChanges:
    """What a draft's facts change."""

    neighbours: tuple[Neighbour, ...] = ()
    """Memories that the draft supersedes as a whole, or contradicts."""
    outdated: tuple[ReplacedFact, ...] = ()
    """Facts of memories that stay, which hold no longer."""


NOTHING = FactChanges()


def compare_facts(
    work: Work, prepared: Prepared, similarity: Callable[[MemoryRecord], float], known: Iterable[str] = ()
) -> FactChanges:
    """Return what the facts of a draft change; `known` are memories that the draft replaces in any case."""
    draft = prepared.draft
    if draft.written_with == INGESTED_WITH:
        return NOTHING
    stated = {fact.topic: fact for fact in read_facts(draft.body, title=draft.title)}
    spared = set(known)
    rivals = [
        fact
        for fact in work.facts.on_topics(list(stated))
        if fact.holds and fact.memory_id not in spared and not _came_later(fact, draft)
    ]
    conflicts = sorted((fact for fact in rivals if _differs(stated[fact.topic], fact)), key=lambda fact: fact.memory_id)
    if not conflicts:
        return NOTHING
    ids = list(dict.fromkeys(fact.memory_id for fact in sorted(conflicts, key=lambda fact: -fact.memory_number)))
    memories = work.memories.by_ids(ids[:MOST_MEMORIES])
    own = work.facts.of_memories(list(memories))
    neighbours: list[Neighbour] = []
    outdated: list[ReplacedFact] = []
    for memory_id, facts in groupby(conflicts, key=lambda fact: fact.memory_id):
        if memory_id not in memories:
            continue
        memory = memories[memory_id]
        rest = [fact for fact in own if fact.memory_id == memory_id]
        change = _Change(memory, list(facts), rest, stated, is_protected(memory, draft))
        if (verdict := change.verdict()) is not None:
            neighbours.append(change.neighbour(verdict, similarity(memory)))
        elif not change.protected:
            outdated += change.outdated()
    return FactChanges(neighbours=tuple(neighbours), outdated=tuple(outdated))


_WEAKER = frozenset({Verdict.STORE, Verdict.CONTRADICTS, Verdict.REJECT, Verdict.MERGE})
"""Verdicts on whole texts that give way to what facts say."""


def add_neighbours(near: Sequence[Neighbour], by_fact: Sequence[Neighbour]) -> list[Neighbour]:
    """Return the neighbours with those found by fact; of a memory found both ways, the stronger verdict."""
    decided = {neighbour.memory.id for neighbour in near if neighbour.verdict not in _WEAKER}
    found = {neighbour.memory.id: neighbour for neighbour in by_fact if neighbour.memory.id not in decided}
    joined: set[str] = set()
    kept: list[Neighbour] = []
    for neighbour in near:
        # A memory may stand here twice: as a whole, and with one paragraph of it.
        if neighbour.memory.id not in found:
            kept.append(neighbour)
        elif neighbour.memory.id not in joined:
            joined.add(neighbour.memory.id)
            kept.append(found[neighbour.memory.id])
    return [*kept, *(neighbour for memory_id, neighbour in found.items() if memory_id not in joined)]


def _came_later(fact: StoredFact, draft: Draft) -> bool:
    """Whether a fact is newer than a draft that says since when it holds."""
    return draft.valid_from is not None and fact.written_at > draft.valid_from


def _differs(new: StatedFact, old: StoredFact) -> bool:
    return replaces_value(new, old) or is_another_view(new, old)


def is_another_view(new: StatedFact, old: StatedFact | StoredFact) -> bool:
    """Whether both facts cannot be told to go together: another value of a relation that nobody knows enough of."""
    if RelationKind.SEVERAL in (new.kind, old.kind):
        return False
    if is_same_value(new.value, old.value):
        return new.negated is not old.negated
    return not new.negated and not old.negated


@dataclass(frozen=True, slots=True)
class _Change:
    """A memory, its facts, and those that the draft speaks against."""

    memory: MemoryRecord
    conflicts: list[StoredFact]
    facts: list[StoredFact]
    stated: dict[str, StatedFact]
    protected: bool

    def verdict(self) -> Verdict | None:
        """Supersede, contradict, or None: only some of its facts end."""
        replaced = [fact for fact in self.conflicts if replaces_value(self.stated[fact.topic], fact)]
        if not replaced or self.protected:
            return Verdict.CONTRADICTS
        return Verdict.SUPERSEDE if self._leaves_nothing(replaced) else None

    def _leaves_nothing(self, replaced: list[StoredFact]) -> bool:
        """Whether every sentence of the memory is a fact that the draft replaces or states again."""
        if count_sentences(self.memory.body) != len(self.facts):
            return False
        gone = {fact.position for fact in replaced}
        return all(fact.position in gone or self._is_restated(fact) for fact in self.facts)

    def _is_restated(self, fact: StoredFact) -> bool:
        again = self.stated.get(fact.topic)
        return again is not None and is_same_value(again.value, fact.value) and again.negated is fact.negated

    def neighbour(self, verdict: Verdict, similarity: float) -> Neighbour:
        """The memory as a neighbour of the draft."""
        reasons = tuple(f"{fact.shown} / {self.stated[fact.topic].shown}" for fact in self.conflicts[:3])
        pair = Pair(similarity=similarity, agrees=False, same_subject=True, reasons=(*reasons, SAME_FACT))
        return Neighbour(memory=self.memory, pair=pair, verdict=verdict, protected=self.protected)

    def outdated(self) -> list[ReplacedFact]:
        """The facts that end."""
        return [
            ReplacedFact(
                memory_id=self.memory.id,
                statement=self.memory.body[fact.start : fact.stop].strip(),
                value=fact.shown,
                now=self.stated[fact.topic].shown,
                since=self.stated[fact.topic].since,
            )
            for fact in self.conflicts
            if replaces_value(self.stated[fact.topic], fact)
        ]
