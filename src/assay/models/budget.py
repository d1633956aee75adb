"""Budgets that cannot be overdrawn, and the usage of calls.

- Budgets: reserve before a call, give back after it.
- Tokens of a request.
"""

from __future__ import annotations

import json
import math
import threading
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from assay.errors import BudgetExhausted, ModelError
from assay.models.chat import ChatModel, ChatReply, ChatRequest, ModelFingerprint
from assay.records.judging import Usage

# --- Budgets: reserve before a call, give back after it ---
#
# Counted in whole tokens and in billionths of a dollar, so that nothing is lost in rounding. The most a call can cost
# is known beforehand: a prompt has no more tokens than bytes, a reply no more than it may have, and each try may be
# paid. A call whose end nobody saw keeps all that was set aside: it may have been paid for. Where the sums are kept is
# up to
# `Spending`; `SpendingInMemory` forgets with its process, the store's does not.

NANO = 1_000_000_000
"""Billionths in a dollar."""
ATTEMPTS = 3
"""How often a call may be sent where the request does not say."""
TOKENS_A_MESSAGE = 16
"""What a chat template adds around each message, at most."""
TOKENS_A_CALL = 64


class Cost(NamedTuple):
    """What something costs."""

    tokens: int
    nano_usd: int

    def times(self, count: int) -> Cost:
        """So many times as much."""
        return Cost(self.tokens * count, self.nano_usd * count)

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(self.tokens + other.tokens, self.nano_usd + other.nano_usd)


class Limits(NamedTuple):
    """How much may be spent; None: as much as anybody likes."""

    tokens: int | None = None
    nano_usd: int | None = None

    def refuse(self, spent: Cost, wanted: Cost) -> None:
        """Refuse what would go beyond."""
        _refuse(spent.tokens, wanted.tokens, self.tokens, "tokens", 1)
        _refuse(spent.nano_usd, wanted.nano_usd, self.nano_usd, "USD", NANO)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Billionths of a dollar for one token."""

    prompt: int
    completion: int

    @staticmethod
    def per_million(prompt: float, completion: float) -> Prices:
        """From dollars for a million tokens, as price lists have them; never rounded down."""
        return Prices(prompt=math.ceil(prompt * 1_000), completion=math.ceil(completion * 1_000))

    def cost(self, prompt_tokens: int, completion_tokens: int) -> Cost:
        """Of one call."""
        money = prompt_tokens * self.prompt + completion_tokens * self.completion
        return Cost(prompt_tokens + completion_tokens, money)


class Spending(Protocol):
    """The store of what was spent. Each step is one transaction, so that concurrent spending is counted right."""

    def reserve(self, most: Cost, limits: Limits) -> str:
        """Set aside what a call can cost, under a name that is given back; refuse what would go beyond the limits."""
        ...

    def settle(self, reservation: str, cost: Cost) -> None:
        """Put what a call did cost in the place of what was set aside."""
        ...

    def spent(self) -> Cost:
        """All that was spent or is set aside."""
        ...


class SpendingInMemory:
    """Counted as long as the process lives."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._kept: dict[str, Cost] = {}

    def reserve(self, most: Cost, limits: Limits) -> str:
        """Set aside what a call can cost."""
        with self._gate:
            limits.refuse(self._sum(), most)
            name = str(len(self._kept))
            self._kept[name] = most
            return name

    def settle(self, reservation: str, cost: Cost) -> None:
        """Put what a call did cost in its place."""
        with self._gate:
            self._kept[reservation] = cost

    def spent(self) -> Cost:
        """All that was spent or is set aside."""
        with self._gate:
            return self._sum()

    def _sum(self) -> Cost:
        return Cost(
            sum(cost.tokens for cost in self._kept.values()), sum(cost.nano_usd for cost in self._kept.values())
        )


class BudgetedModel:
    """Calls a model only while the budget covers the most that the call can cost."""

    def __init__(self, model: ChatModel, *, spending: Spending, limits: Limits, prices: Prices) -> None:
        self._model = model
        self._spending = spending
        self._limits = limits
        self._prices = prices

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        return self._model.name

    def fingerprint(self) -> ModelFingerprint:
        """That of the model inside."""
        return self._model.fingerprint()

    def complete(self, request: ChatRequest) -> ChatReply:
        """Set aside, ask, settle."""
        one_try = most_of(request, self._prices)
        reservation = self._spending.reserve(one_try.times(request.attempts or ATTEMPTS), self._limits)
        try:
            reply = self._model.complete(request)
        except ModelError as problem:
            # Any other end, also that of the process, leaves all of it set aside.
            self._spending.settle(reservation, one_try.times(problem.worked_on))
            raise
        self._spending.settle(reservation, self._cost(reply, one_try))
        return reply

    def _cost(self, reply: ChatReply, one_try: Cost) -> Cost:
        if reply.cached:
            return Cost(0, 0)
        told = reply.prompt_tokens is not None and reply.completion_tokens is not None
        own = self._prices.cost(reply.prompt_tokens or 0, reply.completion_tokens or 0) if told else one_try
        return own.plus(one_try.times(reply.worked_on))


def most_of(request: ChatRequest, prices: Prices) -> Cost:
    """The most that sending a request once can cost: no tokeniser makes more tokens than there are bytes."""
    size = sum(len(message.content.encode(errors="replace")) + TOKENS_A_MESSAGE for message in request.messages)
    shape = 0 if request.schema is None else len(json.dumps(dict(request.schema)).encode())
    return prices.cost(size + shape + TOKENS_A_CALL, request.max_tokens)


def _refuse(spent: int, wanted: int, limit: int | None, unit: str, one: int) -> None:
    if limit is not None and spent + wanted > limit:
        shown = [f"{amount / one:,.4f}" if one > 1 else f"{amount:,}" for amount in (spent, limit, wanted)]
        raise BudgetExhausted(
            f"{shown[0]} of {shown[1]} {unit} are spent or set aside, and this call could cost {shown[2]}",
            remedy="Raise the budget (model.budget_usd, model.budget_tokens), or wait for its next period.",
        )


# --- Tokens of a request ---
#
# `ask_structured` adds up the requests of one question. A try that failed brings no count, so what it may have used is
# bounded the way the budget does it: no tokenizer makes more tokens than there are bytes.

_FREE = Prices(prompt=0, completion=0)


def usage_of_reply(request: ChatRequest, reply: ChatReply) -> Usage:
    """Return what a reply took, its failed tries included."""
    if reply.cached:
        return Usage(cached=1)
    counted = reply.prompt_tokens is not None and reply.completion_tokens is not None
    lost = reply.worked_on + (not counted)
    return Usage(
        requests=reply.tries,
        failed=max(reply.tries - 1, 0),
        unmetered=int(not counted),
        prompt_tokens=(reply.prompt_tokens or 0) if counted else 0,
        completion_tokens=(reply.completion_tokens or 0) if counted else 0,
        most_prompt_tokens=lost * most_prompt_tokens(request),
        most_completion_tokens=lost * request.max_tokens,
    )


def usage_of_failure(request: ChatRequest, problem: ModelError) -> Usage:
    """Return what a question took that got no reply at all."""
    return Usage(
        requests=problem.tries,
        failed=problem.tries,
        most_prompt_tokens=problem.worked_on * most_prompt_tokens(request),
        most_completion_tokens=problem.worked_on * request.max_tokens,
    )


def costs_of(usage: Usage, prices: Prices | None) -> tuple[float | None, float | None]:
    """Return the dollars that were paid, and the most that can have been paid with failed requests included.

    Both are None without prices; the first is None where a server did not count, since the rest is not the whole.
    """
    if prices is None:
        return None, None
    paid = prices.cost(usage.prompt_tokens, usage.completion_tokens)
    most = paid.plus(prices.cost(usage.most_prompt_tokens, usage.most_completion_tokens))
    return (None if usage.unmetered else paid.nano_usd / NANO), most.nano_usd / NANO


def most_prompt_tokens(request: ChatRequest) -> int:
    """Return the most tokens that sending a request once can take."""
    return most_of(request, _FREE).tokens - request.max_tokens
