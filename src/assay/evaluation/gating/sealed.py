"""Files that carry no seal decide nothing: whether somebody edited them cannot be told.

Every run and baseline that Assay writes is sealed (`evaluation.running.seals`); those of version 0.1 are not.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status

RULE = "seal"


@gate_rule("seal", quality=False)
def judge_seals(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each side without a seal."""
    sides = {"run": (question.run, "run it again"), "baseline": (question.baseline, "bless a run again")}
    for side, (reading, remedy) in sides.items():
        if reading is not None and not reading.sealed:
            yield RuleVerdict(
                rule=RULE,
                about=side,
                status=Status.INCONCLUSIVE,
                sentence=f"the {side} {reading.name} has no seal: whether it was edited cannot be told; {remedy}",
            )
