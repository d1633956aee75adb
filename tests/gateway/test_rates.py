"""How often requests may be sent, and tokens fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from assay.gateway.quotas import (
    SPENT_WITHIN_S,
    BodyRoom,
    Rates,
    SharedCounts,
    SharedRates,
    TokenFailures,
    spend,
)
from assay.gateway.refusal import RequestRefused
from assay.records.coordination import Granted
from assay.testing import FixedClock


def test_a_bucket_fills_again() -> None:
    clock = FixedClock()
    rates = Rates(clock, 60)
    assert [rates.take("one") for _ in range(15)] == [0.0] * 15
    assert rates.take("one") == pytest.approx(1.0)
    assert rates.take("two") == 0.0
    clock.advance(seconds=1)
    assert rates.take("one") == 0.0


def count(failures: TokenFailures, address: str, token: str) -> None:
    asyncio.run(failures.count(address, token))


def test_failures_are_counted_by_address() -> None:
    failures = TokenFailures(FixedClock())
    for number in range(15):
        count(failures, "address 192.0.2.1", f"token {number}")
    with pytest.raises(RequestRefused) as problem:
        count(failures, "address 192.0.2.1", "another")
    assert (problem.value.status, problem.value.code) == (429, "too_many_failures")
    assert int(problem.value.headers["Retry-After"]) >= 1
    count(failures, "address 192.0.2.2", "another")


def test_failures_are_counted_by_token_wherever_they_come_from() -> None:
    failures = TokenFailures(FixedClock())
    for number in range(5):
        count(failures, f"address 192.0.2.{number}", "the same")
    with pytest.raises(RequestRefused):
        count(failures, "address 192.0.2.99", "the same")
    count(failures, "address 192.0.2.99", "another")


class Store:
    """Counts as a store does, and notes who asked for how many."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.asked: list[tuple[str, int]] = []

    def take(self, bucket: str, *, wanted: int, size: float, per_second: float) -> Granted:
        self.asked.append((bucket, wanted))
        given = min(wanted, self.left)
        self.left -= given
        return Granted(given, 0.0 if given else size / per_second)

    async def run(self, work: Callable[[], Granted]) -> Granted:
        await asyncio.sleep(0)
        return work()

    def rates(self, per_minute: int, clock: FixedClock | None = None) -> SharedRates:
        return SharedRates(clock or FixedClock(), per_minute, SharedCounts(self.take, self.run), kind="requests")


def let_through(rates: SharedRates, requests: int) -> int:
    async def send() -> list[float]:
        return await asyncio.gather(*(rates.count("ada") for _ in range(requests)))

    return sum(wait == 0.0 for wait in asyncio.run(send()))


def test_servers_together_let_through_what_one_would() -> None:
    store = Store(left=30)
    servers = [store.rates(per_minute=800) for _ in range(3)]
    assert sum(let_through(server, 20) for server in servers) == 30
    # A twentieth of a burst at a time, and one more look for each request that was refused.
    assert {wanted for _, wanted in store.asked} == {10}
    assert len(store.asked) == 2 + 1 + 10 + 20


def test_a_limit_of_a_few_requests_is_asked_for_each_of_them() -> None:
    store = Store(left=2)
    assert let_through(store.rates(per_minute=60), 3) == 2
    assert [wanted for _, wanted in store.asked] == [1, 1, 1]


def test_the_store_sees_neither_tokens_nor_addresses_and_two_limits_are_apart() -> None:
    store = Store(left=9)
    counts = SharedCounts(store.take, store.run)
    for kind in ("requests", "failures"):
        assert asyncio.run(SharedRates(FixedClock(), 60, counts, kind=kind).count("assay_secret")) == 0.0
    first, second = (bucket for bucket, _ in store.asked)
    assert first != second
    assert "secret" not in first + second


def test_what_was_taken_and_not_spent_is_dropped() -> None:
    store, clock = Store(left=20), FixedClock()
    rates = store.rates(per_minute=800, clock=clock)
    assert let_through(rates, 1) == 1
    clock.advance(seconds=SPENT_WITHIN_S)
    assert let_through(rates, 1) == 1
    assert len(store.asked) == 2


def test_who_is_refused_is_told_for_how_long() -> None:
    with pytest.raises(RequestRefused) as problem:
        asyncio.run(spend(Store(left=0).rates(per_minute=60), "ada"))
    assert (problem.value.status, problem.value.headers["Retry-After"]) == (429, "15")
    assert "60 requests a minute" in str(problem.value)


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
