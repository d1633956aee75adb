"""How much a run may spend: money (`1.50`) or time (`90s`, `10m`, `2h`). It stops before the next case would exceed it.

The next case is taken to cost as much as the dearest so far: better to stop one early than to pay for one too many. So
is a case that failed before it could tell its cost: it may have been paid for.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from assay.errors import BadValue
from assay.records.evaluations import CaseResult
from assay.records.runs import CaseStatus

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Budget:
    """The most a run may spend; None: as much as it takes."""

    money: float | None = None
    seconds: float | None = None

    @staticmethod
    def parse(text: str) -> Budget:
        """Read a budget as users type it."""
        shape = _TIME.fullmatch(text.strip())
        try:
            amount = float(shape[1] if shape else text)
        except ValueError:
            amount = math.nan
        if not math.isfinite(amount) or amount <= 0:
            raise BadValue(f"the budget {text!r} cannot be read", remedy="Write it like 1.50 (money), 90s, 10m or 2h.")
        return Budget(seconds=amount * _SECONDS[shape[2]]) if shape else Budget(money=amount)


NO_LIMIT = Budget()


class Spending:
    """What a run has spent, case by case. Time counts from when this process began; money from the first case ever."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.money = 0.0
        self._dearest = 0.0
        self._slowest = 0.0

    def add(self, result: CaseResult) -> None:
        """One more case."""
        self._dearest = max(self._dearest, result.cost or 0.0)
        lost = result.cost is None and result.status in (CaseStatus.ERROR, CaseStatus.TIMEOUT)
        self.money += self._dearest if lost else result.cost or 0.0
        self._slowest = max(self._slowest, (result.total_ms or 0.0) / 1000.0)

    def allows_another(self, elapsed_s: float) -> bool:
        """Whether one more case like the dearest stays within the budget."""
        money, seconds = self._budget.money, self._budget.seconds
        return (money is None or self.money + self._dearest <= money) and (
            seconds is None or elapsed_s + self._slowest <= seconds
        )
