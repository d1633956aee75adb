"""What becomes of a run whose results cannot be placed: it measured nothing, and says why.

A case whose value hangs on results that could not be placed has no value (`metrics.anchors`). A few such cases are left
out, and counted. When they are more than `MOST_UNDECIDED` of the cases that could have a value, the rest is no fair
sample of the dataset any more: no number is given at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from assay.errors import NothingMeasured
from assay.metrics.anchors import is_unplaced
from assay.metrics.spec import MetricSpec
from assay.records.anchors import PlacedChunk
from assay.records.caveats import Caveat, CaveatKind
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseResult
from assay.records.outcome import Outcome

MOST_UNDECIDED = 0.05
"""The share of a metric's cases that may hang on unplaced results; as many as a gate allows to be unjudgeable."""
_REMEDY = "Return the text of each result, or its rel_path with its heading_path as the dataset spells them, such as"


class Unplaced(NamedTuple):
    """What could not be placed in a run."""

    metrics: tuple[str, ...]
    """Every metric with undecided cases, the one with the most of them first."""
    cases: int
    of: int
    """Cases that have a value or would have one."""
    results: int
    results_of: int
    low: float
    """The mean if every undecided case were a miss."""
    high: float

    @property
    def is_too_much(self) -> bool:
        """Whether what is left is too little to speak of a value."""
        return self.cases > MOST_UNDECIDED * self.of

    def __str__(self) -> str:
        return (
            f"{self.results:,} of {self.results_of:,} results cannot be placed in the dataset's documents, so "
            f"{self.cases:,} of {self.of:,} cases are undecided: {self.metrics[0]} is between {self.low:.3f} and "
            f"{self.high:.3f}"
        )


def find_unplaced(results: Iterable[CaseResult], scores: Mapping[MetricSpec, Mapping[str, Outcome]]) -> Unplaced | None:
    """What could not be placed, by the metric that it hurts most; None: every value is decided."""
    hurt = [found for spec, per_case in scores.items() if (found := _undecided(str(spec), per_case)) is not None]
    if not hurt:
        return None
    hurt.sort(key=lambda one: -one[1] / one[2])
    _, cases, of, total = hurt[0]
    chunks = _chunks(results)
    return Unplaced(
        metrics=tuple(metric for metric, *_ in hurt),
        cases=cases,
        of=of,
        results=sum(chunk.open_in is not None for chunk in chunks),
        results_of=len(chunks),
        low=total / of,
        high=(total + cases) / of,
    )


def placement_caveat(found: Unplaced) -> Caveat:
    """Say what could not be placed beside the values of the cases that could."""
    sentence = f"{found}. Those cases are left out of the means"
    return Caveat(
        kind=CaveatKind.PLACEMENT,
        sentence=f"{sentence}, and too many to trust these metrics." if found.is_too_much else f"{sentence}.",
        metrics=found.metrics,
        count=found.cases,
        of=found.of,
        figures={"results": found.results, "results_of": found.results_of, "worst": found.low, "best": found.high},
    )


def _undecided(metric: str, per_case: Mapping[str, Outcome]) -> tuple[str, int, int, float] | None:
    values = [outcome.value for outcome in per_case.values() if outcome.value is not None]
    cases = sum(map(is_unplaced, per_case.values()))
    return (metric, cases, cases + len(values), sum(values)) if cases else None


def refuse_undecided(name: str, dataset: Dataset, results: Iterable[CaseResult], found: Unplaced | None) -> None:
    """Raise `NothingMeasured` for a run of which too much could not be placed, or nothing is the dataset's."""
    chunks = _chunks(results)
    if chunks and not any(chunk.spots or chunk.open_in for chunk in chunks):
        raise NothingMeasured(
            f"no result that {name} returned is from the documents of {dataset.name}",
            remedy=f"It returned {_shown(chunks[0])}. {_REMEDY} {_example(dataset)}.",
        )
    if found is not None and found.is_too_much:
        first = next(chunk for chunk in chunks if chunk.open_in is not None)
        raise NothingMeasured(
            f"{name} is undecided on {dataset.name}: {found}",
            remedy=f"The first that cannot be placed is {_shown(first)}. {_REMEDY} {_example(dataset)}.",
        )


def _chunks(results: Iterable[CaseResult]) -> list[PlacedChunk]:
    given = [result.retrieved for result in results if result.retrieved is not None]
    return [chunk for one in given for chunk in one.passages if isinstance(chunk, PlacedChunk)]


def _shown(chunk: PlacedChunk) -> str:
    heading = f" > {chunk.heading_path}" if chunk.heading_path else ""
    return f"{chunk.rel_path + heading!r} {'with a text that is not in it' if chunk.text else 'without a text'}"


def _example(dataset: Dataset) -> str:
    supports = (support for case in dataset.cases if case.anchors for support in case.anchors.supports)
    first = next(supports)
    return f"{first.rel_path!r}{f' with {first.heading_path!r}' if first.heading_path else ''}"
