"""A judge without a current calibration leaves the gate undecided where its metric was asked for."""

from __future__ import annotations

from tests.evaluation.made import reading

from assay.evaluation.gating import GateOptions, Status, judge
from assay.evaluation.readings import Reading

ENDED = "the calibration of its judge ended on 2026-01-01"
FINE = {"recall@5": {f"q{n:02}": 1.0 for n in range(30)}}


def judged(score: float, *, gates: bool) -> Reading:
    values = {**FINE, "groundedness": {f"q{n:02}": score for n in range(30)}}
    return reading(values, subject={"judge": {"groundedness": {"gates": gates, "why": "" if gates else ENDED}}})


def test_a_metric_of_the_baseline_whose_judge_expired_is_undecided_and_not_green() -> None:
    verdict = judge(judged(0.0, gates=False), judged(5.0, gates=True))
    assert verdict.exit_code == 2
    (undecided,) = verdict.of(Status.INCONCLUSIVE)
    assert undecided.sentence == (
        f"groundedness went from 5.000 to 0.000 since the baseline, which cannot be decided: {ENDED}"
    )
    assert verdict.as_json()["status"] == "inconclusive"


def test_a_floor_on_it_is_undecided_without_a_baseline_too() -> None:
    options = GateOptions(floors={"groundedness": 3.0, "recall@5": 0.5})
    assert judge(judged(5.0, gates=False), None, options).exit_code == 2


def test_where_nobody_asks_for_it_it_is_told_and_decides_nothing() -> None:
    baseline = reading(FINE)
    verdict = judge(judged(0.0, gates=False), baseline)
    assert verdict.passed
    assert f"groundedness is diagnostic only: {ENDED}" in repr(verdict)


def test_another_deciding_metric_leaves_it_aside() -> None:
    options = GateOptions(metric="recall@5")
    assert judge(judged(0.0, gates=False), judged(5.0, gates=True), options).passed
