"""Outcomes in columns are what they are in a dictionary, in a few bytes a case."""

from __future__ import annotations

import numpy as np
import pytest

from assay.metrics.aggregate import KIND_NUMBER, Scores, scores_of
from assay.metrics.outcome_columns import CaseOrder, OutcomeColumn, distinct_outcomes
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Cause, Outcome, OutcomeKind

MRR = MetricSpec.parse("mrr")
UNTOLD = Outcome.missing(OutcomeKind.NOT_APPLICABLE, "not told", Cause.UNTOLD)
PER_CASE = {
    "q2": Outcome.scored(0.5),
    "q10": Outcome.scored(0.0),
    "q1": Outcome.scored(-0.0),
    "ü": UNTOLD,
    "q3": Outcome.scored(0.5),
    "q4": Outcome.missing(OutcomeKind.NOT_APPLICABLE, "not told"),
}


def test_a_column_reads_like_the_dictionary_it_was_made_of() -> None:
    column = OutcomeColumn.of(PER_CASE)
    assert column == PER_CASE
    assert list(column) == list(PER_CASE)
    assert list(column.items()) == list(PER_CASE.items())
    assert [repr(outcome) for outcome in column.values()] == [repr(outcome) for outcome in PER_CASE.values()]
    assert (len(column), "q2" in column, "q5" in column) == (6, True, False)
    assert OutcomeColumn.of(column) is column
    with pytest.raises(KeyError):
        column["q5"]


def test_equal_outcomes_are_one_object_but_zero_and_minus_zero_are_two() -> None:
    column = OutcomeColumn.of(PER_CASE)
    assert column["q2"] is column["q3"]
    assert (repr(column["q10"].value), repr(column["q1"].value)) == ("0.0", "-0.0")
    assert column["ü"] is not column["q4"]
    assert len(distinct_outcomes(column)) == len(column.distinct) == 5


def test_texts_come_in_the_order_of_the_cases_or_of_their_ids() -> None:
    column = OutcomeColumn.of(PER_CASE)
    assert list(column.write(lambda outcome: str(outcome.value)))[:3] == [("q2", "0.5"), ("q10", "0.0"), ("q1", "-0.0")]
    by_id = list(column.write(lambda outcome: outcome.reason, by_id=True))
    assert by_id == [(case, PER_CASE[case].reason) for case in sorted(PER_CASE)]


def test_values_and_kinds_are_those_of_the_outcomes() -> None:
    found, expected = OutcomeColumn.of(PER_CASE).scores(MRR), scores_of(MRR, PER_CASE.values())
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.kinds.tolist() == expected.kinds.tolist()


@pytest.mark.parametrize("missing", [OutcomeKind.SCORED, OutcomeKind.NOT_APPLICABLE])
def test_measured_values_become_the_outcomes_that_they_are_one_by_one(missing: OutcomeKind) -> None:
    kinds = np.array([KIND_NUMBER[OutcomeKind.SCORED]] * 3 + [KIND_NUMBER[missing]] * 2, dtype=np.uint8)
    scores = Scores(spec=MRR, values=np.array([0.5, -0.0, 0.0, 0.5, 1.0]), kinds=kinds)
    column = OutcomeColumn.of_scores(CaseOrder(tuple("abcde")), scores)
    assert [repr(one) for one in column.values()] == [repr(scores.outcome(place)) for place in range(5)]
    assert len(column.distinct) == len({repr(one) for one in column.values()})


def test_columns_longer_than_what_is_read_at_once() -> None:
    values = [float(number % 7) for number in range(150_000)]
    column = OutcomeColumn.make(CaseOrder([f"q{number}" for number in range(150_000)]), map(Outcome.scored, values))
    assert [outcome.value for outcome in column.values()] == values
    assert len(column.distinct) == 7
    by_id = dict(column.write(lambda outcome: str(outcome.value), by_id=True))
    assert list(by_id) == sorted(column)
    assert by_id["q149999"] == str(values[-1])
