"""Two readings side by side: differences, movers, lists, times, and what stands on one side only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.evaluation.made import Values, golden, good, level, nothing, poor, reading, run_of

from assay.errors import NotComparable, NothingMeasured
from assay.evaluation.comparison import compare_readings, compare_two, is_loss
from assay.evaluation.latency_comparison import latency_changes
from assay.evaluation.readings import differing, reading_of
from assay.metrics.outcomes import not_applicable, system_failed
from assay.records.run_results import Caveat, CaveatKind, Difference, ListAgreement, Mover, OneSided
from assay.statistics import rank_agreement


def test_means_are_over_the_cases_both_have() -> None:
    before = reading({"mrr": {"a": 1.0, "b": 0.5, "c": 0.0}})
    after = reading({"mrr": {"a": 0.5, "b": 0.5, "d": 1.0}})
    change = compare_two(before, after).metrics["mrr"]
    assert (change.before, change.after) == (0.75, 0.5)
    assert (change.comparison.delta, change.comparison.n) == (-0.25, 2)
    assert change.comparison.score == (0, 1, 1)


def test_the_biggest_movers_come_first_with_their_words() -> None:
    before = reading({"mrr": {"a": 1.0, "b": 1.0, "c": 0.0, "d": 1.0}}, queries={"b": "badge"})
    after = reading({"mrr": {"a": 0.5, "b": 0.0, "c": 1.0, "d": 1.0}})
    found = compare_two(before, after).movers
    assert found[0] == Mover("b", "badge", "mrr", 1.0, 0.0)
    assert [one.case for one in found] == ["b", "c", "a"]
    assert [is_loss(one) for one in found] == [True, False, True]


def test_what_changed_in_the_subject_is_listed() -> None:
    before = replace(level(0.5), subject={"system": "a", "options": {"k": 5, "same": 1}})
    after = replace(level(0.5), subject={"system": "a", "options": {"k": 10, "same": 1}, "new": True})
    assert compare_two(before, after).changed == (Difference("new", None, True), Difference("options.k", 5, 10))
    assert str(Difference("options.k", 5, 10)) == "options.k: 5 -> 10"


def test_lists_are_compared_where_both_were_kept() -> None:
    dataset = golden(4)
    one = reading_of(run_of(dataset, [good(n) for n in range(4)]))
    other = reading_of(run_of(dataset, [good(0), good(1), poor(2), nothing(3)]))
    found = compare_two(one, other).agreement
    assert found is not None
    assert (found.cases, found.top_changed) == (4, 2)
    assert found.jaccard == pytest.approx((1 + 1 + 1 + 2 / 5) / 4)
    assert compare_two(one, one).agreement == ListAgreement(4, 1.0, 1.0, 0)
    assert compare_two(one, replace(other, lists=None)).agreement is None


def test_outcomes_on_one_side_only_are_told() -> None:
    before = reading({"mrr": {"a": 1.0, "b": 0.5, "c": 0.0}, "recall@5": {"a": 1.0, "b": 0.5}})
    after = reading({"mrr": {"a": 1.0, "b": system_failed("x")}, "recall@5": {"a": 1.0, "b": system_failed("x")}})
    assert compare_two(before, after).one_sided == (
        OneSided("b", ("mrr", "recall@5"), "scored", "system_failed"),
        OneSided("c", ("mrr",), "scored", "absent"),
    )


def test_the_agreement_of_lists_is_the_mean_over_cases_whether_they_changed_or_not() -> None:
    before = {"a": ("x", "y", "z"), "b": ("x", "x", "y"), "c": (), "d": ("x", "y", "z", "u")}
    after = {"a": ("x", "y", "z"), "b": ("x", "x", "y"), "c": (), "d": ("y", "x", "v")}
    values = {"mrr": dict.fromkeys(before, 0.5)}
    each = [rank_agreement(before[case], after[case]) for case in before]
    found = compare_two(reading(values, lists=before), reading(values, lists=after)).agreement
    assert found is not None
    assert (found.cases, found.top_changed) == (4, 1)
    assert found.rbo == pytest.approx(np.mean([one.rbo for one in each]))
    assert found.jaccard == pytest.approx(np.mean([one.jaccard for one in each]))


def test_percentiles_of_times_are_nearest_rank_with_intervals_over_cases() -> None:
    times = {f"q{n:02}": (float(n + 1),) for n in range(20)}
    slower = {case: (one + 5.0,) for case, (one,) in times.items()}
    found = latency_changes(level(0.5, 20, times=times), level(0.5, 20, times=slower), rng=np.random.default_rng(0))
    assert [(one.percent, one.before, one.after) for one in found] == [
        (50, 10.0, 15.0),
        (95, 19.0, 24.0),
        (99, 20.0, 25.0),
    ]
    assert all(one.low == pytest.approx(5.0) and one.high == pytest.approx(5.0) for one in found)


def test_intervals_of_percentiles_are_those_of_samples_that_are_sorted_one_by_one() -> None:
    rng = np.random.default_rng(3)
    # Two repeats a case, with ties, and every third case answered once only.
    sides = [
        {f"q{n:02}": tuple(rng.integers(1, 9, size=1 + (n % 3 > 0)).astype(float).tolist()) for n in range(25)}
        for _ in range(2)
    ]
    readings = [level(0.5, 25, times=times) for times in sides]
    found = latency_changes(readings[0], readings[1], rng=np.random.default_rng(0), resamples=300)
    drawn = np.random.default_rng(0).integers(0, 25, size=(300, 25))
    samples = [
        [sorted(time for case in row for time in times[f"q{case:02}"]) for row in drawn.tolist()] for times in sides
    ]
    for one in found:
        was, now = (np.array([sample[-(-one.percent * len(sample) // 100) - 1] for sample in side]) for side in samples)
        assert (one.low, one.high) == tuple(np.quantile(now - was, [0.025, 0.975]))


def test_repeats_count_each_and_unanswered_ones_leave_no_hole() -> None:
    before = level(0.5, 2, times={"q00": (1.0, 2.0), "q01": (3.0,)})
    found = latency_changes(before, before, rng=np.random.default_rng(0))
    assert [(one.percent, one.before, one.low) for one in found] == [(50, 2.0, None), (95, 3.0, None), (99, 3.0, None)]


def test_other_instruments_are_refused_by_the_field_that_differs() -> None:
    one = reading({"mrr": {"a": 1.0}}, instrument={"relevance_level": 1, "metrics": {"mrr": "x"}})
    other = reading({"mrr": {"a": 1.0}}, instrument={"relevance_level": 2, "metrics": {"mrr": "y"}})
    with pytest.raises(NotComparable, match="relevance_level: 1 -> 2"):
        compare_two(one, other)
    defined = reading({"mrr": {"a": 1.0}}, instrument={"relevance_level": 1, "metrics": {"mrr": "y"}})
    with pytest.raises(NotComparable, match=r"metrics\.mrr: x -> y"):
        compare_two(one, defined)


def test_runs_may_have_metrics_the_other_has_not_but_must_share_one() -> None:
    one, other = (
        reading({"mrr": {"a": 1.0}, "ndcg@5": {"a": 1.0}}),
        reading({"mrr": {"a": 0.5}, "recall@5": {"a": 1.0}}),
    )
    assert tuple(compare_two(one, other).metrics) == ("mrr",)
    with pytest.raises(NotComparable, match="share no metric"):
        compare_two(reading({"ndcg@5": {"a": 1.0}}), reading({"recall@5": {"a": 1.0}}))


def test_runs_over_two_datasets_that_share_no_metric_are_refused_by_their_datasets() -> None:
    one, other = reading({"ndcg@5": {"a": 1.0}}), reading({"recall@5": {"a": 1.0}})
    with pytest.raises(NotComparable, match="control is a run over hotel, treatment over vault"):
        compare_two(replace(one, name="control", dataset="hotel"), replace(other, name="treatment", dataset="vault"))


def test_no_shared_case_and_no_second_run_are_refused() -> None:
    with pytest.raises(NothingMeasured, match="no case has a value in both"):
        compare_two(reading({"mrr": {"a": 1.0}}), reading({"mrr": {"b": 1.0}}))
    with pytest.raises(NotComparable, match="is one run"):
        compare_readings([level(0.5)])


def test_several_runs_are_each_held_against_the_first() -> None:
    found = compare_readings([level(0.5, name="a"), level(0.6, name="b"), level(0.4, name="c")])
    assert [(one.control.name, one.treatment.name) for one in found.comparisons] == [("a", "b"), ("a", "c")]
    assert "b - a [95 %]" in repr(found)
    assert (
        found.as_json()
        == compare_readings([level(0.5, name="a"), level(0.6, name="b"), level(0.4, name="c")]).as_json()
    )


def test_nested_fields_are_named_by_their_path() -> None:
    assert differing({"a": {"b": (1, 2)}}, {"a": {"b": [1, 2]}}) == ()
    assert differing({"a": {}}, {"a": {"b": 1}}) == (Difference("a", {}, None), Difference("a.b", None, 1))


def test_metrics_that_are_one_test_are_named_and_count_once() -> None:
    cases = [f"q{n:02}" for n in range(30)]
    before = {"recall@5": dict.fromkeys(cases, 1.0), "precision@5": dict.fromkeys(cases, 0.2)}
    after = {
        "recall@5": {case: float(n >= 7) for n, case in enumerate(cases)},
        "precision@5": {case: float(n >= 7) / 5 for n, case in enumerate(cases)},
    }
    compared = compare_two(reading(before, name="old"), reading(after, name="new"))
    assert compared.same_tests == (("recall@5", "precision@5"),)
    adjusted = {change.comparison.p_adjusted for change in compared.metrics.values()}
    assert adjusted == {compared.metrics["recall@5"].comparison.p}
    assert any("are one test, and count once in Holm's correction" in one.sentence for one in compared.caveats)
    assert compare_two(reading(before, name="old"), reading(before, name="new")).same_tests == ()


def test_metrics_of_which_neither_system_tells_are_not_compared() -> None:
    untold = Caveat(kind=CaveatKind.UNTOLD, sentence="left out", metrics=("recall_any@5",))
    values: Values = {"mrr": {"a": 1.0, "b": 0.5}, "recall_any@5": {"a": not_applicable("does not tell")}}
    quiet = reading(values, name="one", caveats=(untold,))
    assert tuple(compare_two(quiet, reading(values, name="two", caveats=(untold,))).metrics) == ("mrr",)
    assert tuple(compare_two(quiet, reading(values, name="two")).metrics) == ("mrr", "recall_any@5")
