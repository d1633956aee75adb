"""A run or a baseline that was edited by hand, before every command that reads one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.evaluation.made import golden, good, kept, nothing, run_of

import assay
from assay.errors import BrokenSeal

RUNS = Path(".assay/runs")
RESULT = RUNS / "run-b" / "result.json"
READERS = {
    "gate": ("gate", "b", "--no-baseline"),
    "gate against it": ("gate", "a", "--baseline", "b"),
    "gate self-test": ("gate", "b", "--baseline", "a", "--self-test"),
    "report": ("report", "b"),
    "compare": ("compare", "a", "b"),
    "bless": ("baseline", "bless", "b"),
}


@pytest.fixture
def edited(run: Run) -> Run:
    """Two runs, one of which was made better with an editor."""
    dataset = golden(floors={"recall@5": 0.8})
    for name, found in (("a", [good(n) for n in range(30)]), ("b", [nothing(n) for n in range(30)])):
        kept(run_of(dataset, found, name=name), RUNS)
    content = json.loads(RESULT.read_text(encoding="utf-8"))
    content["metrics"]["recall@5"]["value"] = 1.0
    content["per_case"]["recall@5"] = {case: {"kind": "scored", "value": 1.0} for case in content["per_case"]["mrr"]}
    RESULT.write_text(json.dumps(content), encoding="utf-8")
    return run


@pytest.mark.parametrize("reader", READERS)
def test_an_edited_result_is_refused_with_the_file_and_the_remedy(edited: Run, reader: str) -> None:
    told = edited(*READERS[reader], "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "broken_seal")
    assert "result.json was changed after Assay wrote it" in told.json["error"]["message"]
    assert "--resume run-b" in told.json["error"]["remedy"]
    assert not Path("baseline.json").exists()


@pytest.mark.usefixtures("edited")
def test_python_refuses_an_edited_result() -> None:
    for read in (lambda: assay.gate("b", baseline=None), lambda: assay.compare("a", "b")):
        with pytest.raises(BrokenSeal, match=r"result\.json was changed"):
            read()


def test_an_edited_baseline_is_refused_by_gate_compare_and_show(run: Run) -> None:
    kept(run_of(golden(), [good(n) for n in range(30)], name="a"), RUNS)
    assert run("baseline", "bless", "a").code == 0
    path = Path("baseline.json")
    path.write_text(path.read_text(encoding="utf-8").replace("1.0", "0.9"), encoding="utf-8")
    for command in (("gate", "a"), ("compare", "baseline.json", "a"), ("baseline", "show")):
        told = run(*command, "--json")
        assert (told.code, told.json["error"]["code"]) == (2, "broken_seal"), command


@pytest.mark.parametrize("asked", [("a", "--baseline", "b"), ("b", "--no-baseline"), ("gone", "--no-baseline")])
def test_the_files_of_a_build_never_keep_the_verdict_of_an_earlier_run(edited: Run, asked: tuple[str, ...]) -> None:
    files = ("--junit", "gate.xml", "--comment", "comment.md", "--summary-file", "step.md")
    assert edited("gate", "a", "--no-baseline", *files).code == 0
    assert edited("gate", *asked, *files).code in (2, 3)
    assert "## Assay gate: INCONCLUSIVE" in Path("comment.md").read_text(encoding="utf-8")
    assert 'errors="1"' in Path("gate.xml").read_text(encoding="utf-8")
