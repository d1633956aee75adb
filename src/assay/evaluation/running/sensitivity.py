"""How small a difference a set of cases can show, said before anybody compares anything.

With two runs the answer comes from how much they differ case by case. With one it is an estimate: two systems are taken
to differ from case to case as much as the cases do, which is what happens when their values correlate by one half.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.evaluation.results import RunResult
from assay.metrics.spec import MetricSpec
from assay.statistics import minimum_detectable_effect

FEWEST = 2
_ROUNDING = 1e-9
"""Values that differ by no more than this are equal: what a sum of decimals leaves over is not a difference."""


def detectable(runs: Sequence[RunResult], spec: MetricSpec) -> float | None:
    """The smallest difference seen with 80 % power; None: nothing can be said of so few or so equal cases."""
    columns = [one.per_case(spec) for one in runs[:2]]
    cases = [case for case in columns[0] if all(case in one and one[case].value is not None for one in columns)]
    if len(cases) < FEWEST:
        return None
    values = np.array([[one[case].value for case in cases] for one in columns], dtype=np.float64)
    spread = float(np.std(values[0] - values[1] if len(columns) > 1 else values[0], ddof=1))
    return minimum_detectable_effect(len(cases), spread) if spread > _ROUNDING else None


def sentence(runs: Sequence[RunResult], spec: MetricSpec) -> str:
    """The same for people."""
    effect = detectable(runs, spec)
    if effect is None:
        why = "the runs differ in no case" if len(runs) > 1 else "its cases do not differ in it"
        return f"What differences in {spec} this set can see cannot be estimated: {why}."
    if effect > 1.0:
        return f"This set cannot see differences in {spec}: it has too few cases."
    return f"This set can see differences of {effect:.3f} or more in {spec} (80 % power)."
