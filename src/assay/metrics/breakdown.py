"""An aggregate for each value of a label: tag, category, difficulty, intent, folder, tier, answerable."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from assay.errors import BadValue
from assay.metrics.aggregate import Aggregate, aggregate
from assay.metrics.fingerprint import Instrument
from assay.metrics.scores import Scores

UNLABELLED = "(none)"
"""Where cases without the label are counted, so that the parts add up to the whole."""


def breakdown(
    scores: Scores, labels: Sequence[str | Collection[str]], instrument: Instrument | None = None
) -> dict[str, Aggregate]:
    """One aggregate a label value, sorted. A case with several values (tags) counts under each of them."""
    if len(labels) != len(scores.values):
        raise BadValue(
            f"{len(scores.values)} cases have {len(labels)} labels",
            remedy="Give one label, or one collection of labels, for every case.",
        )
    members: dict[str, list[int]] = {}
    for case, given in enumerate(labels):
        for label in {given} if isinstance(given, str) else set(given) or {UNLABELLED}:
            members.setdefault(label or UNLABELLED, []).append(case)
    return {label: aggregate(scores.take(np.array(members[label])), instrument) for label in sorted(members)}
