"""`/evaluation/runs`: list runs, show one with its verdict and losses, bless it, and compare two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError, BadValue, NotComparable, RunNotFound
from assay.evaluation.baselines import BaselineHead, shortcomings
from assay.evaluation.comparison import Compared, compare_two, is_loss, leading, movers
from assay.evaluation.gating import GateOptions
from assay.evaluation.reporting import Report
from assay.evaluation.reporting import wording as report_wording
from assay.evaluation.reporting.page import draw_funnel, draw_intervals, draw_latency
from assay.evaluation.run_catalogue import RunCatalogue, RunEntry
from assay.evaluation.running.live import find_current
from assay.presentation import charts
from assay.records.run_results import Mover
from assay.server.pages import debugged_run, filters
from assay.server.pages.lists import ListColumn, PageList
from assay.server.pages.page import LastFew, Page, Pages, PageView, go_to
from assay.server.pages.run_history import draw_history
from assay.verbs import runs as run_verbs

if TYPE_CHECKING:
    from assay.evaluation.running.files import RunFolder

pages = Pages("runs")
ADDRESS = "/evaluation/runs"
LISTED = 50
"""Runs on one page of the list."""
OFFERED = 100
"""Runs offered for a comparison."""
DRAWN = 200
"""Newest runs that the chart draws."""
QUERIES = 50
"""Queries on one page of a run."""
MOVED = 10
"""Queries that won, and as many that lost, on the page of a comparison."""
_MANY = 1_000_000
_LEADING = ("ndcg@10", "ndcg@5", "recall@5", "mrr", "recall_any@5")
STARTED = "started"


@pages.get(ADDRESS, acts.RUN_READ)
def list_runs(view: PageView) -> Page:
    """List the runs that match the filters, in pages, with a metric over time and a comparison to begin."""
    entries = list_entries(view)
    wanted = RunFilter.of(view)
    fitting = wanted.arrange([entry for entry in entries if wanted.fits(entry)])
    begin = filters.whole(view.query, "begin", most=_MANY) or 0
    shown = fitting[begin : begin + LISTED]
    baselines = view.shelf.baselines()
    metrics = _metrics_of(entry for entry in fitting if entry.has_numbers)
    metric = wanted.metric or (metrics[0] if metrics else "")
    drawn, groups = _drawn(fitting, wanted.dataset), group_runs(entries)
    verdicts = _verdicts(view, [*shown, *drawn])
    return Page(
        template="runs.html",
        context={
            "runs": shown,
            "metrics": metrics[:4],
            "all_metrics": metrics,
            "metric": metric,
            "datasets": sorted({entry.dataset for entry in entries}),
            "tags": sorted({tag for entry in entries for tag in entry.tags}),
            "wanted": wanted,
            "total": len(entries),
            "fitting": len(fitting),
            "begin": begin,
            "next": view.with_query(begin=begin + LISTED) if begin + LISTED < len(fitting) else None,
            "before": view.with_query(begin=max(0, begin - LISTED) or None) if begin else None,
            "baselines": baselines,
            "verdicts": verdicts,
            "history": draw_history(drawn, metric, baselines, verdicts),
            "choices": _choices(shown, entries, baselines),
            "pair": choose_pair(fitting, groups, baselines),
            "control_of": partial(find_control, groups=groups, baselines=baselines),
            "current": find_current(view.shelf.runs_folder),
            "may_start": view.grant.allows(acts.RUN_START.policy),
            "sorting": {name: view.with_query(sort=name, begin=None) for name in (STARTED, *metrics[:4])},
        },
        listed=PageList(
            view=view, name="runs", what="run", columns=_columns(metrics), rows=shown, total=len(fitting), sort=None,
            every=lambda: fitting,
        ),
    )  # fmt: skip


def _columns(metrics: Sequence[str]) -> list[ListColumn[RunEntry]]:
    """Return the columns of an exported list: all metrics, of which the page shows the first ones."""
    return [
        ListColumn(name="run_id", value=lambda run: run.run_id, sorts=False),
        ListColumn(name="name", value=lambda run: run.name, sorts=False),
        ListColumn(name="system", value=lambda run: run.system, sorts=False),
        ListColumn(name="dataset", value=lambda run: run.dataset, sorts=False),
        *(ListColumn(name=name, value=partial(_metric_value, name), sorts=False) for name in metrics),
        ListColumn(name="cases", value=lambda run: run.cases, sorts=False),
        ListColumn(name="commit", value=lambda run: run.commit or None, sorts=False),
        ListColumn(name="tags", value=lambda run: ", ".join(run.tags) or None, sorts=False),
        ListColumn(name="started_at", value=lambda run: run.started_at, sorts=False),
    ]


def _metric_value(name: str, run: RunEntry) -> float | None:
    found = run.metrics.get(name)
    return None if found is None else found.value


class RunFilter(NamedTuple):
    """Which runs are listed, and in which order."""

    dataset: str
    words: str
    tag: str
    state: str
    metric: str
    sort: str

    @classmethod
    def of(cls, view: PageView) -> RunFilter:
        """Return the filter that an address describes."""
        state = view.query_value("state")
        if state not in ("", "finished", "unfinished"):
            raise BadValue(f"there is no state {state!r}", remedy="Choose finished or unfinished.")
        return cls(
            dataset=view.query_value("dataset"),
            words=view.query_value("words").casefold(),
            tag=view.query_value("tag"),
            state=state,
            metric=view.query_value("metric"),
            sort=view.query_value("sort") or STARTED,
        )

    def fits(self, entry: RunEntry) -> bool:
        """Whether a run is listed."""
        about = f"{entry.name} {entry.system} {entry.run_id} {entry.commit}".casefold()
        return (
            self.dataset in ("", entry.dataset)
            and self.words in about
            and (not self.tag or self.tag in entry.tags)
            and (not self.state or entry.finished is (self.state == "finished"))
        )

    def sort_value(self, entry: RunEntry) -> float:
        """Return what a run is sorted by; those without a value come last."""
        found = entry.metrics.get(self.sort)
        return float("-inf") if found is None or found.value is None else found.value

    def arrange(self, entries: Sequence[RunEntry]) -> list[RunEntry]:
        """Return the runs in the order that was asked for; newest first unless a metric was named."""
        return list(entries) if self.sort == STARTED else sorted(entries, key=self.sort_value, reverse=True)


def list_entries(view: PageView) -> list[RunEntry]:
    """Return the runs of the caller, newest first; only who may start runs leaves what was read for the next time."""
    catalogue: RunCatalogue = view.request.app.state.run_catalogue
    return catalogue.entries(view.shelf.runs(), keep=view.grant.allows(acts.RUN_START.policy))


def _metrics_of(entries: Iterable[RunEntry]) -> list[str]:
    """Return the metrics of some runs, those that people look at first in front."""
    names = list(dict.fromkeys(name for entry in entries for name in entry.metrics))
    first = [name for name in _LEADING if name in names]
    return [*first, *(name for name in names if name not in first)]


def _drawn(fitting: Sequence[RunEntry], dataset: str) -> list[RunEntry]:
    """Return the runs that the chart draws, oldest first: of one dataset, since others cannot be compared."""
    finished = sorted((entry for entry in fitting if entry.has_numbers), key=lambda entry: entry.started_at)
    of = dataset or (finished[-1].dataset if finished else "")
    return [entry for entry in finished if entry.dataset == of][-DRAWN:]


def _verdicts(view: PageView, entries: Sequence[RunEntry]) -> dict[str, str]:
    with view.engine.store.reading(view.scope) as work:
        return work.results.verdicts(list({entry.run_id for entry in entries}))


Comparable = Mapping[tuple[str, str], Sequence[RunEntry]]
"""Finished runs by dataset and version, newest first: only those of one group can be compared."""


def group_runs(entries: Iterable[RunEntry]) -> Comparable:
    """Return the runs with numbers by dataset and version."""
    groups: dict[tuple[str, str], list[RunEntry]] = {}
    for entry in entries:
        if entry.has_numbers:
            groups.setdefault((entry.dataset, entry.dataset_version), []).append(entry)
    return groups


def find_control(entry: RunEntry, groups: Comparable, baselines: Mapping[str, BaselineHead]) -> RunEntry | None:
    """Return the run to compare another with: the baseline of its dataset, else the one before it; None: neither."""
    head = baselines.get(entry.dataset)
    before: RunEntry | None = None
    for other in groups.get((entry.dataset, entry.dataset_version), ()):
        if other.run_id == entry.run_id:
            continue
        if head is not None and other.run_id == head.run_id:
            return other
        if before is None and other.started_at < entry.started_at:
            before = other
            if head is None:
                return before
    return before


def choose_pair(
    fitting: Sequence[RunEntry], groups: Comparable, baselines: Mapping[str, BaselineHead]
) -> tuple[str, str]:
    """Return which runs are chosen for a comparison at first, control and treatment; empty where there are none."""
    for entry in sorted((one for one in fitting if one.has_numbers), key=lambda one: one.started_at, reverse=True):
        control = find_control(entry, groups, baselines)
        if control is not None:
            return control.run_id, entry.run_id
    return "", ""


def _choices(
    shown: Sequence[RunEntry], entries: Sequence[RunEntry], baselines: Mapping[str, BaselineHead]
) -> list[RunEntry]:
    """Return the runs offered for a comparison: the baselines, and what the page lists."""
    blessed = {head.run_id for head in baselines.values()}
    ids = dict.fromkeys([*blessed, *(entry.run_id for entry in shown)])
    by_id = {entry.run_id: entry for entry in entries if entry.has_numbers}
    found = [by_id[run_id] for run_id in ids if run_id in by_id]
    newest = [entry for entry in by_id.values() if entry.run_id not in ids][: max(0, OFFERED - len(found))]
    return [*found, *newest]


# --- Comparing two runs ---


class FoundComparison(NamedTuple):
    """A comparison with the readings that it was made of."""

    compared: Compared
    movers: Callable[[str], Sequence[Mover]]
    """Takes a metric; gives the queries that moved under it, the biggest change first."""


@pages.get(f"{ADDRESS}/compare", acts.RUN_READ)
def compare_runs(view: PageView) -> Page | Response:
    """Compare two runs over the same cases."""
    control, treatment = view.query_value("control"), view.query_value("treatment")
    if not control or not treatment:
        raise BadValue("a comparison needs two runs", remedy="Choose a control and a treatment on the page of runs.")
    found = _comparison(view, control, treatment)
    compared = found.compared
    metric = view.query_value("metric") or leading(list(compared.metrics))
    if metric not in compared.metrics:
        raise BadValue(f"the two runs do not share {metric!r}", remedy=f"Choose one of {', '.join(compared.metrics)}.")
    moved = found.movers(metric)
    shown = [
        charts.ChartChange(name, seen.delta, *_limits(seen.interval), seen.verdict)
        for name, change in compared.metrics.items()
        if (seen := change.comparison).delta is not None
    ]
    return Page(
        template="compare.html",
        context={
            "found": compared,
            "figure": charts.changes(shown) if shown else None,
            "verdict": compared.verdict(),
            "metric": metric,
            "lost": [mover for mover in moved if is_loss(mover)][:MOVED],
            "won": [mover for mover in moved if not is_loss(mover)][:MOVED],
            "moved": len(moved),
            "changed": [
                (change.field, *map(describe_value, (change.before, change.after))) for change in compared.changed
            ],
            "swap": f"{ADDRESS}/compare?{urlencode({'control': treatment, 'treatment': control})}",
        },
    )


def _comparison(view: PageView, control: str, treatment: str) -> FoundComparison:
    """Return the comparison of two runs, from the cache if their files have not changed; it takes a moment."""
    shelf = view.shelf
    runs = shelf.find_run(control), shelf.find_run(treatment)

    def compare() -> FoundComparison:
        before, after = (shelf.read_run(run.path.name) for run in runs)
        return FoundComparison(compare_two(before, after, seed=0), partial(movers, before, after, most=_MANY))

    made: LastFew[FoundComparison] = view.request.app.state.comparisons
    return made.of((view.scope.tenant, *map(_stamp, runs)), compare)


def _limits(interval: Any) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


def describe_value(value: Any) -> str:
    """Return a value of a configuration as people read it."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {describe_value(inner)}" for name, inner in value.items()) or "nothing"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(describe_value, value)) or "nothing"
    text = str(value)
    return f"{text[:15]}…" if text.startswith("sha256:") else text


# --- One run ---


@pages.get(f"{ADDRESS}/{{run_id}}", acts.RUN_READ)
def show_run(view: PageView) -> Page | Response:
    """Show one run: verdict, metrics, where evidence was lost, and every query; one in progress is shown live."""
    if not view.shelf.is_finished(view.path["run_id"]):
        return go_to(f"{ADDRESS}/{quote(view.path['run_id'])}/live")
    entries = list_entries(view)
    mine = next((entry for entry in entries if entry.run_id == view.path["run_id"]), None)
    head = None if mine is None else view.shelf.baselines().get(mine.dataset)
    against, problem = _default_baseline(view, head)
    report = _report(view, against)
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
            "others": _others(entries, mine, head),
            "dataset": report.dataset if mine is None else mine.dataset,
            "w": report_wording,
            "against": against,
            "not_against": problem,
            "blessed": head if head is not None and head.run_id == report.run_id else None,
            "wrong": _shortcomings(view),
            "may_bless": view.grant.allows(acts.RUN_BLESS.policy),
            "said": view.notice,
        },
    )


def _default_baseline(view: PageView, head: BaselineHead | None) -> tuple[str, str]:
    """Return the run to hold this one against, and why the blessed one cannot be; both may be empty."""
    if "baseline" in view.query:
        return view.query_value("baseline"), ""
    if head is None or head.run_id == view.path["run_id"]:
        return "", ""
    try:
        _report(view, head.run_id)
    except (NotComparable, RunNotFound) as problem:
        return "", f"It is not held against the baseline {head.run}: {problem.message}."
    return head.run_id, ""


def _shortcomings(view: PageView) -> list[str]:
    """Return why this run should not become a baseline; empty where the caller could not bless it anyway."""
    if not view.grant.allows(acts.RUN_BLESS.policy):
        return []
    shelf = view.shelf
    run = shelf.find_run(view.path["run_id"])

    def look() -> list[str]:
        try:
            return list(shortcomings(shelf.read_run(run.path.name), GateOptions(floors=view.settings.floors)))
        except AssayError as problem:
            return [problem.message]

    known: LastFew[list[str]] = view.request.app.state.shortcomings
    return known.of((view.scope.tenant, _stamp(run)), look)


@pages.post(f"{ADDRESS}/{{run_id}}/bless", acts.RUN_BLESS)
def bless(view: PageView) -> Response:
    """Make the run the baseline of its dataset."""
    note, despite = view.form_value("note"), view.form.get("despite", "").strip()
    blessed = view.call(run_verbs.BLESS, run_id=view.path["run_id"], note=note, despite=despite)
    before = f" It replaces {blessed.replaces}." if blessed.replaces else ""
    return view.go_to(f"{ADDRESS}/{blessed.run_id}", f"{blessed.name} is the baseline of {blessed.dataset}.{before}")


def _others(entries: Sequence[RunEntry], mine: RunEntry | None, head: BaselineHead | None) -> list[RunEntry]:
    """Return finished runs that this one can be compared with: the baseline, then the newest."""
    if mine is None:
        return []
    same = [
        entry
        for entry in entries
        if entry.has_numbers and entry.run_id != mine.run_id and entry.dataset == mine.dataset
    ]
    return sorted(same, key=lambda entry: head is None or entry.run_id != head.run_id)[:OFFERED]


@pages.get(f"{ADDRESS}/{{run_id}}/queries/{{query_id:path}}", acts.RUN_READ)
def show_query(view: PageView) -> Page | Response:
    """Show one query of a run: every list, every gold item, and the baseline's list beside them."""
    return debugged_run.show_query(view, _report(view, view.query_value("baseline")))


@pages.post(f"{ADDRESS}/{{run_id}}/queries/{{query_id:path}}", acts.LABEL_WRITE)
def grade_document(view: PageView) -> Response:
    """Keep the caller's grade of a document for a query of a run."""
    return debugged_run.grade_document(view)


def _report(view: PageView, against: str) -> Report:
    """Return the report of a run, from the cache if its files have not changed; computing it takes a second."""
    shelf = view.shelf
    run, baseline = shelf.find_run(view.path["run_id"]), shelf.find_run(against) if against else None
    # The tenant is part of the key, since a report depends on the datasets of the tenant.
    key = (view.scope.tenant, _stamp(run), None if baseline is None else _stamp(baseline))
    reports: LastFew[Report] = view.request.app.state.reports
    return reports.of(key, partial(shelf.report, run, baseline, view.settings.floors))


def _stamp(run: RunFolder) -> tuple[Path, int]:
    return run.path, run.result.stat().st_mtime_ns if run.finished else 0
