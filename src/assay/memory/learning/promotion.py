"""Promotion: a memory that was found useful often enough rises one tier, never to the constitution.

`normal -> important` at 5 positive votes, or with a confidence of 0.9 after 5 votes; `important -> critical` at 10
positive votes. The way by confidence leads to `important` alone: otherwise the sixth vote would do what the tenth
should. Each promotion is a change of its own, with a line in the audit log, and can be undone.
"""

from __future__ import annotations

from assay.records import Tier

FIRST, SECOND = 5, 10
"""Positive votes."""
CONFIDENT = 0.9


def promoted(tier: Tier, *, positive: int, confidence: float, votes: int) -> Tier | None:
    """The tier a memory rises to, or None."""
    if tier is Tier.NORMAL and (positive >= FIRST or (confidence >= CONFIDENT and votes >= FIRST)):
        return Tier.IMPORTANT
    if tier is Tier.IMPORTANT and positive >= SECOND:
        return Tier.CRITICAL
    return None
