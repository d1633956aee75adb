"""Whether a change may go in: better where it counts, and nothing broken that was not broken before.

The gate is asked with the control as the baseline. A rule that the control fails too says nothing about the change, so
it does not decide; it is named all the same. A change that breaks nothing and shows no gain is `INCONCLUSIVE`: it may
be one, and these cases cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.errors import NotComparable
from assay.evaluation.comparing import Compared, leading
from assay.evaluation.gating.judge import answer, ask, judge
from assay.evaluation.gating.question import GateOptions
from assay.evaluation.gating.verdict import RuleVerdict, Status, Verdict
from assay.evaluation.pairing import metric_changes, paired
from assay.evaluation.readings import Reading


class Outcome(StrEnum):
    """What follows from an experiment."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    INCONCLUSIVE = "INCONCLUSIVE"


MOST_TOLD = 3
EXIT_CODES = {Outcome.ACCEPTED: 0, Outcome.REJECTED: 1, Outcome.INCONCLUSIVE: 2}


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Decision:
    """The answer, with everything behind it."""

    outcome: Outcome
    reason: str
    metric: str
    gate: Verdict
    compared: Compared


def decide(
    control: Reading, treatment: Reading, *, metric: str | None = None, options: GateOptions | None = None
) -> Decision:
    """Hold a treatment against its control. `metric` is the one that has to gain; unless given, the leading one."""
    question = ask(treatment, control, options)
    compared = question.compared
    if compared is None:
        raise NotComparable(f"{treatment.name} has nothing to be compared with", remedy="Run a control too.")
    counted = metric or leading(tuple(compared.metrics))
    if counted not in compared.metrics:
        raise NotComparable(
            f"{counted} was not measured on both sides", remedy=f"There is: {', '.join(compared.metrics)}."
        )
    gate = answer(question)
    # The metric was named before the runs, so it stands alone: the others' number does not weigh on it.
    rng = np.random.default_rng(question.options.seed)
    seen = metric_changes({counted: paired(control, treatment, counted)}, rng=rng)[counted].comparison
    outcome, reason = _decided(f"{counted}: {seen.sentence}", seen.verdict, gate, judge(control, None, options))
    return Decision(outcome=outcome, reason=reason, metric=counted, gate=gate, compared=compared)


def _decided(sentence: str, seen: str, gate: Verdict, before: Verdict) -> tuple[Outcome, str]:
    broken, undecided = _new(gate, before, Status.FAIL), _new(gate, before, Status.INCONCLUSIVE)
    if broken:
        return Outcome.REJECTED, _sentences(broken)
    if seen == "worse":
        return Outcome.REJECTED, sentence
    if undecided:
        return Outcome.INCONCLUSIVE, _sentences(undecided)
    if seen == "better":
        return Outcome.ACCEPTED, f"{sentence}{_as_before(gate)}"
    return Outcome.INCONCLUSIVE, sentence


def _new(gate: Verdict, before: Verdict, status: Status) -> list[RuleVerdict]:
    """The rules that came out so, and did not without the change."""
    known = {one.title for one in before.of(status)}
    return [one for one in gate.of(status) if one.title not in known]


def _sentences(rules: list[RuleVerdict]) -> str:
    more = f"; and {len(rules) - MOST_TOLD} more rules" if len(rules) > MOST_TOLD else ""
    return "; ".join(one.sentence for one in rules[:MOST_TOLD]) + more


def _as_before(gate: Verdict) -> str:
    failed = [one.title for one in gate.of(Status.FAIL)]
    return f" (fails as the control does: {', '.join(failed)})" if failed else ""
