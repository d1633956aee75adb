"""Latency, cost and failures."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, mean, missing, value

from assay.errors import BadValue
from assay.metrics import operations
from assay.metrics.catalog import FromRun
from assay.metrics.inputs import LatencySummary, RunFacts, percentile
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseRun, CaseStatus, Cause, Outcome, OutcomeKind, Rate

OK, ERROR, TIMEOUT, EMPTY, SKIPPED = (CaseRun(status=status) for status in CaseStatus)


def of_run(metric: str, **facts: Any) -> Outcome:
    """What a metric of the whole run gives."""
    spec = MetricSpec.parse(metric)
    assert isinstance(spec.entry.compute, FromRun)
    return spec.entry.compute.function(spec, RunFacts(**{"latency": {}, "rates": {}, **facts}))


def test_the_time_of_judging_is_the_sum_of_its_judges_and_not_guessed_for_old_runs() -> None:
    assert of_run("judge_time", spent=[{"took_s": 1.5}, {"took_s": 2.0}]) == Outcome.scored(3.5)
    assert missing(of_run("judge_time", spent=[{"took_s": 1.5}, {}])) is OutcomeKind.SKIPPED
    assert of_run("judge_time").cause is Cause.NO_JUDGE


def timed(*totals: float) -> list[CaseRun]:
    return [CaseRun(total_ms=total) for total in totals]


def known(number: float | None) -> float:
    assert number is not None
    return number


def test_every_entry_has_its_worked_example() -> None:
    four, twenty = (operations.latency_summary(timed(*times)) for times in ((10, 100, 30, 20), range(20, 0, -1)))
    metered = {"prompt_tokens": 800, "completion_tokens": 50, "unmetered": 0, "cached": 1}
    three_failed = [OK] * 7 + [ERROR, TIMEOUT, EMPTY]
    check_entries(
        operations.ENTRIES,
        "operations",
        {
            "p50": known(four.p50),
            "p95": known(twenty.p95),
            "p99": known(twenty.p99),
            "mean_latency": known(four.mean),
            "suite_time": value(of_run("suite_time", elapsed_s=90.0)),
            "judge_tokens": value(of_run("judge_tokens", spent=[metered])),
            "judge_cost": value(of_run("judge_cost", spent=[{"cost_usd": 0.15}, {"cost_usd": 0.06}])),
            "judge_time": value(of_run("judge_time", spent=[{"took_s": 40.0}, {"took_s": 5.0}])),
            "error_rate": mean([operations.error_rate(run) for run in three_failed]),
            "timeout_rate": mean([operations.timeout_rate(run) for run in three_failed]),
            "empty_response_rate": mean([operations.empty_response_rate(run) for run in [*three_failed[1:], EMPTY]]),
        },
    )


@pytest.mark.parametrize(
    ("percent", "numbers", "expected"),
    [
        (50, [15, 20, 35, 40, 50], 35),
        (30, [15, 20, 35, 40, 50], 20),
        (40, [15, 20, 35, 40, 50], 20),
        (100, [15, 20, 35, 40, 50], 50),
        (1, [7], 7),
        (99, [7], 7),
        (50, [1, 1, 1, 9], 1),
        (7, list(range(1, 101)), 7),
        (95, [], None),
    ],
)
def test_percentiles_are_nearest_rank(percent: int, numbers: list[float], expected: float | None) -> None:
    assert percentile(numbers, percent) == expected


@pytest.mark.parametrize("percent", [0, 101, -5])
def test_a_percentile_beyond_the_scale_is_refused(percent: int) -> None:
    with pytest.raises(BadValue):
        percentile([1], percent)


def test_the_latency_of_a_stage_is_of_cases_that_went_through_it() -> None:
    run = CaseRun(total_ms=30, stages={"fusion": 5, "rerank": 10})
    assert operations.latency(run) == Outcome.scored(30)
    assert operations.latency(run, "rerank") == Outcome.scored(10)
    assert missing(operations.latency(run, "generation")) is OutcomeKind.NOT_APPLICABLE


def test_where_only_stages_were_measured_the_total_is_their_sum() -> None:
    assert operations.latency(CaseRun(stages={"fusion": 5, "rerank": 10})) == Outcome.scored(15)
    assert missing(operations.latency(OK)) is OutcomeKind.SKIPPED


def test_what_failed_has_no_latency_even_when_its_time_is_known() -> None:
    for status in operations.FAILED:
        assert missing(operations.latency(CaseRun(status=status, total_ms=1))) is OutcomeKind.SYSTEM_FAILED
    assert missing(operations.latency(SKIPPED)) is OutcomeKind.SKIPPED


def test_a_summary_says_what_it_leaves_out() -> None:
    found = operations.latency_summary([*timed(10, 20), TIMEOUT, SKIPPED])
    assert found == LatencySummary(
        p50=10,
        p95=20,
        p99=20,
        mean=15,
        timed=2,
        left_out={OutcomeKind.SYSTEM_FAILED: 1, OutcomeKind.SKIPPED: 1},
    )


def test_a_long_run_tells_its_percentiles_from_its_slowest_case() -> None:
    found = operations.latency_summary(timed(*range(1, 201)))
    assert (found.p50, found.p95, found.p99, found.mean) == (100, 190, 198, 100.5)


def test_no_timed_case_has_no_latency_rather_than_zero() -> None:
    found = operations.latency_summary([])
    assert (found.p50, found.p95, found.p99, found.mean, found.timed) == (None, None, None, None, 0)


def test_every_stage_has_its_summary_after_the_total() -> None:
    runs = [CaseRun(total_ms=9, stages={"candidate": 4}), CaseRun(total_ms=11, stages={"candidate": 6, "rerank": 3})]
    found = operations.latency_by_stage(runs)
    assert list(found) == ["total", "candidate", "rerank"]
    assert [one.mean for one in found.values()] == [10, 5, 3]
    assert found["rerank"].left_out == {OutcomeKind.NOT_APPLICABLE: 1}


def test_a_suite_whose_time_nobody_kept_has_none() -> None:
    assert of_run("suite_time", elapsed_s=0.5) == Outcome.scored(0.5)
    assert missing(of_run("suite_time")) is OutcomeKind.SKIPPED


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf])
def test_time_is_finite_and_not_negative(wrong: float) -> None:
    with pytest.raises(BadValue):
        CaseRun(total_ms=wrong)
    with pytest.raises(BadValue, match=r"stages\.rerank"):
        CaseRun(stages={"rerank": wrong})


def test_cases_never_tried_are_not_failures() -> None:
    for metric in (operations.error_rate, operations.timeout_rate, operations.empty_response_rate):
        assert missing(metric(SKIPPED)) is OutcomeKind.SKIPPED
        assert metric(OK) == Outcome.scored(0)


def test_failures_by_document_type() -> None:
    runs = [
        CaseRun(doc_type="pdf", status=CaseStatus.TIMEOUT),
        CaseRun(doc_type="pdf"),
        CaseRun(doc_type="markdown"),
        CaseRun(doc_type="markdown", status=CaseStatus.SKIPPED),
        CaseRun(status=CaseStatus.EMPTY),
    ]
    found = operations.failures_by_doc_type(runs)
    assert list(found) == ["", "markdown", "pdf"]
    assert found["pdf"].any == Rate(hits=1, of=2)
    assert found["pdf"].timeout == Rate(hits=1, of=2)
    assert found["pdf"].empty == Rate(hits=0, of=2)
    assert found["markdown"].any == Rate(hits=0, of=1, left_out={OutcomeKind.SKIPPED: 1})
    assert found[""].empty == Rate(hits=1, of=1)


def test_tokens_that_nobody_counted_are_not_nothing() -> None:
    spent = {"prompt_tokens": 10, "completion_tokens": 5, "unmetered": 1, "cost_usd": None}
    assert missing(of_run("judge_tokens", spent=[spent])) is OutcomeKind.SKIPPED
    assert "1 replies came without a token count; the others used 15" in of_run("judge_tokens", spent=[spent]).reason
    assert missing(of_run("judge_cost", spent=[spent])) is OutcomeKind.NOT_APPLICABLE


def test_a_judge_that_was_not_asked_or_has_no_price_has_no_cost() -> None:
    assert missing(of_run("judge_tokens")) is OutcomeKind.NOT_APPLICABLE
    assert of_run("judge_cost").cause is Cause.NO_JUDGE
    assert of_run("judge_cost", spent=[{"cost_usd": 0.0}]) == Outcome.scored(0)
    assert of_run("judge_tokens", spent=[{"cached": 1}]) == Outcome.scored(0)


def test_a_stage_that_did_not_run_and_a_run_without_times_say_so() -> None:
    assert missing(of_run("p95(stage=rerank)")) is OutcomeKind.NOT_APPLICABLE
    untimed = {"total": operations.latency_summary([])}
    assert missing(of_run("p95", latency=untimed)) is OutcomeKind.SKIPPED
    assert missing(of_run("error_rate", rates={"error_rate": Rate(hits=0, of=0)})) is OutcomeKind.SKIPPED


NUMBERS = st.lists(st.floats(0, 1e6), min_size=1)


@given(NUMBERS, st.integers(1, 100))
def test_a_percentile_was_measured_and_covers_its_share(numbers: list[float], percent: int) -> None:
    found = percentile(numbers, percent)
    assert found in numbers
    assert 100 * sum(number <= found for number in numbers) >= percent * len(numbers)
    assert 100 * sum(number < found for number in numbers) < percent * len(numbers)


@given(NUMBERS)
def test_percentiles_are_in_order(numbers: list[float]) -> None:
    found = operations.latency_summary(timed(*numbers))
    assert min(numbers) <= known(found.p50) <= known(found.p95) <= known(found.p99) <= max(numbers)


@given(st.lists(st.sampled_from([OK, ERROR, TIMEOUT, EMPTY, SKIPPED])))
def test_timeouts_and_empty_responses_are_part_of_all_failures(runs: list[CaseRun]) -> None:
    found = operations.failures(runs)
    assert found.timeout.hits + found.empty.hits <= found.any.hits <= found.any.of
    assert found.any.of + sum(found.any.left_out.values()) == len(runs)
