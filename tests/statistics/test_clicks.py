"""Clicks over expected clicks by hand, and where raw click-through is misled."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import BadValue
from assay.statistics.online_tests import Attraction, Showing, attractions, place_rates


def shown(query: str, item: str, place: int, clicks: int, times: int) -> list[Showing]:
    return [Showing(query, item, place, at < clicks) for at in range(times)]


def test_a_place_earns_its_rate_over_all_queries() -> None:
    showings = shown("a", "x", 1, 3, 4) + shown("b", "y", 1, 1, 4) + shown("a", "z", 2, 1, 5)
    assert place_rates(showings) == {1: 0.5, 2: 0.2}


def test_the_ratio_holds_what_was_earned_against_what_the_places_earn() -> None:
    showings = shown("a", "x", 1, 3, 4) + shown("b", "y", 1, 1, 4)
    found = attractions(showings)
    assert found["a", "x"] == Attraction(4, 3, 2.0)
    assert found["a", "x"].ratio == 4 / 3
    assert found["b", "y"].ratio == 2 / 3
    assert found["a", "x"].click_through == 0.75


def test_what_was_never_clicked_falls_the_more_often_it_was_looked_at() -> None:
    once, often = Attraction(1, 0, 0.5), Attraction(40, 0, 20.0)
    assert once.click_through == often.click_through == 0.0
    assert often.ratio < once.ratio < 1.0
    assert often.above_average < once.above_average


def test_the_chance_to_be_above_average_by_hand() -> None:
    # Gamma(1 + 1, 1 + 2) above 1: two Poisson terms at rate 3.
    assert Attraction(5, 1, 2.0).above_average == pytest.approx(math.exp(-3) * (1 + 3))
    assert Attraction(1000, 400, 100.0).above_average == pytest.approx(1.0)


def test_a_good_item_shown_low_is_put_above_a_poor_one_shown_first() -> None:
    rng = np.random.default_rng(4)
    looked = {1: 0.9, 2: 0.5, 3: 0.25}
    worth = {"good": 0.5, "fair": 0.4, "poor": 0.3}
    place = {"poor": 1, "fair": 2, "good": 3}
    showings = []
    for query in ("kept", "turned"):
        at = place if query == "kept" else {item: 4 - there for item, there in place.items()}
        for item, value in worth.items():
            clicked = rng.random(4_000) < value * looked[at[item]]
            showings += [Showing(query, item, at[item], bool(one)) for one in clicked]
    found = attractions(showings)
    by_clicks = max(worth, key=lambda item: found["kept", item].click_through)
    by_ratio = max(worth, key=lambda item: found["kept", item].ratio)
    assert (by_clicks, by_ratio) == ("poor", "good")


def test_places_are_counted_from_1() -> None:
    with pytest.raises(BadValue, match="place 0"):
        attractions([Showing("a", "x", 0, True)])


def test_nothing_shown_is_nothing_known() -> None:
    assert attractions([]) == {}
