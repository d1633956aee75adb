"""Compare runs over the same cases: paired differences, what moved, how alike the lists are, how long it took.

Runs are compared only when they were measured with the same instrument; else `NotComparable` names the fields that
differ. What differs in the subject is what changed, and is listed. The first run is the control.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from assay.errors import MissingExtra, NotComparable, NothingMeasured
from assay.evaluation.caveats import name_few, withhold
from assay.evaluation.differences import HEAD, cells, comparison_json, number, p_head
from assay.evaluation.pairing import (
    MetricChange,
    latency_changes,
    metric_changes,
    paired,
    shared_metrics,
)
from assay.evaluation.readings import METRICS, Reading, differing, lower_is_better, shared_instrument
from assay.formats.grid import grid
from assay.metrics.inputs import mean
from assay.records.caveats import Caveat, CaveatKind, caveats_about
from assay.records.outcome import OutcomeKind
from assay.records.plain import plain
from assay.records.run_results import (
    ComparedMetric,
    ComparedRun,
    ComparisonResult,
    Difference,
    LatencyChange,
    ListAgreement,
    Mover,
    OneSided,
)
from assay.statistics import Pairs, first_of_each_test, rank_agreement

MOST_MOVERS = 10
ABSENT = "absent"
"""What stands for a case that a run does not have."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Compared:
    """One run against the control."""

    control: Reading
    treatment: Reading
    metrics: Mapping[str, MetricChange]
    movers: tuple[Mover, ...]
    """The biggest first."""
    agreement: ListAgreement | None
    """None: one side did not keep its lists."""
    latency: tuple[LatencyChange, ...]
    one_sided: tuple[OneSided, ...]
    changed: tuple[Difference, ...]
    """What differs in the subject."""
    same_tests: tuple[tuple[str, ...], ...] = ()
    """Metrics that are functions of each other over these cases: each group is one test, and counts once in Holm."""

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What a reader must know beside the numbers of both runs; said once where it holds for both."""
        shared = [caveat for caveat in self.control.caveats if caveat in self.treatment.caveats]
        each = [
            replace(caveat, sentence=f"{name}: {caveat.sentence}")
            for name, reading in zip(self._names(), (self.control, self.treatment), strict=True)
            for caveat in reading.caveats
            if caveat not in shared
        ]
        return (*shared, *each, *map(_same_test_caveat, self.same_tests), *self._host_caveat())

    def _host_caveat(self) -> tuple[Caveat, ...]:
        """Times of two machines are shown and not compared."""
        if self.same_host or not self.latency:
            return ()
        hosts = [reading.host or "an unknown host" for reading in (self.control, self.treatment)]
        where = f"on {hosts[0]} and on {hosts[1]}" if hosts[0] != hosts[1] else f"each on {hosts[0]}"
        return (Caveat(kind=CaveatKind.LATENCY, sentence=f"Latencies are not compared: they were measured {where}."),)

    @property
    def same_host(self) -> bool:
        """Whether the times were taken on one machine; others say little of each other."""
        return bool(self.control.host) and self.control.host == self.treatment.host

    def rows(self) -> list[tuple[str, ...]]:
        """The table of metrics, its head first."""
        names = self._names()
        head = ("metric", *names, f"{names[1]} - {names[0]} [95 %]", p_head(len(self.metrics)), *HEAD)
        found = ((name, number(one.before), number(one.after), *cells(one.comparison)) for name, one in self._each())
        return [head, *found]

    def _names(self) -> tuple[str, str]:
        """What to call the two runs: told apart where their names are the same."""
        before, after = self.control.name, self.treatment.name
        return (before, after) if before != after else (f"{before} (A)", f"{after} (B)")

    def result(self) -> ComparisonResult:
        """Return the comparison as every surface shows it."""
        return ComparisonResult(
            control=_named(self.control),
            treatment=_named(self.treatment),
            metrics={name: _compared_metric(change) for name, change in self.metrics.items()},
            movers=self.movers,
            list_agreement=self.agreement,
            latency=self.latency,
            same_host=self.same_host,
            one_sided=self.one_sided,
            changed=self.changed,
            caveats=self.caveats,
        )

    def as_json(self) -> dict[str, object]:
        """Everything, for machines."""
        whole: dict[str, object] = plain(self.result())
        return whole

    def _each(self) -> Iterable[tuple[str, MetricChange]]:
        return self.metrics.items()

    def __repr__(self) -> str:
        return "\n".join(grid(self.rows()))


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RunsCompared:
    """Every later run against the first."""

    comparisons: tuple[Compared, ...]

    def as_json(self) -> dict[str, object]:
        """Everything, for machines."""
        return {"comparisons": [one.as_json() for one in self.comparisons]}

    def to_frame(self) -> Any:
        """A pandas table: one row a comparison and metric."""
        if find_spec("pandas") is None:
            raise MissingExtra("to_frame needs pandas, which is not installed", remedy="Install it: pip install pandas")
        return importlib.import_module("pandas").DataFrame(self._records())

    def _records(self) -> list[dict[str, object]]:
        return [
            {
                "control": one.control.name,
                "treatment": one.treatment.name,
                "metric": name,
                "before": change.before,
                "after": change.after,
                **comparison_json(change.comparison),
            }
            for one in self.comparisons
            for name, change in one.metrics.items()
        ]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.comparisons))


def compare_readings(readings: Sequence[Reading], *, seed: int = 0) -> RunsCompared:
    """Compare each later reading with the first."""
    control, *treatments = readings
    if not treatments:
        raise NotComparable(f"{control.name} is one run", remedy="Give two runs or more.")
    return RunsCompared(comparisons=tuple(compare_two(control, one, seed=seed) for one in treatments))


def compare_two(control: Reading, treatment: Reading, *, seed: int = 0) -> Compared:
    """Compare two readings; raises `NotComparable` when they were measured with different instruments."""
    metrics = comparable_metrics(control, treatment)
    rng = np.random.default_rng(seed)
    pairs = {metric: paired(control, treatment, metric) for metric in metrics}
    return Compared(
        control=control,
        treatment=treatment,
        metrics=_withhold_unjudged(control, treatment, metric_changes(pairs, rng=rng)),
        movers=movers(control, treatment, leading(metrics)),
        agreement=_agreement(control, treatment),
        latency=latency_changes(control, treatment, rng=rng),
        one_sided=_one_sided(control, treatment, metrics),
        changed=differing(control.subject, treatment.subject),
        same_tests=_same_tests(pairs),
    )


def _same_tests(pairs: Mapping[str, Pairs]) -> tuple[tuple[str, ...], ...]:
    """Metrics that are one test under several names, where anything changed at all."""
    groups: dict[str, list[str]] = {}
    for metric, first in first_of_each_test(pairs).items():
        if not np.array_equal(np.asarray(pairs[metric].control), np.asarray(pairs[metric].treatment)):
            groups.setdefault(first, []).append(metric)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _same_test_caveat(group: Sequence[str]) -> Caveat:
    return Caveat(
        kind=CaveatKind.REPEATS,
        sentence=f"{', '.join(group)} rise and fall together in every case: they are one test, and count once in "
        "Holm's correction.",
        metrics=tuple(group),
        count=len(group),
    )


def _withhold_unjudged(
    control: Reading, treatment: Reading, changes: Mapping[str, MetricChange]
) -> dict[str, MetricChange]:
    """Withhold the verdicts that unjudged results alone may explain."""
    return {
        metric: replace(
            change,
            comparison=withhold(change.comparison, control.caveats, treatment.caveats, metric),
        )
        for metric, change in changes.items()
    }


def comparable_metrics(control: Reading, treatment: Reading) -> tuple[str, ...]:
    """The metrics both have, measured alike; everything that stands in the way is an error with exit code 2."""
    untold = _untold(control) & _untold(treatment)
    metrics = tuple(metric for metric in shared_metrics(control, treatment) if metric not in untold)
    if not metrics:
        raise NotComparable(
            f"{control.name} and {treatment.name} share no metric",
            remedy=f"One has {', '.join(control.metrics)}; the other {', '.join(treatment.metrics)}. Run one again.",
        )
    found = _instrument_differences(control, treatment, metrics)
    if found:
        told = "; ".join([*map(str, found), *_case_differences(control, treatment)])
        raise NotComparable(
            f"{control.name} and {treatment.name} were measured with other instruments: {told}",
            remedy="Run both again over the same dataset with the same metrics.",
        )
    if not any(paired(control, treatment, metric).control for metric in metrics):
        raise NothingMeasured(
            f"no case has a value in both {control.name} and {treatment.name}",
            remedy="Look at the outcomes of both runs: what was sampled, what failed.",
        )
    return metrics


def _case_differences(control: Reading, treatment: Reading) -> Iterator[str]:
    """Which cases only one of the two has: a dataset without its hard cases must not look like a better system."""
    missing = [case for case in control.cases if case not in treatment.statuses]
    new = [case for case in treatment.cases if case not in control.statuses]
    if missing:
        yield f"{len(missing):,} cases of {control.name} are missing in {treatment.name}: {name_few(missing)}"
    if new:
        yield f"{len(new):,} cases of {treatment.name} are not in {control.name}: {name_few(new)}"


def _untold(reading: Reading) -> set[str]:
    """Metrics that no case could compute, because the system does not tell what they need."""
    return {name for caveat in caveats_about(reading.caveats, CaveatKind.UNTOLD) for name in caveat.metrics}


def _instrument_differences(control: Reading, treatment: Reading, metrics: Sequence[str]) -> tuple[Difference, ...]:
    """What differs; definitions of metrics follow from the rest, and are named only when nothing else differs."""
    found = differing(*(shared_instrument(one.instrument, metrics) for one in (control, treatment)))
    own = tuple(one for one in found if not one.field.startswith(f"{METRICS}."))
    return own or found


def leading(metrics: Sequence[str]) -> str:
    """The metric that movers are told by: the first nDCG, else the first of all."""
    return next((one for one in metrics if one.startswith("ndcg")), metrics[0])


def movers(control: Reading, treatment: Reading, metric: str, most: int = MOST_MOVERS) -> tuple[Mover, ...]:
    """The cases whose value changed most, the biggest change first."""
    left, right = control.values(metric), treatment.values(metric)
    moved = [case for case in left if case in right and left[case] != right[case]]
    moved.sort(key=lambda case: (-abs(right[case] - left[case]), case))
    queries = {**control.queries, **treatment.queries}
    return tuple(Mover(case, queries.get(case, ""), metric, left[case], right[case]) for case in moved[:most])


def is_loss(mover: Mover) -> bool:
    """Whether the case became worse."""
    return (mover.after > mover.before) == lower_is_better(mover.metric)


def _agreement(control: Reading, treatment: Reading) -> ListAgreement | None:
    if control.lists is None or treatment.lists is None:
        return None
    found = [
        rank_agreement(control.lists[case], treatment.lists[case])
        for case in sorted(control.lists.keys() & treatment.lists.keys())
    ]
    if not found:
        return None
    return ListAgreement(
        cases=len(found),
        rbo=mean([one.rbo for one in found]) or 0.0,
        jaccard=mean([one.jaccard for one in found]) or 0.0,
        top_changed=sum(one.top_changed for one in found),
    )


def _one_sided(control: Reading, treatment: Reading, metrics: Sequence[str]) -> tuple[OneSided, ...]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for metric in metrics:
        for case in sorted({*control.outcomes[metric], *treatment.outcomes[metric]}):
            kinds = _kind(control, metric, case), _kind(treatment, metric, case)
            if (OutcomeKind.SCORED in kinds) and kinds[0] != kinds[1]:
                groups.setdefault((case, *kinds), []).append(metric)
    return tuple(OneSided(case, tuple(names), *kinds) for (case, *kinds), names in sorted(groups.items()))


def _kind(reading: Reading, metric: str, case: str) -> str:
    found = reading.outcomes[metric].get(case)
    return ABSENT if found is None else found.kind.value


def _named(reading: Reading) -> ComparedRun:
    return ComparedRun(name=reading.name, run_id=reading.run_id, host=reading.host)


def _compared_metric(change: MetricChange) -> ComparedMetric:
    told: dict[str, Any] = comparison_json(change.comparison)
    limits = told.pop("interval")
    return ComparedMetric(
        before=change.before, after=change.after, interval=None if limits is None else tuple(limits), **told
    )
