"""What a number was measured with, as one hash: two values may be compared when their fingerprints are equal."""

from __future__ import annotations

from dataclasses import dataclass

from assay.hashing import content_hash
from assay.metrics.ordering import TIE_ORDER
from assay.metrics.spec import MetricSpec

DEFINITIONS = 1
"""Raised when a formula changes, so that old values are never compared with new ones in silence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Instrument:
    """Every choice besides the metric's own that moves its value."""

    relevance_level: int = 1
    ranked_unit: str = "document"
    """What a ranking lists: `document`, `chunk`, `memory`, `entity`."""
    depth: int | None = None
    absent: str = "empty"
    """What a query without results counts as."""
    dataset: str = ""
    """The hash of the judgments, where it is known."""

    def fingerprint(self, spec: MetricSpec) -> str:
        """The hash of the metric and of these choices."""
        return content_hash(self.fields(spec))

    def fields(self, spec: MetricSpec) -> dict[str, object]:
        """What the hash is made of, to say which field differs."""
        return {
            "metric": spec.name,
            "cutoff": spec.cutoff,
            "parameters": spec.at_defaults(),
            "definitions": DEFINITIONS,
            "tie_order": TIE_ORDER,
            "relevance_level": self.relevance_level,
            "ranked_unit": self.ranked_unit,
            "depth": self.depth,
            "absent": self.absent,
            "dataset": self.dataset,
            **({"code": spec.entry.code} if spec.entry.code else {}),
        }
