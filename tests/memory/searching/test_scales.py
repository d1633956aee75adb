"""Scales: every channel has one, and a threshold holds on its own scale only."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.memory.searching.fusion import (
    CHANNEL_SCALES,
    FUSION_SCALES,
    Scale,
    Score,
    Threshold,
    scale_scores,
    to_result_score,
)
from assay.records import Channel, FusionMethod

NUMBERS = st.lists(st.floats(-1e9, 1e9), max_size=30)


def test_bm25_is_divided_by_the_best_of_the_query() -> None:
    assert scale_scores(Channel.BM25, [12.0, 6.0, 3.0]) == [1.0, 0.5, 0.25]


def test_a_cosine_is_clipped_at_zero_and_not_stretched() -> None:
    assert scale_scores(Channel.VECTOR, [0.8, 0.2, -0.4]) == [0.8, 0.2, 0.0]


@pytest.mark.parametrize("channel", [Channel.FTS5, Channel.TRIGGER, Channel.GRAPH])
def test_a_lone_weak_match_of_the_other_channels_stays_weak(channel: Channel) -> None:
    assert scale_scores(channel, [0.1]) == [0.1]


@pytest.mark.parametrize("channel", Channel)
def test_nothing_scales_to_nothing(channel: Channel) -> None:
    assert scale_scores(channel, []) == []


def test_bm25_scores_of_zero_stay_zero() -> None:
    assert scale_scores(Channel.BM25, [0.0, 0.0]) == [0.0, 0.0]


@given(channel=st.sampled_from(Channel), scores=NUMBERS)
def test_scaled_scores_lie_in_the_unit_interval_and_keep_their_order(channel: Channel, scores: list[float]) -> None:
    found = scale_scores(channel, scores)
    assert all(0.0 <= one <= 1.0 for one in found)
    places = sorted(range(len(scores)), key=scores.__getitem__)
    assert all(found[low] <= found[high] for low, high in pairwise(places))


def test_every_channel_and_method_has_a_scale() -> None:
    assert set(CHANNEL_SCALES) == set(Channel)
    assert set(FUSION_SCALES) == set(FusionMethod)


def test_a_threshold_passes_what_reaches_it() -> None:
    least = Threshold(scale=Scale.COSINE, value=0.5)
    assert least.passes(Score(Scale.COSINE, 0.5))
    assert not least.passes(Score(Scale.COSINE, 0.499))


@pytest.mark.parametrize("scale", [scale for scale in Scale if scale is not Scale.COSINE])
def test_a_threshold_refuses_every_other_scale(scale: Scale) -> None:
    with pytest.raises(
        BadValue, match=f"threshold on the scale cosine cannot be applied to a score on the scale {scale}"
    ):
        Threshold(scale=Scale.COSINE, value=0.5).passes(Score(scale, 0.9))


def test_a_shown_score_is_divided_boosted_and_clamped() -> None:
    assert to_result_score(0.5, ceiling=2.0, factor=1.2) == pytest.approx(0.3)
    assert to_result_score(3.0, ceiling=2.0) == 1.0


@given(st.sampled_from(list(Channel)), st.lists(st.floats(-2.0, 30.0)))
def test_scores_are_scaled_as_by_hand(channel: Channel, scores: list[float]) -> None:
    best = max(scores, default=0.0) if channel is Channel.BM25 else 1.0
    expected = [0.0 if best <= 0.0 else min(max(score, 0.0), best) / best for score in scores]
    assert scale_scores(channel, scores) == expected
