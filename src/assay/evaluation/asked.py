"""One case that came back, as a metric looks at it."""

from __future__ import annotations

from typing import NamedTuple

from assay.metrics.spec import MetricSpec
from assay.records.datasets import Case, Dataset
from assay.records.equivalence import NO_CLASSES, EquivalenceClasses
from assay.records.evaluations import Retrieved, Seen


class Asked(NamedTuple):
    """What was asked, what came back, and under which metric it is looked at."""

    spec: MetricSpec
    case: Case
    given: Retrieved
    dataset: Dataset

    @property
    def k(self) -> int:
        """The metric's cutoff; all results where it has none."""
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
    def classes(self) -> EquivalenceClasses:
        """Which documents are interchangeably right."""
        return self.case.equivalence or NO_CLASSES


def relevant_to(case: Case, dataset: Dataset) -> frozenset[str]:
    """The documents that count as relevant to a case."""
    return frozenset(one for one, grade in case.labels.items() if grade >= dataset.relevance_level)
