"""p95 within 20 % of the baseline's: only on one host, only beyond doubt."""

from __future__ import annotations

import json

from tests.evaluation.made import level

from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import Question, Status
from assay.evaluation.gating.baseline_rules import _judge_latency, judge_latency
from assay.evaluation.gating.verdict import RuleVerdict
from assay.evaluation.readings import Reading
from assay.records.fields import plain
from assay.records.run_results import LatencyChange


def timed(factor: float, cases: int = 60, host: str = "here", spread: float = 0.0) -> Reading:
    times = {f"q{n:02}": (factor * (10.0 + spread * (n % 10)),) for n in range(cases)}
    return level(0.5, cases, times=times, host=host, name=f"x{factor}")


def judged(before: Reading, after: Reading) -> RuleVerdict:
    (found,) = judge_latency(Question(run=after, compared=compare_two(before, after)))
    return found


def test_twenty_percent_are_allowed_and_more_are_not() -> None:
    assert judged(timed(1.0), timed(1.2)).status is Status.PASS
    slower = judged(timed(1.0), timed(1.25))
    assert slower.status is Status.FAIL
    assert slower.sentence == "latency p95 10 ms -> 12.5 ms: +25 % [+25, +25], allowed +20 %"


def test_a_rise_of_up_to_a_millisecond_is_not_held_against_the_run() -> None:
    """Runs of one retriever of 1 ms differ by half of it, with intervals that exclude 20 %."""
    noise = judged(timed(0.1), timed(0.16))
    assert noise.status is Status.NOT_APPLICABLE
    assert noise.sentence == (
        "latency p95 1 ms -> 1.6 ms: +60 % [+60, +60], allowed +20 %: "
        "a rise of 1 ms or less is not told from other work on the machine"
    )
    assert judged(timed(0.1), timed(0.2)).status is Status.NOT_APPLICABLE
    assert judged(timed(0.1), timed(0.201)).status is Status.FAIL


def test_a_rise_of_a_millisecond_that_may_be_more_is_not_decided() -> None:
    found = _judge_latency(
        LatencyChange(percent=95, before=1.0, after=1.6, low=0.6, high=0.6, ratio_low=1.6, ratio_high=1.6, cases=60),
        1.6,
        0.2,
        lower_bound=True,
    )
    assert (found.status, "may be more" in found.sentence) == (Status.INCONCLUSIVE, True)


def test_times_of_nothing_are_compared_too() -> None:
    nothing, something = timed(0.0), timed(1.0)
    assert judged(nothing, nothing).status is Status.PASS
    assert judged(nothing, something).status is Status.FAIL
    json.dumps(plain(judged(nothing, something)), allow_nan=False)


def test_another_host_says_nothing() -> None:
    found = judged(timed(1.0), timed(9.0, host="there"))
    assert (found.status, found.sentence) == (Status.NOT_APPLICABLE, "latencies of here and there are not compared")
    assert judged(timed(1.0, host=""), timed(9.0, host="")).status is Status.NOT_APPLICABLE


def test_a_rise_whose_interval_does_not_exclude_the_allowance_is_not_held_against_the_run() -> None:
    before = timed(1.0)
    times = {case: (10.0 if place > 3 else 100.0,) for place, case in enumerate(sorted(before.times))}
    found = judged(before, level(0.5, times=times))
    assert found.status is Status.NOT_APPLICABLE
    assert "not held against the run" in found.sentence


def test_too_few_timed_cases_are_not_compared() -> None:
    assert "too few" in judged(timed(1.0, cases=19), timed(9.0, cases=19)).sentence
    assert judged(timed(1.0, cases=20), timed(9.0, cases=20)).status is Status.FAIL


def test_without_times_or_baseline_the_question_does_not_arise() -> None:
    assert judged(level(0.5), level(0.5)).status is Status.NOT_APPLICABLE
    (found,) = judge_latency(Question(run=level(0.5), compared=None))
    assert found.status is Status.NOT_APPLICABLE
