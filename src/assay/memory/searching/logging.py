"""The line a search leaves in the query log.

It holds what was returned and every channel's candidates as they were fused, so that any fusion can be replayed
offline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from assay.records import Channel, ChannelCandidates, FusionMethod, Hit, LoggedQuery, SearchRequest, SearchResult

Lists = Mapping[Channel, Sequence[tuple[int, float]]]


def logged_query(
    request: SearchRequest,
    result: SearchResult,
    *,
    lists: Lists,
    passage_ids: Mapping[int, str],
    rrf_k: int,
    near_top: int,
    at: datetime,
) -> LoggedQuery:
    """The record of one search. `lists` are those that were fused, by number; `passage_ids` names the numbers."""
    return LoggedQuery(
        query_id=result.query_id,
        query=request.query,
        tool_name=request.tool_name,
        created_at=at,
        origin=request.origin,
        intent=str(result.intent),
        mode=str(result.mode),
        session_id=request.session_id,
        result_ids=result.ids,
        channel_contributions=contributions(result.hits, lists),
        total_latency_ms=result.telemetry.total_latency_ms,
        fusion_weights=_weights(result.fusion, result.weights, rrf_k),
        quality_proxy_score=result.telemetry.quality_proxy_score,
        trace_id=result.trace_id,
        tokens_saved=result.tokens_saved if request.session_id else None,
        held_back=len(result.held_back) if request.session_id else None,
        near_top=near_top,
        candidates=tuple(_candidates(channel, offered, passage_ids) for channel, offered in lists.items()),
    )


def contributions(hits: Sequence[Hit], lists: Lists) -> dict[str, dict[str, int]]:
    """For each channel that ran: how many candidates it had, how many of the hits it found, how many it alone found."""
    return {
        str(channel): {
            "candidates": len(offered),
            "found": sum(channel in hit.channels for hit in hits),
            "alone": sum(hit.channels == (channel,) for hit in hits),
        }
        for channel, offered in lists.items()
    }


def _weights(method: FusionMethod, weights: Mapping[str, float], rrf_k: int) -> dict[str, Any]:
    shared: dict[str, Any] = {"method": str(method), "weights": dict(weights)}
    return {**shared, "rrf_k": rrf_k} if method is FusionMethod.RRF else shared


def _candidates(channel: Channel, offered: Sequence[tuple[int, float]], ids: Mapping[int, str]) -> ChannelCandidates:
    return ChannelCandidates(
        channel=str(channel),
        ids=tuple([ids[number] for number, _ in offered]),
        scores=tuple([float(score) for _, score in offered]),
    )
