"""Alerts about answered questions: a rate that changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class WatchedRate(StrEnum):
    """A share of questions that is watched."""

    PASSED = "passed"
    ANSWERED = "answered"
    REFUSED = "refused"
    REFUSED_DESPITE_EVIDENCE = "refused_despite_evidence"
    ANSWERED_WITHOUT_EVIDENCE = "answered_without_evidence"
    FAILED = "failed"


_GOOD = {WatchedRate.PASSED, WatchedRate.ANSWERED}


@dataclass(frozen=True, kw_only=True, slots=True)
class RateAlert:
    """A rate that differs from that of the weeks before, beyond what chance gives."""

    rate: WatchedRate
    rose: bool
    week: date
    """The Monday of the week in which it changed, UTC."""
    seen_at: datetime
    """When the question came that decided it."""
    after: int
    """Questions of the week until then."""
    before_share: float
    before_low: float
    before_high: float
    before_questions: int
    share: float
    """Of all questions of the week so far."""
    questions: int

    @property
    def id(self) -> str:
        """The same for the same change, whenever it is computed."""
        return f"{self.week.isoformat()}:{self.rate.value}:{'up' if self.rose else 'down'}"

    @property
    def is_worse(self) -> bool:
        """Whether the change is for the worse."""
        return self.rose is (self.rate not in _GOOD)

    @property
    def sentence(self) -> str:
        """The change in words."""
        name = self.rate.value.replace("_", " ")
        return (
            f"The share of questions {name} {'rose' if self.rose else 'fell'} from {self.before_share:.0%} "
            f"[{self.before_low:.0%}, {self.before_high:.0%}] over {self.before_questions:,} questions to "
            f"{self.share:.0%} over {self.questions:,} in the week of {self.week:%d %b %Y}."
        )
