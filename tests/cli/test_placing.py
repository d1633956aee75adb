"""Results that cannot be placed: the run says so and ends with 2, and nothing can be blessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner

SYSTEM = """
def ids(query, k):
    return ["corpus/guide.md"]

def texts(query, k):
    return [{"id": 1, "text": "The release window is from nine until noon on working days, and no later."}]

def foreign(query, k):
    return ["vec-1", "vec-2"]
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    vault = tmp_path / "golden" / "vault"
    vault.mkdir(parents=True)
    (vault / "guide.md").write_text(
        "# Guide\n\n## When\n\nThe release window is from nine until noon on working days, and no later.\n\n"
        "## How\n\nTag the commit with the version and wait for the build to be green before you go on.\n",
        encoding="utf-8",
    )
    cases = [
        {
            "question": f"when may I deploy {n}",
            "gold_supports": [{"rel_path": "guide.md", "heading_path": "Guide > When"}],
        }
        for n in range(3)
    ]
    (tmp_path / "golden" / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cases), encoding="utf-8")
    (tmp_path / "placing_search.py").write_text(SYSTEM, encoding="utf-8")
    return runner(capsys)


def test_results_that_cannot_be_placed_are_exit_2_with_counts_and_cannot_be_blessed(run: Run) -> None:
    told = run("run", "golden", "--system", "python:placing_search:ids", "--name", "ids", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "nothing_measured")
    assert "3 of 3 results cannot be placed" in told.json["error"]["message"]
    assert "3 of 3 cases are undecided: recall_any@5 is between 0.000 and 1.000" in told.json["error"]["message"]
    assert run("baseline", "bless", "ids").code != 0
    assert run("gate", "ids", "--no-baseline").code != 0


def test_ids_of_which_none_is_the_datasets_are_exit_2(run: Run) -> None:
    told = run("run", "golden", "--system", "python:placing_search:foreign", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "nothing_measured")
    assert "no result that" in told.json["error"]["message"]


def test_text_alone_is_measured(run: Run) -> None:
    told = run("run", "golden", "--system", "python:placing_search:texts", "--name", "texts", "--json")
    assert told.code == 0
    assert '"recall_any@5"' in told.out
    assert run("baseline", "bless", "texts").code == 0


def test_tables_leave_out_what_a_foreign_system_tells_nothing_of(run: Run, tmp_path: Path) -> None:
    told = run("run", "golden", "--system", "python:placing_search:texts", "--name", "texts")
    assert told.code == 0
    assert "recall_any@5" in told.out
    assert not [line for line in told.out.splitlines() if line.startswith(("channel", "exclusive", "fusion"))]
    assert "metrics have no value in any case and are left out of the tables" in told.out
    assert run("report", "texts", "--dataset", "golden", "--output", str(tmp_path / "reports")).code == 0
    (page,) = (tmp_path / "reports").rglob("*.md")
    text = page.read_text(encoding="utf-8")
    assert not [line for line in text.splitlines() if line.startswith("| channel")]
    assert "are left out of the tables" in text
    assert "| relevant from grade | 2 |" in text
