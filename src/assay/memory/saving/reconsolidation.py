"""The decision table: what becomes of a draft that is like a memory.

| similarity | agree | same subject | decision |
| --- | --- | --- | --- |
| > duplicate | yes | any | reject as duplicate |
| merge to duplicate | yes | any | merge |
| >= merge | no | yes | supersede |
| related to merge | any | yes | supersede |
| >= related | no | no | store, joined by a `contradicts` edge |
| otherwise | | | store |

Similarity only nominates; the thresholds are those of the embedder's profile (0.92, 0.88, 0.75 for the bundled one).
Two refinements keep what the table would lose. A draft that agrees and says more is no duplicate: it supersedes what it
covers, and is stored beside what it does not. Texts that name different things are stored side by side, however alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.embedding.protocol import SimilarityProfile
from assay.memory.saving import agreement, subject
from assay.memory.saving.subject import Labelled
from assay.records import EdgeKind


class Verdict(StrEnum):
    """What a draft would do to one memory."""

    REJECT = "reject"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    CONTRADICTS = "contradicts"
    SUPPORTS = "supports"
    """Would have merged, but may not touch the memory."""
    STORE = "store"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A draft and a memory like it."""

    similarity: float
    agrees: bool
    same_subject: bool
    adds: bool = False
    """The draft agrees, and says more."""
    distinct: bool = False
    """They are about different things."""
    reasons: tuple[str, ...] = ()


def compare(old: Labelled, new: Labelled, similarity: float) -> Pair:
    """What the two checks say of a pair."""
    agreed = agreement.compare(old.body, new.body)
    about = subject.compare(_shorten(old), _shorten(new), agreed)
    return Pair(
        similarity=similarity,
        agrees=agreed.agrees,
        same_subject=about.same,
        adds=agreed.adds,
        distinct=about.distinct,
        reasons=(*agreed.contradictions, *agreed.additions, *about.reasons),
    )


def _shorten(text: Labelled) -> Labelled:
    """What a text is about shows at its beginning; taking apart a megabyte takes seconds."""
    return replace(text, body=text.body[: agreement.LONGEST]) if len(text.body) > agreement.LONGEST else text


def decide(pair: Pair, profile: SimilarityProfile) -> Verdict:
    """The table, for one memory."""
    if pair.similarity < profile.related or pair.distinct:
        return Verdict.STORE
    if pair.agrees and not pair.adds and pair.similarity >= profile.merge:
        return Verdict.REJECT if pair.similarity > profile.duplicate else Verdict.MERGE
    if pair.same_subject:
        return Verdict.SUPERSEDE
    return Verdict.STORE if pair.agrees else Verdict.CONTRADICTS


def opposes(pair: Pair) -> bool:
    """Whether two texts under one label say different things, however unlike their vectors are."""
    return pair.same_subject and not pair.distinct and (pair.adds or not pair.agrees)


def for_protected(verdict: Verdict) -> Verdict:
    """What is left of a verdict when the memory may not be touched: the draft is stored, and joined to it."""
    spared = {Verdict.SUPERSEDE: Verdict.CONTRADICTS, Verdict.MERGE: Verdict.SUPPORTS}
    return spared.get(verdict, verdict)


ORDER = (Verdict.SUPERSEDE, Verdict.REJECT, Verdict.MERGE, Verdict.CONTRADICTS, Verdict.SUPPORTS, Verdict.STORE)
"""Which of several verdicts a save follows. An update wins over everything: it must not be lost to a copy elsewhere."""

EDGES = {
    Verdict.SUPERSEDE: EdgeKind.SUPERSEDES,
    Verdict.CONTRADICTS: EdgeKind.CONTRADICTS,
    Verdict.SUPPORTS: EdgeKind.SUPPORTS,
}


def foremost(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict a save follows, of those on its neighbours."""
    return min(verdicts, key=ORDER.index, default=Verdict.STORE)
