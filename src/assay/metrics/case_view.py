"""One case that came back, as a metric looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.metrics.spec import MetricSpec
from assay.records.answers import GivenAnswer, RubricVerdict
from assay.records.datasets import Case, Dataset
from assay.records.equivalence import NO_CLASSES, EquivalenceClasses
from assay.records.evaluations import Retrieved, Seen
from assay.records.judging import RubricKind, StoredVerdict, VerdictOutcome
from assay.records.outcome import Outcome, OutcomeKind


@dataclass(frozen=True, slots=True)
class CaseView:
    """What was asked, what came back, and under which metric it is looked at."""

    spec: MetricSpec
    case: Case
    """The case of the dataset: query, grades, reference answer, tags."""
    given: Retrieved
    """Everything the system returned."""
    dataset: Dataset
    judges: frozenset[RubricKind] = frozenset()
    """What judges were asked about in this run."""
    verdicts: Mapping[RubricKind, StoredVerdict] = field(default_factory=dict)
    """What they said of this case."""

    @property
    def query(self) -> str:
        """The question that was asked."""
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
        """How the list came about; of a system that does not tell, nothing is known."""
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
        """What a judge said of this case; None: nothing."""
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
