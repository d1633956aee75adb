"""What a stored run says for evaluation cycles: which questions it asked, and whether of this memory.

It stands in `EvalResult.metrics_json`, since cycles count distinct questions and a row of a run has only their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from assay.hashing import HASH_PREFIX, content_hash

KEY = "cycle_evidence"
MOST_QUESTIONS = 2_000
"""Questions of one run that are kept: a cycle needs 100, and a run may have a million."""
_LENGTH = 16


class CycleEvidence(NamedTuple):
    """The questions of one run."""

    own: bool
    """Whether Assay searched documents that this memory holds; other runs say nothing about it."""
    questions: frozenset[str]
    """One short hash for each distinct question, whatever its case and spacing."""


def cycle_evidence(texts: Iterable[str], *, own: bool) -> CycleEvidence:
    """Make the evidence of a run from the texts of its questions."""
    distinct = {" ".join(text.casefold().split()) for text in texts}
    kept = sorted(distinct)[:MOST_QUESTIONS]
    return CycleEvidence(own, frozenset(content_hash(text).removeprefix(HASH_PREFIX)[:_LENGTH] for text in kept))


def evidence_to_json(evidence: CycleEvidence) -> dict[str, Any]:
    """Return the part of `metrics_json` that holds the evidence."""
    return {KEY: {"own": evidence.own, "questions": sorted(evidence.questions)}}


def evidence_from_json(metrics: Mapping[str, Any]) -> CycleEvidence:
    """Return the evidence of a stored run; a run stored before it was kept is not known to be of this memory."""
    found = metrics.get(KEY)
    if not isinstance(found, Mapping):
        return CycleEvidence(own=False, questions=frozenset())
    return CycleEvidence(own=bool(found.get("own")), questions=frozenset(map(str, found.get("questions", ()))))
