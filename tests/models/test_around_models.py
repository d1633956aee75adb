"""What goes around a model: a budget, a cache, a bound on calls at once."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.clock import SystemClock
from assay.errors import BudgetExhausted, EndpointUnavailable
from assay.models.budget import BudgetedModel, Cost, Limits, Prices, SpendingInMemory, most_of
from assay.models.chat import (
    CachedModel,
    ChatReply,
    ChatRequest,
    LimitedModel,
    Message,
    ModelFingerprint,
    RepliesInMemory,
    reply_key,
    side_by_side,
)
from assay.testing import ScriptedModel

ASKED = ChatRequest(messages=(Message(role="user", content="Well?"),), max_tokens=10, attempts=1)
PRICES = Prices.per_million(1.0, 2.0)


def failing(worked_on: int) -> EndpointUnavailable:
    problem = EndpointUnavailable("it is gone", remedy="Wait.")
    problem.worked_on = worked_on
    return problem


def test_prices_are_never_rounded_down() -> None:
    assert Prices.per_million(0.0751, 15.0) == Prices(prompt=76, completion=15_000)


def test_a_call_costs_what_the_server_counted() -> None:
    spending = SpendingInMemory()
    model = BudgetedModel(ScriptedModel("two words"), spending=spending, limits=Limits(), prices=PRICES)
    model.complete(ASKED)
    assert spending.spent() == Cost(3, 1 * 1_000 + 2 * 2_000)


def test_a_call_that_could_cost_more_than_is_left_is_not_made() -> None:
    most = most_of(ASKED, PRICES)
    inner = ScriptedModel("two words")
    for limits in (Limits(tokens=most.tokens - 1), Limits(nano_usd=most.nano_usd - 1)):
        model = BudgetedModel(inner, spending=SpendingInMemory(), limits=limits, prices=PRICES)
        with pytest.raises(BudgetExhausted, match="this call could cost"):
            model.complete(ASKED)
    assert inner.asked == []
    exact = Limits(tokens=most.tokens, nano_usd=most.nano_usd)
    BudgetedModel(inner, spending=SpendingInMemory(), limits=exact, prices=PRICES).complete(ASKED)


def test_each_attempt_is_set_aside() -> None:
    most = most_of(ASKED, PRICES)
    model = BudgetedModel(
        ScriptedModel("ok"), spending=SpendingInMemory(), limits=Limits(tokens=3 * most.tokens - 1), prices=PRICES
    )
    with pytest.raises(BudgetExhausted):
        model.complete(replace(ASKED, attempts=None))
    model.complete(replace(ASKED, attempts=2))


def test_what_a_failed_call_may_have_cost_stays_spent() -> None:
    most = most_of(ASKED, PRICES)
    for worked_on, left in ((0, Cost(0, 0)), (2, most.times(2))):
        spending = SpendingInMemory()
        model = BudgetedModel(ScriptedModel(failing(worked_on)), spending=spending, limits=Limits(), prices=PRICES)
        with pytest.raises(EndpointUnavailable):
            model.complete(ASKED)
        assert spending.spent() == left


def test_a_call_whose_end_nobody_saw_keeps_all_that_was_set_aside() -> None:
    spending = SpendingInMemory()
    model = BudgetedModel(ScriptedModel(KeyError("a bug")), spending=spending, limits=Limits(), prices=PRICES)
    with pytest.raises(KeyError):
        model.complete(ASKED)
    assert spending.spent() == most_of(ASKED, PRICES)


def test_a_server_that_does_not_count_is_charged_at_the_most() -> None:
    class Silent(ScriptedModel):
        def complete(self, request: ChatRequest) -> ChatReply:
            return replace(super().complete(request), prompt_tokens=None)

    spending = SpendingInMemory()
    BudgetedModel(Silent("ok"), spending=spending, limits=Limits(), prices=PRICES).complete(ASKED)
    assert spending.spent() == most_of(ASKED, PRICES)


@given(text=st.text(max_size=200), completion=st.integers(0, 500))
def test_no_prompt_has_more_tokens_than_are_set_aside(text: str, completion: int) -> None:
    asked = ChatRequest(messages=(Message(role="user", content=text),), max_tokens=completion)
    most = most_of(asked, PRICES)
    assert most.tokens >= len(text.encode(errors="replace")) + completion
    assert most.nano_usd >= PRICES.cost(len(text.encode(errors="replace")), completion).nano_usd


def test_many_threads_never_spend_beyond_the_limit() -> None:
    most = most_of(ASKED, PRICES)
    spending, inner = SpendingInMemory(), ScriptedModel("ok")
    model = BudgetedModel(inner, spending=spending, limits=Limits(tokens=most.tokens * 5), prices=PRICES)
    gate = threading.Barrier(16)

    def spend(_: int) -> bool:
        gate.wait()
        try:
            return model.complete(ASKED).text == "ok"
        except BudgetExhausted:
            return False

    done = list(side_by_side(spend, range(16), threads=16))
    assert spending.spent().tokens <= most.tokens * 5
    assert len(inner.asked) == sum(done)


def test_the_same_question_is_paid_once() -> None:
    inner = ScriptedModel("first", "second")
    model = CachedModel(inner, RepliesInMemory())
    one, two = model.complete(ASKED), model.complete(replace(ASKED, deadline_s=9.0, attempts=2))
    assert (one.text, two.text, len(inner.asked)) == ("first", "first", 1)
    assert (one.cached, two.cached, two.tries) == (False, True, 0)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, repeat=1),
        replace(ASKED, seed=1),
        replace(ASKED, temperature=0.5),
        replace(ASKED, max_tokens=11),
        replace(ASKED, schema={"type": "object"}),
        replace(ASKED, messages=(Message(role="system", content="Well?"),)),
    ],
)
def test_whatever_moves_a_reply_is_another_question(other: ChatRequest) -> None:
    fingerprint = ModelFingerprint(model="m", digest="d")
    assert reply_key(ASKED, fingerprint) != reply_key(other, fingerprint)
    assert reply_key(ASKED, fingerprint) != reply_key(ASKED, ModelFingerprint(model="m", digest="e"))


def test_empty_and_cut_off_replies_are_not_kept() -> None:
    class Cut(ScriptedModel):
        def complete(self, request: ChatRequest) -> ChatReply:
            return replace(super().complete(request), finish_reason="length")

    for inner in (ScriptedModel("  "), Cut("half a verd")):
        model = CachedModel(inner, RepliesInMemory())
        model.complete(ASKED)
        model.complete(ASKED)
        assert len(inner.asked) == 2


def test_no_more_calls_are_let_through_than_there_are_places() -> None:
    held, inside, most = threading.Semaphore(0), threading.Lock(), [0, 0]

    def says(_: ChatRequest) -> str:
        with inside:
            most[0] += 1
            most[1] = max(most)
        held.acquire(timeout=20)
        with inside:
            most[0] -= 1
        return "ok"

    model = LimitedModel(ScriptedModel(says), most=2, clock=SystemClock())
    threads = [threading.Thread(target=model.complete, args=(ASKED,)) for _ in range(6)]
    for one in threads:
        one.start()
    for _ in threads:
        held.release()
    for one in threads:
        one.join(20)
    assert most[1] <= 2


def test_whoever_waits_too_long_for_a_place_is_told() -> None:
    entered, leave = threading.Event(), threading.Event()

    def says(_: ChatRequest) -> str:
        entered.set()
        leave.wait(20)
        return "ok"

    model = LimitedModel(ScriptedModel(says), most=1, clock=SystemClock())
    holder = threading.Thread(target=model.complete, args=(ASKED,))
    holder.start()
    assert entered.wait(20)
    with pytest.raises(EndpointUnavailable, match="none of the 1 places"):
        model.complete(replace(ASKED, deadline_s=0.05))
    leave.set()
    holder.join(20)


def test_work_side_by_side_keeps_its_order_and_stops_at_the_first_failure() -> None:
    assert list(side_by_side(lambda one: one * 2, range(20), threads=4)) == [one * 2 for one in range(20)]

    def work(one: int) -> int:
        if one == 3:
            raise ValueError("three")
        return one

    found: list[int] = []
    with pytest.raises(ValueError, match="three"):
        found.extend(side_by_side(work, range(100), threads=2))
    drawn = iter(range(100))
    with pytest.raises(ValueError, match="three"):
        list(side_by_side(work, drawn, threads=2))
    assert next(drawn) < 10
