"""Verbs on many answered questions: what they add up to, what low scores have in common, and both at once."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.errors import InputError
from assay.records.analysis import LEAST_FDR, Aggregates, Analysis, PatternOptions, Patterns
from assay.verbs.fields import Share, Whole, YesNo
from assay.verbs.research import SessionFilter
from assay.verbs.verb import Caller, Family, HttpRoute, Verb

DEFAULT = PatternOptions()
LARGEST_FDR = 0.5


class AnalyzeRequest(SessionFilter):
    """Which questions, and what counts as a pattern."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"since": "2026-10-15", "least_support": 12}]})

    fdr: Annotated[
        float,
        Field(
            strict=True,
            ge=LEAST_FDR,
            le=LARGEST_FDR,
            description=f"Share of the reported patterns that may be chance, {LEAST_FDR:g} to {LARGEST_FDR}.",
        ),
    ] = DEFAULT.fdr
    least_support: Annotated[
        Whole, Field(ge=2, le=1_000_000, description="Questions that a pattern needs, 2 or more.")
    ] = DEFAULT.least_support
    least_drop: Annotated[Share, Field(description="How much lower the mean has to be, 0 to 1.")] = DEFAULT.least_drop
    model: Annotated[YesNo, Field(description="Let the configured model word the suggestions.")] = False


def sum_up(caller: Caller, request: SessionFilter) -> Aggregates:
    """Return counts, rates and means of the sessions of a filter."""
    # Needs the store, which a client of another machine's server does without.
    from assay.analysis import offline  # noqa: PLC0415

    with caller.engine.store.reading(caller.scope) as work:
        return offline.sum_up(work, request.make_filter())


def find_patterns(caller: Caller, request: SessionFilter) -> Patterns:
    """Return what low scores have in common; nothing when nothing was asked yet."""
    from assay.analysis import offline  # noqa: PLC0415 - needs the store, as above

    with caller.engine.store.reading(caller.scope) as work:
        return offline.look_for_patterns(work, request.make_filter())


def analyze(caller: Caller, request: AnalyzeRequest) -> Analysis:
    """Sum up, look for patterns, and suggest what to change; raises `NothingMeasured` when no session fits."""
    from assay import wiring  # noqa: PLC0415 - needs the store, as above
    from assay.analysis import offline  # noqa: PLC0415 - the same

    store = caller.engine.store
    options = PatternOptions(fdr=request.fdr, least_support=request.least_support, least_drop=request.least_drop)
    if request.model and not wiring.has_model(caller.settings):
        raise InputError("no model is configured", remedy="Set model.url and model.name, or ask without model.")
    model = wiring.open_model(caller.settings, store, caller.scope) if request.model else None
    return offline.analyze(store, caller.scope, request.make_filter(), options=options, model=model)


AGGREGATE = Verb(
    name="analysis.aggregate",
    summary="Show what answered questions add up to: pass rate, scores, failures, iterations and the weekly trend.",
    act=acts.ANSWER_READ,
    request=SessionFilter,
    result=Aggregates,
    call=sum_up,
    http=HttpRoute("GET", "/api/evaluation/metrics"),
    client="aggregates",
    python="Research.aggregates",
)
PATTERNS = Verb(
    name="analysis.patterns",
    summary="Show what low scores have in common more often than chance would have it.",
    act=acts.PATTERN_READ,
    request=SessionFilter,
    result=Patterns,
    call=find_patterns,
    http=HttpRoute("GET", "/api/evaluation/patterns"),
    client="patterns",
    python="Research.patterns",
)
ANALYZE = Verb(
    name="analysis.run",
    summary="Sum up answered questions, find what low scores have in common, and suggest what to change.",
    act=acts.PATTERN_ANALYZE,
    request=AnalyzeRequest,
    result=Analysis,
    call=analyze,
    http=HttpRoute("POST", "/api/evaluation/analyze", (402, 502)),
    command="analyze",
    client="analyze",
    python="Research.analyze",
)

FAMILY = Family(name="evaluation", verbs=(AGGREGATE, PATTERNS, ANALYZE))
