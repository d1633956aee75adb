"""`assay report` as a person uses it: a run on disk, in process, through `main`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.evaluation.reporting.samples import dataset, given, told
from tests.evaluation.reporting.samples import run as scored

from assay.formats.golden import write_golden
from assay.records.evaluations import CaseStatus

DATA = dataset(floors={"recall@2": 0.8})


@pytest.fixture
def runs(run: Run, tmp_path: Path) -> Run:
    """Two finished runs, and the dataset they were measured on at hand."""
    write_golden(tmp_path / "small.json", DATA)
    run("dataset", "import", "small.json", "--name", "small")
    good = scored(DATA, {f"q{n}": given("ab", seen=told({"vector": "ab"}, fused="ab")) for n in (1, 2, 3)}, name="good")
    bad = scored(
        DATA,
        {
            "q1": given("cd", seen=told({"fts5": "cd"}, fused="cd")),
            "q2": given("ab", seen=told({"fts5": "ab"}, fused="ab")),
            "q3": given("", status=CaseStatus.ERROR, error="refused"),
        },
        name="bad",
    )
    for one in (good, bad):
        one.save(tmp_path / ".assay" / "runs" / one.run_id)
    return run


def test_markdown_and_its_numbers_are_written_and_the_verdict_is_told(runs: Run, tmp_path: Path) -> None:
    ended = runs("report", "bad", "--baseline", "good")
    assert ended.code == 0, ended.err
    shown = ended.out.splitlines()
    assert shown[0].startswith("FAIL  ")
    assert shown[1] == "Missed 4 of 6 gold items: never a candidate 2 | the system failed 2"
    assert shown[2:] == ["reports/rag-eval-2026-01-04.md", "reports/metrics.json", "reports/config.json"]
    assert (tmp_path / shown[2]).read_text().startswith("# Retrieval on small: bad")


def test_html_goes_where_it_is_asked_for(runs: Run, tmp_path: Path) -> None:
    ended = runs("report", "good", "--html", "--output", "out", "--name", "mine", "--json")
    assert ended.json["status"] == "PASS"
    assert ended.json["files"][0] == "out/mine.html"
    page = (tmp_path / "out" / "mine.html").read_text(encoding="utf-8")
    assert "data-mark" in page
    assert len(page) < 200_000


def test_why_explains_one_query_and_writes_nothing(runs: Run, tmp_path: Path) -> None:
    ended = runs("report", "bad", "--why", "q1")
    assert ended.code == 0, ended.err
    assert 'q1 "refund"' in ended.out
    assert "lost        never a candidate" in ended.out
    assert not (tmp_path / "reports").exists()
    assert runs("report", "bad", "--why", "refund", "--json").json["gold"][1]["item"] == "b"


def test_why_lost_lists_every_lost_query_with_counts_by_reason(runs: Run) -> None:
    ended = runs("report", "bad", "--why", "lost")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("2 of 3 queries lost gold within the first 2\n")
    assert "    1  never a candidate" in ended.out
    assert [row["query_id"] for row in runs("report", "bad", "--why", "lost", "--json").json["lost"]] == ["q1", "q3"]


def test_a_system_is_asked_again_only_when_it_is_wanted_and_the_bound_is_told(runs: Run, tmp_path: Path) -> None:
    (tmp_path / "told_letters.py").write_text(
        "asked = []\ndef search(query, k):\n    asked.append(query)\n    return list('cdefab')[:k]\n", encoding="utf-8"
    )
    system = ("--system", "python:told_letters:search")
    assert runs("run", "small", *system, "--name", "mine", "--metrics", "recall@2", "-k", "2").code == 0
    asked = sys.modules["told_letters"].asked
    before = len(asked)
    assert runs("report", "mine", "--why", "q1").code == 0
    assert len(asked) == before
    ended = runs("report", "mine", "--why", "q1", "--probe", "--calls", "2")
    assert ended.err == "Asking the system again, 2 times at most.\n"
    assert " depth       rank 5 when more results are asked for" in ended.out
    assert " outranked   by 1 c " in ended.out
    assert "The system was asked again: 2 calls of at most 2." in ended.out
    assert len(asked) == before + 2


def test_options_of_asking_again_need_what_they_belong_to(runs: Run) -> None:
    for arguments, named in ((("--probe",), "--why"), (("--why", "q1", "--calls", "3"), "--probe")):
        ended = runs("report", "bad", *arguments)
        assert ended.code == 3
        assert named in ended.err


def test_a_blessed_baseline_is_compared_with_unless_it_is_not_wanted(runs: Run, tmp_path: Path) -> None:
    assert runs("baseline", "bless", "good").code == 0
    runs("report", "bad")
    assert json.loads((tmp_path / "reports" / "config.json").read_text())["baseline"]["name"] == "good"
    runs("report", "bad", "--no-baseline")
    assert json.loads((tmp_path / "reports" / "config.json").read_text())["baseline"] is None


def test_a_dataset_that_changed_since_is_said_so_and_why_is_refused(runs: Run, tmp_path: Path) -> None:
    write_golden(tmp_path / "other.json", dataset(queries=["other", "words", "here"]))
    ended = runs("report", "bad", "--dataset", "other.json")
    assert ended.code == 0, ended.err
    assert "is not the one the run was measured on" in (tmp_path / "reports" / "rag-eval-2026-01-04.md").read_text()
    assert runs("report", "bad", "--dataset", "other.json", "--why", "q1").code == 3


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["report", "nobody"], 3, "nobody"),
        (["report", "bad", "--baseline", "none.json"], 2, "none.json"),
        (["report", "bad", "--why", "zzz"], 3, "zzz"),
        (["report", "bad", "--dataset", "gone"], 3, "gone"),
    ],
)
def test_what_is_not_there_is_named(runs: Run, arguments: list[str], code: int, named: str) -> None:
    ended = runs(*arguments)
    assert ended.code == code
    assert named in ended.err
