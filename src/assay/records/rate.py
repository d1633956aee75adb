"""A rate: so many of so many, and beside it whatever could not be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assay.errors import BadValue
from assay.records.outcome import Outcome, OutcomeKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A share with its counts."""

    hits: int
    of: int
    left_out: Mapping[OutcomeKind, int] = field(default_factory=dict)
    """How many cases had no value, by the reason why."""

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.of:
            raise BadValue(f"{self.hits} of {self.of} is no rate", remedy="Count hits among the cases counted.")

    @property
    def value(self) -> float | None:
        """The share; None when nothing was counted."""
        return self.hits / self.of if self.of else None

    def outcome(self, nothing: str) -> Outcome:
        """The share as an outcome; `nothing` is the reason given when nothing was counted."""
        if self.of == 0:
            return Outcome.missing(OutcomeKind.NOT_APPLICABLE, nothing)
        return Outcome.scored(self.hits / self.of)

    @staticmethod
    def over(outcomes: Iterable[Outcome]) -> Rate:
        """The rate of a yes-or-no metric over its cases."""
        seen = list(outcomes)
        counted = [one.value for one in seen if one.value is not None]
        return Rate(
            hits=counted.count(1.0),
            of=len(counted),
            left_out=Counter(one.kind for one in seen if one.value is None),
        )
