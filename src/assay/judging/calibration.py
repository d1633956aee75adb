"""How far a judge agrees with people: agreement, self-consistency, two biases, and means corrected by what was found.

The result is an artefact for one fingerprint with an expiry: another model, prompt, rubric or parser is another judge
and starts anew. Below the floor, or with too few labels or too many missing verdicts, a judge is diagnostic only: its
scores are shown and no gate listens to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np

from assay.clock import Clock
from assay.errors import BadValue, NothingMeasured
from assay.judging.any_judge import Judging
from assay.judging.canaries import canaries, void_reason
from assay.judging.labels import Labelled, Labels
from assay.models.limited import side_by_side
from assay.records.judging import Calibration, JudgedAnswer, JudgeInput, RubricKind
from assay.statistics.agreement import Agreement, cohen_kappa, krippendorff_alpha
from assay.statistics.intervals import Interval, wilson
from assay.statistics.ppi import ppi_mean

LEAST_CASES = 30
"""Fewer labels say too little to let a judge decide anything."""
LEAST_JUDGED = 0.9
"""The share of cases that must have a verdict."""
SLACK = 0.2
"""How far below the floor the lower end of kappa's interval may lie."""
FILLER = (
    "To put it in other words, and so that nothing is left unclear, this is what can be said about the matter at hand. "
    "The above answers what was asked, in the order in which it was asked, and there is nothing further to add to it."
)
"""Two sentences that say nothing; an answer is neither better nor worse with them."""

OnCase = Callable[[int, int], None]
"""Told how many questions are answered, of how many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationOptions:
    """How a judge is calibrated."""

    floor: float = 0.6
    days: int = 30
    repeats: int = 3
    """How often each case of the consistency sample is asked in all."""
    sample: int = 20
    """Cases that are asked again: for consistency, turned round, and padded."""
    threads: int = 1
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibrated:
    """A calibration with the verdicts it was made from."""

    calibration: Calibration
    judged: tuple[JudgedAnswer, ...]
    """On the labelled cases, in their order."""


def calibrate(
    judge: Judging,
    labels: Labels,
    *,
    clock: Clock,
    options: CalibrationOptions | None = None,
    unlabelled: Sequence[float] = (),
    on_case: OnCase | None = None,
) -> Calibrated:
    """Hold a judge against people.

    `unlabelled` are its scores of further cases that nobody labelled, whose mean is then corrected too.
    """
    options = options or CalibrationOptions()
    asking = _Asking(judge, options, on_case, len(labels.cases))
    judged = asking.all([one.input for one in labels.cases])
    pairs = [(one, said) for one, said in zip(labels.cases, judged, strict=True) if said.score is not None]
    if len(pairs) < 2:
        why = next((said.verdict.reason for said in judged if said.score is None), "")
        raise NothingMeasured(
            f"{judge.name} gave {len(pairs)} verdicts on {len(labels.cases)} labelled cases: {why}",
            remedy="Check model.url and model.name, then calibrate again.",
        )
    figures = _figures(labels, pairs, asking, unlabelled)
    figures["outcomes"] = dict(Counter(one.verdict.outcome.value for one in judged))
    fingerprint, now = judge.fingerprint(), clock.now()
    calibration = Calibration(
        fingerprint_id=fingerprint.id,
        kind=judge.about,
        made_at=now,
        expires_at=now + timedelta(days=options.days),
        labels_hash=labels.content_hash,
        cases=len(pairs),
        passed=not figures["shortcomings"],
        figures=figures,
        fingerprint=fingerprint.as_json(),
    )
    return Calibrated(calibration=calibration, judged=tuple(judged))


class _Asking:
    """Asks a judge many things, side by side, and counts."""

    def __init__(self, judge: Judging, options: CalibrationOptions, on_case: OnCase | None, cases: int) -> None:
        self.judge = judge
        self.options = options
        self._on_case = on_case
        sample = min(options.sample, cases)
        self._total = cases + sample * (options.repeats + 1) + len(canaries(judge.about, seed=0))
        self._done = 0

    def all(self, inputs: Iterable[JudgeInput], repeat: int = 0) -> list[JudgedAnswer]:
        """A verdict on each, in order."""
        return [self._counted(one) for one in side_by_side(self._one(repeat), inputs, threads=self.options.threads)]

    def _one(self, repeat: int) -> Callable[[JudgeInput], JudgedAnswer]:
        return lambda given: self.judge.judged(given, repeat=repeat)

    def _counted(self, one: JudgedAnswer) -> JudgedAnswer:
        self._done += 1
        if self._on_case is not None:
            self._on_case(min(self._done, self._total), self._total)
        return one


Pairs = Sequence[tuple[Labelled, JudgedAnswer]]


def _figures(labels: Labels, pairs: Pairs, asking: _Asking, unlabelled: Sequence[float]) -> dict[str, Any]:
    rng, kind = np.random.default_rng(asking.options.seed), asking.judge.about
    people = [one.label for one, _ in pairs]
    said = [labels.as_label(_score(answer), kind) for _, answer in pairs]
    graded = labels.graded and kind is not RubricKind.ABSTENTION
    kappa = cohen_kappa(people, said, rng=rng, weights="quadratic" if graded else "unweighted")
    alpha = krippendorff_alpha(list(zip(people, said, strict=True)), rng=rng, scale="ordinal" if graded else "nominal")
    sample = _sample(pairs, asking.options, rng)
    planted = asking.all(canaries(kind, seed=asking.options.seed))
    figures = {
        "scale": "0-5" if graded else "yes/no",
        "labelled": len(labels.cases),
        "judged": len(pairs),
        "accuracy": _share([one == other for one, other in zip(people, said, strict=True)]),
        "mean_difference": float(np.mean(np.subtract(said, people))),
        "kappa": _agreement(kappa),
        "kappa_weights": "quadratic" if graded else "unweighted",
        "alpha": _agreement(alpha),
        "self_consistency": _consistency(sample, asking),
        "position_bias": _moved(sample, asking, _turned_round),
        "verbosity_bias": {**_moved(sample, asking, _padded), "length_correlation": _with_length(pairs, people, said)},
        "means": _means(labels, kind, people, said, unlabelled),
        "void": void_reason(planted),
        "floor": asking.options.floor,
    }
    if graded:
        figures["within_one"] = _share([abs(one - other) <= 1 for one, other in zip(people, said, strict=True)])
    return {**figures, "shortcomings": _shortcomings(figures, kappa, asking.options.floor)}


def _shortcomings(figures: dict[str, Any], kappa: Agreement, floor: float) -> list[str]:
    """Why a judge is diagnostic only, each in a sentence; none: it may decide gates."""
    found = []
    if figures["judged"] < LEAST_CASES:
        found.append(f"{figures['judged']} cases have a label and a verdict; {LEAST_CASES} are needed")
    if figures["judged"] < LEAST_JUDGED * figures["labelled"]:
        found.append(f"{figures['labelled'] - figures['judged']} of {figures['labelled']} cases got no verdict")
    if kappa.value is None or kappa.low is None:
        found.append("kappa has no value: only one label was ever used")
    elif kappa.value < floor:
        found.append(f"kappa {kappa.value:.2f} is under the floor {floor:.2f}")
    elif kappa.low < floor - SLACK:
        found.append(f"kappa may be as low as {kappa.low:.2f}; under {floor - SLACK:.2f} is too unsure")
    if figures["void"]:
        found.append(figures["void"])
    return found


def _sample(pairs: Pairs, options: CalibrationOptions, rng: np.random.Generator) -> list[JudgedAnswer]:
    chosen = rng.permutation(len(pairs))[: options.sample]
    return [pairs[place][1] for place in sorted(chosen.tolist())]


def _consistency(sample: Sequence[JudgedAnswer], asking: _Asking) -> dict[str, Any]:
    """How often a judge says the same when asked the same again."""
    asked = [asking.all([one.input for one in sample], repeat) for repeat in range(1, asking.options.repeats)]
    rounds = [[_score(one), *(again[place].score for again in asked)] for place, one in enumerate(sample)]
    complete = [[one for one in scores if one is not None] for scores in rounds if None not in scores]
    if not complete or asking.options.repeats < 2:
        return {"cases": 0, "repeats": asking.options.repeats}
    spreads = [float(np.std(scores)) for scores in complete]
    same = _share([len(set(scores)) == 1 for scores in complete])
    return {"cases": len(complete), "repeats": asking.options.repeats, "same": same, "mean_spread": np.mean(spreads)}


def _moved(
    sample: Sequence[JudgedAnswer], asking: _Asking, change: Callable[[JudgeInput], JudgeInput | None]
) -> dict[str, Any]:
    """By how much scores move under a change that should not matter."""
    changed = [(one, other) for one in sample if (other := change(one.input)) is not None]
    again = asking.all([other for _, other in changed])
    moves = [_score(new) - _score(old) for (old, _), new in zip(changed, again, strict=True) if new.score is not None]
    if not moves:
        return {"cases": 0}
    return {"cases": len(moves), "mean_move": float(np.mean(moves)), "moved": _share([one != 0 for one in moves])}


def _turned_round(given: JudgeInput) -> JudgeInput | None:
    return replace(given, passages=given.passages[::-1]) if len(given.passages) > 1 else None


def _padded(given: JudgeInput) -> JudgeInput | None:
    return replace(given, answer=f"{given.answer} {FILLER}")


def _with_length(pairs: Pairs, people: Sequence[float], said: Sequence[float]) -> float | None:
    """Whether the judge is kinder than people to longer answers: the correlation of the two."""
    lengths = np.log1p([len(one.input.answer) for one, _ in pairs])
    kinder = np.subtract(said, people)
    if lengths.std() == 0 or kinder.std() == 0:
        return None
    return float(np.corrcoef(lengths, kinder)[0, 1])


def _means(
    labels: Labels, kind: RubricKind, people: Sequence[float], said: Sequence[float], unlabelled: Sequence[float]
) -> dict[str, Any]:
    """What people would have said on average over cases that only the judge saw."""
    rest = [labels.as_label(one, kind) for one in unlabelled]
    found = {"people": float(np.mean(people)), "judge": float(np.mean(said)), "unlabelled": len(rest)}
    if len(rest) < 2:
        return found
    bounds = (0.0, 5.0) if labels.graded and kind is not RubricKind.ABSTENTION else (0.0, 1.0)
    corrected = ppi_mean(people, said, rest, tuned=True, bounds=bounds)
    return {
        **found,
        "judge_unlabelled": float(np.mean(rest)),
        "corrected": _interval(corrected.interval),
        "bias": corrected.judge_bias,
    }


def _score(judged: JudgedAnswer) -> float:
    if judged.score is None:
        raise BadValue(f"{judged.fingerprint.judge} gave no score", remedy="Compare those that have one.")
    return judged.score


def _share(hits: Sequence[bool]) -> dict[str, Any]:
    return _interval(wilson(sum(hits), len(hits)))


def _interval(one: Interval) -> dict[str, Any]:
    return {"value": one.estimate, "low": one.low, "high": one.high, "n": one.n}


def _agreement(one: Agreement) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high, "n": one.n}
