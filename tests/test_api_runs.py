"""`compare` and `gate` in a program: runs as values, by name, or as a baseline file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.made import golden, good, kept, poor, run_of

from assay import compare, evaluate, gate
from assay.clock import SystemClock
from assay.errors import BadValue, NoBaseline
from assay.evaluation.baselines import Baseline, write_baseline
from assay.evaluation.gating import GateOptions
from assay.evaluation.readings import reading_of
from assay.evaluation.results import RunResult


@pytest.fixture
def best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunResult:
    monkeypatch.chdir(tmp_path)
    return run_of(golden(12), [good(n) for n in range(12)], name="best")


@pytest.fixture
def worse(tmp_path: Path) -> RunResult:
    return kept(run_of(golden(12), [poor(n) for n in range(12)], name="worse"), tmp_path / ".assay/runs")


def test_runs_are_compared_as_values_by_name_and_as_a_baseline_file(best: RunResult, worse: RunResult) -> None:
    assert compare(best, "worse").comparisons[0].metrics["mrr"].after == pytest.approx(1 / 3)
    assert "worse - best [95 %]" in repr(compare(best, worse))
    write_baseline(Path("baseline.json"), Baseline(reading=reading_of(best), blessed_at=SystemClock().now()))
    assert compare("baseline.json", worse, "worse").as_json()["comparisons"]


def test_a_gate_says_whether_a_run_passed_and_why(best: RunResult, worse: RunResult) -> None:
    assert gate(best, baseline=best).passed
    verdict = gate("worse", baseline=best)
    assert (verdict.passed, verdict.exit_code) == (False, 1)
    assert "mrr fell from 1.00 to 0.33" in repr(verdict)


def test_without_a_baseline_only_what_needs_none_is_asked(worse: RunResult, best: RunResult) -> None:
    assert gate(worse, baseline=None).exit_code == 2, "nothing is asked of quality"
    assert gate(worse, baseline=None, floors={"mrr": 0.2}).passed
    assert not gate(worse, baseline=None, floors={"mrr": 0.5}).passed
    with pytest.raises(NoBaseline):
        gate(worse)


@pytest.mark.parametrize("floor", [math.nan, math.inf, -math.inf, -5.0, 1.5, "0.9", None, True])
def test_a_floor_that_is_no_number_in_the_range_of_its_metric_is_refused(worse: RunResult, floor: Any) -> None:
    with pytest.raises(BadValue, match=r"floor"):
        gate(worse, baseline=None, floors={"recall@5": floor})


@pytest.mark.parametrize(
    "given",
    [{"drop": math.nan}, {"drop": -0.1}, {"unjudgeable": 2.0}, {"latency_rise": math.nan}, {"lost": -1}, {"lost": 1.5}],
)
def test_what_a_gate_allows_is_a_number_that_can_be_exceeded(given: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        GateOptions(**given)


def test_a_program_stops_a_run_when_it_is_sure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = golden(40)
    control = evaluate(data, lambda query, k: poor(int(query.split()[1])), name="control", runs=tmp_path / "runs")

    def retrieve(query: str, k: int) -> tuple[str, ...]:
        return good(int(query.split()[1]))[:k]

    stopped = evaluate(data, retrieve, until_sure_against=control)
    assert stopped.is_stopped_early
    assert any("better than control" in note for note in stopped.notes)
    by_file = evaluate(data, retrieve, until_sure_against=str(control.folder))
    assert by_file.result_hash == stopped.result_hash
    assert not evaluate(data, retrieve).is_stopped_early
