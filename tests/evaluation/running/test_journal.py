"""Cases written down as they end: nothing that was finished is lost, and nothing half-written is read."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.errors import MalformedFile, RunFailed, RunNotFound
from assay.evaluation.running.files import Journal, RunFolder, find_run, list_runs, write_whole
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved
from assay.testing import FixedClock


def result(case_id: str) -> CaseResult:
    return CaseResult(case_id=case_id, status=CaseStatus.OK, retrieved=Retrieved(ids=("a",)))


def kept(folder: Path) -> list[str]:
    return [one.case_id for one in RunFolder(folder).read_cases()]


def test_lines_are_added_to_those_that_are_there(tmp_path: Path, clock: FixedClock) -> None:
    for case in ("q1", "q2"):
        with Journal(tmp_path, clock=clock) as journal:
            journal.add(result(case))
    assert kept(tmp_path) == ["q1", "q2"]


def test_a_line_is_with_the_system_as_soon_as_it_is_added(tmp_path: Path, clock: FixedClock) -> None:
    with Journal(tmp_path, clock=clock) as journal:
        journal.add(result("q1"))
        assert kept(tmp_path) == ["q1"]


@pytest.mark.parametrize("torn", [b'{"case_id":"q2","st', b"x" * 200_000])
def test_a_torn_last_line_is_passed_over_and_cut_off(tmp_path: Path, clock: FixedClock, torn: bytes) -> None:
    with Journal(tmp_path, clock=clock) as journal:
        journal.add(result("q1"))
    with (tmp_path / "cases.jsonl").open("ab") as file:
        file.write(torn)
    assert kept(tmp_path) == ["q1"]
    with Journal(tmp_path, clock=clock) as journal:
        assert [one.case_id for one in journal.load_cases()] == ["q1"]
        journal.add(result("q2"))
    assert kept(tmp_path) == ["q1", "q2"]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"case_id":"q1"}\n', encoding="utf-8")
    with pytest.raises(MalformedFile, match=r"line 1 is not a case"):
        kept(tmp_path)


def test_two_processes_do_not_write_one_run(tmp_path: Path, clock: FixedClock) -> None:
    with Journal(tmp_path, clock=clock), pytest.raises(RunFailed, match="another process is writing"):
        Journal(tmp_path, clock=clock)
    Journal(tmp_path, clock=clock).close()


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """What a full disk does to a file: part of a write goes in, the rest is refused."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_names_the_file_and_keeps_what_was_finished(tmp_path: Path, clock: FixedClock) -> None:
    with Journal(tmp_path, clock=clock) as journal:
        journal.add(result("q1"))
        whole = (tmp_path / "cases.jsonl").read_bytes()
        with no_file_larger_than(len(whole) + 10), pytest.raises(RunFailed, match=r"cannot write .*cases\.jsonl: File"):
            journal.add(result("q2"))
        assert (tmp_path / "cases.jsonl").read_bytes() == whole
        journal.add(result("q3"))
    assert kept(tmp_path) == ["q1", "q3"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "result.json", "new \ud800")
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == "old"
    with pytest.raises(RunFailed, match="cannot write"):
        write_whole(tmp_path / "no" / "such" / "folder.json", "new")


def make(runs: Path, run_id: str, name: str) -> Path:
    (runs / run_id).mkdir(parents=True)
    (runs / run_id / "manifest.json").write_text(f'{{"name": "{name}"}}', encoding="utf-8")
    return runs / run_id


def test_runs_are_found_by_id_name_path_and_as_the_latest(tmp_path: Path) -> None:
    first, second, third = (make(tmp_path, f"run_{n}", name) for n, name in ((1, "old"), (2, "new"), (3, "old")))
    assert list_runs(tmp_path) == [first, second, third]
    assert find_run("run_2", tmp_path) == second
    assert find_run("old", tmp_path) == third
    assert find_run("latest", tmp_path) == third
    assert find_run(str(first), tmp_path / "elsewhere") == first


def test_a_run_that_is_not_there_is_told_with_near_names(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match="holds no runs"):
        find_run("latest", tmp_path)
    make(tmp_path, "run_1", "baseline")
    with pytest.raises(RunNotFound, match="Did you mean baseline"):
        find_run("baselin", tmp_path)
    with pytest.raises(RunNotFound, match="was not finished"):
        RunFolder(tmp_path / "run_1").read_result()
