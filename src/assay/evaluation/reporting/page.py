"""The report as one HTML file that fetches nothing, with its charts.

- Charts.
- The page.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Report
from assay.metrics.operations import TOTAL
from assay.presentation.charts import Figure, FunnelStep, funnel, interval_bars, interval_charts, latency_histogram
from assay.presentation.templates import CHARTS, STYLE, environment, read_shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from assay.evaluation.reporting.content import Breakdown, Report
    from assay.evaluation.waterfall import Waterfall


# --- Charts ---


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
        FunnelStep(wording.step_name(step, water.k), water.count_reached(step), water.doubtful(step))
        for step in water.steps
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


# --- The page ---
#
# `templates/report.html` says what is where, `templates/report.js` filters queries. Environment, style sheet and charts
# are those of the dashboard (`assay.presentation`).

FIRST_QUERIES = 50
"""Queries shown before "Show all" is pressed."""
MOST_QUERIES = 1000
"""Queries in one page: more would make it slow to open. The run's own files have them all."""
_FOLDER = Path(__file__).with_name("templates")
# A style can run nothing; a script runs only if it is one of those that the page was written with.
_POLICY = "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:"


def html_page(report: Report) -> str:
    """Return the whole file."""
    scripts = [read_shared(CHARTS), (_FOLDER / "report.js").read_text(encoding="utf-8")]
    total = report.latency.get(TOTAL)
    left_out = {} if total is None else {kind.value.replace("_", " "): count for kind, count in total.left_out.items()}
    text = (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            # Our own texts, which hold no words of anybody else: escaping would break them.
            policy=Markup(_policy(scripts)),  # noqa: S704
            style=Markup(read_shared(STYLE)),  # noqa: S704
            scripts=[Markup(script) for script in scripts],  # noqa: S704
            intervals=draw_intervals(report),
            funnel=None if report.waterfall is None else draw_funnel(report.waterfall),
            breakdowns=[(found, draw_breakdown(found)) for found in report.breakdowns],
            latency=draw_latency(report),
            untimed=wording.join_counts(left_out.items()),
        )
    )
    return text.lstrip() + "\n"


@cache
def _environment() -> Environment:
    return environment(_FOLDER, w=wording, FIRST_QUERIES=FIRST_QUERIES, MOST_QUERIES=MOST_QUERIES)


def _policy(scripts: Sequence[str]) -> str:
    """Let the page run these scripts and no other, by the hashes of their texts."""
    # A browser reads every line ending as a line feed, and hashes what it read.
    texts = [script.replace("\r\n", "\n").replace("\r", "\n") for script in scripts]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return _POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in hashes))
