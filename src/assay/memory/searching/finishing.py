"""The final-rank stage: the first k results with their texts, within the budget.

A result that the session still has in view is named and not given again. Its place is taken only by a further result
above the relevance cut: holding something back never brings up something worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from assay.memory.searching.budget import Fitted, fit
from assay.memory.searching.explain import explanation
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.ranking import Ranked, Ranking
from assay.memory.searching.relevance import Cut, cut_of
from assay.records import Channel, HeldBack, Hit, HitPassage, SearchRequest, Tier
from assay.records.searching import in_channel_order
from assay.storage import ShownPassage, Work

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


class _Picked(NamedTuple):
    fresh: list[Ranked]
    held: list[Ranked]
    below_cut: int


def finish(
    work: Work, ranking: Ranking, request: SearchRequest, in_view: Mapping[str, str], options: SearchOptions
) -> Shown:
    """The hits of a ranking; `in_view` has the memories that the session need not be given again."""
    picked = _pick(ranking, request, in_view, options)
    passages = [passage for one in picked.fresh for passage in _shown_passages(one)]
    shown = work.passages.shown([*passages, *(one.memory.best.number for one in picked.held)])
    hits = [
        _hit(place, one, ranking, shown, explain=request.explain) for place, one in enumerate(picked.fresh, start=1)
    ]
    budget = _budget(request)
    fitted = fit(hits, budget, best_first=None if budget is None else _best_first(picked.fresh, ranking))
    unboosted = {one.row.memory_id: ranking.unboosted(one) for one in picked.fresh}
    held_back = tuple(_held_back(one, ranking, shown, in_view) for one in picked.held)
    return Shown(
        hits=fitted.kept,
        unboosted=tuple(unboosted[hit.memory_id] for hit in fitted.kept),
        fitted=fitted,
        held_back=held_back,
        tokens_saved=sum(held.tokens for held in held_back),
        below_cut=picked.below_cut,
    )


def _pick(ranking: Ranking, request: SearchRequest, in_view: Mapping[str, str], options: SearchOptions) -> _Picked:
    """The first k places, of which some are held back; relevant results further down take the places of those."""
    cut = cut_of(max(map(ranking.score, ranking.order), default=0.0), ranking.rules.method, options)
    first = ranking.order[: request.k]
    places = [one for one in first if not request.relevant_only or _passes(one, ranking, cut)]
    if request.relevant_only:
        places = _without_cause(places)
    held = [one for one in places if one.row.memory_id in in_view]
    fresh = [one for one in places if one.row.memory_id not in in_view]
    further: Iterable[Ranked] = (
        one for one in ranking.order[request.k :] if one.row.memory_id not in in_view and _passes(one, ranking, cut)
    )
    return _Picked([*fresh, *islice(further, len(held))], held, len(first) - len(places))


def _passes(one: Ranked, ranking: Ranking, cut: Cut) -> bool:
    # A person's note that was raised stands or falls with the program's note that contradicts it.
    return (one.trust is not None and one.trust.raised) or cut.passes(ranking.score(one), _channels(one))


def _without_cause(places: Sequence[Ranked]) -> list[Ranked]:
    """The results without persons' notes that were raised above a program's note which is not relevant itself."""
    ids = {one.row.memory_id for one in places}
    return [one for one in places if one.trust is None or not one.trust.raised or one.trust.other_id in ids]


def _held_back(
    one: Ranked, ranking: Ranking, shown: Mapping[int, ShownPassage], in_view: Mapping[str, str]
) -> HeldBack:
    memory_id = one.row.memory_id
    return HeldBack(
        memory_id=memory_id,
        title=shown[one.memory.best.number].title,
        score=ranking.score(one),
        tokens=sum(ranking.rows[number].token_count for number in _shown_passages(one)),
        given_by=in_view[memory_id] or None,
    )


def _budget(request: SearchRequest) -> int | None:
    """What the caller's context still has room for."""
    return None if request.token_budget is None else max(request.token_budget - request.tokens_used, 0)


def _best_first(fresh: Sequence[Ranked], ranking: Ranking) -> dict[str, list[int]]:
    """The positions of each memory's passages."""
    return {
        one.row.memory_id: [ranking.rows[passage.number].position for passage in one.memory.ranked] for one in fresh
    }


def _shown_passages(one: Ranked) -> list[int]:
    return [passage.number for passage in one.memory.ranked[:PASSAGES]]


def _hit(rank: int, one: Ranked, ranking: Ranking, shown: Mapping[int, ShownPassage], *, explain: bool) -> Hit:
    memory, told = one.row.memory, shown[one.memory.best.number]
    return Hit(
        memory_id=memory.id,
        rank=rank,
        score=ranking.score(one),
        title=told.title,
        passages=_passages(one, ranking, shown),
        tier=Tier(memory.tier),
        folder=memory.folder,
        rel_path=told.rel_path,
        tags=tuple(memory.tags),
        channels=_channels(one),
        updated_at=told.updated_at,
        superseded_at=told.superseded_at,
        author=told.author,
        contradicts=ranking.contradictions.contradicts(memory.id),
        contradicted_by=ranking.contradictions.contradicted_by(memory.id),
        explanation=explanation(one, ranking) if explain else None,
    )


def _passages(one: Ranked, ranking: Ranking, shown: Mapping[int, ShownPassage]) -> tuple[HitPassage, ...]:
    rows = sorted((ranking.rows[number] for number in _shown_passages(one)), key=lambda row: row.position)
    return tuple(
        HitPassage(
            position=row.position,
            text=shown[row.number].text,
            heading_path=shown[row.number].heading_path,
            tokens=row.token_count,
        )
        for row in rows
    )


def _channels(one: Ranked) -> tuple[Channel, ...]:
    """Which channels found any of its passages."""
    if len(one.memory.ranked) == 1:
        return one.memory.best.channels
    found = {channel for passage in one.memory.ranked for channel in passage.channels}
    return tuple(in_channel_order(found))
