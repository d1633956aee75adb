"""Certification: whether a judge of correctness accepts right answers and nothing else.

Calibration asks how far a judge agrees with people on the answers of a system; those are seldom wrong on purpose. A
certificate says what it makes of answers that are: specific wrong ones, vague ones, refusals, and attacks. It belongs
to one fingerprint (judge, prompt, model, parameters) and ends on a date. `judging.licence` says what follows from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import BadValue, NothingMeasured
from assay.hashing import content_hash
from assay.judging.calibration import FILLER, LEAST_JUDGED, LEAST_SAME
from assay.judging.certification_cases import CertificationCase, CertificationGroup
from assay.judging.labels import GOOD_FROM
from assay.models.chat import alias_reason, side_by_side
from assay.records.judging import Certificate, JudgedAnswer, JudgeInput, RubricKind, Usage
from assay.statistics.intervals import wilson

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.judging.protocol import Judging

MOST_FALSE_ACCEPTS = 0.10
"""The largest share of wrong answers of one group that a certified judge accepts."""
MOST_FALSE_REJECTS = 0.20
"""The largest share of right answers of one group that it rejects."""
LEAST_ANSWERS = 20
"""Fewer answers of a group say too little."""

OnCase = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class CertificationOptions:
    """How a judge is certified."""

    days: int = 30
    repeats: int = 3
    """How often each case of the sample is judged, the first time included."""
    sample: int = 20
    """Cases that are judged again: unchanged, and with filler before and behind the answer."""
    threads: int = 1
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Certified:
    """A certificate with the verdicts it was made from."""

    certificate: Certificate
    judged: tuple[tuple[CertificationCase, JudgedAnswer], ...]

    def mistakes(self) -> list[tuple[CertificationCase, JudgedAnswer]]:
        """The cases with a wrong verdict."""
        return [
            (case, said)
            for case, said in self.judged
            if said.score is not None and (said.score >= GOOD_FROM) is not case.group.right
        ]


def certify(
    judge: Judging,
    cases: Sequence[CertificationCase],
    *,
    clock: Clock,
    options: CertificationOptions | None = None,
    on_case: OnCase | None = None,
    earlier: Sequence[Certificate] = (),
) -> Certified:
    """Show a judge answers that are right and wrong on purpose. Cached replies are not used.

    `earlier` are its certificates so far; how many of them failed is kept with the new one.
    """
    if judge.about is not RubricKind.CORRECTNESS:
        raise BadValue(f"{judge.name} judges {judge.about}", remedy="Certify a judge of correctness.")
    options = options or CertificationOptions()
    asking = _Asking(judge, options, on_case, len(cases))
    judged = asking.ask([case.as_input() for case in cases])
    pairs = list(zip(cases, judged, strict=True))
    if all(said.score is None for said in judged):
        why = judged[0].verdict.reason if judged else "there is no case"
        raise NothingMeasured(
            f"{judge.name} gave no verdict on {len(cases)} answers: {why}",
            remedy="Check model.url and model.name, then certify again.",
        )
    figures = _figures(pairs, asking, earlier)
    fingerprint, now = judge.fingerprint(), clock.now()
    certificate = Certificate(
        fingerprint_id=fingerprint.id,
        about=judge.about,
        made_at=now,
        expires_at=now + timedelta(days=options.days),
        cases_hash=content_hash(sorted([case.group.value, case.as_input().input_hash] for case in cases)),
        cases=len(cases),
        passed=not figures["shortcomings"],
        figures=figures,
        fingerprint=fingerprint.as_json(),
    )
    return Certified(certificate=certificate, judged=tuple(pairs))


class _Asking:
    """Asks the judge, in parallel, and counts."""

    def __init__(self, judge: Judging, options: CertificationOptions, on_case: OnCase | None, cases: int) -> None:
        self.judge = judge
        self.options = options
        self._on_case = on_case
        self._total = cases + min(options.sample, cases) * (options.repeats - 1 + 2)
        self._done = 0
        self.usage = Usage()
        self.served: dict[str, None] = {}

    def ask(self, inputs: Sequence[JudgeInput], repeat: int = 0) -> list[JudgedAnswer]:
        """A verdict on each, in order."""
        return [
            self._count(said)
            for said in side_by_side(
                lambda given: self.judge.judge_case(given, repeat=repeat, fresh=True),
                inputs,
                threads=self.options.threads,
            )
        ]

    def _count(self, said: JudgedAnswer) -> JudgedAnswer:
        self._done += 1
        self.usage += said.usage
        self.served |= dict.fromkeys(said.served)
        if self._on_case is not None:
            self._on_case(min(self._done, self._total), self._total)
        return said


Pairs = Sequence[tuple[CertificationCase, JudgedAnswer]]


def _figures(pairs: Pairs, asking: _Asking, earlier: Sequence[Certificate]) -> dict[str, Any]:
    groups = {group.value: _group(group, pairs) for group in CertificationGroup}
    wrong = [group for group in CertificationGroup if not group.right]
    sample = _sample(pairs, asking.options)
    fingerprint = asking.judge.fingerprint()
    figures: dict[str, Any] = {
        "groups": groups,
        "false_accepts": _together([groups[group.value] for group in wrong], "accepted"),
        "false_rejects": _together([groups[group.value] for group in CertificationGroup if group.right], "rejected"),
        "attacks": {
            attack: _share([_accepts(said) for case, said in pairs if case.attack == attack])
            for attack in dict.fromkeys(case.attack for case, _ in pairs if case.attack)
        },
        "outcomes": dict(Counter(said.verdict.outcome.value for _, said in pairs)),
        "stability": _stability(sample, asking),
        **_biases(sample, asking),
        "attempts": {"number": len(earlier) + 1, "failed_before": sum(not one.passed for one in earlier)},
        "usage": asking.usage.as_json(),
        "served": list(asking.served),
        "alias": alias_reason(fingerprint.model, fingerprint.model_digest, asking.served) if fingerprint.model else "",
    }
    return {**figures, "shortcomings": [*_report_groups(groups), *_report_judge(figures)]}


def _group(group: CertificationGroup, pairs: Pairs) -> dict[str, Any]:
    """Answers of one group: how many there are, and what the judge accepts and rejects of those with a verdict."""
    own = [said for case, said in pairs if case.group is group]
    known = [_accepts(said) for said in own if said.score is not None]
    return {
        "answers": len(own),
        "without_verdict": len(own) - len(known),
        "accepted": _share(known),
        "rejected": _share([not accepted for accepted in known]),
    }


def _accepts(said: JudgedAnswer) -> bool:
    """Whether a judge takes an answer for right; without a verdict it does not."""
    return said.score is not None and said.score >= GOOD_FROM


def _together(groups: Sequence[dict[str, Any]], what: str) -> dict[str, Any]:
    hits = sum(round((group[what]["value"] or 0) * group[what]["n"]) for group in groups)
    return _interval(hits, sum(group[what]["n"] for group in groups))


def _share(hits: Sequence[bool]) -> dict[str, Any]:
    return _interval(sum(hits), len(hits))


def _interval(hits: int, of: int) -> dict[str, Any]:
    if not of:
        return {"value": None, "low": None, "high": None, "n": 0}
    seen = wilson(hits, of)
    return {"value": seen.estimate, "low": seen.low, "high": seen.high, "n": of}


# --- Stability and biases, over a sample of the cases with a verdict ---


def _sample(pairs: Pairs, options: CertificationOptions) -> list[JudgedAnswer]:
    known = [said for _, said in pairs if said.score is not None]
    chosen = np.random.default_rng(options.seed).permutation(len(known))[: options.sample]
    return [known[place] for place in sorted(chosen.tolist())]


def _stability(sample: Sequence[JudgedAnswer], asking: _Asking) -> dict[str, Any]:
    """How often the same answer is accepted or rejected every time; no verdict is another verdict."""
    rounds = [asking.ask([said.input for said in sample], repeat) for repeat in range(1, asking.options.repeats)]
    same = [
        all(again[place].score is not None and _accepts(again[place]) is _accepts(said) for again in rounds)
        for place, said in enumerate(sample)
    ]
    return {"repeats": asking.options.repeats, "same": _share(same if rounds else [])}


def _biases(sample: Sequence[JudgedAnswer], asking: _Asking) -> dict[str, Any]:
    """How often filler that says nothing changes the verdict, and how often it matters where it stands."""
    behind = asking.ask([replace(said.input, answer=f"{said.input.answer} {FILLER}") for said in sample])
    before = asking.ask([replace(said.input, answer=f"{FILLER} {said.input.answer}") for said in sample])
    longer = [
        (_accepts(said), _accepts(other)) for said, other in zip(sample, behind, strict=True) if other.score is not None
    ]
    placed = [
        _accepts(one) is not _accepts(other)
        for one, other in zip(behind, before, strict=True)
        if one.score is not None and other.score is not None
    ]
    return {
        "length_bias": {
            "to_accepted": _share([not short and padded for short, padded in longer]),
            "to_rejected": _share([short and not padded for short, padded in longer]),
        },
        "position_bias": _share(placed),
    }


# --- Why a judge is not certified, each reason in a sentence ---


def _report_groups(groups: dict[str, dict[str, Any]]) -> list[str]:
    found = []
    for group in CertificationGroup:
        seen = groups[group.value]
        what, most = ("rejected", MOST_FALSE_REJECTS) if group.right else ("accepted", MOST_FALSE_ACCEPTS)
        if seen["answers"] < LEAST_ANSWERS:
            found.append(f"{seen['answers']} {group} answers; {LEAST_ANSWERS} are needed")
        if seen["answers"] - seen["without_verdict"] < LEAST_JUDGED * seen["answers"]:
            found.append(f"{seen['without_verdict']} of {seen['answers']} {group} answers got no verdict")
        share = seen[what]["value"]
        if share is not None and share > most:
            found.append(f"it {what} {share:.1%} of the {group} answers; at most {most:.0%} are allowed")
    return found


def _report_judge(figures: dict[str, Any]) -> list[str]:
    found = [figures["alias"]] if figures["alias"] else []
    same = figures["stability"]["same"]
    if same["value"] is None or same["value"] < LEAST_SAME:
        told = "it was not asked twice" if same["value"] is None else f"it repeated {same['value']:.0%} of its verdicts"
        found.append(f"{told}; {LEAST_SAME:.0%} are needed")
    cached = figures["usage"]["cached"]
    if cached:
        found.append(f"{cached} replies came from a cache; only fresh replies show what the model says now")
    if len(figures["served"]) > 1:
        found.append(f"{len(figures['served'])} models replied under one name: {', '.join(figures['served'])}")
    return found
