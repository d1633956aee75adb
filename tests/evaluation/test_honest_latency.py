"""Times of cases that ran out of time, of the first question, and bounds of cases without a value, where they show."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.evaluation.made import golden, good, kept, manifest_of

from assay.cli.run_table import beside_floor, table
from assay.evaluation.baselines import Baseline, load_baseline, write_baseline
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import GateOptions, Question, Status
from assay.evaluation.gating.baseline_rules import judge_latency
from assay.evaluation.gating.run_rules import judge_floors
from assay.evaluation.readings import reading_of
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.scoring import score_run
from assay.formats.golden import write_golden
from assay.metrics.operations import latency_summary
from assay.records.evaluations import CaseResult, CaseRun, CaseStatus, Retrieved
from assay.records.run_results import CaveatKind, caveats_about

WAITED = 500.0


def with_timeouts(late: int, cases: int = 60, *, name: str = "slow", first_ms: float = 10.0) -> RunResult:
    """A run in which the last cases ran out of time."""
    dataset = golden(cases)
    results = [
        CaseResult(case_id=case.id, status=CaseStatus.TIMEOUT, error="no answer within 0.5 s", total_ms=WAITED)
        if place >= cases - late
        else CaseResult(
            case_id=case.id,
            status=CaseStatus.OK,
            retrieved=Retrieved(ids=good(place)),
            total_ms=first_ms if place == 0 else 10.0 + place % 7,
            first=place == 0,
        )
        for place, case in enumerate(dataset.cases)
    ]
    return score_run(dataset, manifest_of(dataset, name), results)


@pytest.mark.parametrize(
    ("late", "bounds", "p95"),
    [
        (0, (), 16.0),
        (1, ("p99", "mean"), 16.0),
        (6, ("p95", "p99", "mean"), WAITED),
        (40, ("p50", "p95", "p99", "mean"), WAITED),
    ],
)
def test_a_percentile_that_hangs_on_a_timeout_is_a_lower_bound(late: int, bounds: tuple[str, ...], p95: float) -> None:
    found = with_timeouts(late).latency["total"]
    assert (found.at_least, found.p95, found.timed, found.timed_out) == (bounds, p95, 60 - late, late)


def test_an_answer_slower_than_a_timeout_makes_what_lies_below_it_a_bound_too() -> None:
    runs = [CaseRun(total_ms=900.0), CaseRun(status=CaseStatus.TIMEOUT, total_ms=100.0), CaseRun(total_ms=50.0)]
    assert latency_summary(runs).at_least == ("p50", "p95", "p99", "mean")


def test_a_ceiling_is_missed_by_what_was_waited_and_not_known_below_it() -> None:
    run = reading_of(with_timeouts(6))
    missed, unknown = (
        next(iter(judge_floors(Question(run=run, compared=None, options=GateOptions(floors={"p99": ceiling})))))
        for ceiling in (100.0, 1000.0)
    )
    assert missed.status is Status.FAIL
    assert (unknown.status, "is at least 500 ms, since 6 cases ran out of time" in unknown.sentence) == (
        Status.INCONCLUSIVE,
        True,
    )


def test_timeouts_count_against_the_baseline_and_come_back_from_its_file(tmp_path: Path) -> None:
    quick, slow = reading_of(with_timeouts(0, name="quick")), reading_of(with_timeouts(20))
    (verdict,) = judge_latency(Question(run=slow, compared=compare_two(quick, slow)))
    assert (verdict.status, verdict.evidence["after"]) == (Status.FAIL, WAITED)
    (undecided,) = judge_latency(Question(run=slow, compared=compare_two(slow, slow)))
    assert (undecided.status, "may be more" in undecided.sentence) == (Status.INCONCLUSIVE, True)
    path = tmp_path / "baseline.json"
    write_baseline(path, Baseline(reading=slow, blessed_at=manifest_of(golden(), "x").started_at))
    assert load_baseline(path).reading.latency() == slow.latency()


def test_the_table_the_files_and_the_caveats_say_at_least(tmp_path: Path) -> None:
    run = with_timeouts(6)
    shown = table([run], {"p95": 1000.0, "p50": 1000.0})
    assert "latency p95 at least 500.0 ms" in " ".join(shown.split())
    rows = {" ".join(line.split()[:2]): line for line in shown.splitlines()}
    assert rows["latency p95"].endswith("not known")
    assert rows["latency p50"].endswith("met")
    stored = load_run(kept(run, tmp_path).folder or tmp_path)
    assert stored.latency == run.latency
    assert stored.as_json()["latency"]["total"]["at_least"] == ["p95", "p99", "mean"]
    (said,) = caveats_about(stored.caveats, CaveatKind.LATENCY)
    assert said.sentence == (
        "6 cases ran out of time and count with the time they were waited for: latency p95, p99, mean are at least "
        "what is shown."
    )


def test_a_cold_first_case_is_told_with_the_figures_without_it() -> None:
    (said,) = caveats_about(with_timeouts(0, first_ms=800.0).caveats, CaveatKind.LATENCY)
    assert said.sentence.startswith("The first case asked (q00) took 800.0 ms, ")
    assert (said.figures["first_ms"], said.figures["p99"]) == (800.0, 16.0)
    assert not caveats_about(with_timeouts(0).caveats, CaveatKind.LATENCY)


def test_cases_without_a_value_give_bounds_in_the_table_and_the_caveats() -> None:
    run = with_timeouts(6)
    shown = table([run], {})
    assert "worst to best" in shown.splitlines()[0]
    row = next(line for line in shown.splitlines() if line.startswith("recall@5"))
    assert row.endswith("0.900 to 1.000")
    said = caveats_about(run.caveats, CaveatKind.FAILED_CASES)[0]
    assert said.sentence.startswith("6 of 60 cases have no value and are in no mean. ")
    assert "recall@5 0.900 to 1.000" in said.sentence
    assert "worst to best" not in table([with_timeouts(0)], {})


@pytest.mark.parametrize(
    ("value", "floor", "shown"),
    [
        (0.7996, 0.8, "0.7996"),
        (0.8, 0.8, "0.800"),
        (0.80004, 0.8, "0.80004"),
        (0.5, None, "0.500"),
        (0.81, 0.8, "0.810"),
    ],
)
def test_a_value_is_never_rounded_across_its_floor(value: float, floor: float | None, shown: str) -> None:
    assert beside_floor(value, floor) == shown


ENGINE = """
import time
def search(query, k):
    if query.endswith(("1", "3")):
        time.sleep(60)
    return ["d0-0"]
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    return runner(capsys)


def test_the_command_line_shows_what_a_real_timeout_means(run: Run, tmp_path: Path) -> None:
    (tmp_path / "late_engine.py").write_text(ENGINE, encoding="utf-8")
    write_golden(tmp_path / "set.json", golden(4))
    told = run("run", "set.json", "-s", "python:late_engine:search", "--timeout", "0.2", "-m", "recall@5")
    sys.modules.pop("late_engine", None)
    assert told.code == 0, told.err
    assert "at least 200.0 ms" in told.out
    assert "2 cases ran out of time" in told.out + told.err
