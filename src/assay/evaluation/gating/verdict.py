"""The question to a gate and its answer.

- Bounds are inclusive, with a tolerance for rounding.
- Verdicts.
- The question: a run, a baseline and the options.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, BadValue
from assay.evaluation.judged_scores import find_untrusted
from assay.evaluation.run_metrics import name_floors
from assay.metrics.spec import MetricSpec
from assay.records import values
from assay.records.fields import plain, require
from assay.records.run_results import GateResult, RuleVerdict, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.evaluation.comparison import Compared
    from assay.evaluation.readings import Reading
    from assay.records.run_results import Caveat
    from assay.statistics import Rules

__all__ = [
    "EXIT_CODES",
    "FAILURE_CEILINGS",
    "GateOptions",
    "Question",
    "RuleVerdict",
    "Status",
    "Verdict",
    "beyond",
    "order_rulings",
    "verdict_of_error",
    "word",
]

# --- Bounds are inclusive, with a tolerance for rounding ---


def beyond(value: float, bound: float) -> bool:
    """Whether a value is above a bound by more than rounding."""
    return value > bound and not math.isclose(value, bound, rel_tol=1e-9, abs_tol=1e-12)


# --- Verdicts ---
#
# One failed rule fails the gate. Without a failure, one rule that could not be decided leaves it `inconclusive`, which
# is never a pass.

EXIT_CODES = {Status.PASS: 0, Status.FAIL: 1, Status.INCONCLUSIVE: 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """All rules together."""

    run: str
    baseline: str | None
    """None: there was none to compare with."""
    dataset: str
    rules: tuple[RuleVerdict, ...]
    caveats: tuple[Caveat, ...] = ()
    """What a reader must know beside the numbers of run and baseline."""

    @property
    def status(self) -> Status:
        """The worst status of any rule; a gate in which no rule applied decides nothing."""
        found = {rule.status for rule in self.rules}
        for status in (Status.FAIL, Status.INCONCLUSIVE, Status.PASS):
            if status in found:
                return status
        return Status.INCONCLUSIVE

    @property
    def passed(self) -> bool:
        """Whether every rule that applies holds."""
        return self.status is Status.PASS

    @property
    def exit_code(self) -> int:
        """0 passed, 1 a regression, 2 inconclusive."""
        return EXIT_CODES[self.status]

    def of(self, status: Status) -> tuple[RuleVerdict, ...]:
        """The rules that came out so."""
        return tuple(rule for rule in self.rules if rule.status is status)

    def result(self) -> GateResult:
        """Return the verdict as every surface shows it."""
        return GateResult(
            status=self.status,
            passed=self.passed,
            run=self.run,
            baseline=self.baseline,
            dataset=self.dataset,
            rules=self.rules,
            caveats=self.caveats,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the same in JSON's own types."""
        shown: dict[str, Any] = plain(self.result())
        return shown

    def __repr__(self) -> str:
        return "\n".join(f"{word(ruling.status):<12}  {ruling.sentence}" for ruling in order_rulings(self))


def order_rulings(verdict: Verdict) -> list[RuleVerdict]:
    """Sort the rulings for readers: failures first, rules that do not apply last."""
    order = [Status.FAIL, Status.INCONCLUSIVE, Status.PASS, Status.NOT_APPLICABLE]
    return sorted(verdict.rules, key=lambda item: order.index(item.status))


def word(status: Status) -> str:
    """A status as it is printed."""
    return {Status.NOT_APPLICABLE: "-"}.get(status, status.value.upper())


def verdict_of_error(problem: AssayError, *, run: str, baseline: str | None) -> Verdict:
    """Return the verdict of a gate that could not run, for outputs that must be written even then."""
    one = RuleVerdict(
        rule="comparable", status=Status.INCONCLUSIVE, sentence=f"{problem}", evidence={"code": problem.code}
    )
    return Verdict(run=run, baseline=baseline, dataset="", rules=(one,))


# --- The question: a run, a baseline and the options ---

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
    """Values that must be reached, by metric; these replace the floors of the dataset."""
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
        object.__setattr__(self, "floors", name_floors(self.floors))


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
        names = find_untrusted(self.run.subject)
        return frozenset(metric for metric in self.run.metrics if MetricSpec.parse(metric).name in names)

    @property
    def floors(self) -> dict[str, float]:
        """Everything that must be reached; for what is better when lower, a floor is a ceiling."""
        return {**name_floors(self.run.floors), **self.options.floors}
