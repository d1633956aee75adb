"""What an agent should have in its context for a task: the constitutional memories, then the best of a search.

Everything fits a token budget. Constitutional memories come first and are never cut: they apply to every question.
The search gets what those and `tokens_used` leave of the budget, and does less work the less is left. It adds only
results above the relevance cut, so the budget may stay unused. The best passage is always included, even beyond the
budget; `over_budget` is the number of tokens beyond it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from assay.errors import BadValue
from assay.records import Filters, PackedContext, Scope, SearchRequest, SearchResult, Tier
from assay.storage import Store


def pack(
    store: Store, search: Callable[[Scope, SearchRequest], SearchResult], scope: Scope, request: SearchRequest
) -> PackedContext:
    """Search with what the constitutional memories leave of the request's budget."""
    budget = request.token_budget
    if budget is None:
        raise BadValue("a context without a token budget has no limit", remedy="Give a token budget.")
    # The rules are in the context before anything that is found, so they count as used.
    taken = request.tokens_used + _count_pinned_tokens(store, scope)
    found = search(scope, replace(request, tokens_used=taken, relevant_only=True, filters=_others(request.filters)))
    ratio = found.telemetry.token_usage_ratio
    assert ratio is not None  # noqa: S101 - there is a budget, so there is a share of it
    given = sum(memory.tokens for memory in found.pinned) + sum(hit.tokens for hit in found.hits)
    return PackedContext(
        query_id=found.query_id,
        pinned=found.pinned,
        hits=found.hits,
        held_back=found.held_back,
        below_cut=found.below_cut,
        tokens=given,
        token_budget=budget,
        tokens_used=request.tokens_used,
        over_budget=max(request.tokens_used + given - budget, 0),
        mode=found.mode,
        pressure_level=found.telemetry.pressure_level,
        token_usage_ratio=ratio,
        degraded=found.degraded,
    )


def _others(filters: Filters) -> Filters:
    """The same without what is pinned: nothing is given twice."""
    tiers = filters.tiers or tuple(Tier)
    return replace(filters, tiers=tuple(tier for tier in tiers if tier is not Tier.CONSTITUTIONAL) or filters.tiers)


def _count_pinned_tokens(store: Store, scope: Scope) -> int:
    with store.reading(scope) as work:
        laws = work.memories.constitutional()
        return sum(piece.token_count for law in laws for piece in work.memories.chunks_of(law.id))
