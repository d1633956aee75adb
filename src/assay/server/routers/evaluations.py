"""What answered questions add up to: aggregates, patterns, and the whole analysis."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import Field

from assay.access import acts
from assay.errors import InputError
from assay.records.plain import plain
from assay.records.research import QuestionKind
from assay.records.research_log import ResearchFilter, ResearchStatus
from assay.server.fields import Moment, YesNo
from assay.server.routing import Asked, Asking, Body, Resource, Result

RESOURCE = Resource("/api/evaluation", "evaluation")

Score = Annotated[float | None, Query(ge=0.0, le=1.0)]
Plans = Annotated[int | None, Query(ge=0, le=1_000_000)]
Word = Annotated[str | None, Query(min_length=1, max_length=500)]


async def _filter(  # noqa: PLR0917 - one parameter a filter, all given by name
    since: Annotated[Moment | None, Query(description="Asked at this moment or later.")] = None,
    until: Annotated[Moment | None, Query(description="Asked before this moment.")] = None,
    least_score: Score = None,
    most_score: Score = None,
    passed: bool | None = None,
    failure_type: Word = None,
    failed_dimension: Word = None,
    escalated: bool | None = None,
    skipped: bool | None = None,
    judge_failed: bool | None = None,
    severe: bool | None = None,
    least_iterations: Plans = None,
    most_iterations: Plans = None,
    status: ResearchStatus | None = None,
    kind: QuestionKind | None = None,
    session_id: Word = None,
    prompt_version: Annotated[str | None, Query(max_length=200, description="prompt_id@version")] = None,
    text: Annotated[str | None, Query(min_length=1, max_length=500, description="Words of the question.")] = None,
) -> ResearchFilter:
    return ResearchFilter(
        since=since,
        until=until,
        least_score=least_score,
        most_score=most_score,
        passed=passed,
        failure_type=failure_type,
        failed_dimension=failed_dimension,
        escalated=escalated,
        skipped=skipped,
        judge_failed=judge_failed,
        severe=severe,
        least_iterations=least_iterations,
        most_iterations=most_iterations,
        status=status,
        kind=kind,
        session_id=session_id,
        prompt_version=prompt_version or None,
        text=text,
    )


Wanted = Annotated[ResearchFilter, Depends(_filter)]


class AggregatesFound(Result):
    """Counts, rates and means with intervals; a rate of nothing is null."""

    aggregates: dict[str, Any]


@RESOURCE.get("/metrics", acts.ANSWER_READ)
def get_aggregates(asked: Asked, wanted: Wanted) -> AggregatesFound:
    """Pass rate, scores, failures, iterations and the weekly trend over the questions of a filter."""
    from assay.analysis.aggregates import aggregate  # noqa: PLC0415 - numpy only when there is something to compute

    with asked.engine.store.reading(asked.scope) as work:
        found = aggregate(work.research.totals(wanted), work.research.asked_again(wanted))
    return AggregatesFound(aggregates=plain(found))


class PatternsFound(Result):
    """What low scores have in common, the costliest first."""

    questions: int
    sessions: int
    traits: int
    tested: int = Field(description="What false discoveries were controlled over.")
    found: list[dict[str, Any]]
    cut: bool = Field(description="There are more sessions than patterns were looked for in.")


class AnalysisFound(Result):
    """Aggregates and patterns together."""

    aggregates: dict[str, Any]
    patterns: PatternsFound


class AnalyzeBody(Body):
    """Which questions, and what counts as a pattern."""

    since: Moment | None = None
    until: Moment | None = None
    least_score: Annotated[float | None, Field(strict=True, ge=0.0, le=1.0)] = None
    most_score: Annotated[float | None, Field(strict=True, ge=0.0, le=1.0)] = None
    prompt_version: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    fdr: Annotated[float | None, Field(strict=True, ge=1e-6, le=0.5)] = None
    least_support: Annotated[int | None, Field(strict=True, ge=2, le=1_000_000)] = None
    least_drop: Annotated[float | None, Field(strict=True, ge=0.0, le=1.0)] = None
    model: Annotated[YesNo, Field(description="Let the configured model word the suggestions.")] = False


@RESOURCE.get("/patterns", acts.PATTERN_READ)
def get_patterns(asked: Asked, wanted: Wanted) -> PatternsFound:
    """What low scores have in common more often than chance would have it; nothing when nothing was asked yet."""
    from assay.analysis.offline import MOST_SESSIONS, newest  # noqa: PLC0415 - numpy only when needed
    from assay.analysis.patterns import find_patterns  # noqa: PLC0415 - the same

    with asked.engine.store.reading(asked.scope) as work:
        sessions = list(newest(work, wanted, MOST_SESSIONS))
    return _patterns(find_patterns(sessions), cut=len(sessions) == MOST_SESSIONS)


@RESOURCE.post("/analyze", acts.PATTERN_ANALYZE, 402, 502)
def analyze_sessions(asked: Asked, body: AnalyzeBody) -> AnalysisFound:
    """The whole analysis on demand: aggregates, patterns, and what could be changed."""
    from assay.analysis.offline import analyze  # noqa: PLC0415 - numpy only when there is something to compute
    from assay.analysis.patterns import PatternOptions  # noqa: PLC0415 - the same

    wanted = ResearchFilter(
        since=body.since,
        until=body.until,
        least_score=body.least_score,
        most_score=body.most_score,
        prompt_version=body.prompt_version,
    )
    options = PatternOptions.over(fdr=body.fdr, least_support=body.least_support, least_drop=body.least_drop)
    model = _model(asked) if body.model else None
    found = analyze(asked.engine.store, asked.scope, wanted, options=options, model=model)
    return AnalysisFound(aggregates=plain(found.aggregates), patterns=_patterns(found.patterns, cut=found.cut))


def _model(asked: Asking) -> Any:
    from assay import wiring  # noqa: PLC0415 - only when a model is asked for

    settings = asked.services.settings
    if not wiring.has_model(settings):
        raise InputError("no model is configured", remedy="Set model.url and model.name, or leave model out.")
    return wiring.open_model(settings, asked.engine.store, asked.scope)


def _patterns(found: Any, *, cut: bool) -> PatternsFound:
    told = [
        {**plain(one), "drop": one.drop, "impact": one.impact.value, "sentence": one.sentence} for one in found.found
    ]
    counted = {name: getattr(found, name) for name in ("questions", "sessions", "traits", "tested")}
    return PatternsFound(**counted, found=told, cut=cut)
