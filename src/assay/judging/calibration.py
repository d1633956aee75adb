"""Calibration: how far a judge agrees with people, and what follows from it.

- Earlier calibrations of the same judge.
- Calibrating a judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.errors import BadValue, NothingMeasured
from assay.judging.canaries import canaries, void_reason
from assay.judging.labels import LabelledCase, Labels, case_key, question_key
from assay.models.chat import alias_reason, side_by_side
from assay.records.evaluations import Agreement
from assay.records.judging import Calibration, JudgedAnswer, JudgeInput, RubricKind, Usage
from assay.statistics.agreement import Weights, cohen_kappa, krippendorff_alpha
from assay.statistics.calibration import FEW_LABELS, ppi_mean
from assay.statistics.independent_samples import mean_difference
from assay.statistics.intervals import wilson

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.judging.protocol import Judging
    from assay.records.evaluations import Interval

# --- Earlier calibrations of the same judge ---
#
# Every attempt is kept with its cases, labels and scores. When a judge is calibrated again,
#
# - cases it was held against before and that are left out now still count (`Attempts.left_out`), so nobody can pick
#   the
#   labels on which it did well;
# - each failed attempt, and each other judge that was tried on the same labels, narrows the chance that is left to
#   luck:
#   the level of the interval rises from 95 % to 1 - 0.05 / tries (Bonferroni).
#
# `overlap` counts judged cases whose questions are among the labels. See `design/judge-licence.md`.

RISK = 0.05
"""The chance of licensing a judge below the floor by luck, over all tries together."""
EVIDENCE = "evidence"
"""Under which a calibration's figures keep its cases."""


class CalibrationCase(NamedTuple):
    """One labelled case of a calibration."""

    case: str
    """`case_key` of it."""
    question: str
    """`question_key` of it."""
    label: float
    score: float | None
    """The judge's score on the scale of the labels; None without a score."""


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
    left_out: tuple[CalibrationCase, ...]
    """Cases this judge was held against before that are not among the present labels."""
    same: tuple[float, int]
    """Repeated cases of earlier attempts: how many got the same verdict each time, and of how many."""

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
    own = [
        calibration
        for calibration in earlier
        if calibration.fingerprint_id == fingerprint_id and _same_model(calibration, served)
    ]
    others = [calibration for calibration in earlier if calibration.fingerprint_id != fingerprint_id]
    shared = {
        item.case: calibration.fingerprint_id
        for calibration in others
        for item in cases_of(calibration)
        if item.case in cases
    }
    used = {
        calibration.fingerprint_id for calibration in others for item in cases_of(calibration) if item.case in cases
    }
    known = {
        item.case: item
        for calibration in own
        if calibration.figures.get("scale") == scale
        for item in cases_of(calibration)
    }
    return Attempts(
        earlier=len(own),
        failed=sum(not calibration.passed for calibration in own),
        void=sum(bool(calibration.figures.get("void")) for calibration in own),
        other_judges=len(used),
        shared=len(shared),
        left_out=tuple(item for case, item in known.items() if case not in cases),
        same=_same(own),
    )


def cases_of(calibration: Calibration) -> list[CalibrationCase]:
    """Return the cases of a calibration; none are known of one made by version 0.1."""
    return [CalibrationCase(*item) for item in calibration.figures.get(EVIDENCE, ())]


def overlap(calibration: Calibration, questions: Iterable[str]) -> int:
    """Count the questions that are among the labels of a calibration."""
    labelled = {item.question for item in cases_of(calibration)}
    return sum(question_key(question) in labelled for question in questions)


def _same_model(calibration: Calibration, served: Collection[str]) -> bool:
    """Return whether the same model replied, as far as the server reports it."""
    return set(calibration.figures.get("served", served)) == set(served)


def _same(calibrations: Sequence[Calibration]) -> tuple[float, int]:
    found = [calibration.figures.get("self_consistency", {}).get("same") for calibration in calibrations]
    shares = [share for share in found if share]
    return sum(share["value"] * share["n"] for share in shares), sum(share["n"] for share in shares)


# --- Calibrating a judge ---
#
# The result is an artefact for one fingerprint with an expiry: another model, prompt, rubric or parser is another
# judge and starts anew. A judge below the floor is diagnostic only: its scores are shown and no gate listens to them.
# So is one with too few labels or too many missing verdicts, one that says something else each time it is asked, one
# whose replies came from a cache, and one whose name does not tell which model answers (`_shortcomings` has all
# reasons). Earlier attempts count (`attempts`): passing at the fourth try on picked labels is no pass.

LEAST_CASES = 30
"""Fewer labels say too little to let a judge decide anything."""
LEAST_JUDGED = 0.9
"""The share of cases that must have a verdict."""
SLACK = 0.2
"""How far below the floor the lower end of kappa's interval may lie."""
LEAST_SAME = 0.8
"""The share of repeated cases on which a judge must give the same verdict every time."""
NOT_ALIKE = 0.01
"""Below this p, the labelled cases are not a random sample of those whose mean is corrected."""
FILLER = (
    "To put it in other words, and so that nothing is left unclear, this is what can be said about the matter at hand. "
    "The above answers what was asked, in the order in which it was asked, and there is nothing further to add to it."
)
"""Two sentences that say nothing; an answer is neither better nor worse with them."""

OnCase = Callable[[int, int], None]
"""Called with the number of finished cases and of all cases."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationOptions:
    """How a judge is calibrated."""

    floor: float = 0.6
    days: int = 30
    repeats: int = 3
    """How often each case of the consistency sample is judged, the first time included."""
    sample: int = 20
    """Cases that are judged again: unchanged, with reversed passages, and with a padded answer."""
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
    earlier: Sequence[Calibration] = (),
) -> Calibrated:
    """Compare a judge with labels by people. Cached replies are not used.

    `unlabelled` are its scores of further cases without labels, whose mean is then corrected too. `earlier` are
    all calibrations of judges of this kind that were made before, the oldest first: they count.
    """
    options = options or CalibrationOptions()
    copies, labels = len(labels.cases), labels.distinct()
    copies -= len(labels.cases)
    asking = _Asking(judge, options, on_case, len(labels.cases))
    judged = asking.all([case.input for case in labels.cases])
    pairs = [(case, said) for case, said in zip(labels.cases, judged, strict=True) if said.score is not None]
    if len(pairs) < 2:
        why = next((said.verdict.reason for said in judged if said.score is None), "")
        raise NothingMeasured(
            f"{judge.name} gave {len(pairs)} verdicts on {len(labels.cases)} labelled cases: {why}",
            remedy="Check model.url and model.name, then calibrate again.",
        )
    evidence = [_record_case(labels, case, said) for case, said in zip(labels.cases, judged, strict=True)]
    figures = _figures(labels, pairs, asking, unlabelled, _History(earlier, evidence))
    figures |= {
        "outcomes": dict(Counter(verdict.verdict.outcome.value for verdict in judged)),
        "copies": copies,
        EVIDENCE: [list(item) for item in evidence],
    }
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
    """Judges many cases in parallel and counts usage."""

    def __init__(self, judge: Judging, options: CalibrationOptions, on_case: OnCase | None, cases: int) -> None:
        self.judge = judge
        self.options = options
        self._on_case = on_case
        sample = min(options.sample, cases)
        self._total = cases + sample * (options.repeats + 1) + len(canaries(judge.about, seed=0))
        self._done = 0
        self.usage = Usage()
        """Usage of all calls so far."""
        self.served: dict[str, None] = {}
        """The models that replied, as the server names them."""

    def all(self, inputs: Iterable[JudgeInput], repeat: int = 0) -> list[JudgedAnswer]:
        """A verdict on each, in order."""
        return [
            self._count(verdict) for verdict in side_by_side(self._one(repeat), inputs, threads=self.options.threads)
        ]

    def _one(self, repeat: int) -> Callable[[JudgeInput], JudgedAnswer]:
        return lambda given: self.judge.judge_case(given, repeat=repeat, fresh=True)

    def _count(self, judged: JudgedAnswer) -> JudgedAnswer:
        self._done += 1
        self.usage += judged.usage
        self.served |= dict.fromkeys(judged.served)
        if self._on_case is not None:
            self._on_case(min(self._done, self._total), self._total)
        return judged


Pairs = Sequence[tuple[LabelledCase, JudgedAnswer]]


class _History(NamedTuple):
    """What is known of a judge before its figures are made."""

    earlier: Sequence[Calibration]
    evidence: Sequence[CalibrationCase]

    def attempts(self, asking: _Asking, scale: str) -> Attempts:
        return attempts_before(
            self.earlier,
            fingerprint_id=asking.judge.fingerprint().id,
            cases={item.case for item in self.evidence},
            scale=scale,
            served=asking.served,
        )


def _record_case(labels: Labels, case: LabelledCase, said: JudgedAnswer) -> CalibrationCase:
    score = None if said.score is None else labels.as_label(said.score, case.input.kind)
    return CalibrationCase(case_key(case.input), question_key(case.input.question), case.label, score)


def _figures(
    labels: Labels, pairs: Pairs, asking: _Asking, unlabelled: Sequence[float], history: _History
) -> dict[str, Any]:
    rng, kind = np.random.default_rng(asking.options.seed), asking.judge.about
    people = [case.label for case, _ in pairs]
    said = [labels.as_label(_score(answer), kind) for _, answer in pairs]
    graded = labels.graded and kind is not RubricKind.ABSTENTION
    weights: Weights = "quadratic" if graded else "unweighted"
    scale = "0-5" if graded else "yes/no"
    attempts = history.attempts(asking, scale)
    kappa = cohen_kappa(people, said, rng=rng, weights=weights, level=attempts.level)
    alpha = krippendorff_alpha(list(zip(people, said, strict=True)), rng=rng, scale="ordinal" if graded else "nominal")
    sample = _sample(pairs, asking.options, rng)
    planted = asking.all(canaries(kind, seed=asking.options.seed))
    figures = {
        "scale": scale,
        "labelled": len(labels.cases),
        "judged": len(pairs),
        "accuracy": _share([label == other for label, other in zip(people, said, strict=True)]),
        "mean_difference": float(np.mean(np.subtract(said, people))),
        "kappa": {**_agreement(kappa), "level": attempts.level},
        "kappa_weights": weights,
        "alpha": _agreement(alpha),
        "self_consistency": _consistency(sample, asking),
        "position_bias": _measure_moves(sample, asking, _reverse_passages),
        "verbosity_bias": {
            **_measure_moves(sample, asking, _pad_answer),
            "length_correlation": _with_length(pairs, people, said),
        },
        "means": _means(labels, kind, (people, said), unlabelled, rng),
        "void": void_reason(planted),
        "floor": asking.options.floor,
        "attempts": attempts.as_json(),
        "usage": asking.usage.as_json(),
        "served": list(asking.served),
        "alias": _alias(asking),
    }
    deciding = kappa
    if attempts.left_out:
        known = [(item.label, item.score) for item in attempts.left_out if item.score is not None]
        both = [*zip(people, said, strict=True), *known]
        deciding = cohen_kappa(*zip(*both, strict=True), rng=rng, weights=weights, level=attempts.level)
        figures["kappa_of_all_attempts"] = {**_agreement(deciding), "level": attempts.level}
    if graded:
        figures["within_one"] = _share([abs(label - other) <= 1 for label, other in zip(people, said, strict=True)])
    shortcomings = [
        *_report_too_few(figures),
        *_report_low_agreement(deciding, asking.options.floor, attempts),
        *_report_inconsistency(figures, attempts),
        *_report_unknown_model(figures, attempts),
    ]
    return {**figures, "shortcomings": shortcomings}


def _alias(asking: _Asking) -> str:
    """Return why the model's name does not identify its weights; empty if it does, and for rules."""
    judge = asking.judge.fingerprint()
    return alias_reason(judge.model, judge.model_digest, asking.served) if judge.model else ""


# Each of these gives reasons why a judge is diagnostic only, each in a sentence; no reason: it may decide gates.


def _report_too_few(figures: dict[str, Any]) -> list[str]:
    found = []
    if figures["judged"] < LEAST_CASES:
        found.append(f"{figures['judged']} cases have a label and a verdict; {LEAST_CASES} are needed")
    if figures["judged"] < LEAST_JUDGED * figures["labelled"]:
        found.append(f"{figures['labelled'] - figures['judged']} of {figures['labelled']} cases got no verdict")
    return found


def _report_low_agreement(kappa: Agreement, floor: float, attempts: Attempts) -> list[str]:
    if kappa.value is None or kappa.low is None:
        return ["kappa has no value: only one label was ever used"]
    over = f" over all {kappa.n} cases of {attempts.earlier + 1} attempts" if attempts.left_out else ""
    if kappa.value < floor:
        return [f"kappa {kappa.value:.2f}{over} is under the floor {floor:.2f}"]
    if kappa.low < floor - SLACK:
        return [f"kappa{over} may be as low as {kappa.low:.2f}; under {floor - SLACK:.2f} is too unsure"]
    return []


def _report_inconsistency(figures: dict[str, Any], attempts: Attempts) -> list[str]:
    """Agreement with itself, over all attempts: asking again until the sample is lucky must not help."""
    consistency, (hits, asked) = figures["self_consistency"], attempts.same
    if not consistency["cases"]:
        return ["no case was judged twice, so the repeatability of the judge is not known"]
    hits, asked = hits + consistency["same"]["value"] * consistency["cases"], asked + consistency["cases"]
    if hits < LEAST_SAME * asked - 1e-9:
        times = f"{hits:.0f} of {asked} cases that were asked again"
        return [f"it gave the same verdict each time on {times}; {LEAST_SAME:.0%} are needed"]
    return []


def _report_unknown_model(figures: dict[str, Any], attempts: Attempts) -> list[str]:
    found = [figures[name] for name in ("void", "alias") if figures[name]]
    if attempts.void and not figures["void"]:
        found.append(f"the judge obeyed planted orders in {attempts.void} of {attempts.earlier} earlier calibrations")
    cached, fresh = figures["usage"]["cached"], figures["usage"]["fresh"]
    if cached:
        found.append(
            f"{cached} of {cached + fresh} replies came from a cache; only fresh replies show what the model says now"
        )
    if len(figures["served"]) > 1:
        found.append(f"{len(figures['served'])} models replied under one name: {', '.join(figures['served'])}")
    return found


def _sample(pairs: Pairs, options: CalibrationOptions, rng: np.random.Generator) -> list[JudgedAnswer]:
    chosen = rng.permutation(len(pairs))[: options.sample]
    return [pairs[place][1] for place in sorted(chosen.tolist())]


def _consistency(sample: Sequence[JudgedAnswer], asking: _Asking) -> dict[str, Any]:
    """Return how often a judge repeats its verdict on the same case; a missing verdict is a different one."""
    asked = [asking.all([case.input for case in sample], repeat) for repeat in range(1, asking.options.repeats)]
    rounds = [[_score(case), *(again[place].score for again in asked)] for place, case in enumerate(sample)]
    if not rounds or asking.options.repeats < 2:
        return {"cases": 0, "repeats": asking.options.repeats}
    complete = [[score for score in scores if score is not None] for scores in rounds if None not in scores]
    spreads = [float(np.std(scores)) for scores in complete]
    return {
        "cases": len(rounds),
        "repeats": asking.options.repeats,
        "same": _share([len(set(scores)) == 1 for scores in rounds]),
        "mean_spread": float(np.mean(spreads)) if spreads else None,
    }


def _measure_moves(
    sample: Sequence[JudgedAnswer], asking: _Asking, change: Callable[[JudgeInput], JudgeInput | None]
) -> dict[str, Any]:
    """By how much scores move under a change that should not matter."""
    changed = [(case, other) for case in sample if (other := change(case.input)) is not None]
    again = asking.all([other for _, other in changed])
    moves = [_score(new) - _score(old) for (old, _), new in zip(changed, again, strict=True) if new.score is not None]
    if not moves:
        return {"cases": 0}
    return {"cases": len(moves), "mean_move": float(np.mean(moves)), "moved": _share([move != 0 for move in moves])}


def _reverse_passages(given: JudgeInput) -> JudgeInput | None:
    return replace(given, passages=given.passages[::-1]) if len(given.passages) > 1 else None


def _pad_answer(given: JudgeInput) -> JudgeInput | None:
    return replace(given, answer=f"{given.answer} {FILLER}")


def _with_length(pairs: Pairs, people: Sequence[float], said: Sequence[float]) -> float | None:
    """Whether the judge is kinder than people to longer answers: the correlation of the two."""
    lengths = np.log1p([len(case.input.answer) for case, _ in pairs])
    kinder = np.subtract(said, people)
    if lengths.std() == 0 or kinder.std() == 0:
        return None
    return float(np.corrcoef(lengths, kinder)[0, 1])


def _means(
    labels: Labels,
    kind: RubricKind,
    both: tuple[Sequence[float], Sequence[float]],
    unlabelled: Sequence[float],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Estimate the mean label that people would give over cases that only the judge scored.

    The correction holds for labels that are a random sample. A file does not show that; but where the judge scores
    the labelled cases otherwise than the rest, they are not one, and there is no corrected mean.
    """
    people, said = both
    rest = [labels.as_label(score, kind) for score in unlabelled]
    found = {"people": float(np.mean(people)), "judge": float(np.mean(said)), "unlabelled": len(rest)}
    if not rest:
        return found
    withheld = _not_correctable(said, rest, rng)
    if withheld:
        return {**found, "judge_unlabelled": float(np.mean(rest)), "withheld": withheld}
    bounds = (0.0, 5.0) if labels.graded and kind is not RubricKind.ABSTENTION else (0.0, 1.0)
    corrected = ppi_mean(people, said, rest, tuned=True, bounds=bounds)
    return {
        **found,
        "judge_unlabelled": float(np.mean(rest)),
        "corrected": _interval(corrected.interval),
        "caution": corrected.caution,
        "bias": corrected.judge_bias,
    }


def _not_correctable(said: Sequence[float], rest: Sequence[float], rng: np.random.Generator) -> str:
    """Say why a mean cannot be corrected by these labels; empty when it can."""
    if len(said) < FEW_LABELS:
        return f"{len(said)} labels have a verdict; {FEW_LABELS} are needed to correct a mean"
    if len(rest) < 2:
        return f"{len(rest)} cases have a verdict and no label; 2 are needed"
    seen = mean_difference(rest, said, rng=rng)
    if seen.p < NOT_ALIKE:
        return (
            f"the judge gives the labelled cases {seen.treatment:.2f} and the others {seen.control:.2f} on average "
            f"(p = {seen.p:.2g}): the labelled cases are not a random sample of them"
        )
    return ""


def _score(judged: JudgedAnswer) -> float:
    if judged.score is None:
        raise BadValue(f"{judged.fingerprint.judge} gave no score", remedy="Compare those that have one.")
    return judged.score


def _share(hits: Sequence[bool]) -> dict[str, Any]:
    return _interval(wilson(sum(hits), len(hits)))


def _interval(interval: Interval) -> dict[str, Any]:
    return {"value": interval.estimate, "low": interval.low, "high": interval.high, "n": interval.n}


def _agreement(agreement: Agreement) -> dict[str, Any]:
    return {"value": agreement.value, "low": agreement.low, "high": agreement.high, "n": agreement.n}
