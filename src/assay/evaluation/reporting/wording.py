"""How numbers are written, the same in every report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay.evaluation.reporting.content import Query, Report, SummaryLine
from assay.evaluation.waterfall import LOSSES, EvidenceStep, GoldFate, LossStage, Waterfall
from assay.metrics.inputs import LatencySummary
from assay.presentation.wording import count_of

NOTHING = "-"
NO_FAILURES = "No query ended with an error or a time-out."
"""The text shown where `Report.failures` is empty."""


_DIGITS = {"USD": 4, "tokens": 0}
"""Digits after the point of units that are not times."""


def number(value: float | None, unit: str = "") -> str:
    """A share with three digits, a time without, money with four, tokens whole."""
    if value is None:
        return NOTHING
    if unit in _DIGITS:
        return f"{value:,.{_DIGITS[unit]}f} {unit}"
    return f"{value:,.3f}" if not unit else f"{_short(value)} {unit}"


def _short(value: float) -> str:
    digits = 2 if abs(value) < 1 else 1 if abs(value) < 10 else 0
    return f"{value:,.{digits}f}"


def interval(line: SummaryLine) -> str:
    """Both ends, or nothing where there is no interval."""
    if line.low is None and line.high is None:
        return ""
    return f"[{number(line.low)}, {number(line.high)}]"


def change(line: SummaryLine) -> str:
    """Against the baseline, in per cent of it, over how many pairs where those are not all cases."""
    return "" if line.change is None else f"{line.change * 100:+.1f} %{pairs(line)}"


def change_class(line: SummaryLine) -> str:
    """The class that colours a change: `up`, `down`, or none where it may be chance."""
    if not line.certain:
        return ""
    return "down" if line.is_worse else "up"


def pairs(line: SummaryLine) -> str:
    """Say over how many cases two runs were compared, where one of them has values beyond them."""
    if line.pairs is None or line.paired is None:
        return ""
    if line.paired != line.value:
        return f" over {count_of(line.pairs, 'pair')} ({number(line.paired, line.unit)})"
    return f" over {count_of(line.pairs, 'pair')}" if line.baseline_has_more else ""


def no_movers(report: Report) -> str:
    """Why a report with a baseline lists no query that moved."""
    if not report.moved_by:
        return f"Nothing could be compared with {report.baseline}."
    return f"No query's {report.moved_by} differs from {report.baseline}."


def floor(line: SummaryLine) -> str:
    """What is demanded."""
    if line.floor is None:
        return NOTHING
    sign = "≤" if line.lower_is_better else "≥"
    return f"{sign} {line.floor:g}{f' {line.unit}' if line.unit else ''}"


def join_counts(pairs: Iterable[tuple[str, int]]) -> str:
    """Counts by name, those of 0 left out."""
    return ", ".join(f"{count:,} {name}" for name, count in pairs if count)


def fate(gold: GoldFate) -> str:
    """What became of one gold item, in words."""
    if gold.stage is LossStage.REACHED:
        return f"rank {gold.rank}"
    if gold.dropped_by:
        return f"{gold.stage.value}: dropped by {gold.dropped_by}"
    if gold.stage is LossStage.BELOW_K:
        return f"rank {gold.rank}, below k"
    if gold.stage is LossStage.NOT_KNOWN:
        return f"not shown; not known whether {' or '.join(stage.value for stage in gold.between)}"
    return gold.stage.value


def losses(water: Waterfall) -> str:
    """Where items were lost, as one line; every known stage is named, also with 0."""
    lost = water.lost
    named = {
        LossStage.NOT_INDEXED: "not indexed",
        LossStage.NOT_A_CANDIDATE: "never a candidate",
        LossStage.OUT_OF_SCOPE: "filtered by scope",
        LossStage.LOST_IN_FUSION: "lost in fusion",
        LossStage.LOST_IN_RERANK: "lost in rerank or truncation",
        LossStage.BELOW_K: f"ranked below {water.k}",
        LossStage.NOT_CITED: "not cited",
        LossStage.ANSWER_WRONG: "answer wrong",
        LossStage.NOT_KNOWN: "not known where",
        LossStage.SYSTEM_FAILED: "the system failed",
    }
    return " | ".join(f"{words} {lost[stage]}" for stage, words in named.items() if lost.get(stage)) or "none lost"


def losses_by_stage(water: Waterfall) -> list[tuple[str, int]]:
    """Return how many items were lost at each stage that lost some, in the order of the steps."""
    lost = water.lost
    return [
        (stage.value, lost[stage])
        for stage in (*LOSSES.values(), LossStage.NOT_KNOWN, LossStage.SYSTEM_FAILED)
        if stage in lost
    ]


def is_failure(query: Query) -> bool:
    """Whether the system gave no list for a query, or wrongly declined or answered it."""
    return query.status not in ("ok", "skipped")


def query_kinds(query: Query) -> list[str]:
    """Return what a query can be filtered by: `missed`, `failed`, `lost`."""
    lost = any(before is not None and (query.values.get(name) or 0.0) < before for name, before in query.before.items())
    kinds = (("missed", query.missed), ("failed", is_failure(query)), ("lost", lost))
    return [name for name, holds in kinds if holds]


def query_values(query: Query) -> str:
    """Return every value of a query, with the baseline's, and how long it took, in one line."""
    values = (
        f"{name} {number(value)}"
        + (f" (baseline {number(query.before[name])})" if query.before.get(name) is not None else "")
        for name, value in query.values.items()
    )
    time = [number(query.milliseconds, "ms")] if query.milliseconds is not None else []
    kind = [query.category] if query.category else []
    return " · ".join([*kind, *values, *time])


def step_name(step: EvidenceStep, k: int) -> str:
    """A step as a funnel names it."""
    return f"within {k}" if step is EvidenceStep.WITHIN_K else step.value


def latencies(summary: LatencySummary) -> Iterator[str]:
    """p50, p95, p99 and the mean; values that are lower bounds because of timeouts are marked."""
    for name in ("p50", "p95", "p99", "mean"):
        shown = number(getattr(summary, name), "ms")
        yield f"at least {shown}" if name in summary.at_least else shown
