"""How often requests may be sent, and tokens fail."""

from __future__ import annotations

import pytest

from assay.gateway.quotas import BodyRoom, Rates, TokenFailures
from assay.gateway.refusal import RequestRefused
from assay.testing import FixedClock


def test_a_bucket_fills_again() -> None:
    clock = FixedClock()
    rates = Rates(clock, 60)
    assert [rates.take("one") for _ in range(15)] == [0.0] * 15
    assert rates.take("one") == pytest.approx(1.0)
    assert rates.take("two") == 0.0
    clock.advance(seconds=1)
    assert rates.take("one") == 0.0


def test_failures_are_counted_by_address() -> None:
    failures = TokenFailures(FixedClock())
    for number in range(15):
        failures.count("address 192.0.2.1", f"token {number}")
    with pytest.raises(RequestRefused) as problem:
        failures.count("address 192.0.2.1", "another")
    assert (problem.value.status, problem.value.code) == (429, "too_many_failures")
    assert int(problem.value.headers["Retry-After"]) >= 1
    failures.count("address 192.0.2.2", "another")


def test_failures_are_counted_by_token_wherever_they_come_from() -> None:
    failures = TokenFailures(FixedClock())
    for number in range(5):
        failures.count(f"address 192.0.2.{number}", "the same")
    with pytest.raises(RequestRefused):
        failures.count("address 192.0.2.99", "the same")
    failures.count("address 192.0.2.99", "another")


def test_one_caller_has_a_share_of_the_room_for_bodies() -> None:
    room = BodyRoom(room=10, share=4)
    room.take("one", 4)
    with pytest.raises(RequestRefused) as problem:
        room.take("one", 1)
    assert (problem.value.status, problem.value.code) == (503, "no_room")
    room.take("two", 4)
    with pytest.raises(RequestRefused):
        room.take("three", 3)
    room.give_back("one", 4)
    room.take("three", 3)
    assert room.taken == 7
