"""Questions of the log: those of use, each once, and every intent with its share."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import NothingMeasured
from assay.evaluation.harvesting import By, distinct, largest_remainder, most_diverse, sample, weak_grades, word_vectors
from assay.records import EventType, FeedbackEvent, Judgment, JudgmentSource, LoggedQuery, Origin
from assay.records.evidence import PLANNED_SEARCH
from assay.testing import FixedClock

NOW = FixedClock().now()


def asked(query: str, age: int = 0, **more: Any) -> LoggedQuery:
    filled: dict[str, Any] = {"tool_name": "search", "intent": "understand", "result_ids": ("m_1",), **more}
    return LoggedQuery(
        query_id=f"eq_{abs(hash((query, age)))}", query=query, created_at=NOW - timedelta(days=age), **filled
    )


def test_questions_with_the_same_words_are_one() -> None:
    found = distinct([asked("How do we sign in?"), asked("other", 1), asked("  how do we SIGN in", 2)])
    assert [(one.query, one.times) for one in found] == [("How do we sign in?", 2), ("other", 1)]
    assert len(found[0].query_ids) == 2


def test_only_usable_questions_of_use_count() -> None:
    log = [
        asked("evaluated", origin=Origin.EVALUATION),
        asked("shadow", origin=Origin.SHADOW),
        asked("what an agent writes", tool_name="match_triggers"),
        asked("what another agent writes", tool_name="memory_match_triggers"),
        asked("long session cookie live number", tool_name=PLANNED_SEARCH),
        asked("?!"),
        asked("found nothing", result_ids=()),
    ]
    with pytest.raises(NothingMeasured, match="no usable query") as problem:
        distinct(log)
    assert problem.value.exit_code == 2
    assert [one.query for one in distinct([*log, asked("used")])] == ["used"]


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 40), min_size=1), st.integers(0, 60))
def test_shares_add_up_and_nobody_gives_more_than_it_has(sizes: dict[str, int], total: int) -> None:
    shares = largest_remainder(sizes, total)
    whole = sum(sizes.values())
    assert sum(shares.values()) == min(total, whole)
    for name, size in sizes.items():
        assert 0 <= shares[name] <= size
        if total < whole:
            assert abs(shares[name] - total * size / whole) < 1


def test_every_intent_has_its_share_in_the_order_asked_for() -> None:
    log = [asked(f"spec {age}", age, intent="find_spec") for age in range(6)]
    log += [asked(f"bug {age}", age, intent="fix_bug") for age in range(3)]
    log += [asked("bug 2", 9, intent="fix_bug")]
    found = distinct(sorted(log, key=lambda one: one.created_at, reverse=True))
    rng = np.random.default_rng(0)
    newest = {one.query for one in sample(found, 3, By.NEWEST, rng)}
    assert newest == {"spec 0", "spec 1", "bug 0"}
    assert "bug 2" in {one.query for one in sample(found, 3, By.FREQUENT, rng)}
    drawn = [tuple(one.query for one in sample(found, 3, By.RANDOM, np.random.default_rng(seed))) for seed in range(6)]
    assert len(set(drawn)) > 1


def event(kind: EventType, memory: str, age: int = 0) -> FeedbackEvent:
    return FeedbackEvent(
        event_key=f"{kind}-{memory}-{age}",
        event_type=kind,
        session_id="s",
        created_at=NOW - timedelta(days=age),
        memory_id=memory,
    )


def test_use_says_what_it_says_and_no_more() -> None:
    events = [
        event(EventType.READ_AFTER_SEARCH, "read"),
        event(EventType.VALIDATE_USEFUL, "good"),
        event(EventType.VALIDATE_NOT_USEFUL, "bad"),
        event(EventType.READ_AFTER_SEARCH, "bad"),
        event(EventType.VALIDATE_USEFUL, "changed", 5),
        event(EventType.VALIDATE_NOT_USEFUL, "changed", 1),
        event(EventType.SCROLL_PAST, "passed"),
    ]
    pool = {name: {"bm25"} for name in ("read", "good", "bad", "changed", "passed", "shown")}
    found = {one.document_id: one for one in weak_grades(events, [], pool=pool)}
    assert {name: one.grade for name, one in found.items()} == {"read": 2, "good": 3, "bad": 0, "changed": 0}
    assert found["read"].source is JudgmentSource.IMPLICIT
    assert found["good"].source is JudgmentSource.VALIDATED
    assert 0 < found["read"].confidence < found["good"].confidence < 1
    assert found["read"].channels == ("bm25",)


def test_a_pooled_grade_is_given_only_when_asked_for() -> None:
    pool: dict[str, set[str]] = {"read": {"bm25"}, "shown": {"vector"}}
    found = weak_grades([event(EventType.READ_AFTER_SEARCH, "read")], [], pool=pool, unjudged=1)
    assert [(one.document_id, one.grade, one.source) for one in found] == [
        ("read", 2, JudgmentSource.IMPLICIT),
        ("shown", 1, JudgmentSource.BOOTSTRAPPED),
    ]


def test_what_people_said_stays_what_it_is() -> None:
    said = [
        Judgment(
            query_id="q", memory_id="m", relevance=grade, source=JudgmentSource.MANUAL, created_at=NOW, annotator=who
        )
        for who, grade in (("ada", 3), ("bo", 1))
    ]
    found = weak_grades([event(EventType.READ_AFTER_SEARCH, "m")], said, pool={})
    assert {(one.annotator, one.grade, one.confidence) for one in found} == {
        ("ada", 3, 1.0),
        ("bo", 1, 1.0),
        ("", 2, 0.5),
    }


def test_the_most_diverse_lie_apart() -> None:
    queries = ["sign in flow", "sign in flow now", "the sign in flow", "deploy at noon", "garden plants", "tax form"]
    picked = most_diverse(word_vectors(queries), [""] * 6, 4)
    assert {queries[place] for place in picked} >= {"deploy at noon", "garden plants", "tax form"}
    assert len(most_diverse(word_vectors(queries), [""] * 6, 50)) == 6


def test_no_intent_takes_all_places() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    intents = ["common"] * 24 + ["rare"] * 6
    picked = most_diverse(vectors, intents, 10)
    assert sum(intents[place] == "rare" for place in picked) == 2
    assert len(set(picked)) == 10
