"""Options: the defaults are whole, and what would move a number without sense is refused."""

from __future__ import annotations

from typing import Any

import pytest

from assay.errors import BadValue
from assay.memory.searching.options import BASE_WEIGHTS, QUICK_CHANNELS, WEIGHTS, SearchOptions
from assay.records import Channel, Intent, Mode


def test_every_intent_has_a_weight_for_every_channel() -> None:
    assert {intent: set(weights) for intent, weights in WEIGHTS.items()} == {one: set(Channel) for one in Intent}


def test_without_adaptive_fusion_every_intent_has_the_weights_of_understand() -> None:
    options = SearchOptions()
    assert all(options.weights_for(intent, adaptive=False) == BASE_WEIGHTS for intent in Intent)
    assert all(options.weights_for(intent) == WEIGHTS[intent] for intent in Intent)


def test_where_bm25_is_not_asked_fts5_has_two_thirds_of_its_weight() -> None:
    quick = SearchOptions().weights_for(Intent.UNDERSTAND, channels=QUICK_CHANNELS)
    assert quick == {**BASE_WEIGHTS, Channel.FTS5: pytest.approx(0.2)}


@pytest.mark.parametrize(("documents", "most"), [(0, 1000), (20_000, 1000), (20_020, 1001), (1_000_000, 50_000)])
def test_a_word_is_too_common_above_a_share_but_never_below_a_thousand(documents: int, most: int) -> None:
    assert SearchOptions().too_common(documents) == most


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"boost_bound": 0.5}, "boost_bound 0.5 is below 1"),
        ({"coefficient": 1.5}, "coefficient 1.5 is outside 0 to 1"),
        ({"method": "borda"}, "method 'borda' is not known"),
        ({"recency_half_life_days": 0.0}, "recency_half_life_days 0.0 is not above 0"),
        ({"pools": {Mode.QUICK: 5}}, "pools has no pool for each mode"),
        ({"pools": {Mode.QUICK: 0, Mode.FOCUSED: 1, Mode.DEEP: 1}}, "pools has no pool for each mode"),
        ({"low_pressure": 0.95}, "do not grow"),
        ({"weights": {Intent.UNDERSTAND: BASE_WEIGHTS}}, "weights lacks add_feature.vector"),
        ({"weights": {intent: {**BASE_WEIGHTS, Channel.FTS5: 0.0} for intent in Intent}}, "fts5 0.0 is not above 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadValue, match=problem):
        SearchOptions(**given)


def test_weights_given_are_kept_whatever_happens_to_the_mapping_later() -> None:
    table = {intent: dict(BASE_WEIGHTS) for intent in Intent}
    options = SearchOptions(weights=table)
    table[Intent.UNDERSTAND][Channel.VECTOR] = 99.0
    assert options.weights_for(Intent.UNDERSTAND) == BASE_WEIGHTS
