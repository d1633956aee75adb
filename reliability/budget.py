"""Processes with many threads spend one money budget, are killed and started again: not a cent beyond it is spent.

The server keeps the books that count: it charges for whatever it worked on, also when it then fails or hangs up. It
uses as many tokens as it may, so that nothing is saved by luck.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.clock import SystemClock
from assay.errors import BudgetExhausted, ModelError
from assay.judging.persistence import StoredSpending
from assay.models.budget import NANO, BudgetedModel, Limits, Prices
from assay.models.chat import ChatRequest, Message
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.endpoint_chat import EndpointChat
from assay.network import ANYWHERE
from assay.records import Scope
from assay.storage import open_store
from assay.testing.fault_server import Act, Handler, envelope, sending, serving
from reliability.crew import Crew
from reliability.outcome import Check, at_least, none_of

THREADS = 64
PRICES = Prices.per_million(3.0, 15.0)
SCOPE = Scope(tenant="acme", principal="ada")
WAIT_S = 120.0
MAX_TOKENS = 200
QUESTION = "Is every claim of this answer supported by the passages? " * 4


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetOutcome:
    """What was seen."""

    limit_usd: float
    charged_usd: float
    """By the server's own books."""
    booked_usd: float
    """By the store: spent or set aside."""
    requests: int
    restarts: int
    refused: int
    """Processes that ended because the budget was spent."""
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.requests} requests by {THREADS} threads, {self.restarts} kills and restarts: "
            f"{self.charged_usd:.4f} of {self.limit_usd:.4f} USD charged, {self.booked_usd:.4f} booked; "
            f"{self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        over = max(0.0, self.charged_usd - self.limit_usd)
        unbooked = max(0.0, self.charged_usd - self.booked_usd)
        return (
            Check(promise="overshoot 0", seen=f"{over:.6f} USD", held=over == 0.0),
            Check(promise="nothing charged that is not booked", seen=f"{unbooked:.6f} USD", held=unbooked == 0.0),
            Check(
                promise="at least a quarter of the budget could be used",
                seen=f"{self.charged_usd / self.limit_usd * 100:.0f} %",
                held=self.charged_usd >= self.limit_usd / 4,
            ),
            at_least("kills in mid-spending", self.restarts, 1),
            none_of("last processes that were not refused at the end", 1 - min(1, self.refused)),
        )


class Books:
    """What the server charges."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._gate = threading.Lock()
        self.nano_usd = 0
        self.requests = 0

    def act(self, handler: Handler) -> None:
        """Work, charge, and then answer, fail or hang up."""
        asked = handler.heard.body
        prompt = sum(len(one["content"]) for one in asked["messages"]) // 3
        with self._gate:
            self.nano_usd += PRICES.cost(prompt, asked["max_tokens"]).nano_usd
            self.requests += 1
            luck = self._rng.random()
        self._ending(luck, prompt, asked["max_tokens"])(handler)

    def _ending(self, luck: float, prompt: int, completion: int) -> Act:
        if luck < 0.05:
            return sending(b"out of memory", 500)
        if luck < 0.08:
            return lambda handler: handler.connection.close()
        return sending(envelope("ok", prompt_tokens=prompt, completion_tokens=completion))


def run(*, folder: Path, restarts: int, seed: int = 1) -> BudgetOutcome:
    """Spend a budget with so many kills and restarts in between."""
    began, rng = time.monotonic(), random.Random(seed)
    folder.mkdir(parents=True)
    place = folder / "store.db"
    limit = _one_call() * THREADS * (3 + restarts)
    open_store(str(place), clock=SystemClock()).close()
    books = Books(seed)
    killed = 0
    with serving(books.act) as service, Crew() as crew:
        for _ in range(restarts):
            before = books.requests
            member = crew.start(spend, str(place), service.url, limit)
            ends = time.monotonic() + WAIT_S
            while books.requests < before + rng.randint(20, 120) and member.is_alive() and time.monotonic() < ends:
                time.sleep(0.005)
            killed += member.is_alive()
            crew.kill(member)
        crew.start(spend, str(place), service.url, limit)
        codes = crew.wait(WAIT_S)
    with open_store(str(place), clock=SystemClock()) as store:
        booked = StoredSpending(store, SCOPE, period="ever", clock=SystemClock()).spent()
    return BudgetOutcome(
        limit_usd=limit / NANO,
        charged_usd=books.nano_usd / NANO,
        booked_usd=booked.nano_usd / NANO,
        requests=books.requests,
        restarts=killed,
        refused=codes.count(0),
        seconds=time.monotonic() - began,
    )


def spend(place: str, url: str, limit: int) -> None:
    """What a process does: sixty-four threads ask until the budget is spent."""
    clock = SystemClock()
    with open_store(place, clock=clock) as store:
        endpoint = Endpoint(
            EndpointOptions(url=url, deadline_s=30.0, first_pause_s=0.01),
            gate=ANYWHERE,
            clock=clock,
            rng=np.random.default_rng(),
        )
        model = BudgetedModel(
            EndpointChat(endpoint, name="dear", clock=clock),
            spending=StoredSpending(store, SCOPE, period="ever", clock=clock),
            limits=Limits(nano_usd=limit),
            prices=PRICES,
        )
        with ThreadPoolExecutor(THREADS) as pool:
            for done in [pool.submit(_until_spent, model, clock.monotonic() + WAIT_S) for _ in range(THREADS)]:
                done.result()


def _until_spent(model: BudgetedModel, ends: float) -> None:
    request = ChatRequest(messages=(Message(role="user", content=QUESTION),), max_tokens=MAX_TOKENS)
    while time.monotonic() < ends:
        try:
            model.complete(request)
        except BudgetExhausted:
            return
        except ModelError:
            continue
    raise TimeoutError("the budget was never spent")


def _one_call() -> int:
    """Billionths of a dollar that are set aside for one call."""
    return PRICES.cost(len(QUESTION) + 80, MAX_TOKENS).nano_usd * 3
