"""What many traces come to: each measure with how many traces it was measured on, and why not on the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from assay import cpu_budget
from assay.errors import RecordNotFound
from assay.records.traces import TraceFault, TraceMeasure, TraceReport
from assay.traces.analysis import ABSTENTION, COST, GROUNDEDNESS, LATENCY, STALENESS, AnalysedTrace, AnalysisOptions

if TYPE_CHECKING:
    from assay.storage import Work

UNITS = {
    GROUNDEDNESS: "score from 0 to 5",
    ABSTENTION: "share of answers",
    STALENESS: "share of documents whose validity is known",
    LATENCY: "milliseconds",
    COST: "US dollars a trace",
}


def load_trace(work: Work, trace_id: str, options: AnalysisOptions | None = None) -> AnalysedTrace:
    """One trace; raises `RecordNotFound` where there is none of this id."""
    spans = work.traces.spans_of([trace_id]).get(trace_id)
    if not spans:
        raise RecordNotFound(
            f"there is no trace {trace_id!r} in this scope", remedy="See `assay traces list` for the ids."
        )
    trace = AnalysedTrace(spans)
    return AnalysedTrace(spans, work.traces.superseded(trace.documents), options)


def load_traces(
    work: Work,
    *,
    most: int,
    since: datetime | None = None,
    until: datetime | None = None,
    options: AnalysisOptions | None = None,
) -> Iterator[AnalysedTrace]:
    """The newest traces of a period, one by one."""
    for spans in work.traces.each(most=most, since=since, until=until):
        cpu_budget.check("reading the next trace")
        documents = AnalysedTrace(spans).documents
        yield AnalysedTrace(spans, work.traces.superseded(documents) if documents else {}, options)


def sum_up(
    work: Work,
    *,
    most: int,
    since: datetime | None = None,
    until: datetime | None = None,
    options: AnalysisOptions | None = None,
) -> TraceReport:
    """Sum up the newest traces of a period."""
    found: dict[str, list[float]] = {name: [] for name in UNITS}
    missing: dict[str, Counter[str]] = {name: Counter() for name in UNITS}
    faults: Counter[TraceFault] = Counter()
    looked_at = spans = 0
    judge = ""
    for trace in load_traces(work, most=most, since=since, until=until, options=options):
        looked_at += 1
        spans += len(trace.spans)
        faults.update(trace.faults)
        judge = trace.judge_name
        for check in trace.checks:
            if check.value is None:
                missing[check.name][check.reason] += 1
            else:
                found[check.name].append(check.value)
    return TraceReport(
        traces=work.traces.count(since=since, until=until),
        looked_at=looked_at,
        spans=spans,
        faults={fault: faults[fault] for fault in TraceFault},
        measures=tuple(_measure(name, found[name], missing[name]) for name in UNITS),
        judge=judge,
        since=since,
        until=until,
    )


def _measure(name: str, values: list[float], missing: Counter[str]) -> TraceMeasure:
    ordered = sorted(values)
    return TraceMeasure(
        name=name,
        unit=UNITS[name],
        measured=len(ordered),
        not_measured=dict(missing.most_common()),
        mean=math.fsum(ordered) / len(ordered) if ordered else None,
        p50=_quantile(ordered, 0.5),
        p95=_quantile(ordered, 0.95),
    )


def _quantile(ordered: list[float], share: float) -> float | None:
    """The smallest value that so large a share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
