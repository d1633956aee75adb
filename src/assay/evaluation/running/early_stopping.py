"""Plan a run that stops when it is sure, and watch its cases: `assay run --until-sure --against BASELINE`.

- The plan: metric, order of the cases and the baseline's values, fixed in the manifest before the first case.
- Watching cases as they end.

The order is random, so that the cases seen so far say something about the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from assay.errors import BadValue, NotComparable
from assay.evaluation.readings import Reading
from assay.evaluation.until_sure import judge_votes, unit_of
from assay.metrics.catalog import Better, FromCases, FromRun
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseResult, Outcome, OutcomeKind, RunManifest
from assay.records.run_results import CaveatKind, caveats_about
from assay.statistics import EProcessRule
from assay.statistics.paired_sequential import LEAST_VOTES

# --- The plan ---

MOST_WITHOUT = 0.05
"""The share of cases that may have no value in the baseline through no fault of its system; as in the gate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SureAgainst:
    """What a run is compared with while it runs."""

    control: Reading
    metric: str | None = None
    """The metric that decides; None: the first nDCG, else the first metric of the run."""
    rule: EProcessRule = field(default_factory=EProcessRule)


class SurePlan(NamedTuple):
    """What the manifest holds of the test, and the cases in the order in which they are asked."""

    test: dict[str, Any]
    case_ids: tuple[str, ...]


def plan_test(
    asked: SureAgainst, metrics: Sequence[MetricSpec], case_ids: Sequence[str], clusters: Mapping[str, str], seed: int
) -> SurePlan:
    """Fix the test and the order of the cases; raises `BadValue` or `NotComparable` where there can be no test.

    Cases without a value in the baseline, such as those to which the metric does not apply, come last.
    """
    spec = _choose_metric(asked.metric, metrics)
    control = _control_values(asked.control, spec, case_ids)
    units: dict[str, list[str]] = {}
    for case in sorted(control):
        units.setdefault(unit_of(case, clusters), []).append(case)
    ordered = [case for unit in sorted(units, key=lambda name: _order(name, seed)) for case in units[unit]]
    test = {
        "metric": str(spec),
        "against": {"run_id": asked.control.run_id, "name": asked.control.name},
        "rule": asdict(asked.rule),
        "least_votes": LEAST_VOTES,
        "seed": seed,
        "control": {case: control[case] for case in ordered},
    }
    return SurePlan(test, (*ordered, *(case for case in case_ids if case not in control)))


def _choose_metric(named: str | None, metrics: Sequence[MetricSpec]) -> MetricSpec:
    usable = [spec for spec in metrics if _is_usable(spec)]
    if named is not None:
        spec = MetricSpec.parse(named)
        if spec not in usable:
            raise BadValue(
                f"--until-sure cannot decide by {spec}",
                remedy=f"It takes a metric of the run with a value a case and bounds: {', '.join(map(str, usable))}.",
            )
        return spec
    if not usable:
        raise BadValue(
            f"--until-sure cannot decide by {', '.join(map(str, metrics))}",
            remedy="Give --metrics one that has a value for each case, bounds and a direction, such as ndcg@10.",
        )
    return next((spec for spec in usable if spec.name == "ndcg"), usable[0])


def _is_usable(spec: MetricSpec) -> bool:
    """Whether each case has a value of its own between known bounds, one end of which is better."""
    entry = spec.entry
    bounded = entry.lowest is not None and entry.highest is not None
    return bounded and entry.better is not Better.NEITHER and not isinstance(entry.compute, FromCases | FromRun)


def _control_values(control: Reading, spec: MetricSpec, case_ids: Sequence[str]) -> dict[str, float | None]:
    """The baseline's value of each case; None where its system failed."""
    if caveats_about(control.caveats, CaveatKind.STOPPED_EARLY):
        raise NotComparable(
            f"the baseline {control.name} was itself stopped early",
            remedy="Compare with a run over all cases: run it again without --until-sure.",
        )
    found = control.outcomes.get(str(spec))
    if found is None:
        raise NotComparable(
            f"the baseline {control.name} was not measured with {spec}",
            remedy=f"It has: {', '.join(control.metrics)}. Name one of them under gate.metric, or with --metrics.",
        )
    without = [case for case in case_ids if case not in found or found[case].kind in _UNJUDGEABLE]
    if len(without) > MOST_WITHOUT * len(case_ids):
        raise NotComparable(
            f"the baseline {control.name} has no value of {spec} for {len(without):,} of {len(case_ids):,} cases, "
            f"such as {without[0]}",
            remedy="Run the baseline again over all cases.",
        )
    values = {case: found[case] for case in case_ids if case not in without}
    known = {case: outcome.value for case, outcome in values.items() if _counts(outcome)}
    if not known:
        raise NotComparable(
            f"{spec} has no value in any case of the baseline {control.name}",
            remedy="Name another metric under gate.metric, or with --metrics.",
        )
    return known


_UNJUDGEABLE = frozenset({OutcomeKind.JUDGE_FAILED, OutcomeKind.SKIPPED})


def _counts(outcome: Outcome) -> bool:
    return outcome.value is not None or outcome.kind is OutcomeKind.SYSTEM_FAILED


def _order(unit: str, seed: int) -> bytes:
    """A random order that is the same on every machine."""
    return hashlib.sha256(f"until-sure\x00{seed}\x00{unit}".encode()).digest()


# --- Watching cases as they end ---

ScoreOutcomes = Callable[[Sequence[CaseResult]], Mapping[str, Outcome]]
"""Gives what became of each case whose repeats have all ended, under the metric of the test."""


class SureWatch:
    """Notes how cases end, and says whether the test is decided.

    All that ended is scored anew at each look, because results are placed and scored together; so after a hundred
    cases it looks once in a hundredth of them. Looking less often changes no guarantee.
    """

    def __init__(self, manifest: RunManifest, score: ScoreOutcomes) -> None:
        self._manifest = manifest
        self._score = score
        self._waiting = 0
        self._ended: dict[tuple[str, int], CaseResult] = {}
        self._decided = False

    def add(self, results: Iterable[CaseResult]) -> None:
        """Note cases that ended."""
        for result in results:
            self._ended[result.case_id, result.repeat] = result
            self._waiting += 1

    @property
    def decided(self) -> bool:
        """Whether the comparison is decided by the cases that ended so far."""
        if not self._decided and self._waiting and self._waiting >= len(self._ended) // 100:
            self._waiting = 0
            standing = judge_votes(self._manifest, self._score(tuple(self._ended.values())))
            self._decided = standing.test.decision is not None
        return self._decided
