"""Runs as a table to read: what was measured, how sure, what is demanded, and how cases ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.evaluation.results import RunResult
from assay.formats.grid import grid
from assay.metrics.entry import Better
from assay.metrics.spec import MetricSpec

LATENCIES = ("p50", "p95", "p99")


def table(runs: Sequence[RunResult], floors: Mapping[str, float]) -> str:
    """One line a metric, the runs side by side."""
    head = ["metric", *(cell for run in runs for cell in (run.name, "[95 %]"))]
    rows = [[*_cells(runs, name), *_floor(runs, name, floors)] for name in _metrics(runs)]
    rows += [[*_times(runs, name), *_floor(runs, name, floors)] for name in LATENCIES]
    rows += [[*_rate(runs, name), *_floor(runs, name, floors)] for name in runs[0].rates]
    return "\n".join(grid([[*head, *(["floor", "status"] if floors else [])], *rows]))


def _metrics(runs: Sequence[RunResult]) -> list[str]:
    return list(dict.fromkeys(str(spec) for run in runs for spec in run.aggregates))


def _cells(runs: Sequence[RunResult], name: str) -> Iterator[str]:
    yield name
    spec = MetricSpec.parse(name)
    for run in runs:
        one = run.aggregates.get(spec)
        yield "-" if one is None or one.value is None else f"{one.value:.3f}"
        limits = None if one is None else one.interval
        yield "-" if limits is None else f"[{_number(limits.low)}, {_number(limits.high)}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _times(runs: Sequence[RunResult], name: str) -> Iterator[str]:
    yield f"latency {name}"
    for run in runs:
        value = run.value(name)
        yield "-" if value is None else f"{value:.1f} ms"
        yield ""


def _rate(runs: Sequence[RunResult], name: str) -> Iterator[str]:
    yield name
    for run in runs:
        rate = run.rates[name]
        yield "-" if rate.value is None else f"{rate.value:.1%}"
        yield f"{rate.hits:,} of {rate.of:,}"


def _floor(runs: Sequence[RunResult], name: str, floors: Mapping[str, float]) -> Iterator[str]:
    if not floors:
        return
    floor = floors.get(name)
    lower = MetricSpec.parse(name).entry.better is Better.LOWER
    yield "" if floor is None else f"{'<=' if lower else '>='} {floor:g}"
    yield "" if floor is None else ", ".join(_status(run.value(name), floor, lower=lower) for run in runs)


def _status(value: float | None, floor: float, *, lower: bool) -> str:
    if value is None:
        return "not measured"
    reached = value <= floor if lower else value >= floor
    return "met" if reached else "missed"


def ended(run: RunResult) -> str:
    """How the cases ended, in a line."""
    counts = ", ".join(f"{count:,} {status}" for status, count in run.counts.items() if count)
    repeats = f", {run.manifest.repeats} times each" if run.manifest.repeats > 1 else ""
    return f"{run.name}: {len(run.manifest.case_ids):,} cases of {run.manifest.dataset}{repeats}: {counts}."
