"""The built-in correctness judge: whether an answer says what the gold answer says, without a model.

    BuiltinCorrectness().weigh("When did Ann move?", "3 May 2021", "Sometime in spring 2021").verdict.score

The gold answer is taken apart (`answer_parts`), what the candidate has of it becomes a few features
(`answer_features`), and fitted weights make a probability of them. Weights and threshold are in `correctness.json`;
`python -m bench.certify --fit` makes them. An answer that declines, copies the question, leaves the choice to the
reader or addresses the judge is wrong whatever words it has. `OverlapCorrectness` is the floor beside it: the share of
the gold answer's words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from assay.errors import BadValue
from assay.hashing import content_hash
from assay.judging.builtin.answer_features import Comparison, compare
from assay.judging.builtin.judges import Weights, read_abstention
from assay.judging.injection import find_orders, remove_orders
from assay.records.judging import HIGHEST_SCORE, CorrectnessVerdict, JudgeKind, VerdictOutcome
from assay.regular_files import read_packaged_text
from assay.text.terms import words

FILE = "correctness.json"
"""Where the weights and the threshold are."""
RIGHT_FROM = 4.0
"""The score from which an answer is right, as everywhere (`labels.GOOD_FROM`)."""
SURELY_WRONG = 0.01
"""The probability of an answer that is none."""
SURELY_RIGHT = 0.99
"""The probability of an answer with the words of the gold answer in their order."""
OVERLAP_FROM = 0.5
"""The share of the gold answer's words from which the floor accepts an answer."""
OVERLAP_VERSION = "1"
RULES_VERSION = "1"
"""Raise it when the same texts could get other features."""
DEMANDS = "A good answer:"
"""The line of a reference below which a case says what an answer needs besides; such demands are no gold answer."""
MOST_SHOWN = 6
"""Parts that a reason names of each kind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeighedAnswer:
    """A verdict with everything it was made of."""

    verdict: CorrectnessVerdict
    probability: float
    comparison: Comparison | None = None
    """None: the answer declines, or nothing of it was left to compare."""
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    contradicting: tuple[str, ...] = ()
    """What the candidate says in the place of something that it lacks."""


class BuiltinCorrectness:
    """Judges by rules and a few coefficients; the same texts give the same verdict on every machine."""

    kind: JudgeKind = "builtin"

    @property
    def name(self) -> str:
        """With its weights, since they move its verdicts."""
        return f"builtin-correctness/{version()}"

    def judge(
        self,
        question: str,
        answer: str,
        passages: Sequence[str],  # noqa: ARG002 - the gold answer decides
        *,
        reference: str = "",
    ) -> CorrectnessVerdict:
        """Judge one answer."""
        return self.weigh(question, gold_of(reference), answer).verdict

    def weigh(self, question: str, gold: str, candidate: str) -> WeighedAnswer:
        """Judge one answer and say of what the verdict is made."""
        if not words(gold):
            return _skip("there is no gold answer to compare with")
        if not candidate.strip():
            return _skip("the answer is empty")
        answer = remove_orders(candidate) if find_orders(candidate) else candidate
        if not words(answer):
            return _wrong("nothing is left of the answer without its orders to the judge")
        declined, meant = read_abstention(answer), read_abstention(gold)
        if declined.abstained and meant.abstained:
            return _weighed(SURELY_RIGHT, "it declines, and so does the gold answer")
        if declined.abstained:
            return _wrong(f'it declines: "{declined.words}"')
        return self._compare(question, gold, answer)

    @staticmethod
    def _compare(question: str, gold: str, answer: str) -> WeighedAnswer:
        found = compare(question, gold, answer)
        parts = found.parts
        other = (*parts.other_periods, *parts.coarse, *parts.other_exact, *parts.other_names)
        polar = ("no" if parts.polarity > 0 else "yes",) if parts.polarity and parts.said == -parts.polarity else ()
        probability = weights().probability(found.features)
        if found.defect:
            probability = min(probability, SURELY_WRONG)
        elif found.same_text:
            probability = max(probability, SURELY_RIGHT)
        matched, missing = parts.shown(found=True), parts.shown(found=False)
        contradicting = tuple(dict.fromkeys((*polar, *other, *parts.denied)))
        return WeighedAnswer(
            verdict=_verdict(probability, found.defect or _reason(matched, missing, contradicting)),
            probability=probability,
            comparison=found,
            matched=matched,
            missing=missing,
            contradicting=contradicting,
        )


class OverlapCorrectness:
    """Accepts an answer that has half of the gold answer's words: the floor that every judge should beat."""

    kind: JudgeKind = "builtin"
    name = f"builtin-overlap/{OVERLAP_VERSION}"

    def judge(
        self,
        question: str,  # noqa: ARG002 - it looks at words alone
        answer: str,
        passages: Sequence[str],  # noqa: ARG002 - the same
        *,
        reference: str = "",
    ) -> CorrectnessVerdict:
        """Judge one answer."""
        share = overlap_share(gold_of(reference), answer)
        if share is None:
            return _skip("there is no gold answer to compare with").verdict
        if not answer.strip():
            return _skip("the answer is empty").verdict
        score = _score(share, OVERLAP_FROM)
        return CorrectnessVerdict(score=score, reason=f"{share:.0%} of the gold answer's words")


def gold_of(reference: str) -> str:
    """The gold answer of a reference, without what a case demands besides."""
    return reference.partition(DEMANDS)[0].strip()


def overlap_share(gold: str, candidate: str) -> float | None:
    """The share of the gold answer's words that a candidate has; None: the gold answer has no words."""
    wanted = set(words(gold))
    return len(wanted & set(words(candidate))) / len(wanted) if wanted else None


# --- Weights and threshold ---


@cache
def weights() -> Weights:
    """The fitted weights."""
    stored = _load()
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored["weights"].items()
    }
    return Weights(**fields)


@cache
def threshold() -> float:
    """The probability from which an answer is right."""
    found = float(_load()["threshold"])
    if not 0 < found < 1:
        raise BadValue(f"the threshold {found} in {FILE} is outside 0 to 1", remedy="Fit it again: bench.certify.")
    return found


@cache
def version() -> str:
    """A version that changes with every weight, with the threshold and with the rules."""
    return content_hash([RULES_VERSION, _load()["weights"], _load()["threshold"]]).removeprefix("sha256:")[:12]


@cache
def _load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read_packaged_text("judging", "builtin", FILE))
    return found


# --- Verdicts ---


def _score(value: float, right_from: float) -> float:
    """A share or probability on the scale of the rubric: 4 at the threshold, 0 and 5 at the ends."""
    if value >= right_from:
        return RIGHT_FROM + (HIGHEST_SCORE - RIGHT_FROM) * (value - right_from) / (1 - right_from)
    return min(RIGHT_FROM * value / right_from, RIGHT_FROM - 0.01)


def _verdict(probability: float, reason: str) -> CorrectnessVerdict:
    score = round(_score(probability, threshold()), 3)
    if probability < threshold():
        score = min(score, RIGHT_FROM - 0.01)
    return CorrectnessVerdict(score=score, probability=probability, reason=reason)


def _weighed(probability: float, reason: str) -> WeighedAnswer:
    return WeighedAnswer(verdict=_verdict(probability, reason), probability=probability)


def _wrong(reason: str) -> WeighedAnswer:
    return _weighed(SURELY_WRONG, reason)


def _skip(reason: str) -> WeighedAnswer:
    verdict = CorrectnessVerdict(score=None, outcome=VerdictOutcome.SKIPPED, reason=reason)
    return WeighedAnswer(verdict=verdict, probability=0.0)


def _reason(matched: Sequence[str], missing: Sequence[str], contradicting: Sequence[str]) -> str:
    told = (("has", matched), ("lacks", missing), ("says instead", contradicting if missing else ()))
    parts = [f"{verb} {_listed(shown)}" for verb, shown in told if shown]
    return "; ".join(parts) or "the gold answer has no part to compare"


def _listed(shown: Sequence[str]) -> str:
    more = len(shown) - MOST_SHOWN
    return ", ".join(shown[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
