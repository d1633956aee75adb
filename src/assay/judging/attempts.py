"""Earlier calibrations of a judge, and what they mean for the next: trying again until it passes must not help.

Every attempt is kept with its cases, labels and scores. When a judge is calibrated again,

- cases it was held against before and that are left out now still count (`Attempts.left_out`), so nobody can pick the
  labels on which it did well;
- each failed attempt, and each other judge that was tried on the same labels, narrows the chance that is left to luck:
  the level of the interval rises from 95 % to 1 - 0.05 / tries (Bonferroni).

`overlap` counts judged cases whose questions are among the labels. See `design/judge-licence.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.judging.labels import question_key
from assay.records.judging import Calibration

RISK = 0.05
"""The chance of licensing a judge below the floor by luck, over all tries together."""
EVIDENCE = "evidence"
"""Under which a calibration's figures keep its cases."""


class Evidence(NamedTuple):
    """One labelled case of a calibration."""

    case: str
    """`case_key` of it."""
    question: str
    """`question_key` of it."""
    label: float
    score: float | None
    """What the judge said, on the scale of the labels; None: nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempts:
    """What was tried before."""

    earlier: int
    """Calibrations of this judge before the present one."""
    failed: int
    """Those of them that did not license it."""
    void: int
    """Those of them in which the judge obeyed a planted order."""
    other_judges: int
    """Other judges of the same kind that were calibrated on some of the present labels."""
    shared: int
    """Present cases that those were calibrated on."""
    left_out: tuple[Evidence, ...]
    """Cases this judge was held against before that are not among the present labels."""
    same: tuple[float, int]
    """Of the cases that were asked again in earlier attempts: how many got the same verdict each time, of how many."""

    @property
    def tries(self) -> int:
        """How many chances there were to pass by luck, the present one included."""
        return 1 + self.failed + self.other_judges

    @property
    def level(self) -> float:
        """Of the interval that decides."""
        return 1.0 - RISK / self.tries

    def as_json(self) -> dict[str, Any]:
        """As a calibration's figures keep it."""
        return {
            "number": self.earlier + 1,
            "failed_before": self.failed,
            "void_before": self.void,
            "other_judges": self.other_judges,
            "shared_cases": self.shared,
            "left_out_cases": len(self.left_out),
            "level": self.level,
        }


def attempts_before(
    earlier: Sequence[Calibration], *, fingerprint_id: str, cases: Collection[str], scale: str, served: Collection[str]
) -> Attempts:
    """Sum up earlier calibrations of judges of one kind, the oldest first, for one judge and its present cases."""
    own = [one for one in earlier if one.fingerprint_id == fingerprint_id and _same_model(one, served)]
    others = [one for one in earlier if one.fingerprint_id != fingerprint_id]
    shared = {item.case: one.fingerprint_id for one in others for item in evidence_of(one) if item.case in cases}
    used = {one.fingerprint_id for one in others for item in evidence_of(one) if item.case in cases}
    known = {item.case: item for one in own if one.figures.get("scale") == scale for item in evidence_of(one)}
    return Attempts(
        earlier=len(own),
        failed=sum(not one.passed for one in own),
        void=sum(bool(one.figures.get("void")) for one in own),
        other_judges=len(used),
        shared=len(shared),
        left_out=tuple(item for case, item in known.items() if case not in cases),
        same=_same(own),
    )


def evidence_of(calibration: Calibration) -> list[Evidence]:
    """Return the cases of a calibration; none are known of one made by version 0.1."""
    return [Evidence(*item) for item in calibration.figures.get(EVIDENCE, ())]


def overlap(calibration: Calibration, questions: Iterable[str]) -> int:
    """Count the questions that are among the labels of a calibration."""
    labelled = {item.question for item in evidence_of(calibration)}
    return sum(question_key(question) in labelled for question in questions)


def _same_model(calibration: Calibration, served: Collection[str]) -> bool:
    """Whether the same model replied, as far as the server tells."""
    return set(calibration.figures.get("served", served)) == set(served)


def _same(calibrations: Sequence[Calibration]) -> tuple[float, int]:
    found = [one.figures.get("self_consistency", {}).get("same") for one in calibrations]
    shares = [share for share in found if share]
    return sum(share["value"] * share["n"] for share in shares), sum(share["n"] for share in shares)
