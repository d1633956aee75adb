"""A second look at a sample of verdicts: by another model, or by the same one with other words.

Two verdicts disagree when they are more than one point apart or in another class. Above 20 % something is wrong with
one of the two, and nobody should look at small differences of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import BadValue, NothingMeasured
from assay.judging.any_judge import Judging
from assay.judging.judge import differ
from assay.judging.rerun import refuse_itself
from assay.models.limited import side_by_side
from assay.records.interval import Interval
from assay.records.judging import JudgedAnswer, JudgeInput, StoredVerdict
from assay.statistics.intervals import wilson

WARN_FROM = 0.20
LEAST = 10
"""Cases looked at again, where there are so many: a share of few is too few."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """One case on which two judges disagree."""

    case_id: str
    repeat: int
    kind: str
    first: float
    second: float
    reason: str
    """Of the second judge."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpotCheck:
    """How often a second judge disagreed."""

    run_id: str
    first: str
    """The fingerprint of the judge that was checked."""
    second: str
    of: int
    """Verdicts there were."""
    checked: int
    """Verdicts that both judges gave, among those looked at again."""
    unjudged: int
    """Cases on which the second judge gave no verdict."""
    disagreements: tuple[Disagreement, ...]
    rate: Interval

    @property
    def warns(self) -> bool:
        """Whether the judges disagree too often to trust small differences."""
        return self.rate.estimate > WARN_FROM

    def as_json(self) -> dict[str, Any]:
        """The one shape on every surface."""
        return {
            "run": self.run_id,
            "first": self.first,
            "second": self.second,
            "judge_reliability": {"disagreement_rate": self.rate.estimate, "spot_check_n": self.checked},
            "interval": [self.rate.low, self.rate.high],
            "of": self.of,
            "unjudged": self.unjudged,
            "warning": self.warns,
            "disagreements": [
                {"case": one.case_id, "kind": one.kind, "first": one.first, "second": one.second, "reason": one.reason}
                for one in self.disagreements
            ],
        }


def spot_check(
    run_id: str,
    given: Sequence[tuple[StoredVerdict, JudgeInput]],
    second: Judging,
    *,
    share: float = 0.1,
    seed: int = 0,
    threads: int = 1,
) -> SpotCheck:
    """Have a second judge look at a share of what a first one judged."""
    if not 0 < share <= 1:
        raise BadValue(f"share {share} is not above 0 and up to 1", remedy="Give a share such as 0.1.")
    scored = [(stored, shown) for stored, shown in given if stored.score is not None and stored.kind is second.about]
    if not scored:
        raise NothingMeasured(
            f"the run {run_id} has no verdict about {second.about} to look at again",
            remedy="Judge it first: assay judge run RUN.",
        )
    refuse_itself(scored[0][0].fingerprint_id, second)
    chosen = _chosen(len(scored), share, seed)
    again = side_by_side(second.judged, (scored[place][1] for place in chosen), threads=threads)
    pairs = [(scored[place][0], said) for place, said in zip(chosen, again, strict=True)]
    both = [(stored, said) for stored, said in pairs if said.score is not None]
    if not both:
        raise NothingMeasured(
            f"{second.name} gave no verdict on {len(pairs)} cases: {pairs[0][1].verdict.reason}",
            remedy="Check the second model, then try again.",
        )
    found = tuple(one for stored, said in both for one in _disagreement(stored, said))
    return SpotCheck(
        run_id=run_id,
        first=scored[0][0].fingerprint_id,
        second=second.fingerprint().id,
        of=len(scored),
        checked=len(both),
        unjudged=len(pairs) - len(both),
        disagreements=found,
        rate=wilson(len(found), len(both)),
    )


def _disagreement(stored: StoredVerdict, said: JudgedAnswer) -> list[Disagreement]:
    """What two judges say of one case where it is not the same."""
    first, second = stored.score, said.score
    if first is None or second is None or not differ(first, second, stored.kind):
        return []
    return [
        Disagreement(
            case_id=stored.case_id,
            repeat=stored.repeat,
            kind=stored.kind.value,
            first=first,
            second=second,
            reason=said.verdict.reason,
        )
    ]


def _chosen(count: int, share: float, seed: int) -> list[int]:
    wanted = min(count, max(LEAST, round(share * count)))
    return sorted(np.random.default_rng(seed).permutation(count)[:wanted].tolist())
