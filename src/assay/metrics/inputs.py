"""What metric functions are given: one case, a whole run, and ways to read a list of results.

- One case.
- A whole run: times, failures, judging, the index.
- Results by chunk, by document or by class of interchangeable documents.
- The first k results.
- Means and nearest-rank percentiles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import BadValue
from assay.metrics.spec import MetricSpec
from assay.records.answers import NO_CLASSES, EquivalenceClasses, GivenAnswer, RubricVerdict
from assay.records.evaluations import Outcome, OutcomeKind, Retrieved, Seen
from assay.records.judging import RubricKind, StoredVerdict, VerdictOutcome

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from assay.metrics.spec import MetricSpec
    from assay.records.datasets import Case, Dataset
    from assay.records.evaluations import Rate


# --- One case ---


@dataclass(frozen=True, slots=True)
class CaseView:
    """The query, the results, and the metric that is computed."""

    spec: MetricSpec
    case: Case
    """The case of the dataset: query, grades, reference answer, tags."""
    given: Retrieved
    """Everything the system returned."""
    dataset: Dataset
    judges: frozenset[RubricKind] = frozenset()
    """What judges decided in this run."""
    verdicts: Mapping[RubricKind, StoredVerdict] = field(default_factory=dict)
    """Their verdicts on this case."""

    @property
    def query(self) -> str:
        """The query of the case."""
        return self.case.query

    @property
    def ids(self) -> tuple[str, ...]:
        """The documents that were returned, best first."""
        return self.given.ids

    @property
    def answer(self) -> GivenAnswer | None:
        """The answer in words; None: the system gave none."""
        return self.given.answer

    @property
    def k(self) -> int:
        """The metric's cutoff; the number of results where it has none."""
        return self.spec.cutoff or max(len(self.given.ids), 1)

    @property
    def seen(self) -> Seen:
        """How the list was made; empty for a system that does not report it."""
        return self.given.seen or Seen()

    @property
    def relevant(self) -> frozenset[str]:
        """The documents that count as relevant."""
        return relevant_to(self.case, self.dataset)

    @property
    def grades(self) -> Mapping[str, int]:
        """The grade of every document that was judged for this case."""
        return self.case.labels

    @property
    def classes(self) -> EquivalenceClasses:
        """Which documents are interchangeably right."""
        return self.case.equivalence or NO_CLASSES

    def parameter(self, name: str) -> str:
        """The value of one of the metric's parameters, as users type it."""
        return self.spec.parameter(name)

    def verdict(self, about: RubricKind) -> RubricVerdict | None:
        """A judge's verdict on this case; None where there is none."""
        stored = self.verdicts.get(about)
        return None if stored is None else RubricVerdict(score=stored.score, reason=stored.reason)

    def lacks_verdict(self, about: RubricKind) -> Outcome | None:
        """Return why a judge's verdict is missing, in the judge's own words; None: it is there, or was not needed."""
        stored = self.verdicts.get(about)
        declined = self.answer is not None and bool(self.answer.abstained)
        if stored is None or stored.score is not None or declined:
            return None
        kind = OutcomeKind.SKIPPED if stored.outcome is VerdictOutcome.SKIPPED else OutcomeKind.JUDGE_FAILED
        return Outcome.missing(kind, f"{stored.outcome}: {stored.reason}"[:500])


def relevant_to(case: Case, dataset: Dataset) -> frozenset[str]:
    """Return the documents that count as relevant to a case."""
    return frozenset(document for document, grade in case.labels.items() if grade >= dataset.relevance_level)


# --- A whole run: times, failures, judging, the index ---


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySummary:
    """How long one stage takes. None where no case was timed."""

    p50: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    timed: int
    """Cases that were answered and timed."""
    left_out: Mapping[OutcomeKind, int]
    timed_out: int = 0
    """Cases that count with the time after which they were given up."""
    at_least: tuple[str, ...] = ()
    """Which of `p50`, `p95`, `p99` and `mean` are lower bounds, because of cases that timed out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """One run as its own metrics look at it."""

    latency: Mapping[str, LatencySummary]
    """By stage, `total` first; milliseconds."""
    rates: Mapping[str, Rate]
    """`error_rate`, `timeout_rate`, `empty_response_rate`."""
    elapsed_s: float | None = None
    """Seconds from the first question to the last answer; None: not known, as of a run that was resumed."""
    spent: Sequence[Mapping[str, Any]] = ()
    """What each judge of the run took: requests, tokens, cost."""
    indexed: Mapping[str, Any] | None = None
    """How the system split and embedded the documents; None where it does not report it."""
    per_case: Mapping[MetricSpec, Mapping[str, Outcome]] = field(default_factory=dict)
    confidences: Mapping[str, float | None] = field(default_factory=dict)
    """The system's reported confidence in its answer, by case."""


# --- Results by chunk, by document or by class of interchangeable documents ---
#
# Renaming every id to its unit and counting each unit once, at its first place, is all it takes; grades of a unit are
# the best of its members'.

Number = TypeVar("Number", int, float)


def ranking_by_unit(ranking: Sequence[str], unit_of: Mapping[str, str]) -> list[str]:
    """Units in the order of their first member; an id without a unit is its own."""
    return list(dict.fromkeys(unit_of.get(document, document) for document in ranking))


def scores_by_unit(scores: Mapping[str, float], unit_of: Mapping[str, str]) -> dict[str, float]:
    """The best score of each unit's members."""
    return _best(scores, unit_of)


def grades_by_unit(grades: Mapping[str, int], unit_of: Mapping[str, str]) -> dict[str, int]:
    """The best grade of each unit's members: a hit on any of them counts once."""
    return _best(grades, unit_of)


def scores_of_ranking(ranking: Sequence[str]) -> dict[str, float]:
    """A list of ids, best first, as scores; an id listed twice keeps its first place."""
    distinct = list(dict.fromkeys(ranking))
    return {unit: float(len(distinct) - place) for place, unit in enumerate(distinct)}


def _best(values: Mapping[str, Number], unit_of: Mapping[str, str]) -> dict[str, Number]:
    best: dict[str, Number] = {}
    for document, value in values.items():
        unit = unit_of.get(document, document)
        best[unit] = max(value, best.get(unit, value))
    return best


# --- The first k results ---


def check_cutoff(k: int | None) -> None:
    """A cutoff is a whole number from 1; None means the whole list."""
    if k is not None and k < 1:
        raise BadValue(f"cutoff {k} is not above 0", remedy="Write it like '@5'.")


def first(ranking: Sequence[str], k: int | None = None) -> list[str]:
    """The first k distinct ids. Of an id listed twice the first place counts, and the later ones move up."""
    check_cutoff(k)
    return list(dict.fromkeys(ranking))[:k]


def reciprocal_rank(ranking: Sequence[str], relevant: Container[str], k: int | None = None) -> float:
    """One over the place of the first relevant id; 0 when there is none among the first k."""
    places = (place for place, document in enumerate(first(ranking, k), start=1) if document in relevant)
    return 1 / next(places, float("inf"))


# --- Means and nearest-rank percentiles ---
#
# Nearest rank is the smallest measured value that at least p % of the values do not exceed: a value that some case
# really had, and with few cases the tail is the worst case, not a value interpolated below it.


def percentile(numbers: Sequence[float], percent: int) -> float | None:
    """The value at place ceil(percent * n / 100) of the sorted numbers; None when there are none."""
    if not 1 <= percent <= 100:
        raise BadValue(f"percentile {percent} is not from 1 to 100", remedy="Write it like 95.")
    place = -(-percent * len(numbers) // 100)  # in whole numbers: 0.07 * 100 is more than 7 in binary fractions
    return sorted(numbers)[place - 1] if numbers else None


def mean(numbers: Sequence[float]) -> float | None:
    """The mean; None when there are none."""
    return math.fsum(numbers) / len(numbers) if numbers else None
