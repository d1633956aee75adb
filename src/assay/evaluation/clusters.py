"""Which cases of a dataset belong together: of one session, conversation or question, or under one tag `cluster:NAME`.

Cases that belong together rise and fall together, so they tell less than as many independent ones. Comparisons and
gates resample and flip whole clusters (`statistics.clusters`); a run carries its clusters in the manifest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from assay.hashing import content_hash
from assay.records.caveats import Caveat, CaveatKind
from assay.records.datasets import Case

TAG = "cluster:"
"""How a tag that names a cluster begins."""


def clusters_of(cases: Sequence[Case]) -> dict[str, str]:
    """The cluster of each case that shares one with another; empty: all cases stand alone."""
    in_conversations = any(case.history for case in cases)
    labels = {case.id: _label(case, in_conversations=in_conversations) for case in cases}
    sizes = Counter(labels.values())
    return {case: label for case, label in labels.items() if label and sizes[label] > 1}


def cluster_caveat(clusters: Mapping[str, str], cases: int) -> list[Caveat]:
    """Say how many cases belong together, and what follows for the numbers."""
    if not clusters:
        return []
    groups = len(set(clusters.values()))
    units = cases - len(clusters) + groups
    return [
        Caveat(
            kind=CaveatKind.CLUSTERS,
            sentence=f"{len(clusters):,} of {cases:,} cases belong together in {groups:,} clusters (sessions, "
            f"conversations, the same question again): comparisons and gates count {units:,} independent units; the "
            "intervals of a single run take cases as independent and are too narrow.",
            count=len(clusters),
            of=cases,
            figures={"clusters": groups, "units": units},
        )
    ]


def _label(case: Case, *, in_conversations: bool) -> str:
    tagged = next((tag for tag in case.tags if tag.startswith(TAG)), "")
    if tagged:
        return tagged
    if case.session is not None:
        return f"session {case.session.session_id}"
    # A conversation is known by the words it begins with: every later question has them in its history.
    begins = case.history[0].text if case.history else case.query
    if in_conversations:
        return f"conversation {content_hash(begins)[-16:]}"
    # The same words again are the same question: thirty copies of it tell no more than one.
    return f"question {content_hash(' '.join(case.query.casefold().split()))[-16:]}"
