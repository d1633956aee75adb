"""A run file replayed gives what `assay measure` reads in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.systems.sample import CASES

from assay.errors import MalformedFile, UnknownSystem
from assay.systems.run_file import RunFile

LINES = """q1 Q0 sauna 1 1.0 x
q2 Q0 pets 1 3.0 x
q1 Q0 pool 2 2.0 x
q1 Q0 pets 3 1.0 x
q1 Q0 pool 4 0.5 x
"""


@pytest.fixture
def system(tmp_path: Path) -> RunFile:
    (tmp_path / "a.trec").write_text(LINES, encoding="utf-8")
    return RunFile(tmp_path / "a.trec")


def test_scores_order_a_topic_and_equal_ones_the_larger_id_first(system: RunFile) -> None:
    found = system.retrieve("ignored", 10, CASES[0])
    assert (found.ids, found.scores) == (("pool", "sauna", "pets"), (2.0, 1.0, 1.0))
    assert system.retrieve("ignored", 1, CASES[0]).ids == ("pool",)


def test_a_case_without_lines_is_empty(system: RunFile) -> None:
    assert system.retrieve("ignored", 10, CASES[2]).ids == ()


def test_the_subject_is_the_files_content(system: RunFile, tmp_path: Path) -> None:
    (tmp_path / "b.trec").write_text(LINES.replace("2.0", "2.5"), encoding="utf-8")
    assert system.subject()["content"] != RunFile(tmp_path / "b.trec").subject()["content"]


def test_a_file_that_is_not_there_or_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownSystem, match="no run file"):
        RunFile(tmp_path / "c.trec")
    (tmp_path / "d.trec").write_text("q1 pool\n", encoding="utf-8")
    with pytest.raises(MalformedFile, match="line 1"):
        RunFile(tmp_path / "d.trec")
