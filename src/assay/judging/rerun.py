"""Old runs before another judge: what the first one was shown is in the store, so nothing has to be run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import InputError, NothingMeasured
from assay.judging.any_judge import Judging
from assay.judging.hearing import heard
from assay.judging.judge import differ
from assay.records import Scope
from assay.records.judging import JudgedAnswer, JudgeInput, RubricKind, StoredVerdict
from assay.statistics.agreement import Agreement, Weights, cohen_kappa
from assay.storage import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Rerun:
    """What another judge says of the same inputs."""

    run_id: str
    about: RubricKind
    first: str
    second: str
    judged: tuple[tuple[StoredVerdict, JudgedAnswer], ...]
    """The old verdict and the new one, case by case."""
    void: str = ""
    """Why nothing the new judge said counts; empty: it stood firm against planted orders."""

    @property
    def both(self) -> list[tuple[float, float]]:
        """Where both judges gave a value."""
        pairs = [(old.score, new.score) for old, new in self.judged]
        return [(one, other) for one, other in pairs if one is not None and other is not None]

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
        moved = [(old, new) for old, new in self.judged if _moved(old, new)]
        return {
            "run": self.run_id,
            "about": self.about.value,
            "first": self.first,
            "second": self.second,
            "void": self.void,
            "cases": len(self.judged),
            "both": len(self.both),
            "mean_first": float(np.mean([one for one, _ in self.both])) if self.both else None,
            "mean_second": float(np.mean([other for _, other in self.both])) if self.both else None,
            "kappa": None if kappa is None else {"value": kappa.value, "low": kappa.low, "high": kappa.high},
            "moved": [
                {"case": old.case_id, "first": old.score, "second": new.score, "reason": new.verdict.reason}
                for old, new in moved
            ],
        }


def judged_before(
    store: Store, scope: Scope, run_id: str, about: RubricKind, *, fingerprint_id: str | None = None
) -> list[tuple[StoredVerdict, JudgeInput]]:
    """The verdicts of a run with what their judge was shown; of several judges, those of the one that judged last."""
    with store.reading(scope) as work:
        found = [one for one in work.judging.verdicts(run_id, fingerprint_id=fingerprint_id) if one.kind is about]
        if not found:
            raise NothingMeasured(
                f"no verdict about {about} is kept of the run {run_id}", remedy="Judge it first: assay judge run RUN."
            )
        latest = max(found, key=lambda one: one.created_at).fingerprint_id
        return [(one, work.judging.input(one.input_hash)) for one in found if one.fingerprint_id == latest]


def rerun(run_id: str, given: Sequence[tuple[StoredVerdict, JudgeInput]], judge: Judging, *, threads: int = 1) -> Rerun:
    """Ask another judge about the same inputs."""
    refuse_itself(given[0][0].fingerprint_id, judge)
    hearing = heard(judge, [shown for _, shown in given], run_id=run_id, threads=threads)
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


def _moved(old: StoredVerdict, new: JudgedAnswer) -> bool:
    return old.score is not None and new.score is not None and differ(old.score, new.score, old.kind)
