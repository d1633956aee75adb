"""The chart of a metric over runs: points with intervals, the baseline, verdicts, each leading to its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.evaluation.baselines import BaselineHead
from assay.evaluation.run_catalogue import CatalogueValue, RunEntry

WIDTH, HEIGHT = 900.0, 220.0
"""Of the drawing, in its own units."""
MARGIN = 14.0
_TONES = {"PASS": "is-pass", "FAIL": "is-fail", "INCONCLUSIVE": "is-warn"}


class HistoryPoint(NamedTuple):
    """One run in the drawing."""

    entry: RunEntry
    x: float
    y: float
    low: float | None
    """Where the interval ends; None: there is none."""
    high: float | None
    tone: str
    verdict: str
    says: str


class HistoryLevel(NamedTuple):
    """A line of the grid."""

    y: float
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunHistory:
    """A metric over runs of one dataset, oldest first."""

    metric: str
    dataset: str
    points: tuple[HistoryPoint, ...]
    levels: tuple[HistoryLevel, ...]
    line: str
    baseline: float | None
    """Where the line of the baseline is; None: there is no baseline, or it was not measured with this metric."""
    baseline_says: str
    without: int
    """Runs that have no value of this metric."""


def draw_history(
    entries: Sequence[RunEntry], metric: str, baselines: Mapping[str, BaselineHead], verdicts: Mapping[str, str]
) -> RunHistory | None:
    """Draw a metric over the runs of one dataset, oldest first; None where no run has a value."""
    known = [(entry, found) for entry in entries if (found := entry.metrics.get(metric)) and found.value is not None]
    if not known:
        return None
    scale = _Scale([found for _, found in known])
    step = (WIDTH - 2 * MARGIN) / max(len(known) - 1, 1)
    points = tuple(
        _point(entry, found, MARGIN + place * step if len(known) > 1 else WIDTH / 2, scale, verdicts)
        for place, (entry, found) in enumerate(known)
    )
    head = baselines.get(known[0][0].dataset)
    blessed = next((point for point in points if head is not None and point.entry.run_id == head.run_id), None)
    return RunHistory(
        metric=metric,
        dataset=known[0][0].dataset,
        points=points,
        levels=scale.levels,
        line=" ".join(f"{point.x:.1f},{point.y:.1f}" for point in points),
        baseline=None if blessed is None else blessed.y,
        baseline_says="" if blessed is None else f"baseline {blessed.entry.name}",
        without=len(entries) - len(known),
    )


class _Scale:
    """Places values between the lowest and the highest end of an interval."""

    def __init__(self, values: Sequence[CatalogueValue]) -> None:
        ends = [end for value in values for end in value if end is not None]
        low, high = min(ends), max(ends)
        room = (high - low) * 0.06 or 0.05
        # Shares stay between 0 and 1, so that no line of the grid is drawn where no value can be.
        share = low >= 0.0 and high <= 1.0
        self._low = max(low - room, 0.0) if share else low - room
        self._high = min(high + room, 1.0) if share else high + room

    def place(self, value: float) -> float:
        """Return how far below the top a value is drawn."""
        return HEIGHT * (self._high - value) / (self._high - self._low)

    @property
    def levels(self) -> tuple[HistoryLevel, ...]:
        """Five lines of the grid."""
        values = [self._low + (self._high - self._low) * part / 4 for part in range(5)]
        return tuple(HistoryLevel(self.place(value), f"{value:.2f}") for value in values)


def _point(
    entry: RunEntry, found: CatalogueValue, x: float, scale: _Scale, verdicts: Mapping[str, str]
) -> HistoryPoint:
    verdict = verdicts.get(entry.run_id, "")
    value = found.value or 0.0
    bounded = found.low is not None and found.high is not None
    span = f" [{found.low:.3f}, {found.high:.3f}]" if bounded else ", no interval"
    more = [entry.commit[:10], *entry.tags, verdict.lower()]
    about = ", ".join([f"{entry.started_at:%Y-%m-%d %H:%M}", *filter(None, more)])
    return HistoryPoint(
        entry=entry,
        x=x,
        y=scale.place(value),
        low=None if found.low is None else scale.place(found.low),
        high=None if found.high is None else scale.place(found.high),
        tone=_TONES.get(verdict, ""),
        verdict=verdict,
        says=f"{entry.name}: {value:.3f}{span} ({about})",
    )
