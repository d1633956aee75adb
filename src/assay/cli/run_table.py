"""Runs as a table to read: what was measured, how sure, what is demanded, and how cases ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.evaluation.gating.verdict import beyond
from assay.evaluation.results import RunResult, count_scored, format_run_metric
from assay.evaluation.run_metrics import SHARES
from assay.formats.grid import grid
from assay.metrics.catalog import Better
from assay.metrics.operations import TOTAL
from assay.metrics.spec import MetricSpec

LATENCIES = ("p50", "p95", "p99")
_SHARE = {"channel_contribution": "found", "exclusive_contribution": "found alone"}


class _Extra(NamedTuple):
    """Which columns a table has beside value and interval."""

    counted: bool
    """How many cases count: where systems answer, since each metric of answers is over other questions."""
    bounds: bool
    """Where some case has no value: how far the mean could move."""

    def head(self) -> list[str]:
        return [*(["counted"] if self.counted else []), *(["worst to best"] if self.bounds else [])]

    def blanks(self) -> list[str]:
        return ["" for _ in self.head()]


def table(runs: Sequence[RunResult], floors: Mapping[str, float]) -> str:
    """One line a metric, the runs side by side; counts where systems answer, bounds where a case has no value."""
    extra = _Extra(
        counted=any(run.has_answers for run in runs),
        bounds=any(_bounds(run, spec) for run in runs for spec in run.aggregates),
    )
    head = ["metric", *(cell for run in runs for cell in (run.name, "[95 %]", *extra.head()))]
    rows = [[*_cells(runs, name, floors.get(name), extra), *_floor(runs, name, floors)] for name in _metrics(runs)]
    rows += [[*_of_run(runs, name, extra), *_floor(runs, name, floors)] for name in _run_metrics(runs)]
    rows += [[*_times(runs, name, extra), *_floor(runs, name, floors)] for name in LATENCIES]
    rows += [[*_rate(runs, name, extra), *_floor(runs, name, floors)] for name in runs[0].rates]
    return "\n".join(grid([[*head, *(["floor", "status"] if floors else [])], *rows]))


def _bounds(run: RunResult, spec: MetricSpec) -> str:
    """The mean had every case without a value come out badly, and had it come out well; empty: each has one."""
    one = run.aggregates.get(spec)
    if one is None or one.worst is None or one.best is None or one.value is None or one.worst == one.best:
        return ""
    return f"{min(one.worst, one.best):.3f} to {max(one.worst, one.best):.3f}"


def channel_table(runs: Sequence[RunResult]) -> str:
    """Return a line for each channel: how many results it found, and how many it alone; empty if not recorded."""
    specs = [spec for spec in _specs(runs) if spec.name in SHARES]
    if not any(run.value(spec) is not None for run in runs for spec in specs if spec in run.aggregates):
        return ""
    names = dict.fromkeys((spec.name, spec.cutoff) for spec in specs)
    head = ["channel", *(f"{run.name}: {_SHARE[name]} @{cutoff}" for run in runs for name, cutoff in names)]
    channels = dict.fromkeys(spec.parameter("channel") for spec in specs)
    return "\n".join(grid([head, *([channel, *_shares(runs, channel, names)] for channel in channels)]))


def _shares(runs: Sequence[RunResult], channel: str, names: Iterable[tuple[str, int | None]]) -> Iterator[str]:
    for run in runs:
        for name, cutoff in names:
            spec = MetricSpec(name=name, parameters=(("channel", channel),), cutoff=cutoff)
            yield _number(run.value(spec)) if spec in run.aggregates else "-"


def _specs(runs: Sequence[RunResult]) -> list[MetricSpec]:
    return list(dict.fromkeys(spec for run in runs for spec in run.shown))


def _metrics(runs: Sequence[RunResult]) -> list[str]:
    return [str(spec) for spec in _specs(runs) if spec.name not in SHARES]


def _metric_label(spec: MetricSpec, all_of_them: Sequence[MetricSpec]) -> str:
    """Return a metric's name with the parameters in which metrics of that name differ, defaults included."""
    alike = [other for other in all_of_them if other.name == spec.name]
    told = sorted({name for other in alike for name, _ in other.parameters})
    inner = ",".join(f"{name}={spec.parameter(name)}" for name in told)
    return f"{spec.name}{f'({inner})' if inner else ''}{'' if spec.cutoff is None else f'@{spec.cutoff}'}"


def _cells(runs: Sequence[RunResult], name: str, floor: float | None, extra: _Extra) -> Iterator[str]:
    spec = MetricSpec.parse(name)
    yield str(spec) if spec.is_ranking else _metric_label(spec, _specs(runs))
    for run in runs:
        one = run.aggregates.get(spec)
        yield "-" if one is None or one.value is None else beside_floor(one.value, floor)
        limits = None if one is None else one.interval
        yield "-" if limits is None else f"[{_number(limits.low)}, {_number(limits.high)}]"
        if extra.counted:
            yield count_scored(run, spec)
        if extra.bounds:
            yield _bounds(run, spec) or "-"


def beside_floor(value: float, floor: float | None) -> str:
    """A value with three digits, or as many as show on which side of its floor it is."""
    for digits in (3, 4, 5, 6):
        shown = f"{value:.{digits}f}"
        if floor is None or (float(shown) >= floor, float(shown) <= floor) == (value >= floor, value <= floor):
            return shown
    return f"{value:.9g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _run_metrics(runs: Sequence[RunResult]) -> list[str]:
    """Return the requested metrics of the whole run, without those that every table has."""
    asked = dict.fromkeys(str(spec) for run in runs for spec in run.run_metrics)
    return [name for name in asked if name not in LATENCIES and name not in runs[0].rates]


def _of_run(runs: Sequence[RunResult], name: str, extra: _Extra) -> Iterator[str]:
    yield name
    for run in runs:
        yield format_run_metric(MetricSpec.parse(name), run.value(name))
        yield from ["", *extra.blanks()]


def _times(runs: Sequence[RunResult], name: str, extra: _Extra) -> Iterator[str]:
    yield f"latency {name}"
    for run in runs:
        value = run.value(name)
        least = "at least " if _is_lower_bound(run, name) else ""
        yield "-" if value is None else f"{least}{value:.1f} ms"
        yield from ["", *extra.blanks()]


def _is_lower_bound(run: RunResult, name: str) -> bool:
    """Whether a latency may be larger, because cases ran out of time."""
    return TOTAL in run.latency and name in run.latency[TOTAL].at_least


def _rate(runs: Sequence[RunResult], name: str, extra: _Extra) -> Iterator[str]:
    yield name
    for run in runs:
        rate = run.rates[name]
        yield "-" if rate.value is None else f"{rate.value:.1%}"
        yield f"{rate.hits:,} of {rate.of:,}"
        yield from extra.blanks()


def _floor(runs: Sequence[RunResult], name: str, floors: Mapping[str, float]) -> Iterator[str]:
    if not floors:
        return
    floor = floors.get(name)
    lower = MetricSpec.parse(name).entry.better is Better.LOWER
    yield "" if floor is None else f"{'<=' if lower else '>='} {floor:g}"
    yield (
        ""
        if floor is None
        else ", ".join(
            _status(run.value(name), floor, lower=lower, lower_bound=_is_lower_bound(run, name)) for run in runs
        )
    )


def _status(value: float | None, floor: float, *, lower: bool, lower_bound: bool) -> str:
    if value is None:
        return "not measured"
    if beyond(value, floor) if lower else beyond(floor, value):
        return "missed"
    return "not known" if lower_bound else "met"


def describe_endings(run: RunResult) -> str:
    """Describe in one line how the cases ended."""
    counts = ", ".join(f"{count:,} {status}" for status, count in run.counts.items() if count)
    repeats = f", {run.manifest.repeats} times each" if run.manifest.repeats > 1 else ""
    took = sum(case.total_ms or 0.0 for case in run.cases) / 1000.0
    cases = f"{len(run.manifest.case_ids):,} cases of {run.manifest.dataset}{repeats}"
    return f"{run.name}: {cases}: {counts}. {took:.1f} s in all."
