"""What a gate answers, as every surface shows it: one sentence a rule, and one word for all of them.

One failed rule fails the gate. Without a failure, one rule that could not be decided leaves it `inconclusive`, which is
never a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.records.run_results import Caveat


class Status(StrEnum):
    """How a rule, or the whole gate, came out."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    """It cannot be decided with what was measured."""
    NOT_APPLICABLE = "not_applicable"
    """The question does not arise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleVerdict:
    """One rule about one thing."""

    rule: str
    about: str = ""
    """The metric, rate or channel; empty when the rule speaks of the whole run."""
    status: Status
    sentence: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """The numbers behind the sentence."""

    @property
    def title(self) -> str:
        """The rule and what it is about."""
        return f"{self.rule} {self.about}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """All rules together."""

    status: Status
    """The worst that a rule said; a gate in which no rule applied is inconclusive."""
    passed: bool
    """Whether every rule that applies holds."""
    run: str
    baseline: str | None
    """None: there was none to compare with."""
    dataset: str
    rules: tuple[RuleVerdict, ...]
    caveats: tuple[Caveat, ...]
    """What a reader must know beside the numbers of run and baseline."""
