from __future__ import annotations

import json

import pytest

from assay.errors import BadValue
from assay.metrics.aggregate import UNLABELLED, Instrument, aggregate, breakdown, scores_of
from assay.metrics.inputs import grades_by_unit, ranking_by_unit, scores_by_unit, scores_of_ranking
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Outcome, OutcomeKind

MRR = MetricSpec.parse("mrr")
FAILED = Outcome.missing(OutcomeKind.SYSTEM_FAILED, "timeout")
NOTHING = Outcome.missing(OutcomeKind.NOT_APPLICABLE, "nothing to find")


def test_missing_is_not_zero_and_is_counted() -> None:
    found = aggregate(scores_of(MRR, [Outcome.scored(1.0), Outcome.scored(0.5), FAILED, NOTHING]))
    assert found.value == 0.75
    assert (found.scored, found.cases) == (2, 4)
    assert {kind: count for kind, count in found.others.items() if count} == {
        OutcomeKind.SYSTEM_FAILED: 1,
        OutcomeKind.NOT_APPLICABLE: 1,
    }


def test_bounds_fill_in_what_failed_but_not_what_does_not_arise() -> None:
    found = aggregate(scores_of(MRR, [Outcome.scored(1.0), Outcome.scored(0.5), FAILED, NOTHING]))
    assert found.worst == 0.5
    assert found.best == pytest.approx(2.5 / 3)


def test_where_lower_is_better_the_worst_is_the_highest() -> None:
    spec = MetricSpec.parse("scope_miss_rate")
    found = aggregate(scores_of(spec, [Outcome.scored(0.0), FAILED]))
    assert (found.worst, found.best) == (0.5, 0.0)


def test_a_metric_without_limits_has_no_bound_on_that_side() -> None:
    found = aggregate(scores_of(MetricSpec.parse("p95"), [Outcome.scored(12.0), Outcome.scored(14.0), FAILED]))
    assert found.value == 13.0
    assert found.worst is None
    complete = aggregate(scores_of(MetricSpec.parse("p95"), [Outcome.scored(12.0), Outcome.scored(14.0)]))
    assert complete.worst == complete.best == 13.0


def test_a_perfect_score_has_a_real_interval() -> None:
    found = aggregate(scores_of(MRR, [Outcome.scored(1.0)] * 6))
    assert found.interval is not None
    assert found.interval.low is not None
    assert 0.4 < found.interval.low < 0.7
    assert found.interval.high == 1.0


@pytest.mark.parametrize("outcomes", [[], [NOTHING], [NOTHING, NOTHING]])
def test_an_empty_set_is_not_a_hundred_percent(outcomes: list[Outcome]) -> None:
    found = aggregate(scores_of(MRR, outcomes))
    assert (found.value, found.worst, found.best, found.interval, found.scored) == (None, None, None, None, 0)


def test_when_everything_failed_the_bounds_are_all_that_is_known() -> None:
    found = aggregate(scores_of(MRR, [FAILED, FAILED]))
    assert (found.value, found.worst, found.best) == (None, 0.0, 1.0)


def test_an_aggregate_can_be_written_as_json() -> None:
    found = aggregate(scores_of(MRR, [Outcome.scored(1.0), FAILED]))
    told = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert told["metric"] == "mrr"
    assert told["others"]["system_failed"] == 1


def test_a_fingerprint_changes_with_everything_that_moves_a_number() -> None:
    prints = [
        Instrument().fingerprint(MRR),
        Instrument().fingerprint(MetricSpec.parse("mrr@10")),
        Instrument().fingerprint(MetricSpec.parse("mrr(unjudged=1)")),
        Instrument(relevance_level=2).fingerprint(MRR),
        Instrument(ranked_unit="chunk").fingerprint(MRR),
        Instrument(depth=100).fingerprint(MRR),
        Instrument(absent="skip").fingerprint(MRR),
        Instrument(dataset="sha256:0").fingerprint(MRR),
    ]
    assert len(set(prints)) == len(prints)
    assert Instrument().fingerprint(MetricSpec.parse("mrr(vacuous=skip)")) == prints[0]
    assert prints[0].startswith("sha256:")


def test_a_breakdown_counts_every_case_under_each_of_its_labels() -> None:
    scores = scores_of(MRR, [Outcome.scored(1.0), Outcome.scored(0.0), FAILED, Outcome.scored(0.5)])
    found = breakdown(scores, [["work", "code"], ["work"], ["work"], []])
    assert {label: (one.value, one.scored, one.cases) for label, one in found.items()} == {
        UNLABELLED: (0.5, 1, 1),
        "code": (1.0, 1, 1),
        "work": (0.5, 2, 3),
    }
    single = breakdown(scores, ["easy", "hard", "hard", ""])
    assert list(single) == [UNLABELLED, "easy", "hard"]


def test_labels_must_match_the_cases() -> None:
    with pytest.raises(BadValue, match="1 cases have 2 labels"):
        breakdown(scores_of(MRR, [NOTHING]), ["a", "b"])


def test_a_hit_on_any_member_of_a_class_counts_once() -> None:
    unit_of = {"a1": "A", "a2": "A", "b1": "B"}
    assert ranking_by_unit(["a2", "x", "a1", "b1"], unit_of) == ["A", "x", "B"]
    assert scores_by_unit({"a1": 0.1, "a2": 0.9, "x": 0.5}, unit_of) == {"A": 0.9, "x": 0.5}
    assert grades_by_unit({"a1": 0, "a2": 3, "b1": 1}, unit_of) == {"A": 3, "B": 1}
    assert scores_of_ranking(["x", "y", "x"]) == {"x": 2.0, "y": 1.0}
