"""Aggregates of many cases: scores in columns, means with their uncertainty, breakdowns, fingerprints.

- One metric over many cases, in columns.
- Fingerprints: values are comparable when these are equal.
- The mean and its uncertainty.
- An aggregate for each value of a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import BadValue
from assay.hashing import content_hash
from assay.metrics.catalog import Better
from assay.metrics.ordering import TIE_ORDER
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Outcome, OutcomeKind
from assay.records.run_results import MetricValue
from assay.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from assay.metrics.spec import MetricSpec


# --- One metric over many cases, in columns ---

KINDS = tuple(OutcomeKind)
"""Outcomes by the small number that represents them in a column."""
KIND_NUMBER = {kind: np.uint8(number) for number, kind in enumerate(KINDS)}
SCORED = KIND_NUMBER[OutcomeKind.SCORED]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Scores:
    """The outcomes of one metric."""

    spec: MetricSpec
    values: NDArray[np.float64]
    """By definition, also where the case is not scored: the recall of a query with nothing to find is 1. Never NaN."""
    kinds: NDArray[np.uint8]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which cases have a value that counts."""
        scored: NDArray[np.bool_] = self.kinds == SCORED
        return scored

    def count(self, kind: OutcomeKind) -> int:
        """How many cases ended so."""
        return int(np.count_nonzero(self.kinds == KIND_NUMBER[kind]))

    def outcome(self, case: int) -> Outcome:
        """What became of one case."""
        kind = KINDS[self.kinds[case]]
        return Outcome.scored(float(self.values[case])) if kind is OutcomeKind.SCORED else Outcome(kind=kind)

    def take(self, cases: NDArray[np.int64] | NDArray[np.bool_] | Sequence[int]) -> Scores:
        """Some of the cases."""
        return Scores(spec=self.spec, values=self.values[cases], kinds=self.kinds[cases])


def scores_of(spec: MetricSpec, outcomes: Iterable[Outcome]) -> Scores:
    """The same from outcomes that were computed case by case."""
    found = list(outcomes)
    values = np.array([0.0 if outcome.value is None else outcome.value for outcome in found], dtype=np.float64)
    kinds = np.array([KIND_NUMBER[outcome.kind] for outcome in found], dtype=np.uint8)
    return Scores(spec=spec, values=values, kinds=kinds)


# --- Fingerprints: values are comparable when these are equal ---

DEFINITIONS = 1
"""Raised when a formula changes, so that old values are never compared with new ones in silence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Instrument:
    """Every choice besides the metric's own that moves its value."""

    relevance_level: int = 1
    ranked_unit: str = "document"
    """What a ranking lists: `document`, `chunk`, `memory`, `entity`."""
    depth: int | None = None
    absent: str = "empty"
    """What a query without results counts as."""
    dataset: str = ""
    """The hash of the judgments, where it is known."""

    def fingerprint(self, spec: MetricSpec) -> str:
        """The hash of the metric and of these choices."""
        return content_hash(self.fields(spec))

    def fields(self, spec: MetricSpec) -> dict[str, object]:
        """What the hash is made of, to say which field differs."""
        return {
            "metric": spec.name,
            "cutoff": spec.cutoff,
            "parameters": spec.at_defaults(),
            "definitions": DEFINITIONS,
            "tie_order": TIE_ORDER,
            "relevance_level": self.relevance_level,
            "ranked_unit": self.ranked_unit,
            "depth": self.depth,
            "absent": self.absent,
            "dataset": self.dataset,
            **({"code": spec.entry.code} if spec.entry.code else {}),
        }


# --- The mean and its uncertainty ---
#
# A case without a value is never averaged in and never forgotten. `worst` and `best` are the mean if each such case
# had come out as badly or as well as the metric allows; questions that do not arise (`not_applicable`) cannot come out
# at all and stay outside.

LEVEL = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregate:
    """One metric over many cases."""

    spec: MetricSpec
    value: float | None
    """The mean of the scored cases; None when there is none."""
    scored: int
    others: Mapping[OutcomeKind, int]
    """How many cases ended in each other way; all of them are named, also with 0."""
    worst: float | None
    """None: unbounded on that side, or nothing to bound."""
    best: float | None
    interval: Interval | None
    fingerprint: str

    @property
    def cases(self) -> int:
        """Every case, scored or not."""
        return self.scored + sum(self.others.values())

    def as_json(self) -> dict[str, Any]:
        """The one shape of an aggregate on every surface."""
        interval = self.interval
        return {
            "metric": str(self.spec),
            "value": self.value,
            "scored": self.scored,
            "others": {kind.value: count for kind, count in self.others.items()},
            "worst": self.worst,
            "best": self.best,
            "interval": None if interval is None else [interval.low, interval.high],
            "interval_level": None if interval is None else interval.level,
            "interval_method": None if interval is None else interval.method,
            "fingerprint": self.fingerprint,
        }


def metric_values(aggregates: Mapping[MetricSpec, Aggregate]) -> dict[str, MetricValue]:
    """Return aggregates as results show them, by the name of the metric."""
    shown = {str(spec): aggregate.as_json() for spec, aggregate in aggregates.items()}
    return {
        name: MetricValue(**{**value, "interval": value["interval"] and tuple(value["interval"])})
        for name, value in shown.items()
    }


def aggregate(scores: Scores, instrument: Instrument | None = None) -> Aggregate:
    """The mean of a metric's cases, its counts, its bounds and its interval."""
    values = scores.values[scores.scored]
    others: dict[OutcomeKind, int] = {kind: scores.count(kind) for kind in KINDS if kind is not OutcomeKind.SCORED}
    missing = sum(others.values()) - others[OutcomeKind.NOT_APPLICABLE]
    entry = scores.spec.entry
    ends = (entry.lowest, entry.highest)
    worst_end, best_end = ends[::-1] if entry.better is Better.LOWER else ends
    return Aggregate(
        spec=scores.spec,
        value=float(values.mean()) if values.size else None,
        scored=int(values.size),
        others=others,
        worst=_mean_with_missing(values, missing, worst_end),
        best=_mean_with_missing(values, missing, best_end),
        interval=mean_interval(values, level=LEVEL, bounds=_bounds(ends)) if values.size else None,
        fingerprint=(instrument or Instrument()).fingerprint(scores.spec),
    )


def _mean_with_missing(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], missing: int, end: float | None
) -> float | None:
    """The mean if every missing case had this value."""
    if values.size + missing == 0 or (missing and end is None):
        return None
    return float((values.sum() + missing * (end or 0.0)) / (values.size + missing))


def _bounds(ends: tuple[float | None, float | None]) -> tuple[float, float] | None:
    low, high = ends
    return None if low is None or high is None else (low, high)


# --- An aggregate for each value of a label ---

UNLABELLED = "(none)"
"""Where cases without the label are counted, so that the parts add up to the whole."""


def breakdown(
    scores: Scores, labels: Sequence[str | Collection[str]], instrument: Instrument | None = None
) -> dict[str, Aggregate]:
    """One aggregate a label value, sorted. A case with several values (tags) counts under each of them."""
    if len(labels) != len(scores.values):
        raise BadValue(
            f"{len(scores.values)} cases have {len(labels)} labels",
            remedy="Give one label, or one collection of labels, for every case.",
        )
    return break_down(scores, group_places(labels), instrument)


def group_places(labels: Iterable[str | Collection[str]]) -> dict[str, NDArray[np.int64]]:
    """The places of the cases of each label value, sorted by value."""
    members: dict[str, list[int]] = {}
    for case, given in enumerate(labels):
        for label in (given,) if isinstance(given, str) else set(given) or (UNLABELLED,):
            members.setdefault(label or UNLABELLED, []).append(case)
    return {label: np.array(members.pop(label), dtype=np.int64) for label in sorted(members)}


def break_down(
    scores: Scores, members: Mapping[str, NDArray[np.int64]], instrument: Instrument | None = None
) -> dict[str, Aggregate]:
    """One aggregate for each label value, from the places of its cases."""
    return {label: aggregate(scores.take(places), instrument) for label, places in members.items()}
