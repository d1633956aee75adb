"""Both fusions, by hand and by property; replay from the log."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.memory.searching.candidates import Fusing
from assay.memory.searching.fusion import ceiling, fuse, order_channel, replay
from assay.records import Channel, ChannelCandidates, FusionMethod, Vote

WEIGHTS = {
    Channel.VECTOR: 0.7,
    Channel.BM25: 0.3,
    Channel.FTS5: 0.1,
    Channel.TRIGGER: 0.2,
    Channel.GRAPH: 0.05,
}
LISTS = {Channel.BM25: [(1, 10.0), (2, 5.0)], Channel.VECTOR: [(2, 0.8), (3, 0.5), (1, -0.2)]}

Found = dict[Channel, list[tuple[int, float]]]
FOUND = st.dictionaries(
    st.sampled_from(Channel),
    st.lists(st.tuples(st.integers(1, 30), st.floats(-1.0, 1.0)), max_size=20, unique_by=lambda one: one[0]),
    max_size=5,
)
METHODS = st.sampled_from(FusionMethod)


def test_convex_by_hand() -> None:
    # 2: 0.7 * 0.8 + 0.3 * 5/10; 3: 0.7 * 0.5; 1: 0.7 * 0 + 0.3 * 10/10
    found = fuse(LISTS, FusionMethod.CONVEX, WEIGHTS)
    assert [one.number for one in found] == [2, 3, 1]
    assert [one.fused for one in found] == pytest.approx([0.71, 0.35, 0.30])


def test_rrf_by_hand() -> None:
    # 2: 0.7/61 + 0.3/62; 1: 0.7/63 + 0.3/61; 3: 0.7/62
    found = fuse(LISTS, FusionMethod.RRF, WEIGHTS, 60)
    by_hand = (Fraction(7, 610) + Fraction(3, 620), Fraction(7, 630) + Fraction(3, 610), Fraction(7, 620))
    assert [one.number for one in found] == [2, 1, 3]
    assert [one.fused for one in found] == pytest.approx([float(score) for score in by_hand])


def test_votes_tell_channel_rank_score_scaled_score_and_weight() -> None:
    best = fuse(LISTS, FusionMethod.CONVEX, WEIGHTS)[0]
    assert best.votes == (
        Vote(channel=Channel.VECTOR, rank=1, score=0.8, scaled=0.8, weight=0.7),
        Vote(channel=Channel.BM25, rank=2, score=5.0, scaled=0.5, weight=0.3),
    )
    assert best.channels == (Channel.VECTOR, Channel.BM25)


def test_a_vote_of_rrf_is_one_over_k_plus_rank() -> None:
    assert [vote.scaled for vote in fuse(LISTS, FusionMethod.RRF, WEIGHTS, 60)[1].votes] == [1 / 63, 1 / 61]


def test_equal_scores_of_a_channel_are_ranked_by_number() -> None:
    found = fuse({Channel.VECTOR: [(9, 0.5), (4, 0.5), (7, 0.5)]}, FusionMethod.RRF, WEIGHTS)
    assert [one.number for one in found] == [4, 7, 9]


def test_equal_fused_scores_keep_the_order_of_the_channels() -> None:
    lists = {Channel.GRAPH: [(1, 0.5)], Channel.VECTOR: [(2, 0.5)]}
    assert [one.number for one in fuse(lists, FusionMethod.CONVEX, dict.fromkeys(Channel, 1.0))] == [2, 1]


def test_a_passage_found_twice_counts_once_at_its_best() -> None:
    assert order_channel([(1, 0.2), (2, 0.5), (1, 0.9)]) == [(1, 0.9), (2, 0.5)]


def test_nothing_found_is_an_empty_list() -> None:
    assert fuse({}, FusionMethod.CONVEX, WEIGHTS) == []
    assert fuse({Channel.VECTOR: []}, FusionMethod.RRF, WEIGHTS) == []


def test_a_channel_without_a_weight_is_refused_by_name() -> None:
    with pytest.raises(BadValue, match="no weight for channel bm25"):
        fuse(LISTS, FusionMethod.CONVEX, {Channel.VECTOR: 1.0})


def test_the_weight_of_a_channel_that_did_not_run_goes_to_nobody() -> None:
    whole = fuse(LISTS, FusionMethod.CONVEX, WEIGHTS)
    dead = fuse({Channel.BM25: LISTS[Channel.BM25]}, FusionMethod.CONVEX, WEIGHTS)
    of_bm25 = {one.number: vote.contribution for one in whole for vote in one.votes if vote.channel is Channel.BM25}
    assert {one.number: one.fused for one in dead} == of_bm25


def test_the_ceiling_is_the_sum_of_the_weights_that_ran() -> None:
    assert ceiling(LISTS, FusionMethod.CONVEX, WEIGHTS) == pytest.approx(1.0)
    assert ceiling([Channel.BM25, Channel.BM25], FusionMethod.CONVEX, WEIGHTS) == 0.3
    assert ceiling(LISTS, FusionMethod.RRF, WEIGHTS, 60) == pytest.approx(1 / 61)


@given(lists=FOUND, method=METHODS)
def test_a_fused_score_lies_between_zero_and_the_ceiling(lists: Found, method: FusionMethod) -> None:
    most = ceiling(lists, method, WEIGHTS) if lists else 0.0
    assert all(0.0 <= one.fused <= most * (1 + 1e-12) for one in fuse(lists, method, WEIGHTS))


@given(lists=FOUND, method=METHODS, data=st.data())
def test_the_order_of_the_input_changes_nothing(lists: Found, method: FusionMethod, data: st.DataObject) -> None:
    channels = data.draw(st.permutations(list(lists)))
    shuffled = {channel: data.draw(st.permutations(lists[channel])) for channel in channels}
    assert fuse(shuffled, method, WEIGHTS) == fuse(lists, method, WEIGHTS)


@given(lists=FOUND, method=METHODS, channel=st.sampled_from(Channel))
def test_one_more_channel_never_lowers_a_fused_score(lists: Found, method: FusionMethod, channel: Channel) -> None:
    fewer = {one: found for one, found in lists.items() if one is not channel}
    after = {one.number: one.fused for one in fuse(lists, method, WEIGHTS)}
    assert all(one.fused <= after[one.number] for one in fuse(fewer, method, WEIGHTS))


@given(lists=FOUND, method=METHODS)
def test_the_votes_of_a_passage_add_up_to_its_score(lists: Found, method: FusionMethod) -> None:
    for one in fuse(lists, method, WEIGHTS):
        assert one.fused == pytest.approx(sum(vote.contribution for vote in one.votes), abs=1e-12)


@given(lists=FOUND, method=METHODS)
def test_replay_from_the_log_gives_the_same_order_whatever_the_ids(lists: Found, method: FusionMethod) -> None:
    # Ids that sort the other way round than numbers: only ranks may part equals.
    candidates = [
        ChannelCandidates(
            channel=channel,
            ids=tuple(f"mem_{100 - number}" for number, _ in order_channel(found)),
            scores=tuple(score for _, score in order_channel(found)),
        )
        for channel, found in lists.items()
    ]
    live = fuse(lists, method, WEIGHTS)
    again = replay(candidates, method, WEIGHTS)
    assert [one.number for one in again] == [f"mem_{100 - one.number}" for one in live]
    assert [one.votes for one in again] == [one.votes for one in live]


@given(steps=st.lists(FOUND, min_size=1, max_size=5), method=METHODS)
def test_lists_that_come_one_after_the_other_are_fused_as_if_they_came_together(
    steps: list[Found], method: FusionMethod
) -> None:
    in_any_order, in_theirs = (Fusing(method=method, weights=WEIGHTS, rrf_k=60) for _ in range(2))
    lists = Found()
    for step in steps:
        lists |= step
        whole = fuse({one: found for one, found in lists.items() if found}, method, WEIGHTS, 60)
        assert in_any_order(lists) == whole
        for last in range(len(Channel)):
            so_far = {channel: lists[channel] for channel in list(Channel)[: last + 1] if channel in lists}
            found = in_theirs(so_far)
        assert found == whole


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([-0.5, 0.0, 0.25, 0.5]))))
def test_a_channel_is_ordered_as_one_sort_by_score_and_key_would(found: list[tuple[int, float]]) -> None:
    best: dict[int, float] = {}
    for number, score in found:
        best[number] = max(score, best.get(number, score))
    assert order_channel(found) == sorted(best.items(), key=lambda one: (-one[1], one[0]))
