"""What a gate answers: one sentence a rule, and one word for all of them.

One failed rule fails the gate. Without a failure, one rule that could not be decided leaves it `inconclusive`, which is
never a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.errors import AssayError
from assay.records.caveats import Caveat


class Status(StrEnum):
    """How a rule, or the whole gate, came out."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    """It cannot be decided with what was measured."""
    NOT_APPLICABLE = "not_applicable"
    """The question does not arise."""


EXIT_CODES = {Status.PASS: 0, Status.FAIL: 1, Status.INCONCLUSIVE: 2}


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

    def as_json(self) -> dict[str, object]:
        """The one shape of a rule's verdict on every surface."""
        return {
            "rule": self.rule,
            "about": self.about,
            "status": self.status.value,
            "sentence": self.sentence,
            "evidence": dict(self.evidence),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """All rules together."""

    run: str
    baseline: str | None
    """None: there was none to compare with."""
    dataset: str
    rules: tuple[RuleVerdict, ...]
    caveats: tuple[Caveat, ...] = ()
    """What a reader must know beside the numbers of run and baseline."""

    @property
    def status(self) -> Status:
        """The worst that a rule said; a gate in which no rule applied decides nothing."""
        found = {one.status for one in self.rules}
        for status in (Status.FAIL, Status.INCONCLUSIVE, Status.PASS):
            if status in found:
                return status
        return Status.INCONCLUSIVE

    @property
    def passed(self) -> bool:
        """Whether every rule that applies holds."""
        return self.status is Status.PASS

    @property
    def exit_code(self) -> int:
        """0 passed, 1 a regression, 2 inconclusive."""
        return EXIT_CODES[self.status]

    def of(self, status: Status) -> tuple[RuleVerdict, ...]:
        """The rules that came out so."""
        return tuple(one for one in self.rules if one.status is status)

    def as_json(self) -> dict[str, object]:
        """The one shape of a verdict on every surface."""
        return {
            "status": self.status.value,
            "passed": self.passed,
            "run": self.run,
            "baseline": self.baseline,
            "dataset": self.dataset,
            "rules": [one.as_json() for one in self.rules],
            "caveats": [caveat.as_json() for caveat in self.caveats],
        }

    def __repr__(self) -> str:
        return "\n".join(f"{word(one.status):<12}  {one.sentence}" for one in told(self))


def told(verdict: Verdict) -> list[RuleVerdict]:
    """The rules in the order a reader wants them: failures first, what does not apply last."""
    order = [Status.FAIL, Status.INCONCLUSIVE, Status.PASS, Status.NOT_APPLICABLE]
    return sorted(verdict.rules, key=lambda one: order.index(one.status))


def word(status: Status) -> str:
    """A status as it is printed."""
    return {Status.NOT_APPLICABLE: "-"}.get(status, status.value.upper())


def refused(problem: AssayError, *, run: str, baseline: str | None) -> Verdict:
    """What could not even be asked, as a verdict: for outputs that must be written also then."""
    one = RuleVerdict(
        rule="comparable", status=Status.INCONCLUSIVE, sentence=f"{problem}", evidence={"code": problem.code}
    )
    return Verdict(run=run, baseline=baseline, dataset="", rules=(one,))
