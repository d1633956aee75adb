"""What can be set about saving, each number with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from assay.memory.saving.quality import REJECT_BELOW
from assay.records import values
from assay.records.fields import require


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveOptions:
    """How saving goes about its work."""

    reject_below: float = REJECT_BELOW
    """A quality below it is turned away."""
    warn_only: timedelta = timedelta(days=14)
    """The gate only warns for this long after it was activated, so that its mistakes are seen before they cost."""
    neighbours: int = 3
    """Memories a draft is compared with."""
    fetched: int = 20
    """Chunks that nominate them, for each vector asked with: the mean of a memory may be nearer than its best chunk."""
    asked: int = 8
    """Chunks of a draft that are asked with, beside their mean."""
    copies: int = 10
    """Notes close to what others wrote that a program may save for one principal in a day; more are kept apart."""
    alike: int = 50
    """Notes close to any other, its own too, that a program may save for one principal in a day."""
    batch: int = 64
    """Drafts of one transaction, at most, when many are saved."""
    batch_seconds: float = 2.0
    """How long such a transaction should take: whoever stops a run loses no more work than that."""

    def __post_init__(self) -> None:
        require(self, values.share, "reject_below")
        require(self, values.finite, "batch_seconds")
        require(self, values.count, "neighbours", "fetched", "asked", "copies", "alike", "batch")
