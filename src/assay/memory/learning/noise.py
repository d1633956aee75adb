"""Noise: the share of learned terms that would have raised, or do raise, what nobody wanted.

A trial of a term is a later search, in nobody's evidence, that holds the term and returned the memory: there the term
raises it. A term is noise when in some trial the memory was graded below 2 or found not useful, or when it was tried
and chosen in none of its trials. A term without a trial says nothing; without any trial the rate is not known.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from assay.records import EventType
from assay.records.learning import LearnedTerm, TermNoise, TermState
from assay.storage import Work
from assay.storage.repositories.queries import UsedQuery
from assay.text.terms import words

GOOD_GRADE = 2
CHOICES = (EventType.READ_AFTER_SEARCH, EventType.REFERENCE, EventType.VALIDATE_USEFUL)
"""What counts as choosing a result."""
Pair = tuple[str, str]
"""A query and a memory."""


class Seen(NamedTuple):
    """What is known of queries and memories, by pair."""

    chosen: Collection[Pair]
    unwanted: Collection[Pair]
    """Graded below 2, or found not useful."""


def measure(work: Work, since: datetime) -> TermNoise:
    """The noise of what stands in the shadow or is applied, over the searches from a moment on."""
    terms = work.learned_terms.of(states=(TermState.SHADOW, TermState.APPLIED))
    if not terms:
        return TermNoise()
    evidence = {(one.query_id, one.memory_id, one.term) for one in work.learned_terms.evidence()}
    trials = _trials(terms, work.usage.queries(since=since), evidence)
    seen = _read_seen(work, {query for pairs in trials.values() for query, _ in pairs})
    noisy = sum(is_noise(pairs, seen) for pairs in trials.values())
    rate = noisy / len(trials) if trials else None
    return TermNoise(terms=len(terms), tried=len(trials), noisy=noisy, rate=rate)


def is_noise(trials: Collection[Pair], seen: Seen) -> bool:
    """Whether a term with these trials is noise."""
    return any(one in seen.unwanted for one in trials) or not any(one in seen.chosen for one in trials)


def _trials(
    terms: Collection[LearnedTerm], queries: Collection[UsedQuery], evidence: Collection[tuple[str, str, str]]
) -> dict[tuple[str, str], list[Pair]]:
    """For each memory and term that was tried, where."""
    learned: dict[str, set[str]] = {}
    for one in terms:
        learned.setdefault(one.memory_id, set()).add(one.term)
    found: dict[tuple[str, str], list[Pair]] = {}
    for query in queries:
        held = [one for one in query.result_ids if one in learned]
        said = frozenset(words(query.query)) if held else frozenset()
        for memory_id in held:
            for term in learned[memory_id] & said:
                if (query.query_id, memory_id, term) not in evidence:
                    found.setdefault((memory_id, term), []).append((query.query_id, memory_id))
    return found


def _read_seen(work: Work, query_ids: Collection[str]) -> Seen:
    if not query_ids:
        return Seen((), ())
    below = {pair for pair, grade in work.usage.grades(query_ids).items() if grade < GOOD_GRADE}
    useless = work.usage.events_of(query_ids, [EventType.VALIDATE_NOT_USEFUL])
    return Seen(work.usage.events_of(query_ids, CHOICES), below | useless)
