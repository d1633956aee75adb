"""Runs that stop when a comparison is decided: the plan, the stop, going on, and that nobody takes them for whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.made import golden, good, kept, nothing, poor, run_of
from tests.systems.sample import Given

from assay.errors import BadValue, InputError, NotComparable, NotReady
from assay.evaluation.baselines import bless, load_baseline, write_baseline
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import judge
from assay.evaluation.gating.verdict import Status
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.running.early_stopping import SureAgainst
from assay.evaluation.running.files import RunFolder
from assay.evaluation.running.planning import Budget, RunOptions
from assay.evaluation.running.runner import Running, keep_row, run
from assay.evaluation.until_sure import judge_votes
from assay.metrics.spec import MetricSpec, parse_specs
from assay.records.datasets import Case
from assay.records.evaluations import CaseStatus, Outcome, OutcomeKind, Retrieved
from assay.records.run_results import CaveatKind, caveats_about
from assay.work.jobs import LocalExecutor

CASES = 80
DATA = golden(CASES)
METRICS = parse_specs("ndcg@5,recall@5")
NDCG = MetricSpec.parse("ndcg@5")


def number(case: Case) -> int:
    return int(case.id.removeprefix("q"))


def system(lists: Callable[[int], Any]) -> Given:
    return Given(lambda case: lists(number(case)))


def measured(lists: Callable[[int], Any], running: Running | None = None, **options: Any) -> RunResult:
    return run(DATA, system(lists), RunOptions(metrics=METRICS, **options), running)


@pytest.fixture(scope="module")
def control() -> Reading:
    return reading_of(measured(poor, name="control"))


def sure(control: Reading, lists: Callable[[int], Any], running: Running | None = None, **options: Any) -> RunResult:
    return measured(lists, running, name="sure", against=SureAgainst(control=control), **options)


def fail_sometimes(case: int) -> Any:
    if case % 2:
        raise RuntimeError("down")
    return good(case)


def test_the_plan_is_fixed_before_the_first_case(control: Reading) -> None:
    begun: list[Any] = []
    result = sure(control, good, Running(on_start=lambda manifest, _: begun.append(manifest)), seed=7)
    plan = begun[0].until_sure
    assert result.manifest.until_sure == plan
    assert (plan["metric"], plan["seed"], plan["against"]["name"]) == ("ndcg@5", 7, "control")
    assert plan["rule"] == {"alpha": 0.05, "beta": 0.2, "effect": 0.05}
    assert plan["least_votes"] == 30
    assert plan["control"] == {case: control.values("ndcg@5")[case] for case in begun[0].case_ids}
    assert sorted(begun[0].case_ids) == sorted(case.id for case in DATA.cases)
    other = sure(control, good, seed=8).manifest.case_ids
    assert begun[0].case_ids != other
    assert begun[0].case_ids == sure(control, good, seed=7).manifest.case_ids


def test_a_clear_gain_stops_the_run_and_says_why(control: Reading) -> None:
    asked = system(good)
    result = run(DATA, asked, RunOptions(metrics=METRICS, against=SureAgainst(control=control)))
    assert result.is_stopped_early
    assert len(asked.asked) < CASES / 2
    assert tuple(asked.asked) == result.manifest.case_ids[: len(asked.asked)]
    (caveat,) = caveats_about(result.caveats, CaveatKind.STOPPED_EARLY)
    assert (caveat.count, caveat.of) == (len(asked.asked), CASES)
    assert caveat.sentence.startswith(
        f"Stopped early after {len(asked.asked)} of 80 cases: better than control by ndcg@5"
    )
    assert result.counts[CaseStatus.SKIPPED] == CASES - len(asked.asked)


def test_a_clear_loss_stops_it_as_worse(control: Reading) -> None:
    (caveat,) = caveats_about(sure(control, nothing).caveats, CaveatKind.STOPPED_EARLY)
    assert "worse than control by ndcg@5" in caveat.sentence


def test_the_same_system_again_is_equivalent_and_neither_better_nor_worse(control: Reading) -> None:
    (caveat,) = caveats_about(sure(control, poor).caveats, CaveatKind.STOPPED_EARLY)
    assert "the difference to control by ndcg@5, if there is one, is smaller than 0.05" in caveat.sentence


def test_a_run_that_is_never_decided_asks_all_cases_and_is_a_full_run(control: Reading) -> None:
    result = sure(control, lambda case: good(case) if case % 2 else nothing(case))
    assert not result.is_stopped_early
    assert result.counts[CaseStatus.OK] == CASES
    assert any("was not decided until all cases had been asked" in note for note in result.notes)


def test_failed_cases_count_with_the_worst_value_and_are_not_dropped(control: Reading) -> None:
    """Half of the cases are perfect and half fail: over those with a value it would be better."""
    result = sure(control, fail_sometimes)
    standing = judge_votes(result.manifest, result.scores[NDCG])
    assert standing.test.decision != "better"
    whole = sure(control, good)
    assert judge_votes(whole.manifest, whole.scores[NDCG]).test.decision == "better"
    failing = sure(control, lambda _: (_ for _ in ()).throw(RuntimeError("down")))
    (caveat,) = caveats_about(failing.caveats, CaveatKind.STOPPED_EARLY)
    assert "worse than control" in caveat.sentence


def test_a_case_that_the_baseline_failed_counts_as_gained(control: Reading) -> None:
    broken = reading_of(run_of(DATA, [None] * CASES, name="broken", instrument=control.instrument))
    (caveat,) = caveats_about(sure(broken, poor).caveats, CaveatKind.STOPPED_EARLY)
    assert "better than broken" in caveat.sentence


def test_a_case_that_nobody_could_judge_counts_against_every_decision(control: Reading) -> None:
    result = sure(control, good)
    unjudged = {case: Outcome.missing(OutcomeKind.JUDGE_FAILED, "no verdict") for case in result.scores[NDCG]}
    assert judge_votes(result.manifest, unjudged).test.decision is None


def test_an_interrupted_run_goes_on_to_the_same_decision(control: Reading, tmp_path: Path) -> None:
    whole = sure(control, good)

    class Stop(Exception):
        pass

    def interrupt(done: int, _: int, __: object) -> None:
        if done == 4:
            raise Stop

    with pytest.raises(Stop):
        sure(control, good, Running(runs=tmp_path, on_case=interrupt))
    (folder,) = tmp_path.iterdir()
    there = RunFolder(folder).read_manifest()
    asked = system(good)
    options = RunOptions(metrics=METRICS, until_sure=there.until_sure)
    result = run(DATA, asked, options, Running(runs=tmp_path, resume=folder))
    assert result.result_hash == whole.result_hash
    assert result.is_stopped_early
    assert len(asked.asked) == whole.counts[CaseStatus.OK] - 4
    again = system(good)
    assert run(DATA, again, options, Running(runs=tmp_path, resume=folder)).as_json() == load_run(folder).as_json()
    assert again.asked == []


def test_a_run_does_not_go_on_with_another_test(control: Reading, tmp_path: Path) -> None:
    sure(control, good, Running(runs=tmp_path))
    (folder,) = tmp_path.iterdir()
    with pytest.raises(InputError, match="was begun with another"):
        measured(good, Running(runs=tmp_path, resume=folder))


def test_with_threads_votes_count_in_the_planned_order(control: Reading) -> None:
    one, four = (sure(control, good, Running(executor=LocalExecutor(threads))) for threads in (1, 4))
    first, second = (judge_votes(result.manifest, result.scores[NDCG]) for result in (one, four))
    assert first == second
    assert four.counts[CaseStatus.OK] >= one.counts[CaseStatus.OK]


def test_repeats_of_a_case_are_one_vote(control: Reading) -> None:
    once, twice = sure(control, good), sure(control, good, repeats=2)
    assert twice.counts[CaseStatus.OK] == 2 * once.counts[CaseStatus.OK]


def test_a_budget_that_ends_first_leaves_it_undecided(control: Reading) -> None:
    dear = Given(lambda case: Retrieved(ids=good(number(case)), cost=1.0))
    options = RunOptions(metrics=METRICS, against=SureAgainst(control=control))
    result = run(DATA, dear, options, Running(budget=Budget(money=3.0)))
    assert not result.is_stopped_early
    assert any("was not decided so far" in note for note in result.notes)


def test_cases_of_one_cluster_are_one_vote() -> None:
    data = golden(40)
    clusters = {case.id: f"session {number(case) // 4}" for case in data.cases}
    outcomes = {case.id: Outcome.scored(1.0) for case in data.cases}
    manifest = replace(
        run_of(data, [good(n) for n in range(40)]).manifest,
        clusters=clusters,
        until_sure={
            "metric": "ndcg@5",
            "least_votes": 1,
            "rule": {"alpha": 0.05, "beta": 0.2, "effect": 0.05},
            "control": {case.id: 0.5 for case in data.cases},
        },
    )
    clustered = judge_votes(manifest, outcomes)
    alone = judge_votes(replace(manifest, clusters={}), outcomes)
    assert clustered.test.votes == alone.test.votes
    assert clustered.cases == 4 * alone.cases


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: replace(one, outcomes={"mrr": one.outcomes["ndcg@5"]}), "was not measured with ndcg@5"),
        (
            lambda one: replace(one, instrument={**one.instrument, "dataset": "sha256:other"}),
            "another instrument: dataset",
        ),
        (
            lambda one: replace(one, outcomes={"ndcg@5": dict(list(one.outcomes["ndcg@5"].items())[:60])}),
            "no value of ndcg@5 for 20 of 80",
        ),
        (lambda one: reading_of(sure(one, good)), "was itself stopped early"),
    ],
)
def test_a_baseline_that_cannot_be_compared_with_is_refused_before_the_first_case(
    control: Reading, change: Callable[[Reading], Reading], said: str
) -> None:
    asked = system(good)
    with pytest.raises(NotComparable, match=said):
        run(DATA, asked, RunOptions(metrics=METRICS, against=SureAgainst(control=change(control))))
    assert asked.asked == []


@pytest.mark.parametrize("metric", ["p95", "mrr"])
def test_a_metric_of_the_whole_run_or_of_another_run_cannot_decide(control: Reading, metric: str) -> None:
    with pytest.raises(BadValue, match=f"cannot decide by {metric}"):
        run(DATA, system(good), RunOptions(metrics=METRICS, against=SureAgainst(control=control, metric=metric)))


# --- Nobody takes it for a full run ---


@pytest.fixture(scope="module")
def stopped(control: Reading) -> RunResult:
    return sure(control, good)


def test_it_cannot_be_blessed_without_saying_so(stopped: RunResult, tmp_path: Path) -> None:
    with pytest.raises(NotReady, match="was ended by --until-sure"):
        bless(reading_of(stopped), at=datetime(2026, 1, 4, tzinfo=UTC))
    said = bless(reading_of(stopped), at=datetime(2026, 1, 4, tzinfo=UTC), despite="no time")
    write_baseline(tmp_path / "baseline.json", said)
    again = load_baseline(tmp_path / "baseline.json").reading
    assert caveats_about(again.caveats, CaveatKind.STOPPED_EARLY)


def test_no_gate_passes_it_and_none_takes_it_as_the_baseline(stopped: RunResult, control: Reading) -> None:
    for run_, baseline in ((reading_of(stopped), control), (control, reading_of(stopped))):
        verdict = judge(run_, baseline)
        assert verdict.status is not Status.PASS
        (rule,) = [rule for rule in verdict.rules if rule.rule == "stopped early"]
        assert rule.status is Status.INCONCLUSIVE
        assert "Stopped early after" in rule.sentence
    assert not [rule for rule in judge(control, control).rules if rule.rule == "stopped early"]


def test_a_comparison_withholds_its_verdict_and_shows_the_runs_own(stopped: RunResult, control: Reading) -> None:
    found = compare_two(control, reading_of(stopped))
    seen = found.metrics["ndcg@5"].comparison
    assert seen.verdict == "withheld"
    assert "Stopped early after" in seen.sentence
    assert "Stopped early after" in " ".join(caveat.sentence for caveat in found.caveats)
    full = reading_of(measured(good, name="full"))
    assert compare_two(control, full).metrics["ndcg@5"].comparison.verdict == "better"


def test_the_store_keeps_no_row_of_it(stopped: RunResult) -> None:
    def writing() -> Any:
        raise AssertionError("nothing is written")

    assert keep_row(stopped, DATA, writing) == "The store has no row of this run: it was stopped early."


def test_a_data_frame_says_it_in_every_row(stopped: RunResult) -> None:
    assert {row["stopped_early"] for row in stopped._case_rows()} == {True}


def test_it_is_read_back_as_stopped(stopped: RunResult, tmp_path: Path) -> None:
    assert load_run(kept(stopped, tmp_path).folder or tmp_path).is_stopped_early
    assert not load_run(kept(measured(good), tmp_path).folder or tmp_path).is_stopped_early
