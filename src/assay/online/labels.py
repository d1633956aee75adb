"""Relevance labels from clicks and from models.

- Labels from clicks, corrected for position.
- When a model's grades count beside a person's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.online.interleaving import find_used
from assay.online.trials import query_key
from assay.records import Judgment, JudgmentSource, LoggedQuery, Origin, Scope
from assay.statistics.agreement import cohen_kappa
from assay.statistics.online_tests import Showing, attractions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from assay.storage import Store


# --- Labels from clicks, corrected for position ---
#
# A memory read, reused or called useful after a search counts as clicked; the arithmetic is in
# `statistics/online_tests.py`. What is used clearly more often than its places explain is grade 2, what was shown for
# long and used clearly less often is grade 0, and what cannot be told has no judgment at all. Confidence is the chance
# behind it.

ANNOTATOR = "clicks_over_expected"
SURE = 0.9
"""The chance above which a memory counts as used more often than its places explain, or less."""
USED, UNUSED = 2, 0
MOST = 10_000


def showings(store: Store, scope: Scope, *, limit: int = MOST) -> list[tuple[LoggedQuery, list[Showing]]]:
    """The newest searches of use, oldest first, with what was shown where and what of it was used."""
    store.log.flush()
    with store.reading(scope) as work:
        queries = work.queries.recent(limit=limit, origin=Origin.USE)[::-1]
        taken = {query.query_id: find_used(work.feedback.of_query(query.query_id)) for query in queries}
    return [(query, _list_showings(query, taken[query.query_id])) for query in queries]


def click_judgments(found: Sequence[tuple[LoggedQuery, list[Showing]]], *, at: datetime) -> list[Judgment]:
    """Return judgments for the newest query of each wording, where there is enough use."""
    newest = {showing.query: query.query_id for query, shown in found for showing in shown}
    every: Iterable[Showing] = (showing for _, shown in found for showing in shown)
    made = []
    for (key, memory_id), seen in attractions(every).items():
        above = seen.above_average
        if above >= SURE or above <= 1.0 - SURE:
            made.append(
                Judgment(
                    query_id=newest[key],
                    memory_id=memory_id,
                    relevance=USED if above >= SURE else UNUSED,
                    source=JudgmentSource.IMPLICIT,
                    annotator=ANNOTATOR,
                    confidence=above if above >= SURE else 1.0 - above,
                    created_at=at,
                )
            )
    return made


def _list_showings(query: LoggedQuery, taken: set[str]) -> list[Showing]:
    key = query_key(query.query)
    return [
        Showing(key, memory_id, place, memory_id in taken) for place, memory_id in enumerate(query.result_ids, start=1)
    ]


# --- When a model's grades count beside a person's ---
#
# Both grade the same pairs; grades from 2 on are relevant. Below 50 pairs nothing can be said, and below 80 %
# agreement the model's grades are kept but count for nothing. Kappa is told beside it: where nearly everything is
# relevant, two coins agree as well.

LEAST_PAIRS = 50
LEAST_AGREEMENT = 0.80
RELEVANT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """What a model's grades are worth."""

    pairs: int
    agreement: float | None
    """None: no pair was graded by both."""
    kappa: float | None
    admitted: bool
    sentence: str


def admission(judgments: Sequence[Judgment], *, rng: np.random.Generator) -> Admission:
    """Hold a model's grades against people's, over the pairs that both graded."""
    hand = _relevant(judgments, JudgmentSource.MANUAL)
    model = _relevant(judgments, JudgmentSource.LLM_JUDGE)
    shared = sorted(hand.keys() & model.keys())
    if not shared:
        return Admission(pairs=0, agreement=None, kappa=None, admitted=False, sentence="No pair was graded by both.")
    ours, theirs = [hand[pair] for pair in shared], [model[pair] for pair in shared]
    agreement = float(np.mean([grade == other for grade, other in zip(ours, theirs, strict=True)]))
    kappa = cohen_kappa(ours, theirs, rng=rng).value
    told = f"{agreement:.0%} agreement over {len(shared)} pairs"
    if len(shared) < LEAST_PAIRS:
        sentence = f"{told}; {LEAST_PAIRS} pairs are needed."
    else:
        sentence = f"{told}; {LEAST_AGREEMENT:.0%} are needed."
    admitted = len(shared) >= LEAST_PAIRS and agreement >= LEAST_AGREEMENT
    return Admission(pairs=len(shared), agreement=agreement, kappa=kappa, admitted=admitted, sentence=sentence)


def counting(judgments: Sequence[Judgment], *, rng: np.random.Generator) -> list[Judgment]:
    """The judgments that may be measured with: a model's only when they were admitted."""
    if admission(judgments, rng=rng).admitted:
        return list(judgments)
    return [judgment for judgment in judgments if judgment.source is not JudgmentSource.LLM_JUDGE]


def _relevant(judgments: Sequence[Judgment], source: JudgmentSource) -> dict[tuple[str, str], int]:
    return {
        (judgment.query_id, judgment.memory_id): int(judgment.relevance >= RELEVANT)
        for judgment in judgments
        if judgment.source is source
    }
