"""The last few values."""

from __future__ import annotations

from functools import partial

from assay.server.pages.page import LastFew


def test_a_value_is_made_once_and_the_oldest_gives_way() -> None:
    made: list[int] = []

    def making(number: int) -> int:
        made.append(number)
        return number * 10

    kept: LastFew[int] = LastFew(most=2)
    assert [kept.of(number, partial(making, number)) for number in (1, 2, 1, 3, 1)] == [10, 20, 10, 30, 10]
    assert made == [1, 2, 3, 1]
    assert kept.find(2) is None
    assert kept.find(3) == 30
