"""From a judge's reply to a verdict, strictly: the last object that fits the rubric's schema, or no verdict at all.

A score as text, beyond the scale, as NaN, or said twice in one object is never guessed at.
"""

from __future__ import annotations

from typing import Any

from assay.judging.rubric import Rubric
from assay.judging.schema import wrongs
from assay.models.chat import storable
from assay.models.structured import UnreadableReply, last_object
from assay.records.judging import (
    AbstentionVerdict,
    CorrectnessVerdict,
    GroundednessVerdict,
    RubricKind,
    Verdict,
)

PARSER_VERSION = "2"
"""Part of every judge's fingerprint: raise it with any change here or in `models.structured` that can move a score."""
MOST_CLAIMS = 50
LONGEST = 2_000


def read_verdict(reply: str, rubric: Rubric) -> Verdict:
    """The verdict of a reply; raises `UnreadableReply` with the reason."""
    return last_object(reply, lambda found: _verdict(found, rubric))


def _verdict(found: dict[str, Any], rubric: Rubric) -> Verdict:
    problem = next(wrongs(found, rubric.schema), None)
    if problem is not None:
        raise UnreadableReply(problem)
    reason = storable(str(found.get("reason", "")))[:LONGEST]
    if rubric.kind is RubricKind.ABSTENTION:
        return AbstentionVerdict(abstained=found["abstained"], reason=reason)
    if rubric.kind is RubricKind.CORRECTNESS:
        return CorrectnessVerdict(score=float(found["score"]), reason=reason)
    return GroundednessVerdict(
        score=float(found["score"]),
        supported_claims=_claims(found.get("supported_claims")),
        unsupported_claims=_claims(found.get("unsupported_claims")),
        reason=reason,
    )


def _claims(found: Any) -> tuple[str, ...]:
    listed = found if isinstance(found, list) else []
    return tuple(storable(str(one))[:LONGEST] for one in listed[:MOST_CLAIMS])
