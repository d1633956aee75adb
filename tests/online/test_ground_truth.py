"""Labels from use and from models: what counts, what does not, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from tests.online.conftest import Online

from assay.online.labels import admission, click_judgments, counting, showings
from assay.records import EventType, FeedbackEvent, Judgment, JudgmentSource, Origin, SearchRequest
from assay.statistics.online_tests import Showing

AT = datetime(2026, 1, 5, tzinfo=UTC)


def graded(pairs: int, agreeing: int) -> list[Judgment]:
    made = []
    for at in range(pairs):
        hand = Judgment(
            query_id="q", memory_id=f"m{at}", relevance=3 if at % 2 else 0, source=JudgmentSource.MANUAL, created_at=AT
        )
        other = hand.relevance if at < agreeing else 3 - hand.relevance
        made += [hand, replace(hand, source=JudgmentSource.LLM_JUDGE, relevance=other)]
    return made


@pytest.mark.parametrize(
    ("pairs", "agreeing", "admitted"), [(50, 40, True), (50, 39, False), (49, 49, False), (0, 0, False)]
)
def test_a_models_grades_count_from_fifty_pairs_and_eighty_percent_on(
    pairs: int, agreeing: int, admitted: bool
) -> None:
    judgments = graded(pairs, agreeing)
    found = admission(judgments, rng=np.random.default_rng(0))
    assert found.admitted is admitted
    assert found.pairs == pairs
    left = counting(judgments, rng=np.random.default_rng(0))
    assert any(one.source is JudgmentSource.LLM_JUDGE for one in left) is admitted


def test_searches_and_what_was_used_of_them_are_read_back(online: Online) -> None:
    store, scope = online.engine.store, online.scope
    found = online.engine.searcher.search(scope, SearchRequest(query="Small Kitchen", k=3))
    online.engine.searcher.search(scope, SearchRequest(query="small kitchen", k=3, origin=Origin.EVALUATION))
    store.log.flush()
    event = FeedbackEvent(
        event_key="e1",
        event_type=EventType.REFERENCE,
        session_id="s",
        created_at=online.clock.now(),
        query_id=found.query_id,
        memory_id=found.ids[1],
        rank_in_results=2,
    )
    with store.writing(scope) as work:
        work.feedback.record([event])
    ((query, shown),) = showings(store, scope)
    assert query.query_id == found.query_id
    assert [(one.item, one.place, one.clicked) for one in shown] == [
        (memory_id, place, place == 2) for place, memory_id in enumerate(found.ids, start=1)
    ]


def test_what_is_used_more_or_less_than_its_place_explains_is_a_label_and_the_rest_is_none(online: Online) -> None:
    found = online.engine.searcher.search(online.scope, SearchRequest(query="small kitchen", k=3))
    online.engine.store.log.flush()
    with online.engine.store.reading(online.scope) as work:
        query = work.queries.get(found.query_id)
    key = showings(online.engine.store, online.scope)[0][1][0].query
    seen = [(query, [Showing(key, "liked", 3, True), Showing(key, "passed", 1, False)]) for _ in range(8)]
    others = [(query, [Showing("other", "x", 3, False), Showing("other", "y", 1, True)]) for _ in range(40)]
    rare = [(query, [Showing(key, "rare", 2, False)])]
    labels = {
        one.memory_id: (one.relevance, one.confidence)
        for one in click_judgments([*seen, *others, *rare], at=AT)
        if one.query_id == found.query_id and one.memory_id in ("liked", "passed", "rare")
    }
    assert labels["liked"][0] == 2
    assert labels["passed"][0] == 0
    assert "rare" not in labels
    assert all(confidence >= 0.9 for _, confidence in labels.values())
