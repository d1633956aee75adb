"""The questions of the query log: each once, and a sample in which every intent has its share.

Only what was asked in use counts: an evaluation that fed on its own questions would measure itself. A search that a
planner made for a question counts as that question, never in the planner's words. Two questions with the same words are
one. Shares are given by largest remainder; an intent with fewer questions than its share gives what
it has, and the rest goes to the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import numpy as np

from assay.errors import NothingMeasured
from assay.records import Intent, LoggedQuery, Origin
from assay.records.evidence import PLANNED_SEARCH
from assay.storage import Work
from assay.text.terms import normalised_phrase

NO_QUESTION = frozenset({"match_triggers", "memory_match_triggers", PLANNED_SEARCH})
"""Tools whose text nobody asked: what an agent is writing, held against triggers, and the words of a planner."""
ASKED = "assay ask"
"""The tool of a search that stands for the question somebody asked."""
MOST_READ = 100_000
"""Lines of the log that are looked at, newest first."""


class By(StrEnum):
    """Which questions of an intent come first."""

    NEWEST = "newest"
    FREQUENT = "frequent"
    RANDOM = "random"


@dataclass(frozen=True, kw_only=True, slots=True)
class Harvested:
    """One question, however often it was asked."""

    query: str
    """As it was asked last."""
    intent: Intent | None
    times: int
    last_asked: datetime
    query_ids: tuple[str, ...]
    """Every time it was asked, newest first."""


def harvest(work: Work, *, limit: int = MOST_READ) -> list[Harvested]:
    """Every question of the log, the newest first."""
    questions = work.research.questions_searched_for()
    return distinct(_as_asked(one, questions) for one in work.queries.recent(limit=limit, origin=Origin.USE))


def _as_asked(logged: LoggedQuery, questions: Mapping[str, str]) -> LoggedQuery:
    """A search with the words of whoever asked, where it was made to answer a question."""
    question = questions.get(logged.query_id)
    return logged if question is None else replace(logged, query=question, tool_name=ASKED)


def distinct(logged: Iterable[LoggedQuery]) -> list[Harvested]:
    """Questions with the same words as one; `logged` has the newest first."""
    asked: dict[str, list[LoggedQuery]] = {}
    for one in logged:
        words = normalised_phrase(one.query)
        if one.origin is Origin.USE and words and one.tool_name not in NO_QUESTION and one.result_ids:
            asked.setdefault(words, []).append(one)
    found = [_harvested(times) for times in asked.values()]
    if not found:
        raise NothingMeasured(
            "the query log has no usable query: none that was asked in use, has words and found something",
            remedy="Search for some days first; evaluations, canaries and shadows do not count.",
        )
    return found


def _harvested(times: Sequence[LoggedQuery]) -> Harvested:
    newest = times[0]
    return Harvested(
        query=newest.query.strip(),
        intent=next((one for one in Intent if one.value == newest.intent), None),
        times=len(times),
        last_asked=newest.created_at,
        query_ids=tuple(one.query_id for one in times),
    )


def sample(found: Sequence[Harvested], size: int, by: By, rng: np.random.Generator) -> list[Harvested]:
    """So many questions, every intent with its share, in the order of the log."""
    groups: dict[str, list[Harvested]] = {}
    for one in found:
        groups.setdefault(one.intent or "", []).append(one)
    shares = largest_remainder({name: len(group) for name, group in groups.items()}, size)
    chosen = {id(one) for name, group in groups.items() for one in _first(group, by, rng)[: shares[name]]}
    return [one for one in found if id(one) in chosen]


def _first(group: Sequence[Harvested], by: By, rng: np.random.Generator) -> list[Harvested]:
    if by is By.RANDOM:
        return [group[place] for place in rng.permutation(len(group))]
    if by is By.FREQUENT:
        return sorted(group, key=lambda one: -one.times)
    return sorted(group, key=lambda one: one.last_asked, reverse=True)


def largest_remainder(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """How many of `total` each group gives, in proportion to its size and never more than it has."""
    whole = sum(sizes.values())
    if total >= whole:
        return dict(sizes)
    exact = {name: total * size / whole for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    left = total - sum(shares.values())
    for name in sorted(exact, key=lambda name: (shares[name] - exact[name], name))[:left]:
        shares[name] += 1
    return shares
