"""MPAB by hand, its guards, and an explanation that makes the score again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.memory.searching.boosts import combine_boosts
from assay.memory.searching.fusion import (
    AggregatedMemory,
    FusedPassage,
    aggregate,
    ceiling,
    floor_of,
    fuse,
    mpab,
    to_result_score,
)
from assay.records import Boost, Channel, Explanation, FusionMethod, PassageScore

WEIGHTS = dict.fromkeys(Channel, 1.0)


def passage(number: int, score: float) -> FusedPassage[int]:
    return FusedPassage(number, score, ((Channel.VECTOR, 1, score, score, 1.0),))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], 0.0),
        ([0.4], 0.4),
        ([0.4, 0.8], 0.8 + 0.3 * 0.4 / math.sqrt(2)),
        ([0.5, 0.9, 0.1, 0.3], 0.9 + 0.3 * 0.9 / 2),
        ([0.6, 0.6, 0.6], 0.6 + 0.3 * 1.2 / math.sqrt(3)),
        ([0.7, 0.7], 0.7 + 0.3 * 0.7 / math.sqrt(2)),
    ],
)
def test_mpab_by_hand_also_when_the_maximum_is_tied(scores: list[float], expected: float) -> None:
    assert mpab(scores, 0.3) == pytest.approx(expected, abs=1e-15)


def test_passages_of_a_memory_become_its_score_and_stand_best_first() -> None:
    fused = [passage(12, 0.8), passage(20, 0.7), passage(10, 0.4), passage(11, 0.1)]
    found = aggregate(fused, {10: 1, 11: 1, 12: 1, 20: 2}, enabled=True, coefficient=0.3)
    assert [(one.memory, one.score) for one in found] == [
        (1, pytest.approx(0.8 + 0.3 * 0.5 / math.sqrt(3))),
        (2, 0.7),
    ]
    assert [one.number for one in found[0].ranked] == [12, 10, 11]
    assert found[0].best_number == 12


def test_passages_that_score_alike_stand_in_document_order_by_their_positions_when_they_are_given() -> None:
    fused = [passage(11, 0.8), passage(10, 0.8), passage(12, 0.9)]
    memory_of = {10: 1, 11: 1, 12: 1}
    [plain] = aggregate(fused, memory_of, True, 0.3)
    assert [one.number for one in plain.ranked] == [12, 10, 11]
    [placed] = aggregate(fused, memory_of, True, 0.3, position_of={10: 5, 11: 2, 12: 3}.__getitem__)
    assert [one.number for one in placed.ranked] == [12, 11, 10]


def test_not_enabled_a_memory_scores_what_its_best_passage_scores() -> None:
    found = aggregate([passage(1, 0.8), passage(2, 0.7)], {1: 1, 2: 1}, enabled=False, coefficient=0.3)
    assert [one.score for one in found] == [0.8]


def test_a_memory_of_one_passage_scores_the_same_enabled_or_not() -> None:
    fused = [passage(1, 0.8), passage(2, 0.7)]
    assert aggregate(fused, {1: 1, 2: 2}, True, 0.3) == aggregate(fused, {1: 1, 2: 2}, False, 0.3)


def test_passages_that_were_filtered_out_are_left_out() -> None:
    assert [one.memory for one in aggregate([passage(1, 0.8), passage(2, 0.7)], {2: 5}, True, 0.3)] == [5]


def test_equal_memories_stand_in_the_order_of_their_best_passages() -> None:
    fused = [passage(30, 0.5), passage(3, 0.5)]
    assert [one.memory for one in aggregate(fused, {30: 9, 3: 1}, True, 0.3)] == [9, 1]


@pytest.mark.parametrize("depth", [50, 100, 200, 400])
def test_ten_passages_at_ranks_41_to_50_do_not_beat_the_one_at_rank_1_with_rrf(depth: int) -> None:
    lists = {Channel.VECTOR: [(number, 1.0 - number / 1000) for number in range(1, depth + 1)]}
    fused = fuse(lists, FusionMethod.RRF, WEIGHTS)
    memory_of = {number: 1000 if 41 <= number <= 50 else number for number in range(1, depth + 1)}
    raised = aggregate(fused, memory_of, True, 0.3, floor=floor_of(fused, memory_of))
    assert raised[0].memory == 1
    # Without the floor they would: the guard is needed.
    assert aggregate(fused, memory_of, True, 0.3)[0].memory == 1000


def test_further_passages_count_above_the_first_behind_the_ten_best() -> None:
    fused = [passage(number, 1.0 - number / 20) for number in range(12)]
    memory_of = {number: 1 if number in (0, 3, 11) else 50 + number for number in range(12)}
    assert floor_of(fused, memory_of) == 0.5
    found = aggregate(fused, memory_of, True, 0.3, floor=0.5)
    assert found[0].score == pytest.approx(1.0 + 0.3 * (0.85 - 0.5) / math.sqrt(3))


def test_passages_that_were_filtered_out_do_not_set_the_floor() -> None:
    fused = [passage(number, 1.0 - number / 20) for number in range(12)]
    assert floor_of(fused, dict.fromkeys(range(1, 12), 1)) == fused[11].fused


def test_where_no_more_than_ten_were_found_every_passage_counts_whole() -> None:
    fused = [passage(number, 1.0 - number / 20) for number in range(10)]
    assert floor_of(fused, dict.fromkeys(range(10), 1)) == 0.0


SCORES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@given(scores=SCORES, data=st.data())
def test_mpab_does_not_depend_on_the_order_of_passages(scores: list[float], data: st.DataObject) -> None:
    assert mpab(data.draw(st.permutations(scores)), 0.3) == mpab(scores, 0.3)


@given(scores=SCORES)
def test_mpab_is_at_least_the_best_passage_and_grows_by_a_stated_share(scores: list[float]) -> None:
    most = 1.0 + 0.3 * (len(scores) - 1) / math.sqrt(len(scores))
    assert max(scores) <= mpab(scores, 0.3) <= max(scores) * most + 1e-12


FACTORS = st.lists(st.floats(0.3, 1.3), max_size=4)


def explained(
    memory: AggregatedMemory,
    method: FusionMethod,
    *,
    enabled: bool,
    boosts: tuple[Boost, ...],
    most: float,
    least: float,
) -> Explanation:
    return Explanation(
        method=method,
        passages=tuple(PassageScore(position=one.number, votes=one.votes, fused=one.fused) for one in memory.ranked),
        aggregated=enabled,
        coefficient=0.3,
        boosts=boosts,
        bound=10 / 3,
        scale=most,
        score=to_result_score(memory.score, ceiling=most, factor=combine_boosts(boosts, 10 / 3)),
        floor=least,
    )


@given(
    lists=st.dictionaries(
        st.sampled_from(Channel),
        st.lists(
            st.tuples(st.integers(1, 30), st.floats(0.0, 1.0)), min_size=1, max_size=20, unique_by=lambda one: one[0]
        ),
        min_size=1,
    ),
    method=st.sampled_from(FusionMethod),
    enabled=st.booleans(),
    factors=FACTORS,
)
def test_an_explanation_makes_the_score_again(
    lists: dict[Channel, list[tuple[int, float]]], method: FusionMethod, enabled: bool, factors: list[float]
) -> None:
    boosts = tuple(Boost(name="any", factor=factor, reason="any") for factor in factors)
    most = ceiling(lists, method, WEIGHTS)
    memory_of = {number: number // 4 for number in range(31)}
    fused = fuse(lists, method, WEIGHTS)
    least = floor_of(fused, memory_of)
    for memory in aggregate(fused, memory_of, enabled, 0.3, floor=least):
        explanation = explained(memory, method, enabled=enabled, boosts=boosts, most=most, least=least)
        assert explanation.recompute() == pytest.approx(explanation.score, abs=1e-12)
        assert 0.0 <= explanation.score <= 1.0
