"""Reports of a run: the content once, rendered as Markdown and as one HTML file.

- `content`: the content of a report, before it is rendered.
- `wording`: how numbers are written.
- `building`: a report built from a run, and its files.
- `sections`: the status of each number, the judges, and each query.
- `markdown`: Markdown, and a query found by id or words.
- `page`: the HTML file and its charts.
"""

from __future__ import annotations

from pathlib import Path

from assay.evaluation.reporting.building import (
    CONFIG,
    DEFAULT_FOLDER,
    METRICS,
    Around,
    as_text,
    choose_name,
    gather,
    write_all,
)
from assay.evaluation.reporting.content import LineStatus, Report
from assay.evaluation.reporting.markdown import markdown
from assay.evaluation.reporting.page import html_page

__all__ = [
    "DEFAULT_FOLDER",
    "Around",
    "LineStatus",
    "Report",
    "gather",
    "markdown",
    "write_report",
]


def write_report(report: Report, folder: Path, *, name: str | None = None, html: bool = False) -> tuple[Path, ...]:
    """Write the report with `metrics.json` and `config.json` beside it; the paths, the one to open first."""
    called = name or choose_name(folder, report.date, report.run_id)
    page = {folder / f"{called}.html": html_page(report)} if html else {}
    contents = {
        **page,
        folder / f"{called}.md": markdown(report),
        folder / METRICS: as_text(report.metrics_json),
        folder / CONFIG: as_text(report.config_json),
    }
    write_all(contents)
    return tuple(contents)
