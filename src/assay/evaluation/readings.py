"""What a run measured, case by case: all that a comparison or a gate needs to know of it.

A finished run gives one (`reading_of`), and so does a baseline file: a `Reading` does not show which of the
two it was.
`differing` names the fields in which two instruments or two subjects differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from assay.evaluation.judged_scores import without_spent
from assay.evaluation.results import RunResult
from assay.metrics.catalog import Better
from assay.metrics.inputs import LatencySummary, mean
from assay.metrics.operations import FailureCounts, failures, latency_summary
from assay.metrics.outcome_columns import OutcomeColumn
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseResult, CaseRun, CaseStatus, Outcome
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

    def values(self, metric: str) -> dict[str, float]:
        """The cases that have a value, sorted."""
        found = self.outcomes.get(metric, {})
        ordered = found.by_id() if isinstance(found, OutcomeColumn) else sorted(found.items(), key=itemgetter(0))
        return {case: outcome.value for case, outcome in ordered if outcome.value is not None}

    def mean(self, metric: str) -> float | None:
        """Over the cases that have a value; None when none has."""
        return mean(list(self.values(metric).values()))

    def latency(self) -> LatencySummary:
        """How long cases took."""
        return latency_summary(self._runs())

    def failures(self) -> FailureCounts:
        """How often cases failed."""
        return failures(self._runs())

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
    endings: dict[tuple[CaseStatus, ...], tuple[CaseStatus, ...]] = {}
    given: dict[str, list[CaseResult]] = {}
    for result in run.cases:
        given.setdefault(result.case_id, []).append(result)
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
        statuses={
            case: endings.setdefault(ended := tuple(result.status for result in results), ended)
            for case, results in given.items()
        },
        times={case: times for case, results in given.items() if (times := _times(results))},
        waited={case: waited for case, results in given.items() if (waited := _waiting_times(results))},
        lists={case: listed for case, results in given.items() if (listed := _first_list(results)) is not None},
        channels=_channels(run.cases),
        scoped=_find_leaks(run.cases),
        queries=queries or {},
        floors=run.floors,
        clusters=manifest.clusters,
        sample=manifest.sample,
        sealed=run.sealed,
        caveats=run.caveats,
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
