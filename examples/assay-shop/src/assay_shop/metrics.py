"""A metric: how long answers are."""

from __future__ import annotations

from assay.extend import CaseView, metric


@metric(summary="How many words does the answer have?", better="lower", lowest=0)
def answer_words(case: CaseView) -> float | None:
    """Return the number of words of the answer; None when the system gave none."""
    return None if case.answer is None else len(case.answer.text.split())
