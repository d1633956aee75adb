"""The content of a report, before it is rendered: every page and file is written from one `Report`.

`gathering` fills it from a run; `markdown`, `page` and `files` show it. Nothing here is formatted or escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.evaluation.recommendations import Recommendation
from assay.evaluation.waterfall import GoldFate, Waterfall
from assay.metrics.inputs import LatencySummary
from assay.records.run_results import Caveat


class LineStatus(StrEnum):
    """The status of one number."""

    PASS = "PASS"  # noqa: S105 - a verdict
    DEGRADED = "DEGRADED"
    """Worse than the baseline beyond chance, within what is allowed."""
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    """Worse than allowed but within noise for these queries; or nothing could be compared."""
    NOT_GATED = "NOT GATED"
    """No floor and no baseline is given for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryLine:
    """One number of the summary."""

    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    """What the baseline has over the cases that both runs have a value for."""
    paired: float | None = None
    """What this run has over the same cases; None: as `value`."""
    pairs: int | None = None
    """Over how many cases the two were compared; None: nothing was compared case by case."""
    baseline_has_more: bool = False
    """Whether the baseline has values beyond the pairs, so that its own mean is another."""
    certain: bool = False
    """Whether the paired comparison shows a change beyond chance."""
    floor: float | None = None
    """What it must reach; for a latency, what it must not exceed."""
    lower_is_better: bool = False
    lowest: float | None = 0.0
    """The smallest value it can have; None: there is none."""
    highest: float | None = 1.0
    """The largest value it can have; None: there is none."""
    unit: str = ""
    """`ms` for a latency, empty for a share."""
    status: LineStatus = LineStatus.NOT_GATED
    scored: int | None = None
    """Cases behind it."""
    counted: str = ""
    """Where the system answers, the cases behind it in words: `22 of 145`."""
    others: str = ""
    """Cases without a value, by why."""

    @property
    def change(self) -> float | None:
        """Against the baseline over the same cases, as a share of it; None: nothing to compare with."""
        now = self.value if self.paired is None else self.paired
        if now is None or not self.baseline:
            return None
        return (now - self.baseline) / self.baseline

    @property
    def is_worse(self) -> bool:
        """Whether it is worse than the baseline by more than chance, as the paired comparison decided."""
        if not self.certain or self.change is None:
            return False
        return self.change > 0 if self.lower_is_better else self.change < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """One rule of the gate, and what it found."""

    rule: str
    status: LineStatus
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """One setting of the system; `before` is None where there is no other run to differ from."""

    name: str
    before: str | None
    now: str

    @property
    def differs(self) -> bool:
        """Whether it is not what it was."""
        return self.before is not None and self.before != self.now


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One value of a label, such as the category `comparative`, under every metric."""

    name: str
    cases: int
    lines: tuple[SummaryLine, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Breakdown:
    """The parts of a run by one label."""

    label: str
    parts: tuple[Part, ...]
    """Those with most queries first."""
    left_out: int = 0
    """Parts that are not shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """One result that the system showed."""

    rank: int
    id: str
    title: str = ""
    grade: int | None = None
    """None where it is unjudged."""
    relevant: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One query: what was expected, what came, what it was worth."""

    id: str
    text: str
    category: str = ""
    status: str = "ok"
    """How the case ended; `declined` or `answered` where it was wrong to do so."""
    values: Mapping[str, float | None] = field(default_factory=dict)
    """By metric; None: not scored."""
    before: Mapping[str, float | None] = field(default_factory=dict)
    """The same of the baseline."""
    expected: tuple[GoldFate, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    """Of documents, by id."""
    given: tuple[Given, ...] = ()
    milliseconds: float | None = None
    error: str = ""
    notes: tuple[str, ...] = ()

    @property
    def missed(self) -> int:
        """How many gold items were not shown within k."""
        return sum(1 for fate in self.expected if not fate.found)


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryMover:
    """One query whose value changed."""

    query_id: str
    text: str
    metric: str
    before: float
    now: float
    loss: bool
    """Whether it became worse, which for some metrics is a rise."""

    @property
    def change(self) -> float:
        """From the baseline to now."""
        return self.now - self.before


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The whole content of a report."""

    title: str
    run: str
    run_id: str
    dataset: str
    date: str
    """The day the run was started."""
    status: LineStatus
    verdict: str
    """The whole in a sentence."""
    rulings: tuple[Ruling, ...] = ()
    lines: tuple[SummaryLine, ...]
    counts: Mapping[str, int]
    """Cases by how they ended."""
    baseline: str = ""
    """What it is compared with; empty: with nothing."""
    configuration: tuple[Changed, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    latency: Mapping[str, LatencySummary] = field(default_factory=dict)
    """By stage, `total` first."""
    times: tuple[float, ...] = ()
    """Milliseconds of each case that was timed."""
    waterfall: Waterfall | None = None
    no_waterfall: str = ""
    """Why there is none."""
    moved_by: str = ""
    """The metric by which movers are chosen; empty: nothing could be compared."""
    movers: tuple[QueryMover, ...] = ()
    queries: tuple[Query, ...] = ()
    """The worst first."""
    recommendations: tuple[Recommendation, ...] = ()
    measured_with: tuple[tuple[str, str], ...] = ()
    """Fingerprints, seeds, versions."""
    caveats: tuple[Caveat, ...] = ()
    """What a reader must know beside the numbers."""
    metrics_json: Mapping[str, Any] = field(default_factory=dict)
    config_json: Mapping[str, Any] = field(default_factory=dict)

    @property
    def k(self) -> int | None:
        """How far down a reader looks."""
        return None if self.waterfall is None else self.waterfall.k

    @property
    def failures(self) -> tuple[Query, ...]:
        """The queries on which the system failed, those it wrongly declined or answered included."""
        return tuple(query for query in self.queries if query.error or query.status not in ("ok", "skipped"))
