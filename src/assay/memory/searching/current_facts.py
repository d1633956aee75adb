"""Current facts first: of results that answer the same question differently, the newest stands above the others.

`arrange_by_time` is the rule, a pure function. A result moves only above one that states another value on the same
topic, that the query asks about, and that it matches about equally well; nothing is hidden and no score changes. The
facts that a hit states and that hold no longer are named with the hit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from assay.index import SearchView
from assay.records import FactMove, OutdatedFact
from assay.storage import ServedFact, Work
from assay.text.facts import is_same_value
from assay.text.relations import RelationKind

BEYOND = 20
"""Results behind those that are shown whose facts are read too: some of them move up."""
EQUALLY_WELL = 0.7
"""Share of the older result's score from which a newer one matches about equally well."""
ASKED = 0.5
"""Share of a topic's words that stand in a query which asks about it."""


class Placed(NamedTuple):
    """A result before the rule."""

    memory_id: str
    score: float


class ArrangedByTime(NamedTuple):
    """A ranking after the rule."""

    order: list[str]
    moves: dict[str, FactMove]
    """Why a result is not where its score would put it, by memory id."""


def read_served(
    work: Work, view: SearchView | None, memory_ids: Sequence[str], as_of: datetime | None
) -> list[ServedFact]:
    """Return the facts of results that speak of the same or have ended, as they were known at a moment."""
    contested = (work.facts if view is None else view).find_contested(memory_ids)
    facts = work.facts.served(contested)
    return facts if as_of is None else [fact.known_at(as_of) for fact in facts if fact.valid_from <= as_of]


def arrange_by_time(
    order: Sequence[Placed], facts: Iterable[ServedFact], query_stems: Collection[str]
) -> ArrangedByTime:
    """Put each result above the older ones that state something else on a topic the query asks about."""
    ranked = [place.memory_id for place in order]
    rank = {memory_id: place for place, memory_id in enumerate(ranked, start=1)}
    score = {place.memory_id: place.score for place in order}
    moves: dict[str, FactMove] = {}
    for newer, older in _pairs(facts):
        if newer.memory_id not in rank or older.memory_id not in rank or not _is_asked(newer.topic, query_stems):
            continue
        above, below = ranked.index(older.memory_id), ranked.index(newer.memory_id)
        if above > below or score[newer.memory_id] < EQUALLY_WELL * score[older.memory_id]:
            continue
        ranked.insert(above, ranked.pop(below))
        moves[newer.memory_id] = FactMove(
            from_rank=rank[newer.memory_id],
            other_id=older.memory_id,
            reason=f"it says {newer.shown!r} where {older.memory_id} said {older.shown!r} before",
        )
    return ArrangedByTime(ranked, moves)


def _pairs(facts: Iterable[ServedFact]) -> Iterable[tuple[ServedFact, ServedFact]]:
    """Yield facts of two memories with different values on one topic, the newest first."""
    by_topic = sorted(facts, key=lambda fact: fact.topic)
    for _, group in groupby(by_topic, key=lambda fact: fact.topic):
        oldest_first = sorted(group, key=lambda fact: fact.newness)
        for place, newer in enumerate(oldest_first):
            for older in oldest_first[:place]:
                if newer.memory_id != older.memory_id and _may_stand_above(newer, older):
                    yield newer, older


def _may_stand_above(newer: ServedFact, older: ServedFact) -> bool:
    if newer.negated or older.negated or is_same_value(newer.value, older.value):
        return False
    # What may have several values at a time has both of them; the newer one is no correction.
    if older.valid_to is None and RelationKind.SEVERAL in (newer.kind, older.kind):
        return False
    # What a program writes never moves above what a person wrote, unless that is known to hold no longer.
    return older.valid_to is not None or not (newer.by_program and older.protected)


def _is_asked(topic: str, query_stems: Collection[str]) -> bool:
    stems = [stem for stem in topic.split() if stem != "@"]
    return sum(stem in query_stems for stem in stems) >= ASKED * len(stems)


def name_outdated(
    work: Work, facts: Iterable[ServedFact], as_of: datetime | None
) -> dict[str, tuple[OutdatedFact, ...]]:
    """Return what each memory states that holds no longer, by memory id; most searches have none."""
    ended = [fact for fact in facts if fact.valid_to is not None and fact.ended_by is not None]
    if not ended:
        return {}
    bodies = {memory.id: memory.body for memory in work.memories.by_ids({fact.memory_id for fact in ended}).values()}
    now = _find_current(read_topics(work, [fact.topic for fact in ended], as_of))
    found: dict[str, tuple[OutdatedFact, ...]] = {}
    for fact in ended:
        current = now.get(fact.topic)
        if current is None or fact.memory_id not in bodies or current.memory_id == fact.memory_id:
            continue
        outdated = OutdatedFact(
            memory_id=fact.memory_id,
            statement=bodies[fact.memory_id][fact.start : fact.stop].strip(),
            value=fact.shown,
            now=current.shown,
            since=fact.valid_to or current.valid_from,
            by=current.memory_id,
        )
        found[fact.memory_id] = (*found.get(fact.memory_id, ()), outdated)
    return found


def read_topics(work: Work, topics: Sequence[str], as_of: datetime | None) -> list[ServedFact]:
    """Return what is stated on some topics, as it was known at a moment."""
    facts = work.facts.served_on(list(dict.fromkeys(topics)))
    return facts if as_of is None else [fact.known_at(as_of) for fact in facts if fact.valid_from <= as_of]


def _find_current(facts: Iterable[ServedFact]) -> Mapping[str, ServedFact]:
    """Return the newest fact that holds, by topic."""
    oldest_first = sorted(facts, key=lambda fact: fact.newness)
    return {fact.topic: fact for fact in oldest_first if fact.valid_to is None and fact.in_current_memory}
