"""One query at a time: what was expected, what came, what it was worth; the worst first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.evaluation.readings import Reading
from assay.evaluation.reporting.content import Given, Query
from assay.evaluation.results import RunResult
from assay.evaluation.waterfall import Fate, Waterfall
from assay.metrics.catalog import Better
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult
from assay.records.runs import CaseStatus


class _Beside(NamedTuple):
    """What a case is looked at with."""

    dataset: Dataset | None
    cases: Mapping[str, Case]
    baseline: Reading | None


def queries_of(
    run: RunResult, dataset: Dataset | None, water: Waterfall | None, baseline: Reading | None
) -> tuple[Query, ...]:
    """Every case that was tried, the first repeat of each."""
    beside = _Beside(dataset, {} if dataset is None else {one.id: one for one in dataset.cases}, baseline)
    fates: dict[str, list[Fate]] = {}
    for fate in water.fates if water is not None else ():
        fates.setdefault(fate.case_id, []).append(fate)
    found = [
        _query(run, one, tuple(fates.get(one.case_id, ())), beside)
        for one in run.cases
        if one.repeat == 0 and one.status is not CaseStatus.SKIPPED
    ]
    return tuple(sorted(found, key=_badness))


def _badness(one: Query) -> tuple[bool, float, int, str]:
    """Failures first, then the lowest value of the first metric, then the most missed."""
    first = next(iter(one.values.values()), None)
    return one.status == CaseStatus.OK, 2.0 if first is None else first, -one.missed, one.id


def _query(run: RunResult, result: CaseResult, fates: tuple[Fate, ...], beside: _Beside) -> Query:
    case, dataset, retrieved = beside.cases.get(result.case_id), beside.dataset, result.retrieved
    return Query(
        id=result.case_id,
        text="" if case is None else case.query,
        category="" if case is None else case.category,
        status=result.status.value,
        values=_values(run, result.case_id),
        before=_before(result.case_id, beside.baseline),
        expected=fates,
        titles=_titles(dataset, [one.item for one in fates]),
        given=_given(result, case, dataset),
        milliseconds=result.total_ms,
        error=result.error,
        notes=() if retrieved is None else retrieved.notes,
    )


def _values(run: RunResult, case_id: str) -> dict[str, float | None]:
    """By metric. Those of which neither end is better, such as a channel's share, say nothing about one query."""
    told = {spec: cases for spec, cases in run.scores.items() if spec.entry.better is not Better.NEITHER}
    return {str(spec): cases[case_id].value for spec, cases in told.items() if case_id in cases}


def _before(case_id: str, baseline: Reading | None) -> dict[str, float | None]:
    if baseline is None:
        return {}
    return {name: cases[case_id].value for name, cases in baseline.outcomes.items() if case_id in cases}


def _given(result: CaseResult, case: Case | None, dataset: Dataset | None) -> tuple[Given, ...]:
    labels: Mapping[str, int] = {} if case is None else case.labels
    level = 1 if dataset is None else dataset.relevance_level
    ids = () if result.retrieved is None else result.retrieved.ids
    titles = _titles(dataset, list(ids))
    return tuple(
        Given(
            rank=rank,
            id=name,
            title=titles.get(name, ""),
            grade=labels.get(name),
            relevant=labels.get(name, level - 1) >= level,
        )
        for rank, name in enumerate(ids, start=1)
    )


def _titles(dataset: Dataset | None, names: list[str]) -> dict[str, str]:
    known = {} if dataset is None else dataset.by_id
    return {name: known[name].title for name in names if name in known and known[name].title}
