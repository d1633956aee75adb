"""Two versions of a prompt side by side: what sessions came to under each, with intervals and p-values.

The unit is the question: sessions of the same question are one value, their mean. Where enough questions were used
under both versions these are compared as pairs, and the rest is left out. Else the questions differ as well as the
prompts, either could have made the difference, and there is no verdict.

People look while sessions come in, so a p-value of all pairs so far would say "better" by chance far too often. Looks
are taken at 10, 20, 40, 80 ... pairs instead, in the order they were completed, and the k-th may spend 1 / (k (k + 1))
of the 5 %. The result of a look stays, so the verdict holds however often one looks. P-values are
those of the best look, as if it had spent all 5 %, adjusted by Holm over all metrics. See
`design/prompt-comparison.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from assay.analysis.questions import question_key
from assay.records.analysis import PromptComparison, PromptMetric, PromptVerdict
from assay.records.research_log import ResearchSession
from assay.statistics.independent_samples import mean_difference
from assay.statistics.inputs import Floats
from assay.statistics.intervals import mean_interval
from assay.statistics.paired_tests import holm, paired_t_test, sign_flip_test

LEAST = 5
"""Different questions of each version below which a metric has no interval."""
LEAST_PAIRS = 10
"""Shared questions needed to compare versions in pairs; the first look is at this number."""
MANY_PAIRS = 80
"""From here on the t distribution is close, and the smallest p that flips of signs can show is too large."""
ALPHA = 0.05


class _Metric(NamedTuple):
    read: Callable[[ResearchSession], float | None]
    higher_is_better: bool = True


_METRICS: Mapping[str, _Metric] = {
    "pass rate": _Metric(lambda session: None if session.passed is None else float(session.passed)),
    "overall": _Metric(lambda session: session.overall_score),
    "plan": _Metric(lambda session: session.plan_score),
    "retrieval": _Metric(lambda session: session.retrieval_score),
    "answer": _Metric(lambda session: session.answer_score),
    "iterations": _Metric(lambda session: float(session.iterations), higher_is_better=False),
    "escalated": _Metric(lambda session: float(session.escalated), higher_is_better=False),
    "latency ms": _Metric(lambda session: session.latency_ms, higher_is_better=False),
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
    seed = int(rng.integers(2**32))
    rows = []
    for name, metric in {**_METRICS, **_dimensions(one + two)}.items():
        row = _compare_metric(name, (_values(one, metric), _values(two, metric)), paired=paired, rng=rng)
        rows.append(_apply_looks(row, metric, _pair_differences(one, two, metric), seed) if paired else row)
    shared, metrics = len(asked & also_asked), tuple(_adjust_by_holm(rows))
    return PromptComparison(
        first=first[0],
        second=second[0],
        sessions=(len(one), len(two)),
        questions=(len(asked), len(also_asked)),
        shared=shared,
        paired=paired,
        metrics=metrics,
        caution=_caution_on_looks(metrics) if paired else _caution_on_questions(second[0], shared),
    )


def _caution_on_looks(metrics: Sequence[PromptMetric]) -> str:
    looks = [metric.looked_at for metric in metrics if metric.looked_at is not None]
    latest = f" The last look took in {max(looks)} pairs." if looks else ""
    return f"Verdicts are made at 10, 20, 40, 80 ... pairs, so looking again while sessions come in is safe.{latest}"


def _caution_on_questions(second: str, shared: int) -> str:
    return (
        f"There is no verdict: {shared} questions were asked under both versions, {LEAST_PAIRS} are needed. "
        "The difference may be that of the questions. Ask the same questions under both, or split them by chance: "
        f"assay prompts split {second.replace('@', ' ')}"
    )


def _dimensions(sessions: Iterable[ResearchSession]) -> dict[str, _Metric]:
    names = sorted({name for session in sessions for name in session.scores})
    return {name: _Metric(lambda session, name=name: session.scores.get(name)) for name in names}  # type: ignore[misc] # mypy cannot infer a default's type


def _values(sessions: Iterable[ResearchSession], metric: _Metric) -> _Values:
    found: dict[str, list[float]] = {}
    for session in sessions:
        value = metric.read(session)
        if value is not None:
            found.setdefault(question_key(session), []).append(value)
    return {question: sum(values) / len(values) for question, values in found.items()}


def _pair_differences(
    first_sessions: Sequence[ResearchSession], two: Sequence[ResearchSession], metric: _Metric
) -> Floats:
    """Return the differences of shared questions, in the order in which their pairs became complete.

    The first session of a question counts under each version, so a pair's difference never changes.
    """
    first, second = _first_values(first_sessions, metric), _first_values(two, metric)
    shared = sorted(
        first.keys() & second.keys(), key=lambda question: (max(first[question][0], second[question][0]), question)
    )
    return np.array([second[question][1] - first[question][1] for question in shared], dtype=np.float64)


def _first_values(sessions: Iterable[ResearchSession], metric: _Metric) -> dict[str, tuple[datetime, float]]:
    found: dict[str, tuple[datetime, float]] = {}
    for session in sorted(sessions, key=lambda session: (session.created_at, session.log_id)):
        value = metric.read(session)
        if value is not None:
            found.setdefault(question_key(session), (session.created_at, value))
    return found


def _apply_looks(row: PromptMetric, metric: _Metric, differences: Floats, seed: int) -> PromptMetric:
    """Add the results of the looks at 10, 20, 40 ... pairs, each with its share of alpha."""
    best, p, latest, size, look = 0.0, 1.0, None, LEAST_PAIRS, 1
    while size <= len(differences):
        seen = differences[:size]
        own = min(1.0, _p_of(seen, np.random.default_rng([seed, look])) * look * (look + 1))
        if own < p:
            best, p = float(seen.mean()), own
        latest, size, look = size, 2 * size, look + 1
    if latest is None:
        return replace(row, verdict=PromptVerdict.TOO_FEW)
    verdict = _direction(best, metric) if best else PromptVerdict.NO_DIFFERENCE_SEEN
    return replace(row, p=p, looked_at=latest, verdict=verdict)


def _p_of(differences: Floats, rng: np.random.Generator) -> float:
    """The p-value of one look: by flipping signs; from many pairs on, whose p flips cannot resolve, by the paired t."""
    by_t = paired_t_test(differences).p if len(differences) >= MANY_PAIRS else None
    return sign_flip_test(differences, rng=rng).p if by_t is None else by_t


def _compare_metric(
    name: str, values: tuple[_Values, _Values], *, paired: bool, rng: np.random.Generator
) -> PromptMetric:
    one, two = values
    if paired:
        shared = sorted(one.keys() & two.keys())
        one, two = {key: one[key] for key in shared}, {key: two[key] for key in shared}
    first, second = (np.array(list(found.values()), dtype=np.float64) for found in (one, two))
    bare = PromptMetric(
        metric=name,
        first=float(first.mean()) if len(first) else None,
        second=float(second.mean()) if len(second) else None,
        delta=float(second.mean() - first.mean()) if len(first) and len(second) else None,
        low=None,
        high=None,
        p=None,
        p_adjusted=None,
        questions=(len(first), len(second)),
        looked_at=None,
        verdict=PromptVerdict.TOO_FEW,
    )
    if min(len(first), len(second)) < LEAST:
        return bare
    if paired:
        interval = mean_interval(second - first)
        return replace(bare, low=interval.low, high=interval.high)
    found = mean_difference(first, second, rng=rng)
    return replace(bare, low=found.low, high=found.high, verdict=PromptVerdict.WITHHELD)


def _direction(delta: float, metric: _Metric) -> PromptVerdict:
    return PromptVerdict.BETTER if (delta > 0.0) == metric.higher_is_better else PromptVerdict.WORSE


def _adjust_by_holm(rows: Sequence[PromptMetric]) -> Iterable[PromptMetric]:
    """Holm over the metrics that could be tested; a direction that could be chance is none."""
    tested = {row.metric: row.p for row in rows if row.p is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    for row in rows:
        if row.p is None:
            yield row
            continue
        p = float(adjusted[row.metric])
        verdict = row.verdict if p <= ALPHA else PromptVerdict.NO_DIFFERENCE_SEEN
        yield replace(row, p_adjusted=p, verdict=verdict)
