"""`/evaluation/runs`: list runs, show one with its verdict and losses, and compare two."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError, BadValue, BrokenSeal
from assay.evaluation.comparison import compare_readings, is_loss, leading
from assay.evaluation.reporting import Report
from assay.evaluation.reporting import wording as report_wording
from assay.evaluation.reporting.page import draw_funnel, draw_intervals, draw_latency
from assay.presentation import charts
from assay.records.run_results import CaveatKind
from assay.server.pages import debugged_run, filters
from assay.server.pages.page import LastFew, Page, Pages, PageView

if TYPE_CHECKING:
    from assay.evaluation.running.files import RunFolder

pages = Pages("runs")
NEWEST = 100
"""Runs on one page of the list, and runs offered for a comparison."""
QUERIES = 50
"""Queries on one page of a run."""
_MANY = 1_000_000
_LEADING = ("ndcg@10", "ndcg@5", "recall@5", "mrr", "recall_any@5")


class RunLine(NamedTuple):
    """One run in the list."""

    run_id: str
    name: str
    dataset: str
    system: str
    started_at: datetime
    cases: int
    values: dict[str, float | None] | None
    """Values by metric; None: the run was not finished, or its files were edited."""
    edited: bool = False
    """Whether one of its files was changed after Assay wrote it; its numbers are then hidden."""
    stopped_early: bool = False
    """Whether a sequential test ended the run: its numbers are not those of a full run."""


@pages.get("/evaluation/runs", acts.RUN_READ)
def list_runs(view: PageView) -> Page:
    """List all runs, or those of a dataset, newest first, in pages."""
    dataset = view.query_value("dataset")
    begin = filters.whole(view.query, "begin", most=_MANY) or 0
    datasets = _datasets(reversed(view.shelf.runs()))
    fitting = [run for run, name in datasets if dataset in ("", name)]
    lines = [line for line in map(_line, fitting[begin : begin + NEWEST]) if line is not None]
    metrics = list(dict.fromkeys(name for line in lines for name in line.values or ()))
    shown = [name for name in _LEADING if name in metrics][:4] or metrics[:4]
    return Page(
        template="runs.html",
        context={
            "runs": lines,
            "metrics": shown,
            "datasets": sorted({name for _, name in datasets}),
            "dataset": dataset,
            "fitting": len(fitting),
            "begin": begin,
            "next": view.with_query(begin=begin + NEWEST) if begin + NEWEST < len(fitting) else None,
            "before": view.with_query(begin=max(0, begin - NEWEST) or None) if begin else None,
        },
    )


def _datasets(runs: Iterable[RunFolder]) -> list[tuple[RunFolder, str]]:
    """Return each run with the name of its dataset; a run whose manifest cannot be read is left out."""
    found = []
    for run in runs:
        with suppress(AssayError):
            found.append((run, run.read_manifest(checked=False).dataset))
    return found


def _line(folder: RunFolder) -> RunLine | None:
    """Return a run as a line of the list; None if its files are damaged (the run's page shows the error)."""
    edited = False
    try:
        manifest = folder.read_manifest()
        result = folder.read_result() if folder.finished else None
    except BrokenSeal:
        manifest, result, edited = folder.read_manifest(checked=False), None, True
    except AssayError:
        return None
    return RunLine(
        edited=edited,
        stopped_early=any(_is_early_stop(caveat) for caveat in (result or {}).get("caveats", ())),
        run_id=manifest.run_id,
        name=manifest.name,
        dataset=manifest.dataset,
        system=manifest.system,
        started_at=manifest.started_at,
        cases=len(manifest.case_ids),
        values=None if result is None else {name: metric.get("value") for name, metric in result["metrics"].items()},
    )


def _is_early_stop(caveat: object) -> bool:
    """Whether a caveat of a result's file says so; those of version 0.1 are sentences."""
    return isinstance(caveat, dict) and caveat.get("kind") == CaveatKind.STOPPED_EARLY


@pages.get("/evaluation/runs/compare", acts.RUN_READ)
def compare_runs(view: PageView) -> Page | Response:
    """Compare two runs over the same cases."""
    control, treatment = view.query_value("control"), view.query_value("treatment")
    if not control or not treatment:
        raise BadValue("a comparison needs two runs", remedy="Choose a control and a treatment on the page of runs.")
    shelf = view.shelf
    found = compare_readings([shelf.read_run(control), shelf.read_run(treatment)], seed=0).comparisons[0]
    shown = [
        charts.ChartChange(name, seen.delta, *_limits(seen.interval), seen.verdict)
        for name, metric in found.metrics.items()
        if (seen := metric.comparison).delta is not None
    ]
    return Page(
        template="compare.html",
        context={
            "found": found,
            "figure": charts.changes(shown) if shown else None,
            "verdict": found.verdict(),
            "moved_by": leading(list(found.metrics)),
            "is_loss": is_loss,
        },
    )


def _limits(interval: Any) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


@pages.get("/evaluation/runs/{run_id}", acts.RUN_READ)
def show_run(view: PageView) -> Page:
    """Show one run: verdict, metrics, where evidence was lost, and every query."""
    report = _report(view)
    begin = filters.whole(view.query, "begin", most=_MANY) or 0
    words, only = view.query_value("words").casefold(), view.query_value("only")
    fitting = [
        query
        for query in report.queries
        if words in f"{query.id} {query.text}".casefold()
        and (only != "missed" or query.missed)
        and (only != "failed" or query in report.failures)
    ]
    water = report.waterfall
    return Page(
        template="run.html",
        context={
            "report": report,
            "intervals": draw_intervals(report),
            "funnel": None if water is None else draw_funnel(water),
            "lost": "" if water is None else report_wording.losses(water),
            "latency": draw_latency(report),
            "queries": fitting[begin : begin + QUERIES],
            "fitting": len(fitting),
            "begin": begin,
            "next": view.with_query(begin=begin + QUERIES) if begin + QUERIES < len(fitting) else None,
            "before": view.with_query(begin=max(0, begin - QUERIES) or None) if begin else None,
            "others": _others(view, report.run_id),
            "w": report_wording,
            "against": view.query_value("baseline"),
        },
    )


def _others(view: PageView, run_id: str) -> list[RunLine]:
    """Return finished runs that this one can be compared with, newest first."""
    lines = [_line(run) for run in reversed(view.shelf.runs()[-NEWEST:])]
    mine = next((line for line in lines if line is not None and line.run_id == run_id), None)
    return [
        line
        for line in lines
        if line is not None
        and line.values is not None
        and line.run_id != run_id
        and mine
        and line.dataset == mine.dataset
    ]


@pages.get("/evaluation/runs/{run_id}/queries/{query_id:path}", acts.RUN_READ)
def show_query(view: PageView) -> Page | Response:
    """Show one query of a run: every list, every gold item, and the baseline's list beside them."""
    return debugged_run.show_query(view, _report(view))


@pages.post("/evaluation/runs/{run_id}/queries/{query_id:path}", acts.LABEL_WRITE)
def grade_document(view: PageView) -> Response:
    """Keep the caller's grade of a document for a query of a run."""
    return debugged_run.grade_document(view)


def _report(view: PageView) -> Report:
    """Return the report of a run, from the cache if its files have not changed; computing it takes a second."""
    against = view.query_value("baseline")
    shelf = view.shelf
    run, baseline = shelf.find_run(view.path["run_id"]), shelf.find_run(against) if against else None
    # The tenant is part of the key, since a report depends on the datasets of the tenant.
    key = (view.scope.tenant, _stamp(run), None if baseline is None else _stamp(baseline))
    reports: LastFew[Report] = view.request.app.state.reports
    return reports.of(key, partial(shelf.report, run, baseline, view.settings.floors))


def _stamp(run: RunFolder) -> tuple[Path, int]:
    return run.path, run.result.stat().st_mtime_ns if run.finished else 0
