"""Weak labels from use that do not reward whatever was shown first: clicks over expected clicks, from log and feedback.

A memory read, reused or called useful after a search counts as clicked; the arithmetic is that of
`statistics/clicks.py`. What is used clearly more often than its places explain is grade 2, what was shown for long and
used clearly less often is grade 0, and what cannot be told has no judgment at all. Confidence is the chance behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from assay.online.interleaving import used
from assay.online.trials import query_key
from assay.records import Judgment, JudgmentSource, LoggedQuery, Origin, Scope
from assay.statistics.clicks import Showing, attractions
from assay.storage import Store

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
        taken = {query.query_id: used(work.feedback.of_query(query.query_id)) for query in queries}
    return [(query, _list_showings(query, taken[query.query_id])) for query in queries]


def click_judgments(found: Sequence[tuple[LoggedQuery, list[Showing]]], *, at: datetime) -> list[Judgment]:
    """Judgments for the newest query of each wording, where use says enough."""
    newest = {one.query: query.query_id for query, shown in found for one in shown}
    every: Iterable[Showing] = (one for _, shown in found for one in shown)
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
    return [Showing(key, one, place, one in taken) for place, one in enumerate(query.result_ids, start=1)]
