"""Answers: verdicts of judges, abstention where there is no answer, and citations of claims.

Every function looks at one case; the mean over the scored cases is the metric. Only the risk-coverage area is a
property of a whole set. An abstention is `abstained`, not a bad answer; a blank text is a failure of the system; a
verdict that is missing or off the scale is a failure of the judge. None of them is ever 0. Where declining must not
look good, `over_abstention_rate` and `reference_match(over=answerable)` count it against the system.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, groupby
from typing import NamedTuple

from assay.metrics import outcomes
from assay.metrics.catalog import Better, FromCase, FromRun, MetricEntry, Parameter, register
from assay.metrics.inputs import CaseView, RunFacts
from assay.metrics.reference_text import MATCH_SHARE, content_words, has_reference, numbers
from assay.metrics.spec import MetricSpec
from assay.records.answers import AnsweredCase, Claim, GivenAnswer, RubricVerdict
from assay.records.evaluations import Outcome, OutcomeKind
from assay.records.judging import RubricKind
from assay.text.claims import claims

HIGHEST_SCORE = 5.0
"""Of both rubrics; the lowest is 0."""
CORRECT_FROM = 4.0
"""The correctness score from which an answer counts as right: "mostly correct with minor issues"."""


def explain_missing_answer(answer: GivenAnswer) -> Outcome | None:
    """Why there is no answer to look at; None when there is one."""
    if answer.abstained:
        return outcomes.abstained()
    return None if answer.text.strip() else outcomes.system_failed("the answer is empty")


def groundedness(answer: GivenAnswer, verdict: RubricVerdict | None) -> Outcome:
    """The judge's 0-5 for "every claim is supported by the context"."""
    return explain_missing_answer(answer) or _rubric_score(verdict)


def correctness(answer: GivenAnswer, verdict: RubricVerdict | None) -> Outcome:
    """The judge's 0-5 for "it answers the question rightly"."""
    return explain_missing_answer(answer) or _rubric_score(verdict)


def _rubric_score(verdict: RubricVerdict | None) -> Outcome:
    if verdict is None or verdict.score is None:
        return outcomes.judge_failed("there is no readable verdict")
    if not 0 <= verdict.score <= HIGHEST_SCORE:  # NaN is not between them either
        return outcomes.judge_failed(f"the score {verdict.score} is not from 0 to {HIGHEST_SCORE:g}")
    return Outcome.scored(verdict.score)


def abstention_accuracy(case: AnsweredCase) -> Outcome:
    """Whether the system declined a question that has no answer."""
    if case.answerable:
        return outcomes.not_applicable("the question has an answer")
    return _has_declined(case.answer)


def _has_declined(answer: GivenAnswer) -> Outcome:
    if not answer.abstained and not answer.text.strip():
        return outcomes.system_failed("the answer is empty and not marked as an abstention")
    if answer.abstained is None:
        return outcomes.judge_failed("it is not recorded whether the system abstained")
    return outcomes.yes_or_no(answer.abstained)


def hallucination_rate(case: AnsweredCase) -> Outcome:
    """Whether the system answered a question that has no answer."""
    declined = abstention_accuracy(case)
    return declined if declined.value is None else Outcome.scored(1 - declined.value)


def abstention_precision(case: AnsweredCase) -> Outcome:
    """Of an abstention: whether there was indeed nothing to answer."""
    declined = _has_declined(case.answer)
    if declined.value == 0:
        return outcomes.not_applicable("the system answered")
    return declined if declined.value is None else outcomes.yes_or_no(not case.answerable)


def abstention_recall(case: AnsweredCase) -> Outcome:
    """Of an unanswerable question: whether the system abstained."""
    return abstention_accuracy(case)


def answer_rate(case: AnsweredCase) -> Outcome:
    """Of an answerable question: whether the system answered it."""
    if not case.answerable:
        return outcomes.not_applicable("the question has no answer")
    if case.answer.abstained is None and case.answer.text.strip():
        # Many services never mark an abstention. That is no failure of a judge, so it must not hold up a gate.
        return outcomes.not_applicable("it is not recorded whether the system abstained")
    declined = _has_declined(case.answer)
    return declined if declined.value is None else Outcome.scored(1 - declined.value)


def over_abstention_rate(case: AnsweredCase) -> Outcome:
    """Of an answerable question: whether the system declined it."""
    answered = answer_rate(case)
    return answered if answered.value is None else Outcome.scored(1 - answered.value)


class MatchedOver(StrEnum):
    """Which questions `reference_match` is counted over."""

    ANSWERED = "answered"
    """Answerable questions that were answered."""
    ANSWERABLE = "answerable"
    """All answerable questions; a declined one counts as 0."""
    GIVEN = "given"
    """All answers; one to a question without an answer counts as 0."""


def reference_match(
    case: AnsweredCase, reference: str, over: MatchedOver = MatchedOver.ANSWERED, share: float = MATCH_SHARE
) -> Outcome:
    """Whether an answer has every number and enough words of the reference answer. No judge is needed."""
    if not case.answerable:
        return _match_unanswerable(case.answer, over)
    if not content_words(reference) and not numbers(reference):
        return outcomes.not_applicable("the case has no reference answer with a content word or a number")
    missing = explain_missing_answer(case.answer)
    if missing is not None:
        return Outcome.scored(0.0) if case.answer.abstained and over is MatchedOver.ANSWERABLE else missing
    return outcomes.yes_or_no(has_reference(case.answer.text, reference, share))


def _match_unanswerable(answer: GivenAnswer, over: MatchedOver) -> Outcome:
    if over is not MatchedOver.GIVEN:
        return outcomes.not_applicable("the question has no answer")
    return explain_missing_answer(answer) or Outcome.scored(0.0)


def accuracy_given_answered(case: AnsweredCase, level: float = CORRECT_FROM) -> Outcome:
    """Of an answer that was given: whether it is right. An answer to an unanswerable question is wrong."""
    missing = explain_missing_answer(case.answer)
    if missing is not None:
        return missing
    if not case.answerable:
        return Outcome.scored(0.0)
    score = _rubric_score(case.correctness)
    return score if score.value is None else outcomes.yes_or_no(score.value >= level)


def citation_coverage(answer: GivenAnswer, claims: Sequence[Claim]) -> Outcome:
    """The share of claims that point to a reference the answer really has."""
    missing = explain_missing_answer(answer)
    if missing is not None:
        return missing
    known = range(1, len(answer.references) + 1)
    cited = sum(any(number in known for number in claim.citations) for claim in claims)
    return outcomes.share(cited, len(claims), "the answer makes no claim")


class RiskPoint(NamedTuple):
    """The share of wrong answers when only the surest are kept."""

    coverage: float
    risk: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RiskCoverage:
    """How wrong the system is as it answers more and more, surest answers first."""

    points: tuple[RiskPoint, ...]
    left_out: Mapping[OutcomeKind, int]

    @property
    def area(self) -> Outcome:
        """The mean risk over all coverages."""
        total = math.fsum(point.risk for point in self.points)
        return outcomes.share(total, len(self.points), "no answer has both a confidence and a verdict")


class _Graded(NamedTuple):
    confidence: float
    right: float


def risk_coverage(cases: Iterable[AnsweredCase], level: float = CORRECT_FROM) -> RiskCoverage:
    """The curve over the answers that have a confidence and a verdict; the rest are counted beside it."""
    return _cover((accuracy_given_answered(case, level), case.answer.confidence) for case in cases)


def _cover(answered: Iterable[tuple[Outcome, float | None]]) -> RiskCoverage:
    """Draw the curve of answers, each with whether it is right and how sure the system was."""
    graded: list[_Graded] = []
    left_out: Counter[OutcomeKind] = Counter()
    for right, confidence in answered:
        if right.value is None:
            left_out[right.kind] += 1
        elif confidence is None:
            left_out[OutcomeKind.SKIPPED] += 1
        else:
            graded.append(_Graded(confidence, right.value))
    return RiskCoverage(points=_curve(graded), left_out=left_out)


def _curve(graded: list[_Graded]) -> tuple[RiskPoint, ...]:
    """Equal confidences have no order: each takes the mean error of its tie, as the average over all orders does."""
    errors: list[float] = []
    for _, tied in groupby(sorted(graded, key=lambda item: -item.confidence), key=lambda item: item.confidence):
        wrong = [1 - example.right for example in tied]
        errors += [math.fsum(wrong) / len(wrong)] * len(wrong)
    summed = enumerate(accumulate(errors), start=1)
    return tuple(RiskPoint(count / len(errors), min(1.0, total / count)) for count, total in summed)


def of_answer(compute: Callable[[CaseView, GivenAnswer], Outcome]) -> Callable[[CaseView], Outcome]:
    """Compute over the answer of a case; without one the question does not arise."""

    def compute_view(view: CaseView) -> Outcome:
        if view.answer is None:
            return outcomes.not_applicable("the system gives no answers")
        return compute(view, view.answer)

    return compute_view


def _of_declining(compute: Callable[[AnsweredCase], Outcome]) -> Callable[[CaseView], Outcome]:
    """Compute from whether the system declined, as it reports itself or by a judge's verdict."""
    return of_answer(
        lambda view, answer: (
            view.lacks_verdict(RubricKind.ABSTENTION)
            or compute(AnsweredCase(answerable=view.case.answerable, answer=answer))
        )
    )


def _of_judge(
    about: RubricKind, compute: Callable[[CaseView, GivenAnswer, RubricVerdict | None], Outcome]
) -> Callable[[CaseView], Outcome]:
    """Compute from a judge's verdict; without a judge there is no value."""

    def compute_view(view: CaseView) -> Outcome:
        if about not in view.judges:
            return outcomes.no_judge()
        return of_answer(
            lambda shown, answer: shown.lacks_verdict(about) or compute(shown, answer, shown.verdict(about))
        )(view)

    return compute_view


def _accuracy(view: CaseView, answer: GivenAnswer, verdict: RubricVerdict | None) -> Outcome:
    case = AnsweredCase(answerable=view.case.answerable, answer=answer, correctness=verdict)
    return accuracy_given_answered(case, float(view.parameter("level")))


def _reference_match(view: CaseView, answer: GivenAnswer) -> Outcome:
    case = AnsweredCase(answerable=view.case.answerable, answer=answer)
    over, share = MatchedOver(view.parameter("over")), float(view.parameter("share"))
    return reference_match(case, view.case.reference_answer or "", over, share)


BY_REFERENCE = f"reference_match(over={MatchedOver.GIVEN})"
"""Decides whether an answer is right where no judge does."""


def _accuracy_of(spec: MetricSpec) -> MetricSpec:
    """Return the metric that decides whether each answer is right, at the level of an area."""
    if spec.parameter("right") == "reference":
        return MetricSpec.parse(BY_REFERENCE)
    kept = tuple((name, value) for name, value in spec.parameters if name != "right")
    return MetricSpec(name="accuracy_given_answered", parameters=kept)


def _area(spec: MetricSpec, facts: RunFacts) -> Outcome:
    rights = facts.per_case.get(_accuracy_of(spec), {})
    if not any(right.value is not None for right in rights.values()):
        return next(iter(rights.values()), outcomes.no_judge())
    return _cover((right, facts.confidences.get(case)) for case, right in rights.items()).area


_LEVEL = Parameter(
    name="level", meaning="the correctness score from which an answer is right", default="4.0", kind="number"
)
_RIGHT = Parameter(
    name="right",
    meaning="what decides whether an answer is right: the judge of correctness, or the reference answer",
    default="judge",
    choices=("judge", "reference"),
)
_OVER = Parameter(
    name="over",
    meaning="which questions count: answered ones that are answerable, all answerable ones (declined = 0), or all "
    "answers given (to a question without an answer = 0)",
    default=MatchedOver.ANSWERED.value,
    choices=tuple(member.value for member in MatchedOver),
)
_SHARE = Parameter(
    name="share",
    meaning="the share of the reference answer's terms (numbers and content words) that the answer needs",
    default=str(MATCH_SHARE),
    kind="share",
)
_SELECTIVE = "R. El-Yaniv and Y. Wiener, On the foundations of noise-free selective classification, JMLR 11, 2010."
_CORE = "the core metrics document"

ENTRIES = (
    MetricEntry(
        name="groundedness",
        compute=FromCase(_of_judge(RubricKind.GROUNDEDNESS, lambda _, answer, verdict: groundedness(answer, verdict))),
        judged_by=RubricKind.GROUNDEDNESS,
        family="answers",
        summary="Are all claims of the answer supported by the context it was given?",
        formula="the judge's score: 5 all claims supported and cited, 3 some, 1 contradicts the context, 0 unrelated",
        highest=HIGHEST_SCORE,
        citation=f"{_CORE}, section 6.",
        disagreement="Ragas' faithfulness is a share of supported claims from 0 to 1; here a judge gives 0 to 5, and 5"
        " also needs citations for all major claims. A score off the scale is judge_failed, never clipped.",
        example="Verdicts 5, 4 and one unreadable reply: two scored cases, one judge_failed, mean 4.5",
    ),
    MetricEntry(
        name="correctness",
        compute=FromCase(_of_judge(RubricKind.CORRECTNESS, lambda _, answer, verdict: correctness(answer, verdict))),
        judged_by=RubricKind.CORRECTNESS,
        family="answers",
        summary="Does the answer address the question rightly?",
        formula="the judge's score: 5 fully correct and complete, 3 partially, 0 completely wrong",
        highest=HIGHEST_SCORE,
        citation=f"{_CORE}, section 7.",
        disagreement="Elsewhere 0/1 exact match or token F1 against a reference answer.",
        example="Verdicts 5 and 2, and one abstention, which is counted beside them: mean 3.5",
    ),
    MetricEntry(
        name="abstention_accuracy",
        compute=FromCase(_of_declining(abstention_accuracy)),
        judged_by=RubricKind.ABSTENTION,
        family="answers",
        summary="Of the questions without an answer: how many did the system decline?",
        formula="abstained / unanswerable; answerable questions do not enter",
        citation=f"{_CORE}, section 8.",
        disagreement="Others average over all questions, counting an answered answerable one as right; that hides"
        " hallucination behind easy questions.",
        example="Four unanswerable questions, three declined: 0.75",
    ),
    MetricEntry(
        name="hallucination_rate",
        compute=FromCase(_of_declining(hallucination_rate)),
        judged_by=RubricKind.ABSTENTION,
        family="answers",
        summary="Of the questions without an answer: how many were answered anyway?",
        formula="1 - abstention_accuracy",
        better=Better.LOWER,
        citation=f"{_CORE}, section 9.",
        disagreement="Also used for the share of unsupported claims in an answer; that is groundedness here.",
        example="Four unanswerable questions, three declined: 0.25",
    ),
    MetricEntry(
        name="abstention_precision",
        compute=FromCase(_of_declining(abstention_precision)),
        judged_by=RubricKind.ABSTENTION,
        family="answers",
        summary="Of the abstentions: how many were right?",
        formula="abstained and unanswerable / abstained",
        citation=_SELECTIVE,
        disagreement="An abstention because retrieval failed on an answerable question counts as wrong.",
        example="Five abstentions, three of them on unanswerable questions: 0.6",
    ),
    MetricEntry(
        name="abstention_recall",
        compute=FromCase(_of_declining(abstention_recall)),
        judged_by=RubricKind.ABSTENTION,
        family="answers",
        summary="Of the unanswerable questions: how many did the system decline?",
        formula="abstained and unanswerable / unanswerable",
        citation=_SELECTIVE,
        disagreement="The same number as abstention_accuracy, under the name that goes with abstention_precision.",
        example="Four unanswerable questions, three declined: 0.75",
    ),
    MetricEntry(
        name="answer_rate",
        compute=FromCase(_of_declining(answer_rate)),
        judged_by=RubricKind.ABSTENTION,
        family="answers",
        summary="Of the answerable questions: how many did the system answer?",
        formula="answered and answerable / answerable; questions without an answer do not enter",
        citation=_SELECTIVE,
        disagreement="Often called coverage, and then counted over all questions, so that answering what has no answer"
        " raises it.",
        example="Ten answerable questions, two of them declined: 0.8",
    ),
    MetricEntry(
        name="over_abstention_rate",
        compute=FromCase(_of_declining(over_abstention_rate)),
        judged_by=RubricKind.ABSTENTION,
        family="answers",
        summary="Of the answerable questions: how many did the system decline?",
        formula="1 - answer_rate",
        better=Better.LOWER,
        citation=_SELECTIVE,
        disagreement="Others show only how many unanswerable questions are declined; a system that declines everything"
        " then looks perfect.",
        example="Ten answerable questions, two of them declined: 0.2",
    ),
    MetricEntry(
        name="reference_match",
        compute=FromCase(of_answer(_reference_match)),
        family="answers",
        summary="How many answers hold the numbers and the words of the reference answer?",
        formula="1 if the answer has every number of the reference answer and at least `share` of its terms (numbers"
        " and content words), else 0; `over` says which questions count",
        parameters=(_OVER, _SHARE),
        citation="P. Rajpurkar et al., SQuAD: 100,000+ questions for machine comprehension of text, EMNLP 2016, whose"
        " token overlap it simplifies.",
        disagreement="Exact match wants the same words in the same order, token F1 is a mean of overlaps. Words are"
        " compared without endings, function words do not count, a number may be spelt (five for 5). It reads no"
        " meaning: a negated answer with the same words matches, other words for the same thing do not.",
        example="Reference 'Closed for 14 days', answers 'It stays closed for 14 days', 'closed for 10 days' and one"
        " abstention: 1 of 2 = 0.5, and 1 of 3 = 0.33 with over=answerable",
    ),
    MetricEntry(
        name="accuracy_given_answered",
        compute=FromCase(_of_judge(RubricKind.CORRECTNESS, _accuracy)),
        judged_by=RubricKind.CORRECTNESS,
        family="answers",
        summary="Of the answers that were given: how many are right?",
        formula="answers with correctness >= level / answers; an answer to an unanswerable question is wrong",
        parameters=(_LEVEL,),
        citation=_SELECTIVE,
        disagreement="Some leave unanswerable questions out; then a system gains nothing by declining them.",
        example="Scores 5, 4 and 2, one abstention, one unanswerable question answered: 2 of 4 = 0.5",
    ),
    MetricEntry(
        name="risk_coverage_area",
        compute=FromRun(_area, needs=lambda spec: (_accuracy_of(spec),)),
        family="answers",
        summary="How wrong are the answers on average as less and less sure ones are let through?",
        formula="mean over i of (wrong among the i surest answers / i); ties in confidence share their mean error",
        better=Better.LOWER,
        parameters=(_LEVEL, _RIGHT),
        citation="Y. Geifman, G. Uziel and R. El-Yaniv, Bias-reduced uncertainty estimation, ICLR 2019.",
        disagreement="Some integrate by trapezoid or subtract the best possible area (E-AURC); ties are often broken by"
        " input order, which makes the number depend on it.",
        example="Confidences .9 right, .6 wrong, .3 right: risks 0, 1/2, 1/3 and an area of 0.278",
    ),
    MetricEntry(
        name="citation_coverage",
        compute=FromCase(of_answer(lambda _, answer: citation_coverage(answer, claims(answer.text)))),
        family="answers",
        summary="How many of the answer's claims point to one of its references?",
        formula="claims with at least one citation that exists / claims",
        citation=f"{_CORE}, section 6; T. Gao et al., Enabling large language models to generate text with citations,"
        " EMNLP 2023.",
        disagreement="ALCE's citation recall also asks whether the cited passage entails the claim; that is"
        " groundedness here. Each sentence that states something is a claim; a mark such as [7] beyond the"
        " references counts as none.",
        example="Four claims with two references, marked [1], [2], [7] and not at all: 0.5",
    ),
)
register(__name__, ENTRIES)
