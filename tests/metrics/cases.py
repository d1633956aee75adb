"""Small rankings for tests: grades in rank order instead of ids and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.metrics.aggregate import Scores
from assay.metrics.engine import MeasuredRun, ScoringRules, measure_mappings
from assay.metrics.spec import MetricSpec

UNJUDGED = None


def measured(metric: str, shown: Sequence[int | None], missed: Sequence[int] = (), *, level: int = 1) -> Scores:
    """One query: the grades of what was shown, best rank first (None: unjudged), and of what was not."""
    run = {f"d{place}": float(len(shown) - place) for place in range(len(shown))}
    qrels = {f"d{place}": grade for place, grade in enumerate(shown) if grade is not None}
    qrels |= {f"m{place}": grade for place, grade in enumerate(missed)}
    return over({"q": qrels}, {"q": run}, metric, level=level)


def value(metric: str, shown: Sequence[int | None], missed: Sequence[int] = (), *, level: int = 1) -> float:
    """Its value by definition."""
    return float(measured(metric, shown, missed, level=level).values[0])


def over(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]], metric: str, *, level: int = 1
) -> Scores:
    """One metric over several queries."""
    spec = MetricSpec.parse(metric)
    return whole(qrels, run, spec, rules=ScoringRules(level=level)).scores[spec]


def whole(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    *specs: MetricSpec,
    rules: ScoringRules | None = None,
) -> MeasuredRun:
    return measure_mappings(qrels, run, specs, rules)
