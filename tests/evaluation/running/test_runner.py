"""Running: every case asked once, written down, scored; stopped in any way and gone on with."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.made import golden, run_of
from tests.evaluation.made import good as best_list
from tests.evaluation.running import killed
from tests.systems.sample import CASES, Given, dataset, right

from assay.errors import BadValue, InputError, NothingMeasured, RunFailed
from assay.evaluation.results import load_run
from assay.evaluation.running.files import RunFolder, list_runs
from assay.evaluation.running.planning import Budget, RunOptions
from assay.evaluation.running.runner import UNREACHABLE_IN_A_ROW, Running, run, sentence
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseStatus, Outcome, Retrieved
from assay.records.run_results import CaveatKind, caveats_about
from assay.work.jobs import LocalExecutor


def good() -> Given:
    return Given(lambda case: right(case.query, 10))


def test_a_run_is_scored_written_and_read_back_as_it_was(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    where = Running(runs=tmp_path, on_case=lambda done, of, _: told.append((done, of)))
    result = run(dataset(), good(), RunOptions(name="first"), where)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert result.folder is not None
    again = load_run(result.folder)
    assert again.as_json() == result.as_json()
    assert again.cases == result.cases
    written = {"manifest.json", "cases.jsonl", "result.json", ".entry.json"}
    assert {one.name for one in result.folder.iterdir()} == written


def test_a_result_can_be_kept_afterwards(tmp_path: Path) -> None:
    result = run(dataset(), good())
    kept = result.save(tmp_path / "mine")
    assert kept.folder == tmp_path / "mine"
    assert load_run(tmp_path / "mine").as_json() == result.as_json()


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(dataset(), good()).folder is None
    assert list(tmp_path.glob("**/*")) == []


def test_two_runs_of_the_same_have_the_same_hash_and_different_ids(tmp_path: Path) -> None:
    first, second = (run(dataset(), good(), running=Running(runs=tmp_path)) for _ in range(2))
    assert first.result_hash == second.result_hash
    assert first.run_id != second.run_id
    assert len(list_runs(tmp_path)) == 2
    other = run(dataset(), Given(lambda _: ["pool"]))
    assert other.result_hash != first.result_hash


def test_runs_that_write_at_once_get_folders_of_their_own(tmp_path: Path) -> None:
    together = threading.Barrier(4)

    def one() -> None:
        together.wait()
        run(dataset(), good(), running=Running(runs=tmp_path))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {load_run(path).counts[CaseStatus.OK] for path in list_runs(tmp_path)} == {4}
    assert len(list_runs(tmp_path)) == 4


class Stopped(Exception):
    """Whatever ends a run from outside."""


def stop_after(count: int) -> Any:
    def on_case(done: int, of: int, _: object) -> None:
        if done == count:
            raise Stopped

    return on_case


def test_a_stopped_run_goes_on_without_asking_twice(tmp_path: Path) -> None:
    options = RunOptions(repeats=2)
    whole = run(dataset(), good(), options)
    system = good()
    with pytest.raises(Stopped):
        run(dataset(), system, options, Running(runs=tmp_path, on_case=stop_after(3)))
    (folder,) = list_runs(tmp_path)
    result = run(dataset(), system, options, Running(resume=folder))
    assert Counter(system.asked) == dict.fromkeys(["q1", "q2", "q3", "q4"], 2)
    assert (result.result_hash, result.run_id) == (whole.result_hash, folder.name)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (RunOptions(k=20), "k: 10 -> 20; instrument depth: 10 -> 20"),
        (RunOptions(repeats=2), "repeats"),
        (RunOptions(sample=0.5), "cases"),
        (RunOptions(metrics=parse_specs("mrr")), "instrument metrics"),
        (RunOptions(timeout_s=5.0), "subject timeout_s"),
    ],
)
def test_a_run_does_not_go_on_as_another(tmp_path: Path, options: RunOptions, named: str) -> None:
    folder = run(dataset(), good(), running=Running(runs=tmp_path)).folder
    with pytest.raises(InputError, match=f"another {named}"):
        run(dataset(), good(), options, Running(resume=folder))


@pytest.mark.slow
def test_killed_three_times_and_resumed_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    rng = random.Random(5)
    whole = run(killed.dataset(), killed.Deadly(0), RunOptions(repeats=2)).result_hash
    resume = ""
    for moment in [rng.randint(2, 30) for _ in range(3)] + [0]:
        child = [sys.executable, "-m", "tests.evaluation.running.killed", str(tmp_path), resume, str(moment)]
        ended = subprocess.run(child, capture_output=True, text=True, check=False)
        assert ended.returncode == (-9 if moment else 0), ended.stderr
        (folder,) = list_runs(tmp_path)
        with (folder / "cases.jsonl").open("ab") as file:
            file.write(b'{"case_id":"q' if moment else b"")
        resume = str(folder)
    assert ended.stdout == whole
    asked = Counter((one.case_id, one.repeat) for one in RunFolder(folder).read_cases())
    assert len(asked) == 2 * killed.CASES
    assert set(asked.values()) == {1}


def test_a_budget_leaves_the_rest_for_later(tmp_path: Path) -> None:
    system = Given(lambda case: Retrieved(ids=tuple(right(case.query, 5)), cost=0.4))
    result = run(dataset(), system, running=Running(runs=tmp_path, budget=Budget(money=1.0)))
    assert result.counts[CaseStatus.SKIPPED] == 2
    assert result.value("mrr") == 1.0
    assert result.per_case("mrr")["q4"].kind == "skipped"
    assert any("2 cases ended with skipped: q3, q4" in note for note in result.notes)
    assert result.folder is not None
    assert load_run(result.folder).as_json() == result.as_json()
    rest = run(dataset(), system, running=Running(resume=result.folder, budget=Budget(money=2.0)))
    assert rest.counts[CaseStatus.OK] == 4
    assert system.asked == ["q1", "q2", "q3", "q4"]


def test_a_failed_case_counts_towards_the_budget(tmp_path: Path) -> None:
    def costly(case: Case) -> Retrieved:
        if case.id == "q2":
            raise RuntimeError("down after it was paid for")
        return Retrieved(ids=tuple(right(case.query, 5)), cost=0.4)

    result = run(dataset(), Given(costly), running=Running(runs=tmp_path, budget=Budget(money=1.0)))
    assert result.counts[CaseStatus.SKIPPED] == 2
    (cost,) = [caveat for caveat in result.caveats if caveat.kind is CaveatKind.COST]
    assert cost.sentence == (
        "1 of 2 cases told what they cost: 0.4 in all. 1 cases told no cost, 1 of them failed: it may have been more."
    )


def test_threads_change_the_order_and_not_the_result(tmp_path: Path) -> None:
    alone = run(dataset(), good(), RunOptions(repeats=3))
    crowd = run(dataset(), good(), RunOptions(repeats=3), Running(executor=LocalExecutor(4), runs=tmp_path))
    assert crowd.result_hash == alone.result_hash
    with pytest.raises(BadValue, match="threads 0"):
        LocalExecutor(0)


def test_cases_side_by_side_are_as_many_as_there_are_threads() -> None:
    meeting = threading.Barrier(2)

    def act(case: Case) -> list[str]:
        meeting.wait(timeout=30)
        return right(case.query, 5)

    result = run(dataset(), Given(act), running=Running(executor=LocalExecutor(2)))
    assert result.counts[CaseStatus.OK] == 4


def test_a_system_that_always_fails_is_neither_zero_nor_dropped() -> None:
    def fail(_: object) -> None:
        raise RuntimeError("down")

    result = run(dataset(), Given(fail))
    assert result.value("mrr") is None
    assert {one.kind for one in result.per_case("mrr").values()} == {"system_failed"}
    assert result.value("error_rate") == 1.0
    aggregate = result.aggregates[parse_specs("mrr")[0]]
    assert (aggregate.worst, aggregate.best) == (0.0, 1.0)


def test_a_long_and_odd_message_is_kept_as_the_reason() -> None:
    def fail(case: Case) -> list[str]:
        if case.id == "q1":
            raise RuntimeError("{x}\n" + "long " * 400 + "\x00")
        return ["pool"]

    reason = run(dataset(), Given(fail)).per_case("mrr")["q1"].reason
    assert reason.startswith("RuntimeError: {x} long long")


def test_a_system_that_speaks_of_other_documents_measures_nothing() -> None:
    with pytest.raises(NothingMeasured, match="no document that given returned"):
        run(dataset(), Given(lambda _: ["12", "13"]))


def test_a_system_that_never_returns_anything_measures_nothing() -> None:
    with pytest.raises(NothingMeasured, match="given returned nothing for any case of house"):
        run(dataset(), Given(lambda _: []))


def test_a_sample_asks_and_counts_its_cases_only() -> None:
    system = good()
    result = run(dataset(), system, RunOptions(sample=0.5))
    assert len(system.asked) == len(result.scores[parse_specs("mrr")[0]]) == 2
    assert tuple(system.asked) == result.manifest.case_ids


def test_a_changed_result_is_not_left_beside_new_cases(tmp_path: Path) -> None:
    system = Given(lambda case: Retrieved(ids=tuple(right(case.query, 5)), cost=0.4))
    folder = run(dataset(), system, running=Running(runs=tmp_path, budget=Budget(money=1.0))).folder
    assert folder is not None
    with pytest.raises(Stopped):
        run(dataset(), system, running=Running(resume=folder, on_case=stop_after(3)))
    assert not RunFolder(folder).finished


def test_cases_of_the_dataset_keep_their_order(tmp_path: Path) -> None:
    result = run(dataset(cases=CASES[::-1]), good(), running=Running(runs=tmp_path))
    assert [one.case_id for one in result.cases] == ["q4", "q3", "q2", "q1"]


SHORT = RunOptions(metrics=parse_specs("recall@5"))


def many(count: int) -> Dataset:
    return dataset(cases=tuple(replace(CASES[number % 4], id=f"q{number:03}") for number in range(count)))


def away_from(first: int, last: int = 10_000) -> Given:
    """Cannot be reached in these cases."""

    def act(case: Case) -> list[str]:
        if first <= int(case.id[1:]) <= last:
            raise ConnectionRefusedError(111, "Connection refused")
        return right(case.query, 5)

    return Given(act)


def test_a_system_that_goes_away_ends_the_run_after_a_few_cases_and_it_goes_on_later(tmp_path: Path) -> None:
    asked = many(1000)
    system = away_from(7)
    with pytest.raises(RunFailed, match=r"given could not be reached in 5 cases .*Connection refused") as problem:
        run(asked, system, SHORT, Running(runs=tmp_path))
    assert "--resume" in problem.value.remedy
    assert len(system.asked) == 7 + UNREACHABLE_IN_A_ROW
    (folder,) = tmp_path.iterdir()
    back = away_from(20_000)
    ended = run(asked, back, SHORT, Running(resume=folder))
    assert back.asked[0] == "q007"
    assert ended.counts[CaseStatus.OK] == 1000
    assert ended.result_hash == run(asked, away_from(20_000), SHORT).result_hash


def test_a_system_that_comes_back_in_time_has_its_failures_written_down(tmp_path: Path) -> None:
    ended = run(many(20), away_from(7, 10), SHORT, Running(runs=tmp_path))
    assert (ended.counts[CaseStatus.OK], ended.counts[CaseStatus.ERROR]) == (16, 4)
    assert [one.case_id for one in ended.cases if one.unreachable] == ["q007", "q008", "q009", "q010"]


def test_a_run_that_ends_while_its_system_is_away_has_the_last_failures(tmp_path: Path) -> None:
    ended = run(many(10), away_from(7), SHORT, Running(runs=tmp_path))
    assert ended.counts[CaseStatus.ERROR] == 3


def test_more_requests_than_cases_are_told_beside_the_numbers() -> None:
    ended = run(dataset(), Given(lambda case: Retrieved(ids=tuple(right(case.query, 5)), tries=3)), SHORT)
    (caveat,) = caveats_about(ended.caveats, CaveatKind.RETRIES)
    assert caveat.sentence.startswith(
        "12 requests for 4 cases: 8 requests failed (66.7%), and 4 cases were tried again."
    )
    assert dict(caveat.figures) == {"requests": 12, "failed_requests": 8, "cases": 4}
    assert (caveat.count, caveat.of) == (4, 4)


def test_one_request_a_case_is_not_told() -> None:
    ended = run(dataset(), Given(lambda case: Retrieved(ids=tuple(right(case.query, 5)), tries=1)), SHORT)
    assert caveats_about(ended.caveats, CaveatKind.RETRIES) == ()


def test_what_a_set_can_see_is_not_estimated_from_cases_that_do_not_differ() -> None:
    third = run_of(golden(), [best_list(n) for n in range(30)])
    spec = parse_specs("recall@5")[0]
    almost = replace(third, scores={spec: {f"q{n:02}": Outcome.scored(0.1 * 3 if n % 2 else 0.3) for n in range(30)}})
    for found in (third, almost):
        said = sentence([found], spec)
        assert (
            said == "What differences in recall@5 this set can see cannot be estimated: its cases do not differ in it."
        )
