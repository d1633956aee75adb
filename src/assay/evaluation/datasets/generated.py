"""Cases that nobody wrote: made from documents, and not counted until somebody has looked at them."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evaluation.datasets.findings import Finding, some, warning
from assay.records.datasets import Case, Dataset

GENERATED = "generated"
"""The tag of a case that was made and not written; it stays for good."""
ACCEPTED = "accepted"
"""The tag of a generated case that somebody labelled and found right."""


def is_generated(case: Case) -> bool:
    """Whether nobody wrote it."""
    return GENERATED in case.tags


def is_unlabelled(case: Case) -> bool:
    """Whether it was made and nobody has agreed to it yet."""
    return is_generated(case) and ACCEPTED not in case.tags


def unlabelled_cases(dataset: Dataset) -> Iterator[Finding]:
    """What a check says of them."""
    found = [one.id for one in dataset.cases if is_unlabelled(one)]
    if found:
        message = f"{len(found):,} of {len(dataset.cases):,} cases were generated and are not labelled: {some(found)}"
        yield warning("unlabelled", dataset.name, message, "They do not count until `assay label` has accepted them.")
