"""Two versions of a prompt side by side: what sessions came to under each, with intervals and p-values.

The unit is the question: sessions that asked the same are one value, their mean. Where enough questions were asked
under both versions these are compared as pairs, and the rest is left out; else the two sets are compared as independent
samples, which says less, for the questions differ too. P-values are adjusted by Holm over all metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from assay.analysis.asked import question_key
from assay.records.research_log import ResearchSession
from assay.statistics.checks import Floats
from assay.statistics.intervals import mean_interval
from assay.statistics.multiple import holm
from assay.statistics.permutation import sign_flip_test
from assay.statistics.two_samples import mean_difference

LEAST = 5
"""Questions of each version below which nothing is said of a metric."""
LEAST_PAIRS = 10
"""Questions asked under both versions from which on they are compared as pairs."""
ALPHA = 0.05


class PromptVerdict(StrEnum):
    """What the second version is, beside the first."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE_SEEN = "no_difference_seen"
    TOO_FEW = "too_few"


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedMetric:
    """One metric under both versions; a number that could not be made is None."""

    metric: str
    first: float | None
    second: float | None
    delta: float | None
    """Second minus first."""
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    questions: tuple[int, int]
    """With a value, under each version."""
    verdict: PromptVerdict


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptComparison:
    """Everything that is known of two versions."""

    first: str
    """As sessions name it: `prompt_id@version`."""
    second: str
    sessions: tuple[int, int]
    questions: tuple[int, int]
    shared: int
    """Questions that were asked under both."""
    paired: bool
    metrics: tuple[ComparedMetric, ...]


class _Metric(NamedTuple):
    read: Callable[[ResearchSession], float | None]
    higher_is_better: bool = True


_METRICS: Mapping[str, _Metric] = {
    "pass rate": _Metric(lambda one: None if one.passed is None else float(one.passed)),
    "overall": _Metric(lambda one: one.overall_score),
    "plan": _Metric(lambda one: one.plan_score),
    "retrieval": _Metric(lambda one: one.retrieval_score),
    "answer": _Metric(lambda one: one.answer_score),
    "iterations": _Metric(lambda one: float(one.iterations), higher_is_better=False),
    "escalated": _Metric(lambda one: float(one.escalated), higher_is_better=False),
    "latency ms": _Metric(lambda one: one.latency_ms, higher_is_better=False),
}
_Values = Mapping[str, float]
"""By question."""


def compare_versions(
    first: tuple[str, Iterable[ResearchSession]],
    second: tuple[str, Iterable[ResearchSession]],
    *,
    rng: np.random.Generator,
) -> PromptComparison:
    """Compare the sessions of two versions, each given with its name."""
    one, two = list(first[1]), list(second[1])
    asked, also_asked = ({question_key(session) for session in sessions} for sessions in (one, two))
    paired = len(asked & also_asked) >= LEAST_PAIRS
    rows = [
        _compared(name, metric, (_values(one, metric), _values(two, metric)), paired=paired, rng=rng)
        for name, metric in {**_METRICS, **_dimensions(one + two)}.items()
    ]
    return PromptComparison(
        first=first[0],
        second=second[0],
        sessions=(len(one), len(two)),
        questions=(len(asked), len(also_asked)),
        shared=len(asked & also_asked),
        paired=paired,
        metrics=tuple(_adjusted(rows)),
    )


def _dimensions(sessions: Iterable[ResearchSession]) -> dict[str, _Metric]:
    names = sorted({name for session in sessions for name in session.scores})
    return {name: _Metric(lambda one, name=name: one.scores.get(name)) for name in names}  # type: ignore[misc] # mypy cannot infer a default's type


def _values(sessions: Iterable[ResearchSession], metric: _Metric) -> _Values:
    found: dict[str, list[float]] = {}
    for session in sessions:
        value = metric.read(session)
        if value is not None:
            found.setdefault(question_key(session), []).append(value)
    return {question: sum(values) / len(values) for question, values in found.items()}


def _compared(
    name: str, metric: _Metric, values: tuple[_Values, _Values], *, paired: bool, rng: np.random.Generator
) -> ComparedMetric:
    one, two = values
    if paired:
        shared = sorted(one.keys() & two.keys())
        one, two = {key: one[key] for key in shared}, {key: two[key] for key in shared}
    first, second = (np.array(list(found.values()), dtype=np.float64) for found in (one, two))
    bare = ComparedMetric(
        metric=name,
        first=float(first.mean()) if len(first) else None,
        second=float(second.mean()) if len(second) else None,
        delta=float(second.mean() - first.mean()) if len(first) and len(second) else None,
        low=None,
        high=None,
        p=None,
        p_adjusted=None,
        questions=(len(first), len(second)),
        verdict=PromptVerdict.TOO_FEW,
    )
    if min(len(first), len(second)) < LEAST:
        return bare
    low, high, p = _paired(second - first, rng) if paired else _independent(first, second, rng)
    return replace(bare, low=low, high=high, p=p, verdict=_direction(bare.delta or 0.0, metric))


def _paired(differences: Floats, rng: np.random.Generator) -> tuple[float | None, float | None, float]:
    interval = mean_interval(differences)
    return interval.low, interval.high, sign_flip_test(differences, rng=rng).p


def _independent(first: Floats, second: Floats, rng: np.random.Generator) -> tuple[float | None, float | None, float]:
    found = mean_difference(first, second, rng=rng)
    return found.low, found.high, found.p


def _direction(delta: float, metric: _Metric) -> PromptVerdict:
    return PromptVerdict.BETTER if (delta > 0.0) == metric.higher_is_better else PromptVerdict.WORSE


def _adjusted(rows: Sequence[ComparedMetric]) -> Iterable[ComparedMetric]:
    """Holm over the metrics that could be tested; a direction that could be chance is none."""
    tested = {row.metric: row.p for row in rows if row.p is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    for row in rows:
        if row.p is None:
            yield row
            continue
        p = float(adjusted[row.metric])
        verdict = row.verdict if p <= ALPHA and row.delta else PromptVerdict.NO_DIFFERENCE_SEEN
        yield replace(row, p_adjusted=p, verdict=verdict)
