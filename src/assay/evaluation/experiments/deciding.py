"""Whether a change may go in: better where it counts, and nothing broken that was not broken before.

The gate is asked with the control as the baseline. A rule that the control fails too, and at least as badly, says
nothing about the change, so it does not decide; it is named all the same. A change that breaks nothing and shows no
gain is `INCONCLUSIVE`: it may be one, and these cases cannot tell. Whoever tries twenty changes finds one that is
better by chance, so each further try over the same dataset and control has to be clearer (`alpha_of_attempt`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.errors import NotComparable
from assay.evaluation.comparing import Compared, leading
from assay.evaluation.gating.bounds import beyond
from assay.evaluation.gating.judge import answer, ask, judge
from assay.evaluation.gating.question import GateOptions
from assay.evaluation.gating.verdict import RuleVerdict, Status, Verdict
from assay.evaluation.pairing import metric_changes, paired, rules_for
from assay.evaluation.readings import Reading
from assay.statistics import Comparison, alpha_of_attempt


class Outcome(StrEnum):
    """What follows from an experiment."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    INCONCLUSIVE = "INCONCLUSIVE"


MOST_TOLD = 3
ALPHA = 0.05
"""What the first try over a dataset may spend."""
EXIT_CODES = {Outcome.ACCEPTED: 0, Outcome.REJECTED: 1, Outcome.INCONCLUSIVE: 2}


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Decision:
    """The answer, with everything behind it."""

    outcome: Outcome
    reason: str
    metric: str
    gate: Verdict
    compared: Compared
    attempt: int
    """The number of the try over this dataset and control, from 1."""
    alpha: float
    """What this try may spend."""


def decide(
    control: Reading,
    treatment: Reading,
    *,
    metric: str | None = None,
    options: GateOptions | None = None,
    attempt: int = 1,
) -> Decision:
    """Hold a treatment against its control.

    `metric` is the one that has to gain; unless given, the leading one. `attempt` is the number of the try over this
    dataset and control: the k-th is accepted at alpha / (k (k + 1)).
    """
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
    alpha = alpha_of_attempt(ALPHA, attempt)
    once = _compare(control, treatment, counted, seed=question.options.seed, alpha=ALPHA)
    seen = once if attempt == 1 else _compare(control, treatment, counted, seed=question.options.seed, alpha=alpha)
    outcome, reason = _decided(f"{counted}: {seen.sentence}", seen.verdict, gate, judge(control, None, options))
    if outcome is Outcome.INCONCLUSIVE and once.verdict == "better" and seen.verdict != "better":
        reason = f"{counted}: {once.sentence} That is not enough at try {attempt}: it takes p <= {alpha:.2g}."
    elif outcome is Outcome.INCONCLUSIVE and once.verdict == "worse":
        # Nobody picks the worst of many tries, so a loss counts as at the first.
        outcome, reason = Outcome.REJECTED, f"{counted}: {once.sentence}"
    return Decision(
        outcome=outcome, reason=reason, metric=counted, gate=gate, compared=compared, attempt=attempt, alpha=alpha
    )


def _compare(control: Reading, treatment: Reading, metric: str, *, seed: int, alpha: float) -> Comparison:
    pairs = paired(control, treatment, metric)
    rules = replace(rules_for(len(np.asarray(pairs.control))), alpha=alpha)
    return metric_changes({metric: pairs}, rng=np.random.default_rng(seed), rules=rules)[metric].comparison


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
    """The rules that came out so, and did not without the change, or not as badly."""
    known = {one.title: one for one in before.of(status)}
    return [one for one in gate.of(status) if one.title not in known or _is_worse(one, known[one.title])]


def _is_worse(now: RuleVerdict, before: RuleVerdict) -> bool:
    """Whether a rule is broken worse than it was; False where the rule has no measure of that."""
    badly, less = _badness(now), _badness(before)
    return badly is not None and less is not None and beyond(badly, less)


def _badness(rule: RuleVerdict) -> float | None:
    """Return how badly a rule is broken, as a number that grows with it; None where it does not say."""
    evidence = rule.evidence
    if isinstance(evidence.get("rate"), float):
        return float(evidence["rate"])
    for name in ("broken", "unjudgeable"):
        if isinstance(evidence.get(name), list):
            return float(len(evidence[name]))
    value, floor = evidence.get("value"), evidence.get("floor")
    # A floor may be a ceiling (of a latency): in both cases the distance from it is what is missed.
    return abs(value - floor) if isinstance(value, float) and isinstance(floor, (int, float)) else None


def _sentences(rules: list[RuleVerdict]) -> str:
    more = f"; and {len(rules) - MOST_TOLD} more rules" if len(rules) > MOST_TOLD else ""
    return "; ".join(one.sentence for one in rules[:MOST_TOLD]) + more


def _as_before(gate: Verdict) -> str:
    failed = [one.title for one in gate.of(Status.FAIL)]
    return f" (fails as the control does: {', '.join(failed)})" if failed else ""
