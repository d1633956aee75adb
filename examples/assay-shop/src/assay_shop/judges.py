"""A judge: an answer is grounded when it stands word for word in a passage."""

from __future__ import annotations

from assay.extend import GroundednessVerdict, JudgeInput, judge


@judge("shop-quotes", about="groundedness")
def judge_quotes(given: JudgeInput) -> GroundednessVerdict:
    """Scores 5 for an answer that stands in a passage word for word, and 0 for any other."""
    quoted = any(given.answer.strip(". ") in passage for passage in given.passages)
    return GroundednessVerdict(score=5.0 if quoted else 0.0, reason="quoted" if quoted else "in no passage")
