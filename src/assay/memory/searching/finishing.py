"""The final-rank stage: what the session has not been given yet, the first k of it, with texts, within the budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from assay.memory.searching.budget import Fitted, fit
from assay.memory.searching.explain import explanation
from assay.memory.searching.ranking import Ranked, Ranking
from assay.records import Channel, Hit, HitPassage, SearchRequest, Tier
from assay.storage import ShownPassage, Work

PASSAGES = 3
"""A hit shows its best ones, in document order; its explanation counts them all."""


class Shown(NamedTuple):
    """What is given to the caller, and what is not."""

    hits: tuple[Hit, ...]
    unboosted: tuple[float, ...]
    """The hits' scores before boosts."""
    fitted: Fitted
    deduplicated: tuple[str, ...]
    """Memories that the session has, which would otherwise be among the hits."""
    tokens_saved: int


class _Picked(NamedTuple):
    fresh: list[Ranked]
    repeated: list[Ranked]


def finish(work: Work, ranking: Ranking, request: SearchRequest, given: Collection[str]) -> Shown:
    """The hits of a ranking."""
    picked = _pick(ranking.order, request.k, given)
    shown = work.passages.shown([passage for one in picked.fresh for passage in _shown_passages(one)])
    hits = [
        _hit(place, one, ranking, shown, explain=request.explain) for place, one in enumerate(picked.fresh, start=1)
    ]
    budget = _budget(request)
    fitted = fit(hits, budget, best_first=None if budget is None else _best_first(picked.fresh, ranking))
    unboosted = {one.row.memory_id: ranking.unboosted(one) for one in picked.fresh}
    return Shown(
        hits=fitted.kept,
        unboosted=tuple(unboosted[hit.memory_id] for hit in fitted.kept),
        fitted=fitted,
        deduplicated=tuple(one.row.memory_id for one in picked.repeated),
        tokens_saved=sum(
            ranking.rows[number].token_count for one in picked.repeated for number in _shown_passages(one)
        ),
    )


def _pick(order: Sequence[Ranked], k: int, given: Collection[str]) -> _Picked:
    picked = _Picked([], [])
    for one in order:
        if len(picked.fresh) == k:
            break
        (picked.repeated if one.row.memory_id in given else picked.fresh).append(one)
    return picked


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
    return tuple(channel for channel in Channel if channel in found)
