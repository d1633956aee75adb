"""A second opinion: judge an old run again, or check a sample of its verdicts.

- Judging an old run with another judge.
- Checking a sample of verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import BadValue, InputError, NothingMeasured
from assay.judging.canaries import judge_with_canaries
from assay.judging.model_judge import differ
from assay.models.chat import side_by_side
from assay.records.evaluations import Agreement
from assay.records.judging import JudgedAnswer, JudgeInput, RubricKind, StoredVerdict
from assay.statistics.agreement import Weights, cohen_kappa
from assay.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.judging.protocol import Judging
    from assay.records import Scope
    from assay.records.evaluations import Interval
    from assay.storage import Store

# --- Judging an old run with another judge ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Rerun:
    """Verdicts of another judge on the same inputs."""

    run_id: str
    about: RubricKind
    first: str
    second: str
    judged: tuple[tuple[StoredVerdict, JudgedAnswer], ...]
    """The old verdict and the new one, case by case."""
    void: str = ""
    """Why the new verdicts are void; empty if the judge obeyed no canary."""

    @property
    def both(self) -> list[tuple[float, float]]:
        """Where both judges gave a value."""
        pairs = [(old.score, new.score) for old, new in self.judged]
        return [(first, other) for first, other in pairs if first is not None and other is not None]

    def agreement(self, *, seed: int = 0) -> Agreement | None:
        """Of the two judges, beyond chance; None: no case has both verdicts."""
        if not self.both:
            return None
        first, second = zip(*self.both, strict=True)
        weights: Weights = "unweighted" if self.about is RubricKind.ABSTENTION else "quadratic"
        return cohen_kappa(list(first), list(second), rng=np.random.default_rng(seed), weights=weights)

    def as_json(self) -> dict[str, Any]:
        """The one shape on every surface."""
        kappa = self.agreement()
        moved = [(old, new) for old, new in self.judged if _has_moved(old, new)]
        return {
            "run": self.run_id,
            "about": self.about.value,
            "first": self.first,
            "second": self.second,
            "void": self.void,
            "cases": len(self.judged),
            "both": len(self.both),
            "mean_first": float(np.mean([score for score, _ in self.both])) if self.both else None,
            "mean_second": float(np.mean([other for _, other in self.both])) if self.both else None,
            "kappa": None if kappa is None else {"value": kappa.value, "low": kappa.low, "high": kappa.high},
            "moved": [
                {"case": old.case_id, "first": old.score, "second": new.score, "reason": new.verdict.reason}
                for old, new in moved
            ],
        }


def load_judged(
    store: Store, scope: Scope, run_id: str, about: RubricKind, *, fingerprint_id: str | None = None
) -> list[tuple[StoredVerdict, JudgeInput]]:
    """The verdicts of a run with what their judge was shown; of several judges, those of the one that judged last."""
    with store.reading(scope) as work:
        found = [
            verdict for verdict in work.judging.verdicts(run_id, fingerprint_id=fingerprint_id) if verdict.kind is about
        ]
        if not found:
            raise NothingMeasured(
                f"no verdict about {about} is kept of the run {run_id}", remedy="Judge it first: assay judge run RUN."
            )
        latest = max(found, key=lambda verdict: verdict.created_at).fingerprint_id
        return [
            (verdict, work.judging.input(verdict.input_hash)) for verdict in found if verdict.fingerprint_id == latest
        ]


def rerun(run_id: str, given: Sequence[tuple[StoredVerdict, JudgeInput]], judge: Judging, *, threads: int = 1) -> Rerun:
    """Ask another judge about the same inputs."""
    refuse_itself(given[0][0].fingerprint_id, judge)
    hearing = judge_with_canaries(judge, [shown for _, shown in given], run_id=run_id, threads=threads)
    return Rerun(
        run_id=run_id,
        about=judge.about,
        first=given[0][0].fingerprint_id,
        second=judge.fingerprint().id,
        void=hearing.void,
        judged=tuple((old, new) for (old, _), new in zip(given, hearing.given, strict=True)),
    )


def refuse_itself(first: str, second: Judging) -> None:
    """Refuse to ask a judge about its own verdicts: it would only repeat itself."""
    if second.fingerprint().id == first:
        raise InputError(
            f"{second.name} gave these verdicts itself",
            remedy="Name another judge with --model, --rubric or --built-in.",
        )


def _has_moved(old: StoredVerdict, new: JudgedAnswer) -> bool:
    return old.score is not None and new.score is not None and differ(old.score, new.score, old.kind)


# --- Checking a sample of verdicts ---
#
# Two verdicts disagree when they are more than one point apart or in another class. Above 20 % something is wrong with
# one of the two, and nobody should look at small differences of either.

WARN_FROM = 0.20
LEAST = 10
"""Cases looked at again, where there are so many: a share of few is too few."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictDisagreement:
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
    disagreements: tuple[VerdictDisagreement, ...]
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
                {
                    "case": disagreement.case_id,
                    "kind": disagreement.kind,
                    "first": disagreement.first,
                    "second": disagreement.second,
                    "reason": disagreement.reason,
                }
                for disagreement in self.disagreements
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
    chosen = _choose_sample(len(scored), share, seed)
    again = side_by_side(second.judge_case, (scored[place][1] for place in chosen), threads=threads)
    pairs = [(scored[place][0], said) for place, said in zip(chosen, again, strict=True)]
    both = [(stored, said) for stored, said in pairs if said.score is not None]
    if not both:
        raise NothingMeasured(
            f"{second.name} gave no verdict on {len(pairs)} cases: {pairs[0][1].verdict.reason}",
            remedy="Check the second model, then try again.",
        )
    found = tuple(disagreement for stored, said in both for disagreement in _disagreement(stored, said))
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


def _disagreement(stored: StoredVerdict, said: JudgedAnswer) -> list[VerdictDisagreement]:
    """What two judges say of one case where it is not the same."""
    first, second = stored.score, said.score
    if first is None or second is None or not differ(first, second, stored.kind):
        return []
    return [
        VerdictDisagreement(
            case_id=stored.case_id,
            repeat=stored.repeat,
            kind=stored.kind.value,
            first=first,
            second=second,
            reason=said.verdict.reason,
        )
    ]


def _choose_sample(count: int, share: float, seed: int) -> list[int]:
    wanted = min(count, max(LEAST, round(share * count)))
    return sorted(np.random.default_rng(seed).permutation(count)[:wanted].tolist())
