"""What grades are worth: who gave them, and whether they run the right way.

`weak_labels` and `backward_grades` are findings of a check; `label_sources` counts who gave the grades, and
`weak_sources` names those that are guesses from use or from a model. A run says the same as a caveat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from assay.evaluation.datasets.findings import Finding, warning
from assay.records.datasets import Case, Dataset
from assay.records.evidence import JudgmentSource

WEAK = {
    JudgmentSource.IMPLICIT: "read or referred to in use",
    JudgmentSource.BOOTSTRAPPED: "shown and left alone in use",
    JudgmentSource.VALIDATED: "marked useful or not in use",
    JudgmentSource.LLM_JUDGE: "graded by a model",
}
"""Sources nobody labelled by hand, in words: what people clicked on is what some system showed them."""
MOSTLY = 0.5
"""The share of weak grades from which on a check warns."""
FEWEST = 10
"""Cases with two grades or more that are needed to say anything of their order."""
BACKWARD = 0.8
"""The share of such cases in which the order must look backward."""


def label_sources(cases: Iterable[Case]) -> dict[str, int]:
    """How many grades each source gave, the most frequent first."""
    return dict(Counter(grade.source.value for case in cases for grade in case.grades).most_common())


def weak_sources(cases: Iterable[Case]) -> dict[JudgmentSource, int]:
    """How many of the grades that count come from each weak source; a label by hand outweighs them."""
    found: Counter[JudgmentSource] = Counter()
    for case in cases:
        trusted = {grade.document_id: grade.source for grade in sorted(case.grades, key=lambda one: one.confidence)}
        found.update(source for source in trusted.values() if source in WEAK)
    return dict(found.most_common())


def describe_weak(found: Mapping[JudgmentSource, int], judged: int) -> str:
    """Weak labels in a sentence without its end."""
    parts = ", ".join(f"{count:,} {WEAK[source]}" for source, count in found.items())
    return f"{sum(found.values()):,} of {judged:,} grades were not given by hand ({parts})"


def weak_labels(dataset: Dataset) -> Iterator[Finding]:
    """Grades from use or from a model, where they are many."""
    found, judged = weak_sources(dataset.cases), sum(len(case.labels) for case in dataset.cases)
    if found and sum(found.values()) >= MOSTLY * judged:
        yield warning(
            "weak-labels",
            dataset.name,
            f"{describe_weak(found, judged)}: they favour the system whose results people saw",
            "Label some by hand with `assay label`; do not judge another system by them alone.",
        )


def backward_grades(dataset: Dataset) -> Iterator[Finding]:
    """Grades below 0, and grades that look as if 1 meant best."""
    negative = sum(grade.grade < 0 for case in dataset.cases for grade in case.grades)
    if negative:
        message = f"has {negative:,} grades below 0: they count as unjudged"
        yield warning("negative-grade", dataset.name, message, "Use 0 for not relevant, and more for more relevant.")
    for message in (_mostly_highest(dataset), _worded_like_the_lowest(dataset)):
        if message:
            remedy = "If the smallest number means the best document, turn the grades round: higher is better."
            yield warning("backward-grades", dataset.name, message, remedy)


def _graded(dataset: Dataset) -> list[tuple[Case, dict[str, int]]]:
    """Cases with several grades."""
    return [(case, labels) for case in dataset.cases if len(set((labels := case.labels).values())) > 1]


def _mostly_highest(dataset: Dataset) -> str:
    """Relevant documents are few: where most judged documents have the highest of three grades, it may be the worst."""
    rows = [labels for _, labels in _graded(dataset) if len(set(labels.values())) > 2]
    top = sum(2 * sum(grade == max(row.values()) for grade in row.values()) > len(row) for row in rows)
    if len(rows) < FEWEST or top < BACKWARD * len(rows):
        return ""
    return f"in {top:,} of {len(rows):,} cases most judged documents have the highest grade"


def _worded_like_the_lowest(dataset: Dataset) -> str:
    """A query has more words in common with what answers it than with what does not."""
    rows = [
        (
            _shared_words(dataset, case, labels, max(labels.values())),
            _shared_words(dataset, case, labels, min(labels.values())),
        )
        for case, labels in _graded(dataset)
    ]
    told = [(high, low) for high, low in rows if high is not None and low is not None and high != low]
    backward = sum(low > high for high, low in told)
    if len(told) < FEWEST or backward < BACKWARD * len(told):
        return ""
    return (
        f"in {backward:,} of {len(told):,} cases the documents of the lowest grade have more words of the query "
        "than those of the highest"
    )


def _shared_words(dataset: Dataset, case: Case, labels: Mapping[str, int], wanted: int) -> float | None:
    """The mean share of the query's words in the documents of one grade; None where none of them is at hand."""
    asked = set(case.query.casefold().split())
    found = [dataset.by_id[name] for name, grade in labels.items() if grade == wanted and name in dataset.by_id]
    shares = [len(asked & set(f"{one.title} {one.text}".casefold().split())) / len(asked) for one in found]
    return sum(shares) / len(shares) if shares else None
