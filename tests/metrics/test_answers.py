"""Judged answers, abstention, confidence and citations."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, mean, missing, value

from assay.metrics import answers
from assay.metrics.answers import MatchedOver
from assay.records.answers import AnsweredCase, Claim, GivenAnswer, RetrievedChunk, RubricVerdict
from assay.records.evaluations import Outcome, OutcomeKind, Rate

RubricMetric = Callable[[GivenAnswer, RubricVerdict | None], Outcome]

SAID = GivenAnswer(text="The limit is 100.", abstained=False)
DECLINED = GivenAnswer(text="I cannot find that.", abstained=True)
BLANK = GivenAnswer(text=" \n")
UNSAID = GivenAnswer(text="Perhaps.")


def judged(score: float | None, confidence: float | None = None, *, answerable: bool = True) -> AnsweredCase:
    answer = GivenAnswer(text="So it is.", abstained=False, confidence=confidence)
    return AnsweredCase(answerable=answerable, answer=answer, correctness=RubricVerdict(score=score))


def unanswerable(answer: GivenAnswer) -> AnsweredCase:
    return AnsweredCase(answerable=False, answer=answer)


def answerable(answer: GivenAnswer) -> AnsweredCase:
    return AnsweredCase(answerable=True, answer=answer)


CLOSED = "Closed for 14 days"
MATCHED = (
    GivenAnswer(text="It stays closed for 14 days", abstained=False),
    GivenAnswer(text="closed for 10 days", abstained=False),
    DECLINED,
)
THREE_OF_FOUR_DECLINED = [unanswerable(answer) for answer in (DECLINED, DECLINED, SAID, DECLINED)]
CITED = GivenAnswer(text="a b c d", references=(RetrievedChunk(rel_path="a.md"), RetrievedChunk(rel_path="b.md")))
CLAIMS = [
    Claim(text="a", citations=(1,)),
    Claim(text="b", citations=(2,)),
    Claim(text="c", citations=(7,)),
    Claim(text="d"),
]


def test_every_entry_has_its_worked_example() -> None:
    verdicts = [RubricVerdict(score=5), RubricVerdict(score=4), RubricVerdict(score=None)]
    abstentions = [unanswerable(DECLINED)] * 3 + [answerable(DECLINED)] * 2 + [answerable(SAID)]
    given_answers = [judged(5), judged(4), judged(2), answerable(DECLINED), unanswerable(SAID)]
    check_entries(
        answers.ENTRIES,
        "answers",
        {
            "groundedness": mean([answers.groundedness(SAID, verdict) for verdict in verdicts]),
            "correctness": mean(
                [
                    answers.correctness(SAID, RubricVerdict(score=5)),
                    answers.correctness(SAID, RubricVerdict(score=2)),
                    answers.correctness(DECLINED, RubricVerdict(score=0)),
                ]
            ),
            "abstention_accuracy": mean([answers.abstention_accuracy(case) for case in THREE_OF_FOUR_DECLINED]),
            "hallucination_rate": mean([answers.hallucination_rate(case) for case in THREE_OF_FOUR_DECLINED]),
            "abstention_precision": mean([answers.abstention_precision(case) for case in abstentions]),
            "abstention_recall": mean([answers.abstention_recall(case) for case in THREE_OF_FOUR_DECLINED]),
            "answer_rate": mean([answers.answer_rate(answerable(said)) for said in [SAID] * 8 + [DECLINED] * 2]),
            "over_abstention_rate": mean(
                [answers.over_abstention_rate(answerable(said)) for said in [SAID] * 8 + [DECLINED] * 2]
            ),
            "reference_match": mean(
                [answers.reference_match(answerable(said), CLOSED, MatchedOver.ANSWERABLE) for said in MATCHED]
            ),
            "accuracy_given_answered": mean([answers.accuracy_given_answered(case) for case in given_answers]),
            "risk_coverage_area": value(
                answers.risk_coverage([judged(5, 0.9), judged(0, 0.6), judged(5, 0.3)]).area,
            ),
            "citation_coverage": value(answers.citation_coverage(CITED, CLAIMS)),
        },
    )


@pytest.mark.parametrize("metric", [answers.groundedness, answers.correctness])
@pytest.mark.parametrize("score", [0, 2.5, 5])
def test_a_verdict_on_the_scale_is_the_value(metric: RubricMetric, score: float) -> None:
    assert metric(SAID, RubricVerdict(score=score)) == Outcome.scored(score)


@pytest.mark.parametrize("metric", [answers.groundedness, answers.correctness])
@pytest.mark.parametrize("score", [None, -0.1, 5.1, math.nan, math.inf, 100])
def test_a_verdict_off_the_scale_is_a_failure_of_the_judge_and_never_clipped(
    metric: RubricMetric, score: float | None
) -> None:
    assert missing(metric(SAID, RubricVerdict(score=score))) is OutcomeKind.JUDGE_FAILED


@pytest.mark.parametrize("metric", [answers.groundedness, answers.correctness])
def test_without_a_verdict_an_abstention_or_a_blank_answer_there_is_no_score(metric: RubricMetric) -> None:
    assert missing(metric(SAID, None)) is OutcomeKind.JUDGE_FAILED
    assert missing(metric(DECLINED, RubricVerdict(score=5))) is OutcomeKind.ABSTAINED
    assert missing(metric(BLANK, RubricVerdict(score=5))) is OutcomeKind.SYSTEM_FAILED


def test_only_unanswerable_questions_enter_abstention_accuracy_and_hallucination() -> None:
    for metric in (answers.abstention_accuracy, answers.hallucination_rate, answers.abstention_recall):
        assert missing(metric(answerable(DECLINED))) is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("The pool stays closed for 14 days.", CLOSED, 1),
        ("closed 14 days", CLOSED, 1),
        ("It closes for fourteen days.", CLOSED, 1),
        ("Closed for 10 days", CLOSED, 0),
        ("Closed for days", CLOSED, 0),
        ("There are 14 rooms", CLOSED, 0),
        ("It costs 1,200 euros", "1200 euros", 1),
        ("It costs 2.50 euros", "2.5 euros", 1),
        ("It costs 25 euros", "2.5 euros", 0),
        ("Juniors get 1,800 in their first year", "1,800 euros", 1),
        ("It is 27", "27 euros a month", 0),
        ("Version 1.2.3", "version 1.2.4", 0),
        ("Ada and Bo", "Ada, Bo, Cy and Di", 1),
        ("Ada alone", "Ada, Bo, Cy and Di", 0),
        ("Stopped by the parties", "The party stops it", 1),
    ],
)
def test_an_answer_needs_every_number_and_half_of_the_terms_of_the_reference(
    text: str, reference: str, expected: float
) -> None:
    given = GivenAnswer(text=text, abstained=False)
    assert answers.reference_match(answerable(given), reference) == Outcome.scored(expected)


def test_what_a_reference_match_is_counted_over_decides_what_declining_is_worth() -> None:
    match = answers.reference_match
    assert missing(match(answerable(DECLINED), CLOSED)) is OutcomeKind.ABSTAINED
    assert match(answerable(DECLINED), CLOSED, MatchedOver.ANSWERABLE) == Outcome.scored(0)
    assert missing(match(answerable(DECLINED), CLOSED, MatchedOver.GIVEN)) is OutcomeKind.ABSTAINED
    assert missing(match(unanswerable(SAID), "", MatchedOver.ANSWERABLE)) is OutcomeKind.NOT_APPLICABLE
    assert match(unanswerable(SAID), "", MatchedOver.GIVEN) == Outcome.scored(0)
    assert missing(match(unanswerable(DECLINED), "", MatchedOver.GIVEN)) is OutcomeKind.ABSTAINED
    assert missing(match(answerable(SAID), "")) is OutcomeKind.NOT_APPLICABLE
    assert missing(match(answerable(BLANK), CLOSED, MatchedOver.ANSWERABLE)) is OutcomeKind.SYSTEM_FAILED


def test_the_share_of_terms_that_a_match_needs_can_be_set() -> None:
    given = answerable(GivenAnswer(text="Ada and Bo", abstained=False))
    assert answers.reference_match(given, "Ada, Bo, Cy and Di", share=0.75) == Outcome.scored(0)


def test_declining_an_answerable_question_is_over_abstention() -> None:
    assert answers.over_abstention_rate(answerable(DECLINED)) == Outcome.scored(1.0)
    assert answers.over_abstention_rate(answerable(SAID)) == Outcome.scored(0.0)
    assert missing(answers.over_abstention_rate(unanswerable(DECLINED))) is OutcomeKind.NOT_APPLICABLE


def test_declining_everything_shows_in_the_answer_rate() -> None:
    assert answers.answer_rate(answerable(DECLINED)) == Outcome.scored(0.0)
    assert answers.answer_rate(answerable(SAID)) == Outcome.scored(1.0)
    assert missing(answers.answer_rate(unanswerable(DECLINED))) is OutcomeKind.NOT_APPLICABLE
    assert missing(answers.answer_rate(answerable(UNSAID))) is OutcomeKind.NOT_APPLICABLE
    assert missing(answers.answer_rate(answerable(BLANK))) is OutcomeKind.SYSTEM_FAILED


def test_whether_it_abstained_is_never_guessed() -> None:
    for metric in (answers.abstention_accuracy, answers.hallucination_rate, answers.abstention_precision):
        assert missing(metric(unanswerable(UNSAID))) is OutcomeKind.JUDGE_FAILED
        assert missing(metric(unanswerable(BLANK))) is OutcomeKind.SYSTEM_FAILED
        assert missing(metric(unanswerable(GivenAnswer(text="", abstained=False)))) is OutcomeKind.SYSTEM_FAILED


def test_an_abstention_without_words_is_one() -> None:
    assert answers.abstention_accuracy(unanswerable(GivenAnswer(text="", abstained=True))) == Outcome.scored(1)


def test_abstention_precision_looks_at_abstentions_only() -> None:
    assert answers.abstention_precision(unanswerable(DECLINED)) == Outcome.scored(1)
    assert answers.abstention_precision(answerable(DECLINED)) == Outcome.scored(0)
    assert missing(answers.abstention_precision(answerable(SAID))) is OutcomeKind.NOT_APPLICABLE


def test_a_rate_counts_what_it_leaves_out() -> None:
    cases = [unanswerable(DECLINED), unanswerable(SAID), unanswerable(UNSAID), answerable(SAID)]
    assert Rate.over(map(answers.abstention_accuracy, cases)) == Rate(
        hits=1, of=2, left_out={OutcomeKind.JUDGE_FAILED: 1, OutcomeKind.NOT_APPLICABLE: 1}
    )


def test_the_level_decides_from_where_an_answer_is_right() -> None:
    assert answers.accuracy_given_answered(judged(3)) == Outcome.scored(0)
    assert answers.accuracy_given_answered(judged(3), level=3) == Outcome.scored(1)
    assert missing(answers.accuracy_given_answered(judged(9))) is OutcomeKind.JUDGE_FAILED
    assert missing(answers.accuracy_given_answered(answerable(SAID))) is OutcomeKind.JUDGE_FAILED


def test_an_answer_to_an_unanswerable_question_is_wrong_whatever_the_judge_says() -> None:
    assert answers.accuracy_given_answered(judged(5, answerable=False)) == Outcome.scored(0)


def test_the_risk_curve_goes_from_the_surest_answer_to_all_of_them() -> None:
    curve = answers.risk_coverage([judged(5, 0.3), judged(5, 0.9), judged(0, 0.6), judged(0, 0.1)])
    assert [point.coverage for point in curve.points] == [0.25, 0.5, 0.75, 1]
    assert [point.risk for point in curve.points] == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])


def test_equal_confidences_share_their_mean_error_so_order_does_not_matter() -> None:
    right_first = answers.risk_coverage([judged(5, 0.5), judged(0, 0.5)])
    wrong_first = answers.risk_coverage([judged(0, 0.5), judged(5, 0.5)])
    assert right_first == wrong_first
    assert right_first.area == Outcome.scored(0.5)


def test_answers_without_confidence_or_verdict_are_counted_beside_the_curve() -> None:
    cases = [judged(5, 0.5), judged(5), judged(None, 0.5), answerable(DECLINED), answerable(BLANK)]
    curve = answers.risk_coverage(cases)
    assert len(curve.points) == 1
    assert curve.left_out == {
        OutcomeKind.SKIPPED: 1,
        OutcomeKind.JUDGE_FAILED: 1,
        OutcomeKind.ABSTAINED: 1,
        OutcomeKind.SYSTEM_FAILED: 1,
    }


def test_no_answers_have_no_risk_coverage_area() -> None:
    assert missing(answers.risk_coverage([]).area) is OutcomeKind.NOT_APPLICABLE


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.5, 0.9])), min_size=1))
def test_the_area_is_in_range_and_no_order_of_the_cases_changes_it(graded: list[tuple[bool, float]]) -> None:
    cases = [judged(5 if right else 0, confidence) for right, confidence in graded]
    area = value(answers.risk_coverage(cases).area)
    assert 0 <= area <= 1
    assert value(answers.risk_coverage(cases[::-1]).area) == pytest.approx(area)


@given(st.lists(st.booleans(), min_size=1))
def test_confidence_that_knows_the_truth_is_never_worse_than_constant_confidence(rights: list[bool]) -> None:
    knowing = answers.risk_coverage([judged(5 if right else 0, 0.9 if right else 0.1) for right in rights])
    blind = answers.risk_coverage([judged(5 if right else 0, 0.5) for right in rights])
    assert value(knowing.area) <= value(blind.area) + 1e-12
    assert knowing.points[-1].risk == pytest.approx(blind.points[-1].risk)


@given(st.sampled_from([SAID, DECLINED, BLANK, UNSAID]))
def test_hallucination_is_what_abstention_accuracy_lacks(answer: GivenAnswer) -> None:
    declined = answers.abstention_accuracy(unanswerable(answer))
    answered = answers.hallucination_rate(unanswerable(answer))
    assert declined.kind is answered.kind
    assert declined.value is None or declined.value + (answered.value or 0) == 1


def test_citation_coverage_needs_claims_and_an_answer() -> None:
    assert missing(answers.citation_coverage(SAID, [])) is OutcomeKind.NOT_APPLICABLE
    assert missing(answers.citation_coverage(DECLINED, CLAIMS)) is OutcomeKind.ABSTAINED
    assert answers.citation_coverage(SAID, CLAIMS) == Outcome.scored(0)
