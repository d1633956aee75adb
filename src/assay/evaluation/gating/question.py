"""What a gate is asked: a run, a baseline to hold it against, and how much is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.errors import BadValue
from assay.evaluation.comparing import Compared
from assay.evaluation.floors import named_floors
from assay.evaluation.judged_scores import untrusted
from assay.evaluation.readings import Reading
from assay.metrics.spec import MetricSpec
from assay.records import values
from assay.records.checked import require
from assay.statistics import Rules

FAILURE_CEILINGS = {"error_rate": 0.05}
"""In force unless floors say otherwise; errors, timeouts and empty responses together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateOptions:
    """How much is allowed."""

    drop: float = 0.05
    """The share of its baseline value that a metric may lose."""
    strict: bool = False
    """Any drop beyond the allowed share fails, significant or not."""
    latency_rise: float = 0.20
    lost: int = 0
    """Cases that may be lost since the baseline."""
    unjudgeable: float = 0.05
    """The share of cases that may have no value through no fault of the system."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """What must be reached, by metric, beside what the dataset demands; what is said here counts."""
    metric: str | None = None
    """The one metric whose change since the baseline decides, named before the run; None: every metric, with Holm."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.metric is not None:
            object.__setattr__(self, "metric", str(MetricSpec.parse(self.metric)))
        require(self, values.share, "drop", "unjudgeable")
        require(self, values.count, "lost", "seed")
        require(self, values.flag, "strict")
        if self.latency_rise != math.inf:  # infinite: latencies are not asked about
            values.finite(self.latency_rise, "latency_rise")
        if self.latency_rise < 0.0:
            raise BadValue(
                f"latency_rise {self.latency_rise:g} is below 0", remedy="Give a share of 0 or more, as 0.2."
            )
        object.__setattr__(self, "floors", named_floors(self.floors))


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One run before the gate."""

    run: Reading
    compared: Compared | None
    """With the baseline as the control; None: there is no baseline."""
    options: GateOptions = field(default_factory=GateOptions)
    draws: Rules | None = None
    """How many resamples and flips a test draws; None: as many as the cases can afford."""

    @property
    def baseline(self) -> Reading | None:
        """What the run is held against."""
        return None if self.compared is None else self.compared.control

    @property
    def diagnostic(self) -> frozenset[str]:
        """Metrics that decide nothing: a judge without a current calibration gave their values."""
        names = untrusted(self.run.subject)
        return frozenset(one for one in self.run.metrics if MetricSpec.parse(one).name in names)

    @property
    def floors(self) -> dict[str, float]:
        """Everything that must be reached; for what is better when lower, a floor is a ceiling."""
        return {**named_floors(self.run.floors), **self.options.floors}
