"""Boosts: each by hand, all within the bound, and how far they can move a result."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.memory.searching import boosts
from assay.memory.searching.boosts import (
    Booster,
    NamedBy,
    RankBounds,
    Surroundings,
    combine_boosts,
    confidence_factor,
    find_named,
    order_by_boosted_score,
    rank_bounds,
)
from assay.memory.searching.channels import GraphNeighbour
from assay.memory.searching.fusion import AggregatedMemory, FusedPassage
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.query import parse
from assay.records import Boost, SearchRequest, Tier
from assay.storage import Candidate
from assay.storage.repositories.passages import CandidateMemory


def boost(factor: float) -> Boost:
    return Boost(name="any", factor=factor, reason="any")


@pytest.mark.parametrize(
    ("value", "factor"), [(0.0, 0.3), (0.25, 0.65), (0.5, 1.0), (0.75, 1.1), (1.0, 1.2), (0.4, 0.86), (0.6, 1.04)]
)
def test_the_confidence_multiplier_by_hand(value: float, factor: float) -> None:
    assert confidence_factor(value) == pytest.approx(factor)


def test_confidence_says_nothing_at_its_start() -> None:
    assert boosts.boost_confidence(0.5, raised=0.5) is None


def test_without_negative_feedback_confidence_only_raises() -> None:
    assert boosts.boost_confidence(0.1, raised=0.5, negative_feedback=False) is None
    raised = boosts.boost_confidence(1.0, raised=0.5, negative_feedback=False)
    assert raised == Boost(name="confidence", factor=1.2, reason="confidence 1.00")


def test_confidence_counts_as_far_as_questions_like_this_one_raised_it() -> None:
    partly = boosts.boost_confidence(1.0, raised=0.25)
    assert partly is not None
    assert partly.factor == pytest.approx(1.1)
    assert partly.reason == "confidence 1.00, 0.75 for questions like this one"
    assert boosts.boost_confidence(1.0, raised=0.0) is None
    assert boosts.boost_confidence(0.2, raised=0.0) == boosts.boost_confidence(0.2, raised=0.5)


def test_a_memory_marked_useless_throughout_keeps_its_factor_under_the_default_bound() -> None:
    lowered = boosts.boost_confidence(0.0, raised=0.0)
    assert lowered is not None
    assert combine_boosts([lowered], SearchOptions().boost_bound) == pytest.approx(0.3, abs=1e-15)


def test_each_raising_boost_by_hand() -> None:
    made = [
        boosts.boost_session(0.5, 0.15),
        boosts.boost_causal(0.4, 1, 0.1),
        boosts.boost_coactivation(0.25, 0.1),
        boosts.boost_learned_triggers(("deploy",), 1.0, 0.7, 0.2),
        boosts.boost_context_type("code", "code", 0.05),
        boosts.boost_recency(30.0, 30.0, 0.05),
    ]
    found = [one for one in made if one]
    assert [one.factor for one in found] == pytest.approx([1.075, 1.04, 1.025, 1.14, 1.05, 1.025])
    assert [(one.name, one.reason) for one in found] == [
        ("session", "attention 0.50 in this session"),
        ("causal", "1 hop from a result, path strength 0.40"),
        ("coactivation", "found together in 25% of past results"),
        ("learned_triggers", "learned 'deploy'"),
        ("context_type", "of type 'code'"),
        ("recency", "updated 30.0 days ago"),
    ]


def test_a_fact_that_says_nothing_gives_no_boost() -> None:
    assert boosts.boost_session(0.0, 0.15) is None
    assert boosts.boost_causal(0.0, 2, 0.1) is None
    assert boosts.boost_coactivation(0.0, 0.1) is None
    assert boosts.boost_learned_triggers((), 1.0, 0.7, 0.2) is None
    assert boosts.boost_context_type(None, "", 0.05) is None
    assert boosts.boost_context_type("code", "mail", 0.05) is None


def test_what_was_updated_in_the_future_is_as_new_as_can_be() -> None:
    assert boosts.boost_recency(-3.0, 30.0, 0.05) == boosts.boost_recency(0.0, 30.0, 0.05)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_a_fact_outside_zero_to_one_is_refused(value: float) -> None:
    with pytest.raises(BadValue, match=r"attention .* is outside 0 to 1"):
        boosts.boost_session(value, 0.1)
    with pytest.raises(BadValue, match=r"confidence .* is outside 0 to 1"):
        boosts.boost_confidence(value, raised=0.5)


SHARES = st.floats(0.0, 1.0)


@given(amount=SHARES, strength=SHARES, age=st.floats(0.0, 1e6))
def test_every_boost_stays_within_its_strength(amount: float, strength: float, age: float) -> None:
    made = (
        boosts.boost_session(amount, strength),
        boosts.boost_causal(amount, 2, strength),
        boosts.boost_coactivation(amount, strength),
        boosts.boost_learned_triggers(("x",), amount, 0.7, strength),
        boosts.boost_context_type("a", "a", strength),
        boosts.boost_recency(age, 30.0, strength),
    )
    assert all(1.0 < one.factor <= 1.0 + strength for one in made if one)


@given(factors=st.lists(st.floats(0.01, 100.0), max_size=8), bound=st.floats(1.0, 10.0))
def test_all_boosts_together_stay_within_the_bound(factors: list[float], bound: float) -> None:
    assert 1.0 / bound <= combine_boosts(map(boost, factors), bound) <= bound


def test_no_boost_changes_nothing() -> None:
    assert combine_boosts([], 2.0) == 1.0


def test_rank_bounds_by_hand() -> None:
    # With bound 2 a result passes those up to 4 times its score: 10 and 3 may change places, 10 and 1 may not.
    assert rank_bounds([10.0, 3.0, 1.0], 2.0) == [RankBounds(1, 2), RankBounds(1, 3), RankBounds(2, 3)]


def test_with_bound_one_only_equals_can_change_places() -> None:
    assert rank_bounds([3.0, 2.0, 2.0, 1.0], 1.0) == [(1, 1), (2, 3), (2, 3), (4, 4)]


def test_rank_bounds_need_falling_scores() -> None:
    with pytest.raises(BadValue, match="do not fall"):
        rank_bounds([1.0, 2.0], 2.0)


@given(
    rows=st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.01, 100.0)), min_size=1, max_size=20),
    bound=st.floats(1.0, 4.0),
)
def test_no_set_of_boosts_moves_a_result_beyond_its_rank_bounds(rows: list[tuple[float, float]], bound: float) -> None:
    rows = sorted(rows, key=lambda row: row[0], reverse=True)
    scores = [score for score, _ in rows]
    factors = [combine_boosts([boost(factor)], bound) for _, factor in rows]
    # Rounding may put the product of a clamped factor a hair beyond the bound.
    allowed = rank_bounds(scores, bound * (1 + 1e-9))
    for rank, place in enumerate(order_by_boosted_score(scores, factors), start=1):
        assert allowed[place].best <= rank <= allowed[place].worst


@given(
    base=st.floats(0.001, 1.0),
    ratio=st.floats(1.0001, 10.0),
    bound=st.floats(1.0, 4.0),
    factors=st.tuples(st.floats(0.01, 100.0), st.floats(0.01, 100.0)),
)
def test_what_scores_more_than_the_squared_bound_times_as_much_is_never_passed(
    base: float, ratio: float, bound: float, factors: tuple[float, float]
) -> None:
    high, low = (combine_boosts([boost(factor)], bound) for factor in factors)
    assert base * bound * bound * ratio * high > base * low


def test_equals_keep_their_order() -> None:
    assert order_by_boosted_score([0.5, 0.5, 0.25], [1.0, 1.0, 2.0]) == [0, 1, 2]


def test_what_the_first_results_name_by_its_title_is_named_once_by_the_best_of_them() -> None:
    memories = [
        AggregatedMemory.of(number, 1.0 / number, (FusedPassage(number, 1.0 / number, ()),)) for number in (1, 2, 3, 4)
    ]
    lines = {
        1: " ferry \n  \n the ferry of the harbour office in may ",
        2: " harbour office \n  \n the ferry and the old market ",
        3: " old market \n  \n nothing ",
        4: " may \n  \n the ferry ",
    }
    found = find_named(memories, lines, lambda title: title == "may", seeds=2)
    assert found == {2: NamedBy(1, 1.0), 1: NamedBy(2, 0.5), 3: NamedBy(2, 0.5)}
    assert find_named(memories, lines, lambda _: False, seeds=1).keys() == {2, 4}
    # A title that two of them have names neither.
    shared = {**lines, 3: lines[2]}
    assert find_named(memories, shared, lambda _: False, seeds=1).keys() == {4}
    assert find_named([], {}, lambda _: False, seeds=3) == {}


MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
rows = st.builds(
    lambda confidence, context_type, tier, age_days: Candidate(
        1, "m_1", 0, 5,
        CandidateMemory(
            "m_1", 7, tier, "", context_type, "", confidence, False, MOMENT.timestamp() - 86_400 * age_days, 0.0, None
        ),
        "m_1#0",
    ),
    st.sampled_from([0.0, 0.3, 0.5, 0.9]),
    st.sampled_from(["", "decision"]),
    st.sampled_from([tier.value for tier in Tier]),
    st.floats(-5.0, 5_000.0),
)  # fmt: skip
surroundings = st.builds(
    Surroundings,
    attention=st.sampled_from([{}, {"m_1": 0.5}, {"m_2": 0.5}]),
    together=st.sampled_from([{}, {"m_1": 0.25}]),
    neighbours=st.sampled_from([{}, {"m_1": GraphNeighbour("m_1", 0.5, 0.5, 1)}]),
    learned=st.sampled_from([{}, {"m_1": {"apple": 0.5}}]),
    named=st.sampled_from([{}, {7: NamedBy(1, 0.75)}]),
)


@given(rows, surroundings, st.sampled_from([None, "decision"]), st.sets(st.sampled_from(["tier_boost", "x"])))
def test_the_factor_alone_is_that_of_the_boosts(
    row: Candidate, around: Surroundings, context_type: str | None, off: set[str]
) -> None:
    options = SearchOptions()
    booster = Booster(
        SearchRequest(query="apple pie", context_type=context_type),
        parse("apple pie"),
        around=around,
        enabled=lambda flag: flag not in off,
        options=options,
        now=MOMENT,
    )
    assert booster.find_factor(row) == combine_boosts(booster.boosts(row), options.boost_bound)
