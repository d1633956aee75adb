"""Leases and shared limits: one holder at a time, taken over when it is gone; the same on both back ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.storage.homes import BOUND_S

from assay.clock import SystemClock
from assay.errors import StoreBusy
from assay.records import Scope
from assay.records.coordination import Granted, Lease, LiveEvent
from assay.storage import Store
from assay.storage.leases import HeldLease, LeaseTaker
from assay.testing import FixedClock, note

WORK = "reembed:acme"
MINUTE, NO_TIME = timedelta(minutes=1), timedelta(0)


def take(store: Store, scope: Scope, holder: str, lasts: timedelta = MINUTE) -> Lease | None:
    with store.coordinating(scope) as work:
        return work.leases.take(WORK, holder, lasts)


def read(store: Store, scope: Scope) -> Lease:
    with store.reading(scope) as work:
        found = work.leases.find(WORK)
    assert found is not None
    return found


def test_a_lease_has_one_holder_until_it_is_given_back(store: Store, scope: Scope) -> None:
    first = take(store, scope, "first")
    assert first is not None
    assert (first.name, first.holder, first.term) == (WORK, "first", 1)
    assert take(store, scope, "second") is None
    with store.coordinating(scope) as work:
        work.leases.give_back(first)
    second = take(store, scope, "second")
    assert second is not None
    assert (second.holder, second.term) == ("second", 2)


def test_an_expired_lease_is_taken_over_and_its_holder_cannot_write(store: Store, scope: Scope) -> None:
    dead = take(store, scope, "dead", NO_TIME)
    heir = take(store, scope, "heir")
    assert dead is not None
    assert heir is not None
    with store.coordinating(scope) as work:
        assert not work.leases.renew(dead, MINUTE)
        assert work.leases.renew(heir, MINUTE)
        work.leases.give_back(dead)
    assert take(store, scope, "third") is None

    def write(lease: Lease, memory_id: str) -> None:
        with store.writing(scope) as work:
            work.memories.add(note(memory_id))
            work.leases.check(lease)

    with pytest.raises(StoreBusy, match="reembed:acme was taken over by heir"):
        write(dead, "m_dead")
    write(heir, "m_heir")
    with store.reading(scope) as work:
        assert work.memories.count() == 1


def test_an_expired_lease_that_nobody_took_is_kept_by_renewing_it(store: Store, scope: Scope) -> None:
    slow = take(store, scope, "slow", NO_TIME)
    assert slow is not None
    with store.coordinating(scope) as work:
        assert work.leases.renew(slow, MINUTE)
    assert take(store, scope, "second") is None


def test_of_many_that_take_a_lease_at_once_one_has_it(store: Store, scope: Scope) -> None:
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda number: take(store, scope, f"process {number}"), range(12)))
    assert sum(lease is not None for lease in taken) == 1


def test_holding_excludes_others_and_ends_with_the_body(store: Store) -> None:
    def is_free() -> bool:
        with store.leases.holding(WORK) as held:
            return held is not None

    with store.leases.holding(WORK) as held, ThreadPoolExecutor(1) as pool:
        assert held is not None
        assert held.lease.holder.startswith(store.leases.holder)
        assert not held.lost
        assert not pool.submit(is_free).result(BOUND_S)
    assert is_free()


def test_a_lease_is_renewed_while_the_work_goes_on(store: Store, scope: Scope, clock: FixedClock) -> None:
    taker = LeaseTaker(lambda: store.coordinating(scope), clock=FixedClock(), process_id="p_1", lasts_s=0.03)
    with taker.holding(WORK) as held:
        assert held is not None
        clock.advance(seconds=1)
        deadline = SystemClock().monotonic() + BOUND_S
        while (found := read(store, scope)) == held.lease and SystemClock().monotonic() < deadline:
            threading.Event().wait(0.01)
    assert (found.holder, found.term) == (held.lease.holder, held.lease.term)
    assert found.expires_at > held.lease.expires_at


def test_a_holder_that_could_not_renew_in_time_has_lost_its_lease(store: Store, scope: Scope) -> None:
    clock = FixedClock()
    lease = take(store, scope, "slow")
    assert lease is not None
    held = HeldLease(lease, clock, 15.0)
    clock.advance(seconds=14)
    assert not held.lost
    held.renew(lambda: store.coordinating(scope))
    clock.advance(seconds=14)
    assert not held.lost
    clock.advance(seconds=1)
    assert held.lost


def test_a_limit_is_shared_and_fills_again(store: Store, scope: Scope, clock: FixedClock) -> None:
    def spend(wanted: int, per_second: float) -> Granted:
        with store.coordinating(scope, durable=False) as work:
            return work.shared_limits.take("a caller", wanted=wanted, size=10.0, per_second=per_second)

    assert [spend(4, 0.001).requests for _ in range(4)] == [4, 4, 2, 0]
    empty = spend(4, 0.001)
    assert 500.0 < empty.wait_s <= 1_000.0
    clock.advance(seconds=1)
    # On PostgreSQL the time is the database's: at this rate a moment is enough.
    assert spend(3, 1e9 if store.backend_name == "postgres" else 3.0).requests == 3
    with store.coordinating(scope) as work:
        assert work.shared_limits.remove_before(work.shared_limits.now() + MINUTE) == 1


def test_of_many_that_spend_at_once_no_more_get_through_than_may(store: Store, scope: Scope) -> None:
    def spend(_: int) -> int:
        with store.coordinating(scope, durable=False) as work:
            return work.shared_limits.take("a caller", wanted=3, size=20.0, per_second=1e-6).requests

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(12))) == 20


def test_a_live_question_is_read_by_its_tenant_alone(store: Store, scope: Scope) -> None:
    other = Scope(tenant="beta", principal="eve")
    with store.coordinating(scope) as work:
        work.live_questions.begin("ask_1", "Why?")
        work.live_questions.add_event("ask_1", LiveEvent(1, "stage", {"stage": "plan"}))
        work.live_questions.add_event("ask_1", LiveEvent(2, "stage", {"stage": "search"}))
        work.live_questions.see("ask_1")
    with store.reading(other) as work:
        assert work.live_questions.find("ask_1") is None
        assert work.live_questions.events("ask_1", after=0) == []
    with store.reading(scope) as work:
        assert work.live_questions.events("ask_1", after=1) == [LiveEvent(2, "stage", {"stage": "search"})]
        found = work.live_questions.find("ask_1")
    assert found is not None
    assert (found.question, found.ended_at, found.log_id) == ("Why?", None, "")
    with store.coordinating(scope) as work:
        work.live_questions.end("ask_1", log_id="r_1", problem="")
        ended = work.live_questions.find("ask_1")
        assert ended is not None
        assert (ended.log_id, ended.ended_at is None) == ("r_1", False)
    with store.coordinating(scope) as work:
        assert work.live_questions.remove_before(work.live_questions.now() + MINUTE) == 1
        assert work.live_questions.events("ask_1", after=0) == []
