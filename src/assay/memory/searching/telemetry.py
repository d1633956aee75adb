"""The telemetry of one search, in the terms that dashboards keep.

Shares of the time come from the trace. `extraction_count_in_session` counts the memories the session has been given,
this search's included. None means that nothing was returned to take a mean of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.memory.searching.modes import ModeChoice, PressureReading
from assay.memory.searching.proxy import quality_proxy
from assay.memory.searching.trace import Trace
from assay.memory.sessions import History
from assay.records import Hit, Telemetry


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What telemetry tells beside the trace and the hits."""

    choice: ModeChoice
    pressure: PressureReading
    embedding_ms: float
    fallback: str | None
    degraded: tuple[str, ...]
    history: History
    """What the session was given before."""


def telemetry(trace: Trace, hits: Sequence[Hit], unboosted: Sequence[float], around: Circumstances) -> Telemetry:
    """How the search went. `unboosted` has the score of each hit before its boosts."""
    scores = [hit.score for hit in hits]
    total = trace.elapsed_ms()
    mean = math.fsum(scores) / len(scores) if scores else None
    return Telemetry(
        total_latency_ms=total,
        embedding_latency_ms=around.embedding_ms,
        candidate_latency_ms=trace.spent_ms("candidate") + trace.spent_ms("filter"),
        fusion_latency_ms=trace.spent_ms("fusion") + trace.spent_ms("aggregate"),
        rerank_latency_ms=trace.spent_ms("rerank"),
        boost_latency_ms=trace.spent_ms("boost"),
        selected_mode=around.choice.mode,
        mode_override_applied=around.choice.overridden,
        pressure_level=around.pressure.level,
        token_usage_ratio=around.pressure.ratio,
        fallback_triggered=around.fallback is not None,
        fallback_reason=around.fallback,
        degraded_mode_active=bool(around.degraded),
        result_count=len(hits),
        avg_relevance_score=mean,
        top_result_score=max(scores, default=None),
        boost_impact_delta=_mean_change(scores, unboosted),
        extraction_count_in_session=len(around.history.given() | {hit.memory_id for hit in hits}),
        quality_proxy_score=quality_proxy(scores, total),
    )


def _mean_change(after: Sequence[float], before: Sequence[float]) -> float | None:
    if not after:
        return None
    return math.fsum(one - other for one, other in zip(after, before, strict=True)) / len(after)
