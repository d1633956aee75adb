"""Floors: the values that must be reached, by metric; for what is better when lower, such as a latency, ceilings.

Datasets, the settings file and programs declare them. Each is checked here before anything is held against it: a floor
of NaN or of -5 would be reached by every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import BadValue
from assay.metrics.catalog import Better
from assay.metrics.spec import MetricSpec
from assay.records import values
from assay.records.datasets import Dataset

NOT_QUALITY = frozenset({"operations", "indexing"})
"""The families of latencies, costs, failure rates and the index: what says nothing of the quality of results."""


def floors_of(dataset: Dataset) -> dict[str, float]:
    """What the dataset demands, by metric as it is spelt everywhere."""
    return named_floors(dataset.floors)


def named_floors(floors: Mapping[str, float]) -> dict[str, float]:
    """Floors by metric as it is spelt everywhere; people also write `latency p95`.

    Raises `BadValue` for a floor that is not a finite number within the range of its metric.
    """
    specs = {name: MetricSpec.parse(name.removeprefix("latency ")) for name in floors}
    return {str(spec): _check(spec, floors[name]) for name, spec in specs.items()}


def asks_quality(metric: str, floor: float) -> bool:
    """Whether a floor can be missed by bad results: not one of a latency or rate, nor one that every value reaches."""
    entry = MetricSpec.parse(metric).entry
    worst = entry.highest if entry.better is Better.LOWER else entry.lowest
    return entry.family not in NOT_QUALITY and floor != worst


def _check(spec: MetricSpec, floor: Any) -> float:
    value = values.finite(floor, f"floors.{spec}")
    lowest, highest = spec.entry.lowest, spec.entry.highest
    if (lowest is not None and value < lowest) or (highest is not None and value > highest):
        ends = (
            f"at least {lowest:g}" if lowest is not None else "",
            f"at most {highest:g}" if highest is not None else "",
        )
        raise BadValue(
            f"the floor {value:g} of {spec} is outside the range of the metric",
            remedy=f"Give a number of {' and '.join(filter(None, ends))}.",
        )
    return value
