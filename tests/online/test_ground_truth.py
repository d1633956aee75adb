"""Labels from use and from models: what counts, what does not, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.online.conftest import Online

from assay.judging.admission import admit_models, keep_admitted
from assay.online.judged import settle_grades
from assay.online.labels import click_judgments, showings
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
        made += [hand, replace(hand, source=JudgmentSource.LLM_JUDGE, annotator="model", relevance=other)]
    return made


@pytest.mark.parametrize(
    ("pairs", "agreeing", "admitted"), [(50, 40, True), (50, 39, False), (49, 49, False), (0, 0, False)]
)
def test_a_models_grades_count_from_fifty_pairs_and_eighty_percent_on(
    pairs: int, agreeing: int, admitted: bool
) -> None:
    judgments = [("how?", judgment) for judgment in graded(pairs, agreeing)]
    found = admit_models(judgments)
    assert {name: admission.admitted for name, admission in found.items()} == ({"model": admitted} if pairs else {})
    assert [admission.pairs for admission in found.values()] == ([pairs] if pairs else [])
    left = keep_admitted(judgments)
    assert any(judgment.source is JudgmentSource.LLM_JUDGE for _, judgment in left) is admitted


def test_an_admission_states_its_agreement_with_an_interval() -> None:
    (found,) = admit_models(("how?", judgment) for judgment in graded(60, 45)).values()
    assert found.sentence == "Not admitted: 75% agreement [63%, 84%] over 60 pairs; 80% are needed."
    (found,) = admit_models(("how?", judgment) for judgment in graded(60, 57)).values()
    assert found.sentence.startswith("Admitted: 95% agreement [")


def test_a_model_is_admitted_for_itself_alone() -> None:
    good, bad = graded(60, 60), graded(60, 10)
    other = [replace(judgment, annotator="other") for judgment in bad if judgment.source is JudgmentSource.LLM_JUDGE]
    found = admit_models(("how?", judgment) for judgment in [*good, *other])
    assert {name: admission.admitted for name, admission in found.items()} == {"model": True, "other": False}


def test_the_most_trusted_source_decides_and_people_by_their_weighted_median() -> None:
    def judged(relevance: int, source: JudgmentSource, annotator: str, confidence: float = 1.0) -> Judgment:
        return Judgment(
            query_id="q",
            memory_id="m",
            relevance=relevance,
            source=source,
            annotator=annotator,
            confidence=confidence,
            created_at=AT,
        )

    use = judged(3, JudgmentSource.IMPLICIT, "")
    assert settle_grades([use]) == {"m": 3}
    ada, ben = judged(0, JudgmentSource.MANUAL, "ada"), judged(3, JudgmentSource.MANUAL, "ben", 0.3)
    assert settle_grades([use, ada, ben]) == {"m": 0}
    cyd = judged(3, JudgmentSource.MANUAL, "cyd")
    assert settle_grades([ada, ben, cyd]) == {"m": 3}
    later = replace(ada, relevance=2, created_at=AT.replace(day=6))
    assert settle_grades([ada, later]) == {"m": 2}


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
