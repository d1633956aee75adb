"""From a ranking to the hits that are returned.

- Working data of a search between fusion and the final list.
- Reranking: MMR for variety, or a cross-encoder. Both reorder; neither changes a score. Only a cross-encoder leaves
  results out, and only below a threshold that the settings name.
- The relevance cut: the score below which a result counts as unrelated.
- `min_relevance`: the probability of being relevant below which the caller wants no result.
- The token budget: what is left out so that the hits fit the caller's context.
- Explanation of a hit: every number that made its score.
- The final-rank stage: the first k results with their texts, within the budget.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.embedding.protocol import CrossEncoder
from assay.errors import BadValue
from assay.index import Rows
from assay.memory.searching.channels import Offer
from assay.memory.searching.current_facts import name_outdated
from assay.memory.searching.fusion import AggregatedMemory, to_result_score
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.relevance import Relevance
from assay.memory.searching.trust import NONE, Contradictions
from assay.records import (
    Boost,
    Channel,
    Explanation,
    FactMove,
    FusionMethod,
    HeldBack,
    Hit,
    HitPassage,
    HopStep,
    OutdatedFact,
    PassageScore,
    SearchRequest,
    SearchResult,
    Tier,
    TrustMove,
)
from assay.records.searching import in_channel_order
from assay.storage import Candidate, ServedFact, ShownPassage, Work

# --- Working data of a search between fusion and the final list ---


class Rules(NamedTuple):
    """The numbers that every score of one search was made with."""

    method: FusionMethod
    ceiling: float
    """The highest fused score possible."""
    floor: float
    """What a further passage has to be above to count."""
    aggregated: bool
    coefficient: float
    bound: float


class Ranked(NamedTuple):
    """One memory in the ranking."""

    memory: AggregatedMemory
    row: Candidate
    """The row of its best passage; all rows of a memory hold the same facts about it."""
    boosts: tuple[Boost, ...] = ()
    factor: float = 1.0
    reranked_from: int | None = None
    rerank_score: float | None = None
    """What the cross-encoder gave."""
    trust: TrustMove | None = None
    served_last_from: int | None = None
    """The place it would have if it were not deprecated; None: it is not."""
    current_fact: FactMove | None = None
    step: HopStep | None = None

    @property
    def worth(self) -> float:
        """What it is ranked by. A shown score ends at 1 and would make equals of the best."""
        return self.memory.score * self.factor


COMPARED = "compared"
"""In the details of the stage `filter`: how many passages stand in the list of each channel that it did not find."""


class Ranking(NamedTuple):
    """Memories, best first, and what made their scores."""

    order: Sequence[Ranked]
    """As far down as anything can be shown or reranked."""
    found: int
    """How many there are in all."""
    lists: Mapping[Channel, Offer]
    """What was fused."""
    rows: Rows
    """By passage."""
    rules: Rules
    compared: Mapping[Channel, Collection[int]] = MappingProxyType({})
    """Passages in the list of a channel that it did not find: others did, and they were compared."""
    below_threshold: int = 0
    """How many the cross-encoder scored below the threshold; they are not in `order` and not in `found`."""
    contradictions: Contradictions = NONE
    facts: Sequence[ServedFact] = ()
    """What the first results state."""
    relevance: Mapping[str, Relevance] = MappingProxyType({})
    """Of the memories that may be shown, by id; empty: not known for this search."""

    def score(self, ranked: Ranked) -> float:
        """As a caller sees it."""
        return to_result_score(ranked.memory.score, ceiling=self.rules.ceiling, factor=ranked.factor)

    def score_without_boosts(self, ranked: Ranked) -> float:
        """Return the score without boosts."""
        return to_result_score(ranked.memory.score, ceiling=self.rules.ceiling)


# --- Reranking: MMR for variety, or a cross-encoder. Both reorder; neither changes a score ---
#
# MMR (Carbonell and Goldstein, SIGIR 1998) picks, one after another, the candidate with the highest
# `lambda * relevance - (1 - lambda) * likeness`, likeness being the highest cosine to what was picked before. The
#   first
# pick is the most relevant one. Only what repeats counts as alike: a cosine up to `alike` is no likeness, and above it
# likeness grows from 0 to 1. Answers to one question are always related; punishing that costs recall.

Item = TypeVar("Item")


def mmr(
    candidates: Sequence[Item],
    relevance: Sequence[float],
    vectors: NDArray[np.floating],
    lambda_: float,
    k: int,
    *,
    alike: float = 0.0,
) -> list[Item]:
    """At most k candidates in the order of MMR; equals keep their order.

    One unit vector a row. A candidate whose vector is not known has a row of zeros: it is taken for unlike all others.
    """
    _same_length(len(candidates), relevance=len(relevance), vectors=len(vectors))
    worth = lambda_ * np.asarray(relevance, dtype=np.float64)
    likeness = np.zeros(len(candidates))
    left = np.ones(len(candidates), dtype=bool)
    picked: list[int] = []
    for _ in range(min(k, len(candidates))):
        place = int(np.argmax(np.where(left, worth - (1.0 - lambda_) * likeness, -np.inf)))
        similar = _likeness(vectors @ vectors[place], alike)
        # Before the first pick nothing is alike; after it, a candidate opposite to all picks may be below 0.
        likeness = np.maximum(likeness, similar) if picked else similar.astype(np.float64)
        left[place] = False
        picked.append(place)
    return [candidates[place] for place in picked]


def _likeness(cosines: NDArray[np.floating], alike: float) -> NDArray[np.floating]:
    if alike == 0.0:
        return cosines
    return np.maximum(cosines - alike, 0.0) / (1.0 - alike) if alike < 1.0 else np.zeros_like(cosines)


def rerank_with(
    encoder: CrossEncoder, query: str, candidates: Sequence[Item], texts: Sequence[str]
) -> list[tuple[Item, float]]:
    """The candidates in the cross-encoder's order, each with its score; equals keep their order."""
    _same_length(len(candidates), texts=len(texts))
    scores = np.asarray(encoder.score(query, texts), dtype=np.float64)
    if scores.shape != (len(texts),) or not ((scores >= 0.0) & (scores <= 1.0)).all():
        raise BadValue(
            f"cross-encoder {encoder.name!r} gave {scores.shape} for {len(texts)} texts, or numbers outside 0 to 1",
            remedy="It has to give one number from 0 to 1 for each text.",
        )
    order = np.argsort(-scores, kind="stable").tolist()
    return [(candidates[place], float(scores[place])) for place in order]


def _same_length(expected: int, **lengths: int) -> None:
    for name, length in lengths.items():
        if length != expected:
            raise BadValue(f"{expected} candidates have {length} {name}", remedy="Give one for each candidate.")


# --- The relevance cut: the score below which a result counts as unrelated ---
#
# One rule for everything that must not give a worse result in place of a better one: what fills the places of results
# that a session holds back, what a context is packed with, and what counts as near the top of a search. A result
# passes when it has at least a share of the best score, and at least a least score; a memory whose trigger phrase
# stands in the question passes always, since its writer asked for that. The numbers are in `SearchOptions`.
#
# Scores of rank fusion are too flat for a cut: there the cut is not known, and nothing passes but triggers.


class Cut(NamedTuple):
    """The least score of a relevant result."""

    least: float | None
    """On the scale that callers see; None: not known on this search's scale."""

    def passes(self, score: float, channels: Collection[Channel]) -> bool:
        """Whether a result with this score, found by these channels, is relevant."""
        return Channel.TRIGGER in channels or (self.least is not None and score >= self.least)


def cut_of(best: float, method: FusionMethod, options: SearchOptions) -> Cut:
    """The cut of a search whose best result has this score."""
    if method is not FusionMethod.CONVEX:
        return Cut(None)
    return Cut(max(options.relevant_share * best, options.relevant_least))


def count_near_top(result: SearchResult, options: SearchOptions) -> int:
    """How many hits, from the first, were near the top: among the first places of all that was found, and relevant.

    Results that were held back take up places too, so that a session does not work its way down the list.
    """
    scores: Sequence[float] = [*(hit.score for hit in result.hits), *(held.score for held in result.held_back)]
    if not scores:
        return 0
    cut = cut_of(max(scores), result.fusion, options)
    count = 0
    for hit in result.hits[: max(options.near_top - _count_held_above(result), 0)]:
        if not cut.passes(hit.score, hit.channels):
            break
        count += 1
    return count


def _count_held_above(result: SearchResult) -> int:
    """How many held-back results stand above the first hit."""
    first = result.hits[0].score if result.hits else 0.0
    return sum(held.score >= first for held in result.held_back)


# --- `min_relevance`: the probability of being relevant below which the caller wants no result ---
#
# Three kinds of result are never left out for it: a memory whose trigger phrase stands in the query, since its writer
# asked for that; a person's note that was raised above a program's note, which stands or falls with that note; and a
# step of a question in several steps, which need not be like the question.
# Where the relevance is not known, as under rank fusion, nothing is left out.


def _is_wanted(one: Ranked, ranking: Ranking, least: float | None) -> bool:
    """Whether a result is relevant enough for the caller."""
    known = ranking.relevance.get(one.row.memory_id)
    if least is None or known is None or _was_brought(one):
        return True
    return known.is_triggered or known.probability >= least


# --- The token budget: what is left out so that the hits fit the caller's context ---
#
# Passages are taken whole, in the order of the hits and within a hit best first, up to the first that does not fit:
# what is behind it is dropped too, so that a larger budget never shows less. The best passage of the first hit is
# always kept, since a search that found something must not look like one that found nothing; if it alone is over the
# budget, `overrun` says by how much.


class Fitted(NamedTuple):
    """Hits that fit."""

    kept: tuple[Hit, ...]
    """With their remaining passages, in document order."""
    tokens: int
    dropped: int
    """Passages left out."""
    overrun: int
    """Tokens above the budget: not 0 only when the first passage alone is too long."""


def fit_budget(
    hits: Sequence[Hit], token_budget: int | None, *, best_first: Mapping[str, Sequence[int]] | None = None
) -> Fitted:
    """The hits within a budget; None is no budget.

    `best_first` gives positions by memory id; a memory that is not in it has its passages taken in document order.
    """
    total = sum([passage.tokens for hit in hits for passage in hit.passages])
    if token_budget is None or total <= token_budget:
        return Fitted(tuple(hits), total, dropped=0, overrun=0)
    taken, tokens = _take_passages(hits, token_budget, best_first or {})
    kept = tuple(_with_passages(hit, taken[hit.memory_id]) for hit in hits if hit.memory_id in taken)
    offered = sum(len(hit.passages) for hit in hits)
    shown = sum(len(positions) for positions in taken.values())
    return Fitted(kept, tokens, dropped=offered - shown, overrun=max(tokens - token_budget, 0))


def _take_passages(
    hits: Sequence[Hit], token_budget: int, best_first: Mapping[str, Sequence[int]]
) -> tuple[dict[str, set[int]], int]:
    taken: dict[str, set[int]] = {}
    tokens = 0
    for hit, passage in _in_turn(hits, best_first):
        if taken and tokens + passage.tokens > token_budget:
            break
        taken.setdefault(hit.memory_id, set()).add(passage.position)
        tokens += passage.tokens
    return taken, tokens


def _in_turn(hits: Sequence[Hit], best_first: Mapping[str, Sequence[int]]) -> Iterator[tuple[Hit, HitPassage]]:
    for hit in hits:
        place = {position: at for at, position in enumerate(best_first.get(hit.memory_id, ()))}
        for passage in sorted(hit.passages, key=lambda one: place.get(one.position, len(place))):
            yield hit, passage


def _with_passages(hit: Hit, positions: set[int]) -> Hit:
    return replace(hit, passages=tuple(passage for passage in hit.passages if passage.position in positions))


# --- Explanation of a hit: every number that made its score ---


def explain_hit(one: Ranked, ranking: Ranking) -> Explanation:
    """The explanation of one memory's score."""
    rules, relevance = ranking.rules, ranking.relevance.get(one.row.memory_id)
    return Explanation(
        method=rules.method,
        passages=tuple(
            PassageScore(position=ranking.rows[passage.number].position, votes=passage.votes, fused=passage.fused)
            for passage in one.memory.ranked
        ),
        aggregated=rules.aggregated,
        coefficient=rules.coefficient,
        floor=rules.floor,
        boosts=one.boosts,
        bound=rules.bound,
        scale=rules.ceiling,
        score=ranking.score(one),
        reranked_from=one.reranked_from,
        rerank_score=one.rerank_score,
        trust=one.trust,
        served_last_from=one.served_last_from,
        current_fact=one.current_fact,
        step=one.step,
        relevance=None if relevance is None else relevance.reason(),
    )


# --- The final-rank stage: the first k results with their texts, within the budget ---
#
# A result that the session still has in view is named and not given again. Its place is taken only by a further result
# above the relevance cut: holding something back never brings up something worse.

_POSITION = attrgetter("position")
_TIERS = {tier.value: tier for tier in Tier}
PASSAGES = 3
"""A hit shows its best ones, in document order; its explanation counts them all."""


class Shown(NamedTuple):
    """What is given to the caller, and what is not."""

    hits: tuple[Hit, ...]
    unboosted: tuple[float, ...]
    """The hits' scores before boosts."""
    fitted: Fitted
    held_back: tuple[HeldBack, ...]
    tokens_saved: int
    below_cut: int
    min_relevance: float | None
    """What was applied; None: nothing was asked for, or the relevance is not known."""
    below_relevance: int
    beyond_budget: int
    """Results left out because the budget was full before them."""


class _Picked(NamedTuple):
    fresh: list[Ranked]
    held: list[Ranked]
    below_cut: int
    below_relevance: int


def finish_results(
    work: Work, ranking: Ranking, request: SearchRequest, in_view: Mapping[str, str], options: SearchOptions
) -> Shown:
    """The hits of a ranking; `in_view` has the memories that the session need not be given again."""
    picked = _pick(ranking, request, in_view, options)
    passages = [passage.number for ranked in picked.fresh for passage in ranked.memory.ranked[:PASSAGES]]
    ranking.rows.make_rows(passages)
    shown = work.passages.read_shown([*passages, *(ranked.memory.best_number for ranked in picked.held)])
    picked_ids = {ranked.row.memory_id for ranked in picked.fresh}
    facts = [fact for fact in ranking.facts if fact.memory_id in picked_ids]
    outdated = name_outdated(work, facts, request.filters.as_of)
    making = _HitMaking(ranking, shown, outdated, picked_ids, explain=request.explain)
    hits = [making.make(place, ranked) for place, ranked in enumerate(picked.fresh, start=1)]
    budget = _budget(request)
    fitted = fit_budget(hits, budget, best_first=None if budget is None else _best_first(picked.fresh, ranking))
    scale = ranking.rules.ceiling
    unboosted = {ranked.row.memory_id: to_result_score(ranked.memory.score, ceiling=scale) for ranked in picked.fresh}
    held_back = tuple(_make_held_back(ranked, ranking, shown, in_view) for ranked in picked.held)
    return Shown(
        hits=fitted.kept,
        unboosted=tuple([unboosted[hit.memory_id] for hit in fitted.kept]),
        fitted=fitted,
        held_back=held_back,
        tokens_saved=sum(held.tokens for held in held_back),
        below_cut=picked.below_cut,
        min_relevance=request.min_relevance if ranking.relevance else None,
        below_relevance=picked.below_relevance,
        beyond_budget=len(hits) - len(fitted.kept),
    )


def _pick(ranking: Ranking, request: SearchRequest, in_view: Mapping[str, str], options: SearchOptions) -> _Picked:
    """The first k places, of which some are held back; relevant results further down take the places of those."""
    # A deprecated result that scores best must not make current ones irrelevant.
    current = [place for place in ranking.order if place.served_last_from is None] or ranking.order
    cut = cut_of(_find_best_score(current, ranking.rules.ceiling), ranking.rules.method, options)
    first = ranking.order[: request.k]
    places = [place for place in first if not request.relevant_only or _passes(place, ranking, cut)]
    if request.relevant_only:
        places = _without_cause(places)
    above_cut = len(places)
    if request.min_relevance is not None:
        places = _without_cause([place for place in places if _is_wanted(place, ranking, request.min_relevance)])
    held = [place for place in places if place.row.memory_id in in_view]
    fresh = [place for place in places if place.row.memory_id not in in_view]
    further: Iterable[Ranked] = (
        place
        for place in ranking.order[request.k :]
        if place.row.memory_id not in in_view
        and _passes(place, ranking, cut)
        and _is_wanted(place, ranking, request.min_relevance)
    )
    shown = [*fresh, *islice(further, len(held))]
    return _Picked(shown, held, len(first) - above_cut, above_cut - len(places))


def _find_best_score(places: Sequence[Ranked], ceiling: float) -> float:
    """The highest score of some results as callers see it; 0 if there is none."""
    # Clamped once: the highest of clamped scores is the highest of all, clamped.
    best = max([place.memory.score / ceiling * place.factor for place in places], default=0.0)
    return min(max(best, 0.0), 1.0)


def _passes(one: Ranked, ranking: Ranking, cut: Cut) -> bool:
    return _was_brought(one) or cut.passes(ranking.score(one), _channels(one, ranking.compared))


def _was_brought(one: Ranked) -> bool:
    """Whether a result is here for another one: a person's note against a program's, or a step of a chain."""
    return one.step is not None or (one.trust is not None and one.trust.raised)


def _without_cause(places: Sequence[Ranked]) -> list[Ranked]:
    """The results without persons' notes that were raised above a program's note which is not relevant itself."""
    ids = {place.row.memory_id for place in places}
    return [place for place in places if place.trust is None or not place.trust.raised or place.trust.other_id in ids]


def _make_held_back(
    one: Ranked, ranking: Ranking, shown: Mapping[int, ShownPassage], in_view: Mapping[str, str]
) -> HeldBack:
    memory_id = one.row.memory_id
    return HeldBack(
        memory_id=memory_id,
        title=shown[one.memory.best_number].title,
        score=ranking.score(one),
        tokens=sum(ranking.rows[number].token_count for number in _pick_passages(one)),
        given_by=in_view[memory_id] or None,
    )


def _budget(request: SearchRequest) -> int | None:
    """What the caller's context still has room for."""
    return None if request.token_budget is None else max(request.token_budget - request.tokens_used, 0)


def _best_first(fresh: Sequence[Ranked], ranking: Ranking) -> dict[str, list[int]]:
    """The positions of each memory's passages."""
    return {
        place.row.memory_id: [ranking.rows[passage.number].position for passage in place.memory.ranked]
        for place in fresh
    }


def _pick_passages(one: Ranked) -> list[int]:
    return [passage.number for passage in one.memory.ranked[:PASSAGES]]


class _HitMaking:
    """Makes the hits of one ranking."""

    def __init__(
        self,
        ranking: Ranking,
        shown: Mapping[int, ShownPassage],
        outdated: Mapping[str, tuple[OutdatedFact, ...]],
        shown_ids: Collection[str],
        *,
        explain: bool,
    ) -> None:
        self._ranking = ranking
        self._shown = shown
        self._outdated = outdated
        self._explain = explain
        self._contradicted = ranking.contradictions.name_contradicted(shown_ids)
        self._contradicting = ranking.contradictions.name_contradicting(shown_ids)

    def make(self, rank: int, one: Ranked) -> Hit:
        """The hit of one result, at a rank from 1."""
        ranking, memory, best = self._ranking, one.row.memory, one.memory.best_number
        told, relevance = self._shown[best], ranking.relevance.get(memory.id)
        return Hit(
            memory_id=memory.id,
            rank=rank,
            score=ranking.score(one),
            title=told.title,
            passages=self._passages(one),
            best_position=one.row.position,
            tier=_TIERS[memory.tier],
            folder=memory.folder,
            rel_path=told.rel_path,
            tags=tuple(told.tags) if told.stored_tags != "[]" else (),
            channels=_channels(one, ranking.compared),
            updated_at=told.updated_at,
            superseded_at=told.superseded_at,
            author=told.author,
            contradicts=self._contradicted.get(memory.id, ()),
            contradicted_by=self._contradicting.get(memory.id, ()),
            outdated=self._outdated.get(memory.id, ()),
            relevance=None if relevance is None else relevance.probability,
            explanation=explain_hit(one, ranking) if self._explain else None,
        )

    def _passages(self, one: Ranked) -> tuple[HitPassage, ...]:
        ranked = one.memory.ranked
        if len(ranked) == 1:
            # As for most.
            row, told = one.row, self._shown[ranked[0].number]
            heading_path = told.heading_path
            return (
                HitPassage(position=row.position, text=told.text, heading_path=heading_path, tokens=row.token_count),
            )
        rows = sorted([self._ranking.rows[number] for number in _pick_passages(one)], key=_POSITION)
        return tuple(
            [
                HitPassage(
                    position=row.position,
                    text=(told := self._shown[row.number]).text,
                    heading_path=told.heading_path,
                    tokens=row.token_count,
                )
                for row in rows
            ]
        )


def _channels(one: Ranked, compared: Mapping[Channel, Collection[int]]) -> tuple[Channel, ...]:
    """Which channels found any of its passages."""
    passages = one.memory.ranked
    if len(passages) == 1:
        # As for most; its ballots are in the order of the channels.
        number = passages[0].number
        return tuple(
            [
                ballot[0]
                for ballot in passages[0].ballots
                if ballot[0] not in compared or number not in compared[ballot[0]]
            ]
        )
    found = {
        channel
        for passage in one.memory.ranked
        for channel in passage.channels
        if channel not in compared or passage.number not in compared[channel]
    }
    return tuple(in_channel_order(found))
