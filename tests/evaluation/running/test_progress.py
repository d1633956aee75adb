"""How far a run is, as servers read it from its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.made import golden

from assay.errors import MalformedFile
from assay.evaluation.running.progress import EVERY_S, NAME, ProgressFile, RunProgress, WorkerProgress, read_progress
from assay.evaluation.running.runner import Running, run
from assay.records.evaluations import CaseResult
from assay.systems.python_function import PythonFunction
from assay.testing import FixedClock
from assay.work.jobs import WorkerFigures


def test_time_left_and_throughput_come_from_what_was_done_since_it_began(tmp_path: Path) -> None:
    clock = FixedClock()
    file = ProgressFile(tmp_path, before=10, total=40, clock=clock)
    file.note(10, ())
    first = read_progress(tmp_path)
    assert first is not None
    assert (first.done, first.per_second, first.seconds_left, first.workers) == (10, None, None, ())
    clock.advance(seconds=5)
    file.note(20, [WorkerFigures("one", 6, 4.0, lost=2), WorkerFigures("two", 0, 0.0, problem="another version")])
    assert read_progress(tmp_path) == RunProgress(
        done=20,
        total=40,
        seconds=5.0,
        per_second=2.0,
        seconds_left=10.0,
        updated_at=clock.now(),
        workers=(
            WorkerProgress(name="one", done=6, per_second=1.5, lost=2, problem=""),
            WorkerProgress(name="two", done=0, per_second=None, lost=0, problem="another version"),
        ),
    )


def test_it_is_written_at_most_once_a_second(tmp_path: Path) -> None:
    clock = FixedClock()
    file = ProgressFile(tmp_path, before=0, total=9, clock=clock)
    for done in (1, 2):
        file.note(done, ())
    clock.advance(seconds=EVERY_S)
    seen = [read_progress(tmp_path)]
    file.note(3, ())
    seen.append(read_progress(tmp_path))
    assert [None if progress is None else progress.done for progress in seen] == [1, 3]
    file.remove()
    assert read_progress(tmp_path) is None


def test_a_file_that_is_none_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"done": 1}', encoding="utf-8")
    with pytest.raises(MalformedFile, match=NAME):
        read_progress(tmp_path)


def test_a_run_says_how_far_it_is_and_leaves_nothing_when_it_ends(tmp_path: Path) -> None:
    seen: list[RunProgress | None] = []

    def look(done: int, total: int, result: CaseResult) -> None:
        del done, total, result
        [folder] = tmp_path.iterdir()
        seen.append(read_progress(folder))

    run(golden(3), PythonFunction(lambda query, k: ["d0-0"]), running=Running(runs=tmp_path, on_case=look))
    assert [progress.total for progress in seen if progress is not None] == [3, 3, 3]
    [folder] = tmp_path.iterdir()
    assert read_progress(folder) is None
