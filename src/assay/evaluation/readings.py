"""What a run measured, case by case: all that a comparison or a gate needs to know of it.

A finished run gives one (`reading_of`), and so does a baseline file: a `Reading` does not show which of the
two it was.
`differing` names the fields in which two instruments or two subjects differ.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from assay.evaluation.judged_scores import without_spent
from assay.evaluation.reading_columns import CaseTimes, count_endings, read_endings, read_lists, read_times
from assay.evaluation.results import RunResult
from assay.evaluation.running.case_columns import CaseColumns
from assay.metrics.catalog import Better
from assay.metrics.inputs import LatencySummary, mean
from assay.metrics.operations import (
    FAILED,
    FailureCounts,
    count_failures,
    failures,
    latency_summary,
    summarise_times,
)
from assay.metrics.outcome_columns import NumberedCases, OutcomeColumn
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseResult, CaseRun, CaseStatus, Outcome, OutcomeKind
from assay.records.run_results import Caveat, Difference

METRICS = "metrics"
"""The field of an instrument that defines each metric, by its name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One run, read case by case."""

    name: str
    run_id: str
    dataset: str
    dataset_version: str
    instrument: Mapping[str, Any]
    subject: Mapping[str, Any]
    host: str = ""
    outcomes: Mapping[str, Mapping[str, Outcome]]
    """By metric, then by case."""
    of_run: Mapping[str, float] = field(default_factory=dict)
    """Values of requested metrics of the whole run; not known for a baseline."""
    noise: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By metric and case: how much the value varies between repeats (standard deviation); empty without repeats."""
    statuses: Mapping[str, tuple[CaseStatus, ...]]
    """By case, one for each repeat."""
    times: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Milliseconds by case, one for each repeat that was answered."""
    waited: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Milliseconds by case after which repeats that ran out of time were given up: they took at least as long."""
    lists: Mapping[str, tuple[str, ...]] | None = None
    """What was returned, by case; None where it was not kept."""
    channels: Mapping[str, int] = field(default_factory=dict)
    """In how many cases each channel found something; empty when the system does not report it."""
    scoped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Documents outside the scope of a case that were shown nevertheless, where the system reports it."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """The text of each case, where it is known."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """What the dataset demands, by metric."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """The cluster of each case that belongs together with others."""
    sample: float | None = None
    """The share of the dataset's cases in the run; None: all of them."""
    sealed: bool = True
    """Whether an edit of its files would show; files that version 0.1 wrote have no seal."""
    caveats: tuple[Caveat, ...] = ()
    """What a reader must know beside the numbers."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in the requested order."""
        return tuple(self.outcomes)

    @property
    def cases(self) -> tuple[str, ...]:
        """Every case, sorted, so that nothing depends on the order of a file."""
        return tuple(sorted(self.statuses))

    def column(self, metric: str) -> OutcomeColumn | None:
        """The outcomes of a metric, where they are a column in which no case is twice."""
        found = self.outcomes.get(metric)
        return found if isinstance(found, OutcomeColumn) and found.order.is_unique else None

    def values(self, metric: str) -> dict[str, float]:
        """The cases that have a value, sorted."""
        found = self.outcomes.get(metric, {})
        ordered = found.by_id() if isinstance(found, OutcomeColumn) else sorted(found.items(), key=itemgetter(0))
        return {case: outcome.value for case, outcome in ordered if outcome.value is not None}

    def mean(self, metric: str) -> float | None:
        """Over the cases that have a value; None when none has."""
        return mean(self._all_values(metric))

    def count_values(self, metric: str) -> int:
        """How many cases have a value."""
        return len(self._all_values(metric))

    def _all_values(self, metric: str) -> Sequence[float]:
        column = self.column(metric)
        if column is None:
            return list(self.values(metric).values())
        found = column.values_at(slice(None))
        return array("d", found[~np.isnan(found)].tobytes())

    def latency(self) -> LatencySummary:
        """How long cases took."""
        return latency_summary(self._runs()) if (found := self._times()) is None else summarise_times(*found)

    def _times(self) -> tuple[Sequence[float], Sequence[float], Mapping[OutcomeKind, int]] | None:
        """Times answered and waited for, and how many cases have none; None where they are not in columns."""
        if not (isinstance(self.times, CaseTimes) and isinstance(self.waited, CaseTimes)):
            return None
        if not isinstance(self.statuses, NumberedCases):
            return None
        answered, waited = self.times.known, self.waited.known
        if min(answered.min(initial=0.0), waited.min(initial=0.0)) < 0.0:
            return None  # refused where the cases are read one by one
        endings = count_endings(self.statuses)
        untimed = endings[CaseStatus.SKIPPED] + endings[CaseStatus.OK] - len(answered)
        failed = sum(endings[status] for status in FAILED) - len(waited)
        left_out = {OutcomeKind.SYSTEM_FAILED: failed, OutcomeKind.SKIPPED: untimed}
        # They are sorted further on, which takes little time where they are so already.
        return (
            np.sort(answered, kind="stable").tolist(),
            waited.tolist(),
            Counter({kind: count for kind, count in left_out.items() if count}),
        )

    def failures(self) -> FailureCounts:
        """How often cases failed."""
        if isinstance(self.statuses, NumberedCases):
            return count_failures(count_endings(self.statuses))
        return failures(self._runs())

    def in_tables(self) -> Reading:
        """The same with a table of cases for every column: quicker for whoever takes cases out one by one."""
        return replace(
            self,
            outcomes={metric: dict(cases.items()) for metric, cases in self.outcomes.items()},
            statuses=dict(self.statuses.items()),
            times=dict(self.times.items()),
            waited=dict(self.waited.items()),
            lists=None if self.lists is None else dict(self.lists.items()),
        )

    def called(self, case: str) -> str:
        """A case by its id and, where it is known, its text."""
        query = " ".join(self.queries.get(case, "").split())
        return f'{case} "{query}"' if query else case

    def _runs(self) -> list[CaseRun]:
        return [
            run
            for case in self.cases
            for run in _case_runs(self.statuses[case], self.times.get(case, ()), self.waited.get(case, ()))
        ]


def reading_of(run: RunResult, queries: Mapping[str, str] | None = None) -> Reading:
    """A finished run, read; `queries` are the texts of its cases, which a run does not keep."""
    manifest = run.manifest
    cases = _read_columns(run.cases) if isinstance(run.cases, CaseColumns) else _read_cases(run.cases)
    return Reading(
        name=run.name,
        run_id=run.run_id,
        dataset=manifest.dataset,
        dataset_version=manifest.dataset_version,
        instrument=manifest.instrument,
        subject=without_spent(manifest.subject),
        host=manifest.host,
        outcomes={str(spec): cases for spec, cases in run.scores.items()},
        of_run={str(spec): found.value for spec, found in run.run_metrics.items() if found.value is not None},
        noise={str(spec): dict(cases) for spec, cases in run.noise.items()},
        statuses=cases.statuses,
        times=cases.times,
        waited=cases.waited,
        lists=cases.lists,
        channels=_channels(cases.with_more),
        scoped=_find_leaks(cases.with_more),
        queries=queries or {},
        floors=run.floors,
        clusters=manifest.clusters,
        sample=manifest.sample,
        sealed=run.sealed,
        caveats=run.caveats,
    )


class _ReadCases(NamedTuple):
    """What is read out of the cases of a run."""

    statuses: Mapping[str, tuple[CaseStatus, ...]]
    times: Mapping[str, tuple[float, ...]]
    waited: Mapping[str, tuple[float, ...]]
    lists: Mapping[str, tuple[str, ...]]
    with_more: Iterable[CaseResult]
    """Results that may tell of channels and scopes."""


def _read_columns(cases: CaseColumns) -> _ReadCases:
    return _ReadCases(
        read_endings(cases),
        read_times(cases, CaseStatus.OK),
        read_times(cases, CaseStatus.TIMEOUT),
        read_lists(cases),
        cases.more.values(),
    )


def _read_cases(cases: Sequence[CaseResult]) -> _ReadCases:
    endings: dict[tuple[CaseStatus, ...], tuple[CaseStatus, ...]] = {}
    given: dict[str, list[CaseResult]] = {}
    for result in cases:
        given.setdefault(result.case_id, []).append(result)
    return _ReadCases(
        statuses={
            case: endings.setdefault(ended := tuple(result.status for result in results), ended)
            for case, results in given.items()
        },
        times={case: times for case, results in given.items() if (times := _times(results))},
        waited={case: waited for case, results in given.items() if (waited := _waiting_times(results))},
        lists={case: listed for case, results in given.items() if (listed := _first_list(results)) is not None},
        with_more=cases,
    )


def _times(results: Iterable[CaseResult]) -> tuple[float, ...]:
    return tuple(
        result.total_ms for result in results if result.status is CaseStatus.OK and result.total_ms is not None
    )


def _waiting_times(results: Iterable[CaseResult]) -> tuple[float, ...]:
    return tuple(
        result.total_ms for result in results if result.status is CaseStatus.TIMEOUT and result.total_ms is not None
    )


def _first_list(results: Iterable[CaseResult]) -> tuple[str, ...] | None:
    return next((result.retrieved.ids for result in results if result.retrieved is not None), None)


def _channels(results: Iterable[CaseResult]) -> dict[str, int]:
    found: dict[str, int] = {}
    for result in results:
        seen = None if result.retrieved is None else result.retrieved.seen
        for name, ids in ((seen and seen.channels) or {}).items():
            found[name] = found.get(name, 0) + bool(ids)
    return dict(sorted(found.items()))


def _find_leaks(results: Iterable[CaseResult]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for result in results:
        seen = None if result.retrieved is None else result.retrieved.seen
        if result.retrieved is not None and seen is not None and seen.excluded:
            found.setdefault(result.case_id, set()).update(set(seen.excluded) & set(result.retrieved.ids))
    return {case: tuple(sorted(leaked)) for case, leaked in sorted(found.items())}


def _case_runs(statuses: Sequence[CaseStatus], times: Sequence[float], waited: Sequence[float]) -> Iterator[CaseRun]:
    """Times stand for the repeats that were answered, `waited` for those that ran out of time, in their order."""
    left = {CaseStatus.OK: iter(times), CaseStatus.TIMEOUT: iter(waited)}
    for status in statuses:
        yield CaseRun(status=status, total_ms=next(left[status], None) if status in left else None)


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Every field that differs, nested ones by their dotted name, sorted."""
    left, right = dict(_flat(before)), dict(_flat(after))
    return tuple(
        Difference(name, left.get(name), right.get(name))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    )


def limit_instrument(instrument: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    """An instrument with the definitions of these metrics alone: runs may share a few metrics and have others."""
    defined = instrument.get(METRICS)
    if not isinstance(defined, Mapping):
        return dict(instrument)
    return {**instrument, METRICS: {name: defined[name] for name in metrics if name in defined}}


def lower_is_better(metric: str) -> bool:
    """Whether less is good news."""
    return MetricSpec.parse(metric).entry.better is Better.LOWER


def has_direction(metric: str) -> bool:
    """Whether one way is better at all."""
    return MetricSpec.parse(metric).entry.better is not Better.NEITHER


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", list(value) if isinstance(value, tuple) else value
