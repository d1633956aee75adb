"""The figures of a run, drawn with the chart kit: what the report and the page of a run both show."""

from __future__ import annotations

from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Breakdown, Report
from assay.evaluation.waterfall import Waterfall
from assay.metrics.operations import TOTAL
from assay.presentation.charts import Figure, FunnelStep, funnel, interval_bars, interval_charts, latency_histogram


def draw_intervals(report: Report) -> list[Figure]:
    """Draw the metrics that are better when higher, with their intervals; times and error rates stay in the table."""
    return interval_charts([(line.metric, line) for line in report.lines if not line.unit and not line.lower_is_better])


def draw_breakdown(breakdown: Breakdown) -> Figure | None:
    """Draw the first metric of each part; None where no part has one."""
    first = [(part.name, part.lines[0]) for part in breakdown.parts if part.lines]
    return interval_bars(first) if first else None


def draw_funnel(water: Waterfall) -> Figure:
    """Draw how many gold items passed each step, and of how many that is not known."""
    steps = [FunnelStep("gold", len(water.fates), 0)]
    steps += [
        FunnelStep(wording.step_name(step, water.k), water.reached(step), water.doubtful(step)) for step in water.steps
    ]
    return funnel(steps)


def draw_latency(report: Report) -> Figure | None:
    """Draw how long cases took, with the percentiles; None where nothing was timed."""
    total = report.latency.get(TOTAL)
    if total is None or not report.times:
        return None
    marks = [(name, getattr(total, name)) for name in ("p50", "p95", "p99")]
    given = [(f"{name} {wording.number(value, 'ms')}", value) for name, value in marks if value is not None]
    return latency_histogram(report.times, given)
