"""`assay bench` as a person uses it: from nothing, without a key, in process."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.telling import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "my-memory" / "my_memory.py"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "benchmark-your-memory-system.md"
PLAIN = ("--system", "bm25", "--system", "markdown-grep")


@pytest.fixture
def without_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is loaded: these systems need none."""
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


def test_the_bundled_set_with_all_systems_that_need_nothing_gives_one_table(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The quick embedder: what is tested is the table, not the vectors.
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "static")
    told = run("bench", "memory", "--out", "table.md")
    assert told.code == 0, told.err
    for system in ("assay", "bm25", "vector", "markdown-grep", "random (floor)", "oracle evidence (ceiling)"):
        assert system in told.out
    assert "recall_all@10 [95 %]" in told.out
    assert "against assay: " in told.out or " assay: " in told.out
    assert "Cost (measured on this machine" in told.out
    assert Path("table.md").read_text().startswith("## starter")


@pytest.mark.usefixtures("without_embedder")
def test_two_runs_are_the_same_byte_for_byte_and_verify(run: Run) -> None:
    files = []
    for folder in ("one", "two"):
        told = run("bench", "memory", *PLAIN, "--no-times", "--runs", folder, "--out", f"{folder}.md")
        assert told.code == 0, told.err
        files.append(next(Path(folder).glob("*/capsule.jsonl")))
    assert files[0].read_bytes() == files[1].read_bytes()
    assert Path("one.md").read_bytes() == Path("two.md").read_bytes()
    assert run("bench", "verify", str(files[0])).code == 0


@pytest.mark.usefixtures("without_embedder")
def test_a_changed_capsule_ends_with_exit_1(run: Run) -> None:
    run("bench", "memory", *PLAIN, "--runs", "runs")
    capsule = next(Path("runs").glob("*/capsule.jsonl"))
    capsule.write_text(capsule.read_text().replace('"mean":0.', '"mean":0.9', 1))
    told = run("bench", "verify", str(capsule), "--json")
    assert told.code == 1
    assert not json.loads(told.out)["intact"]


@pytest.mark.usefixtures("without_embedder")
def test_the_guides_example_is_under_40_lines_and_runs(run: Run) -> None:
    lines = EXAMPLE.read_text().splitlines()
    assert len(lines) < 40
    shown = GUIDE.read_text()
    assert all(line.partition("  # noqa")[0] in shown for line in lines[1:])
    shutil.copy(EXAMPLE, "my_memory.py")
    told = run("bench", "memory", "--system", "python:my_memory:MyMemory", "--system", "bm25", "--json")
    assert told.code == 0, told.err
    rows = {row["system"]: row for row in json.loads(told.out)["results"]["sets"]["starter"]["rows"]}
    assert rows["python:my_memory:MyMemory"]["values"]["recall_all@10"]["mean"] > 0.5
    assert rows["python:my_memory:MyMemory"]["failed"] == 0


@pytest.mark.usefixtures("without_embedder")
def test_answers_have_a_named_reader_and_judge_and_no_retrieval_column(run: Run) -> None:
    told = run("bench", "memory", *PLAIN, "--layer", "answers", "--reader", "extract", "--judge", "overlap")
    assert told.code == 0, told.err
    assert "Reader: extract. Judge: overlap." in told.out
    assert "recall" not in told.out
    assert run("bench", "memory", *PLAIN, "--layer", "answers").code == 3


def test_list_names_systems_sets_and_quirks(run: Run) -> None:
    told = run("bench", "list", "--json")
    found = json.loads(told.out)
    assert {"assay", "mem0", "langgraph-store", "mcp", "http", "python"} <= {one["name"] for one in found["systems"]}
    assert all(one["quirks"] for one in found["sets"])
    assert "locomo" in run("bench", "list").out


def test_other_harnesses_files_become_a_capsule(run: Run) -> None:
    Path("theirs.jsonl").write_text('{"question": "mara-1", "ids": ["s2:5"]}\n{"question": "mara-2", "ids": []}\n')
    told = run("bench", "import", "theirs.jsonl", "--set", "starter", "--out", "theirs.capsule")
    assert told.code == 0, told.err
    assert "dropped category, flagged" in told.out
    assert run("bench", "verify", "theirs.capsule").code == 0


@pytest.mark.usefixtures("without_embedder")
@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("--system", "mem1"), "there is no system"),
        (("--set", "locomo"), "does not contain"),
        (("--layer", "both"), "there is no layer"),
        (("--k", "0"), "below 1"),
    ],
)
def test_wrong_use_is_refused_with_a_remedy(run: Run, given: tuple[str, ...], what: str) -> None:
    told = run("bench", "memory", *given)
    assert told.code == 3
    assert what in told.err
