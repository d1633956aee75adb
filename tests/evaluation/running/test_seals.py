"""Files of a run that were edited after Assay wrote them are refused by every reader, with the file's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.made import golden, good, kept, nothing, run_of

from assay.clock import SystemClock
from assay.errors import BrokenSeal, MalformedFile
from assay.evaluation.judged_scores import apply_verdicts
from assay.evaluation.results import load_run
from assay.evaluation.running.files import Journal, RunFolder
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.metrics.spec import parse_specs
from assay.systems.python_function import PythonFunction

Edit = Callable[[Path], None]


def edit_json(name: str, change: Callable[[dict[str, Any]], None]) -> Edit:
    def edit(folder: Path) -> None:
        path = folder / name
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    return edit


def better_value(content: dict[str, Any]) -> None:
    content["metrics"]["recall@5"]["value"] = 1.0


def better_case(content: dict[str, Any]) -> None:
    content["per_case"]["recall@5"]["q03"]["value"] = 1.0


def lower_floor(content: dict[str, Any]) -> None:
    content["floors"]["recall@5"] = 0.1


def no_seal(content: dict[str, Any]) -> None:
    better_value(content)
    del content["seal"]


def senseless_seal(content: dict[str, Any]) -> None:
    content["seal"] = "sha256:00"


def other_host(content: dict[str, Any]) -> None:
    content["host"] = "elsewhere"


def other_line(folder: Path) -> None:
    path = folder / "cases.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("d3-4", "d3-0"), encoding="utf-8")


def one_line_less(folder: Path) -> None:
    path = folder / "cases.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8")


EDITS = {
    "a value": (edit_json("result.json", better_value), "result.json"),
    "a case": (edit_json("result.json", better_case), "result.json"),
    "a floor": (edit_json("result.json", lower_floor), "result.json"),
    "the seal taken out": (edit_json("result.json", no_seal), "result.json"),
    "another seal": (edit_json("result.json", senseless_seal), "result.json"),
    "the manifest": (edit_json("manifest.json", other_host), "manifest.json"),
    "a list": (other_line, "cases.jsonl"),
    "a case taken out": (one_line_less, "cases.jsonl"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = run_of(golden(floors={"recall@5": 0.8}), [nothing(n) if n == 3 else good(n) for n in range(30)])
    return kept(found, tmp_path).folder or tmp_path


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_file_is_refused_by_name(what: str, folder: Path) -> None:
    edit, name = EDITS[what]
    edit(folder)
    with pytest.raises(BrokenSeal, match=rf"{name}.* was changed after Assay wrote it") as problem:
        load_run(folder)
    assert problem.value.exit_code == 2
    assert problem.value.remedy


def test_an_untouched_run_is_sealed_and_reformatting_is_no_edit(folder: Path) -> None:
    assert load_run(folder).sealed
    edit_json("result.json", lambda content: None)(folder)
    assert load_run(folder).sealed


def test_a_run_of_version_0_1_is_read_and_said_to_be_unsealed(folder: Path) -> None:
    unseal(folder)
    found = load_run(folder)
    assert not found.sealed
    assert "The files of the run plain have no seal: whether they were edited cannot be told." in found.notes


def unseal(folder: Path) -> None:
    """Make the files what version 0.1 wrote."""
    for name in ("manifest.json", "result.json"):
        edit_json(name, lambda content: content.pop("seal"))(folder)
    lines = [json.loads(line) for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    bare = [{name: value for name, value in line.items() if name != "seal"} for line in lines]
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in bare), encoding="utf-8")


def test_a_judged_run_is_sealed_anew(folder: Path) -> None:
    before = load_run(folder)
    judged = apply_verdicts(before, golden(floors={"recall@5": 0.8}), {}, [])
    RunFolder(folder).write_manifest(judged.manifest)
    judged.save_result(folder)
    assert load_run(folder).sealed


def test_a_result_that_was_edited_is_computed_anew_from_the_cases(tmp_path: Path) -> None:
    dataset, options = golden(), RunOptions(metrics=parse_specs("recall@5"))
    done = run(dataset, PythonFunction(lambda query, k: good(0)), options, Running(runs=tmp_path))
    assert done.folder is not None
    edit_json("result.json", better_value)(done.folder)
    again = run(dataset, PythonFunction(lambda query, k: good(0)), options, Running(resume=done.folder))
    assert again.value("recall@5") == done.value("recall@5") == load_run(done.folder).value("recall@5")


def test_a_line_that_was_edited_is_not_resumed_from(tmp_path: Path) -> None:
    dataset, options = golden(), RunOptions(metrics=parse_specs("recall@5"))
    system = PythonFunction(lambda query, k: nothing(3))
    done = run(dataset, system, options, Running(runs=tmp_path))
    assert done.folder is not None
    other_line(done.folder)
    with pytest.raises(BrokenSeal, match=r"cases\.jsonl, line 1 was changed"):
        run(dataset, system, options, Running(resume=done.folder))


def test_a_line_without_a_seal_is_read_only_beside_a_manifest_without_one(folder: Path) -> None:
    with (folder / "cases.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"case_id":"q99","status":"ok"}\n')
    with pytest.raises(BrokenSeal, match="line 31 was changed"):
        RunFolder(folder).read_cases()


def test_a_line_with_a_right_seal_that_is_no_case_is_malformed(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"case_id":"q1"}\n', encoding="utf-8")
    with pytest.raises(MalformedFile), Journal(tmp_path, clock=SystemClock()) as journal:
        journal.load_cases()
