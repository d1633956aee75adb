"""Pseudo-relevance feedback by hand: which terms are added, and with what weight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.memory.searching.query import expand_query


def flat(_: str) -> float:
    return 1.0


def test_expansion_by_hand() -> None:
    # lock: (2/4 + 1/4) / 2 = 0.375, idf 1; wal: (1/4 + 1/4) / 2 = 0.25, idf 3 = 0.75: the best, weight 0.3
    first = {"lock": 2, "wal": 1, "store": 1}
    second = {"lock": 1, "wal": 1, "store": 2}
    found = expand_query(
        ["store"], [first, second], {"lock": 1.0, "wal": 3.0, "store": 1.0}.__getitem__, count=20, weight=0.3
    )
    assert found == {"store": 1.0, "wal": pytest.approx(0.3), "lock": pytest.approx(0.15)}
    assert list(found) == ["store", "wal", "lock"]


def test_a_term_of_only_one_of_several_passages_is_not_added() -> None:
    found = expand_query(["a"], [{"once": 5, "both": 1}, {"both": 1}], flat, count=20, weight=0.3)
    assert found == {"a": 1.0, "both": pytest.approx(0.3)}


def test_of_a_single_passage_every_telling_term_counts() -> None:
    assert set(expand_query(["a"], [{"once": 1, "12": 3, "of": 9}], flat, count=20, weight=0.3)) == {"a", "once"}


def test_a_term_that_every_passage_of_the_store_holds_is_not_added() -> None:
    assert expand_query(["a"], [{"every": 4}], lambda _: 0.0, count=20, weight=0.3) == {"a": 1.0}


def test_without_feedback_the_query_stays_as_it_is() -> None:
    assert expand_query(["a", "b", "a"], [], flat, count=20, weight=0.3) == {"a": 1.0, "b": 1.0}
    assert expand_query([], [{}], flat, count=20, weight=0.3) == {}


def test_at_most_count_terms_are_added_and_equals_are_taken_by_name() -> None:
    assert list(expand_query([], [{"ccc": 1, "aaa": 1, "bbb": 1}], flat, count=2, weight=0.3)) == ["aaa", "bbb"]


TERMS = st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"])


@given(st.lists(TERMS, max_size=3), st.lists(st.dictionaries(TERMS, st.integers(1, 9)), max_size=4))
def test_original_terms_keep_weight_one_and_added_ones_stay_below(
    stems: list[str], documents: list[dict[str, int]]
) -> None:
    found = expand_query(stems, documents, flat, count=2, weight=0.3)
    assert all(found[stem] == 1.0 for stem in stems)
    added = {term: weight for term, weight in found.items() if term not in stems}
    assert len(added) <= 2
    assert all(0.0 < weight <= 0.3 for weight in added.values())
