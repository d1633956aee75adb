"""A result is read line by line into columns where Assay wrote it, and as JSON where the layout is another."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from tests.evaluation.made import golden, good, kept, nothing, poor, run_of

from assay.errors import BrokenSeal, MalformedFile
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.running.files import RunFolder
from assay.evaluation.running.json_text import canonical_pieces, indented_pieces
from assay.evaluation.running.result_reading import read_lines
from assay.hashing import canonical_json
from assay.metrics.outcome_columns import CaseOrder, OutcomeColumn


@pytest.fixture
def run(tmp_path: Path) -> RunResult:
    """A run with values, a failed case and an empty list."""
    return kept(run_of(golden(6), [good(0), poor(1), None, nothing(3), good(4), poor(5)]), tmp_path)


def columns_of(run: RunResult) -> dict[str, OutcomeColumn]:
    return {str(spec): OutcomeColumn.of(cases) for spec, cases in run.scores.items()}


def test_pieces_are_the_text_of_the_whole(run: RunResult) -> None:
    whole = run.as_json()
    assert "".join(canonical_pieces(whole, columns_of(run))) == canonical_json(whole)
    assert "".join(indented_pieces(whole, columns_of(run))) == json.dumps(whole, indent=1, ensure_ascii=False)
    assert "".join(canonical_pieces(whole)) == canonical_json(whole)
    assert "".join(indented_pieces({"per_case": {}, "a": {}}, {})) == json.dumps({"per_case": {}, "a": {}}, indent=1)
    assert "".join(canonical_pieces({})) == "{}"


def test_lines_are_read_as_json_reads_them(run: RunResult) -> None:
    assert run.folder is not None
    text = (run.folder / "result.json").read_bytes()
    found = read_lines(BytesIO(text), CaseOrder(run.manifest.case_ids))
    assert found is not None
    per_case = {metric: dict(column) for metric, column in found.columns.items()}
    assert {**found.content, "per_case": per_case} == json.loads(text)
    assert all(isinstance(cases, OutcomeColumn) for cases in load_run(run.folder).scores.values())


def edit_outcomes(text: str, before: str, after: str) -> str:
    """Change the first place below the outcomes of the cases."""
    head, section, rest = text.partition(' "per_case"')
    assert before in rest
    return head + section + rest.replace(before, after, 1)


def end_early(text: str) -> str:
    return edit_outcomes(text, "\n  },\n", "\n  }\n")


def lose_a_case(text: str) -> str:
    begin = text.index('   "q01": {', text.index(' "per_case"'))
    end = text.index('   "q02": {', begin)
    return text[:begin] + text[end:]


def lose_a_comma(text: str) -> str:
    return edit_outcomes(text, "\n   },\n", "\n   }\n")


def give_a_metric_twice(text: str) -> str:
    begin = text.index('  "', text.index(' "per_case"'))
    end = text.index("\n  },\n", begin) + len("\n  },\n")
    return text[:end] + text[begin:end] + text[end:]


def give_outcomes_twice(text: str) -> str:
    begin = text.index(' "per_case"')
    end = text.index("\n },\n", begin) + len("\n },\n")
    return text[:end] + text[begin:end] + text[end:]


def indent_more(text: str) -> str:
    return json.dumps(json.loads(text), indent=2)


def cut(text: str) -> str:
    return text[: len(text) // 2]


@pytest.mark.parametrize(
    "change",
    [
        end_early,
        lose_a_case,
        lose_a_comma,
        give_a_metric_twice,
        give_outcomes_twice,
        indent_more,
        cut,
        lambda text: "",
        lambda text: json.dumps(json.loads(text)),
    ],
)
def test_lines_of_another_layout_are_not_read(run: RunResult, change: Callable[[str], str]) -> None:
    assert run.folder is not None
    text = change((run.folder / "result.json").read_text(encoding="utf-8"))
    assert read_lines(BytesIO(text.encode()), CaseOrder(run.manifest.case_ids)) is None


def test_another_layout_of_the_same_content_is_read_as_json(run: RunResult) -> None:
    assert run.folder is not None
    path = run.folder / "result.json"
    path.write_text(indent_more(path.read_text(encoding="utf-8")), encoding="utf-8")
    order = CaseOrder(run.manifest.case_ids)
    assert RunFolder(run.folder).read_result_lines(RunFolder(run.folder).load_manifest(), order) is None
    assert load_run(run.folder).as_json() == run.as_json()


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ('"kind": "scored"', '"kind": "skipped"', BrokenSeal),
        ('"value": 1.0', '"value": 1', BrokenSeal),
        ("\n   },\n", "\n   }\n", MalformedFile),
    ],
)
def test_an_edited_line_is_refused(run: RunResult, before: str, after: str, error: type[Exception]) -> None:
    assert run.folder is not None
    path = run.folder / "result.json"
    path.write_text(edit_outcomes(path.read_text(encoding="utf-8"), before, after), encoding="utf-8")
    with pytest.raises(error):
        load_run(run.folder)
