"""Searching with a plan: one search for each query, merged into numbered passages."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from assay.errors import AssayError
from assay.records import Channel, CosineSpread, Hit, HitPassage, Mode, Scope, SearchRequest, SearchResult
from assay.records.evidence import PLANNED_SEARCH
from assay.records.research import Passage, Plan, PlannedQuery
from assay.text.terms import normalise_phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.memory.searching import Searcher

DAMPING = 60
"""The constant of reciprocal ranks: how little the first place is worth more than the second."""
TOOL = "assay ask"


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchLimits:
    """How much is searched."""

    results: int
    """Memories of one query."""
    passages: int
    """Passages in all."""
    widened: bool = False
    """Look deeper, and ask the question itself too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundPassages:
    """What a plan found."""

    passages: tuple[Passage, ...] = ()
    """Best first, numbered from 1."""
    query_ids: tuple[str, ...] = ()
    """Of the searches in the query log."""
    problems: tuple[str, ...] = ()
    """Why a query was not answered, or not by every channel."""
    failed: bool = False
    """Whether every search failed."""


class FindPassages(Protocol):
    """Searches by a plan."""

    def __call__(self, scope: Scope, plan: Plan, wanted: SearchLimits) -> FoundPassages:
        """What the plan's queries find."""
        ...


@dataclass(slots=True)
class _FoundPassage:
    passage: Passage
    worth: float = 0.0


@dataclass(slots=True)
class _MergedResults:
    places: dict[tuple[str, int], _FoundPassage] = field(default_factory=dict)
    query_ids: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, result: SearchResult) -> None:
        """One query's list."""
        self.query_ids.append(result.query_id)
        self.problems += [problem for problem in result.degraded if problem not in self.problems]
        rank = 0
        for hit in result.hits:
            scores = {} if hit.explanation is None else hit.explanation.passage_scores()
            for passage in sorted(hit.passages, key=lambda part: (-scores.get(part.position, 0.0), part.position)):
                rank += 1
                made = _passage(hit, passage, scores, result.cosines)
                place = self.places.setdefault((hit.memory_id, passage.position), _FoundPassage(made))
                place.worth += 1.0 / (DAMPING + rank)
                place.passage = _raise_standing(place.passage, made.standing)


class MemorySearch:
    """Searches the memory by a plan."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def __call__(self, scope: Scope, plan: Plan, wanted: SearchLimits) -> FoundPassages:
        """What the plan's queries find together."""
        queries = _queries(plan, widened=wanted.widened)
        gathered = _MergedResults()
        for query in queries:
            request = SearchRequest(
                query=query.text,
                k=wanted.results,
                mode=Mode.DEEP if wanted.widened else Mode.AUTO,
                explain=True,
                tool_name=TOOL if _same_words(query.text, plan.question) else PLANNED_SEARCH,
            )
            try:
                gathered.add(self._searcher.search(scope, request))
            except AssayError as problem:
                gathered.problems.append(problem.message)
        best = sorted(gathered.places.values(), key=lambda place: -place.worth)[: wanted.passages]
        return FoundPassages(
            passages=tuple(replace(place.passage, number=number) for number, place in enumerate(best, start=1)),
            query_ids=tuple(gathered.query_ids),
            problems=tuple(gathered.problems),
            failed=not gathered.query_ids,
        )


def _queries(plan: Plan, *, widened: bool) -> Sequence[PlannedQuery]:
    asked = {query.text: query for query in plan.queries}
    if widened:
        asked.setdefault(plan.question, PlannedQuery(text=plan.question))
    return list(asked.values())


def _same_words(query: str, question: str) -> bool:
    return normalise_phrase(query) == normalise_phrase(question)


def _raise_standing(passage: Passage, standing: float | None) -> Passage:
    """Return a passage with the larger of its standings by two queries."""
    if standing is None or (passage.standing is not None and passage.standing >= standing):
        return passage
    return replace(passage, standing=standing)


def _passage(hit: Hit, part: HitPassage, scores: dict[int, float], store: CosineSpread | None) -> Passage:
    channels = _channel_scores(hit, part.position)
    cosine = channels.get(Channel.VECTOR.value)
    return Passage(
        number=1,
        text=part.text,
        memory_id=hit.memory_id,
        title=hit.title,
        rel_path=hit.rel_path,
        heading_path=part.heading_path,
        score=scores.get(part.position, hit.score),
        channels=channels,
        standing=None if store is None or cosine is None else store.standing_of(cosine),
        updated_at=hit.updated_at,
        superseded=hit.superseded_at is not None,
    )


def _channel_scores(hit: Hit, position: int) -> dict[str, float]:
    """What each channel gave a passage, on its own scale."""
    explained = () if hit.explanation is None else hit.explanation.passages
    return {
        str(vote.channel): vote.score for passage in explained if passage.position == position for vote in passage.votes
    }
