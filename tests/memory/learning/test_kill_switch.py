"""The kill switch: learned triggers are stopped when exposure concentrates, and go on only when approved again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.memory.learning.desk import FLAG, Desk

from assay.flags import Flags, Override
from assay.memory.learning import Learning
from assay.memory.learning.kill_switch import Growth, gini, growth, has_grown, most_shown, numbers


def spread_out(desk: Desk, times: int) -> None:
    """Searches whose results take turns."""
    for start in range(5):
        ring = tuple(("m_a", "m_b", "m_c", "m_d", "m_1")[(start + step) % 5] for step in range(3))
        desk.many(times, results=ring)


def applied(desk: Desk) -> None:
    desk.on()
    spread_out(desk, 40)
    desk.measured(200)
    desk.clock.advance(days=21)
    desk.learn("quagga")
    desk.try_out("quagga again")
    desk.clock.advance(days=7)
    desk.learning.approve(desk.scope)
    desk.clock.advance(seconds=1)


def test_results_that_concentrate_stop_learning(desk: Desk) -> None:
    applied(desk)
    desk.many(100, results=("m_1", "m_a"))
    done = desk.learning.catch_up(desk.scope)
    assert "gini" in done.stopped
    assert not desk.learning.flag(desk.scope).on
    assert desk.audit("learning.kill_switch")[0].detail["because"] == done.stopped
    assert desk.learning.standing(desk.scope).killed_because == done.stopped
    desk.on()
    assert [one.said for one in desk.learning.standing(desk.scope).closed] == [
        "no person has approved since the shadow period ended"
    ]
    desk.clock.advance(seconds=1)
    assert desk.learning.approve(desk.scope).applying


def test_results_that_stay_as_they_were_stop_nothing(sqlite_desk: Desk) -> None:
    applied(sqlite_desk)
    spread_out(sqlite_desk, 20)
    assert sqlite_desk.learning.catch_up(sqlite_desk.scope).stopped == ""
    assert sqlite_desk.learning.flag(sqlite_desk.scope).on


def test_below_a_hundred_searches_nothing_is_compared(sqlite_desk: Desk) -> None:
    applied(sqlite_desk)
    sqlite_desk.many(99, results=("m_1",))
    assert sqlite_desk.learning.catch_up(sqlite_desk.scope).stopped == ""
    sqlite_desk.many(1, results=("m_1",))
    assert sqlite_desk.learning.catch_up(sqlite_desk.scope).stopped


def test_where_the_environment_holds_the_switch_the_terms_are_taken_out(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    applied(desk)
    held = Flags({FLAG: Override(percent=100, layer="environment", place="a test")}, clock=desk.clock)
    learning = Learning(
        store=desk.store,
        flags=held,
        sessions=desk.shelf.searcher.sessions,
        clock=desk.clock,
        background=False,
    )
    desk.many(100, results=("m_1",))
    assert learning.catch_up(desk.scope).stopped
    assert desk.memory().learned_triggers == ()


def test_gini_by_hand() -> None:
    assert gini([]) == gini([0, 0]) == 0.0
    assert gini([5, 5, 5, 5]) == pytest.approx(0.0)
    assert gini([0, 0, 0, 8]) == pytest.approx(0.75)
    assert gini([1, 2, 3]) == pytest.approx(2 / 9)


def test_the_numbers_by_hand() -> None:
    shown = [("a", "b", "c", "d"), ("a", "b", "c", "e")]
    assert most_shown([*shown, ("a",)]) == {"a"}
    found = numbers(shown, known="abcde", favoured={"a"}, stale={"e"})
    assert found.entrenchment == pytest.approx(1 / 3)
    assert found.stale_served == pytest.approx(1 / 8)
    assert found.gini == pytest.approx(gini([2, 1, 2 / 3, 1 / 4, 1 / 4]))


def test_growth_is_more_than_chance_and_more_than_the_margin() -> None:
    rng = np.random.default_rng(1)
    before = [tuple(f"m_{one}" for one in rng.permutation(20)[:5]) for _ in range(100)]
    same = [tuple(f"m_{one}" for one in rng.permutation(20)[:5]) for _ in range(100)]
    narrow = [tuple(f"m_{one}" for one in rng.permutation(6)[:5]) for _ in range(100)]
    assert not any(one.grown for one in growth(before, same, stale=(), rng=rng))
    grown = {one.name for one in growth(before, narrow, stale={"m_0"}, rng=rng) if one.grown}
    assert {"gini", "stale_served"} <= grown


@pytest.mark.parametrize(("now", "chance", "grown"), [(0.52, 0.51, True), (0.505, 0.5, False), (0.52, 0.53, False)])
def test_what_is_watched_has_to_pass_both_the_margin_and_chance(now: float, chance: float, grown: bool) -> None:
    assert Growth("any", 0.5, now, chance).grown is grown
    assert has_grown(now - 0.5, at_least=now - chance) is grown
