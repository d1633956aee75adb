"""Why a gold item was lost, and what to try: from the steps that a system reports, else from what asking it showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.evaluation.recommendations import advise
from assay.evaluation.waterfall import GoldFate, LossStage, Waterfall
from assay.records.evaluations import CaseStatus
from assay.records.explanations import LossReason, ProbeCall, ProbeKind, Probing, QueryChange

FEW_SHARED = 0.5
"""Below this share of the query's words in the gold item, the two use different words."""
_INDEX_IT = (
    "Index it: neither its opening nor its most telling words find it. Check that the index was built from the "
    "documents of this dataset, and that results carry its ids."
)
_INDEX_PASSAGE = (
    "Index it: neither its opening nor its most telling words find this passage. Check that the whole document is cut "
    "into passages, and that results carry their text."
)
_REPORTED = {
    LossStage.NOT_INDEXED: LossReason.NOT_INDEXED,
    LossStage.NOT_A_CANDIDATE: LossReason.NEVER_OFFERED,
    LossStage.OUT_OF_SCOPE: LossReason.OUT_OF_SCOPE,
    LossStage.LOST_IN_FUSION: LossReason.LOST_IN_FUSION,
    LossStage.LOST_IN_RERANK: LossReason.LOST_AFTER_FUSION,
}
"""Stages that a system reported, as reasons."""


class Judged(NamedTuple):
    """A reason, and what to try."""

    reason: LossReason
    suggestion: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LossEvidence:
    """What is known of one gold item."""

    fate: GoldFate
    water: Waterfall
    depth: int | None
    """Where it stands in the longest list that is known."""
    searched_to: int | None
    ends: bool = False
    """Whether the system's list ends there."""
    indexed: bool | None
    changes: tuple[QueryChange, ...]
    common: tuple[str, ...]
    missing: tuple[str, ...]
    """Words of the query that the gold item has, and those that it has not."""
    probed: bool

    @property
    def shares_few_words(self) -> bool:
        """Whether the gold item has less than half of the query's words."""
        words = len(self.common) + len(self.missing)
        return bool(words) and len(self.common) < FEW_SHARED * words


def depth_of(fate: GoldFate, listed: int | None, probing: Probing) -> tuple[int | None, int | None]:
    """Where a gold item stands in the longest known list for the query, and how long that list is."""
    calls = [call for call in probing.calls if call.kind is ProbeKind.DEPTH and call.status != CaseStatus.ERROR]
    ranks = [rank for call in calls if (rank := call.ranks.get(fate.item)) is not None]
    longest = max([*([] if listed is None else [listed]), *(call.returned for call in calls)], default=None)
    return (fate.rank if fate.rank is not None else min(ranks, default=None)), longest


def list_ends(probing: Probing) -> bool:
    """Whether the system gave fewer results than it was asked for."""
    return any(
        call.kind is ProbeKind.DEPTH and call.status == CaseStatus.OK and call.returned < call.k
        for call in probing.calls
    )


def is_indexed(fate: GoldFate, depth: int | None, probing: Probing) -> tuple[bool | None, str]:
    """Whether the system holds a gold item, and how that is known."""
    reported = next(iter(fate.passed.values()), None)
    if reported is not None and (fate.rank is None or not reported):
        return reported, "as the system reports" if fate.channels is None else "as its candidates show"
    if depth is not None:
        return True, f"it stands at rank {depth:,}"
    calls = [call for call in probing.calls if call.kind is ProbeKind.OWN_WORDS and call.about == fate.item]
    answered = [call for call in calls if call.status in (CaseStatus.OK, CaseStatus.EMPTY)]
    ranks = [rank for call in probing.calls if (rank := call.ranks.get(fate.item)) is not None]
    if ranks:
        return True, f"other words find it at rank {min(ranks):,}"
    return (False, "its own words do not find it") if answered else (None, "")


def changes_of(item: str, calls: Sequence[ProbeCall]) -> tuple[QueryChange, ...]:
    """Changes of the query that were tried for a gold item, those that lift it most first."""
    kinds = (ProbeKind.WITHOUT, ProbeKind.WITH)
    tried = [call for call in calls if call.kind in kinds and call.about in ("", item) and item in call.ranks]
    found = [QueryChange(kind=call.kind, words=call.words, rank=call.ranks[item]) for call in tried]
    return tuple(
        sorted(found, key=lambda change: (change.rank is None, change.rank or 0, change.kind is ProbeKind.WITH))
    )


def judge_loss(evidence: LossEvidence) -> Judged:
    """The reason for a loss and the suggestion that follows from it."""
    fate = evidence.fate
    if fate.found:
        return Judged(LossReason.FOUND, None)
    if fate.failed:
        return Judged(LossReason.SYSTEM_FAILED, "Look at the error: nothing else is known of a query that failed.")
    if fate.stage in _REPORTED and not (fate.stage is LossStage.LOST_IN_RERANK and evidence.probed):
        return Judged(_REPORTED[fate.stage], advise(fate, evidence.water))
    return _judge_by_asking(evidence)


def _judge_by_asking(evidence: LossEvidence) -> Judged:
    """Judge by the ranks that are known, recorded or asked for."""
    if evidence.indexed is False:
        # Only documents have grades; evidence without one is a passage.
        advice = _INDEX_PASSAGE if evidence.fate.grade is None else _INDEX_IT
        return Judged(LossReason.SEEMS_NOT_INDEXED, advice)
    into_k = [change for change in evidence.changes if change.rank is not None and change.rank <= evidence.water.k]
    # A word that the gold item has does not lead away from it, even where it ranks better without.
    without = [change for change in into_k if change.kind is ProbeKind.WITHOUT and change.words[0] in evidence.missing]
    if without:
        return Judged(LossReason.MISLEADING_WORD, _advise_weighing(without[0]))
    added = [change for change in into_k if change.kind is ProbeKind.WITH]
    if added and evidence.shares_few_words:
        return Judged(LossReason.OTHER_WORDS, _advise_expanding(added[0], evidence))
    if evidence.depth is not None:
        return Judged(LossReason.RANKED_TOO_LOW, _advise_reranking(evidence.depth, evidence.water.k))
    if evidence.indexed:
        return Judged(LossReason.BEYOND_DEPTH, _advise_depth(evidence))
    return Judged(LossReason.NOT_KNOWN, advise(evidence.fate, evidence.water))


def _advise_weighing(change: QueryChange) -> str:
    return (
        f"Without {change.words[0]!r} it comes at rank {change.rank}: weigh such words less (by how rare they are, or "
        "as stop words), or rewrite questions before searching."
    )


def _advise_expanding(change: QueryChange, evidence: LossEvidence) -> str:
    words = len(evidence.common) + len(evidence.missing)
    return (
        f"With {', '.join(map(repr, change.words))} it comes at rank {change.rank}, and it has {len(evidence.common)} "
        f"of the question's {words} words: expand queries with synonyms, or add a channel that compares meaning."
    )


def _advise_reranking(depth: int, k: int) -> str:
    first = next(size for size in (10, 20, 50, 100, 200, 500, 1_000, depth) if size >= depth)
    return f"It stands at rank {depth:,}: rerank the first {first:,} results, or show more than {k}."


def _advise_depth(evidence: LossEvidence) -> str:
    where = f"It is indexed and not among the first {evidence.searched_to:,} results"
    if evidence.ends:
        return f"{where}, where the list ends: let the system offer more candidates, or add a channel of another kind."
    kind = "that compares meaning" if evidence.shares_few_words else "of another kind"
    return f"{where}: add a channel {kind}, or cut passages smaller."
