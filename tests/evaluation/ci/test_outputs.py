"""A verdict for machines that build: files that parse, and words of strangers that stay words."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.made import reading

from assay.errors import InputError
from assay.evaluation.ci import MARKER, Outputs, escape, junit, pull_request, sarif, step_summary, summary
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import RuleVerdict, Status, Verdict

EVERY = tuple(
    RuleVerdict(rule="floor", about=status.value, status=status, sentence=f"it is {status.value}") for status in Status
)
VERDICT = Verdict(run="now", baseline="then", dataset="docs", rules=EVERY)
COMPARED = compare_two(
    reading({"mrr": {"a": 1.0, "b": 1.0, "c": 0.0}}, name="then"),
    reading({"mrr": {"a": 0.0, "b": 0.5, "c": 1.0}}, queries={"a": "who is @admin? | <b>bold</b> #1"}),
)


def saying(sentence: str) -> Verdict:
    return Verdict(
        run=sentence,
        baseline=sentence,
        dataset="docs",
        rules=(RuleVerdict(rule="lost cases", about=sentence, status=Status.FAIL, sentence=sentence),),
    )


def test_a_regression_is_a_failure_and_a_doubt_an_error() -> None:
    suite = ET.fromstring(junit(VERDICT))
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    by_name = {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}
    assert by_name == {
        "floor pass": ["system-out"],
        "floor fail": ["failure"],
        "floor inconclusive": ["error"],
        "floor not_applicable": ["skipped"],
    }
    failure = suite.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "it is fail"


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_whatever_a_query_holds_the_xml_parses(text: str) -> None:
    suite = ET.fromstring(junit(saying(text)).encode())
    assert len(list(suite.iter("failure"))) == 1


def test_control_characters_are_shown_as_escapes() -> None:
    failure = ET.fromstring(junit(saying("a\x00b\x1b[31m\ud800"))).find(".//failure")
    assert failure is not None
    assert failure.get("message") == "a\\u0000b\\u001b[31m\\ud800"


def test_the_summary_has_the_verdict_a_row_a_rule_and_what_moved() -> None:
    told = summary(VERDICT, COMPARED)
    lines = told.splitlines()
    assert lines[0] == "## Assay gate: FAIL"
    assert lines[2] == "now on docs, against then: 1 fail, 1 inconclusive, 1 pass."
    assert [line.split(" | ")[0] for line in lines if line.startswith("| ")][2:] == [
        "| FAIL",
        "| INCONCLUSIVE",
        "| PASS",
        "| -",
    ]
    assert "Cases that fell most:" in told
    assert "- system: then -\\> now" in told


def test_a_comment_begins_with_its_marker_and_the_verdict_and_folds_what_is_right() -> None:
    lines = pull_request(VERDICT, COMPARED).splitlines()
    assert lines[:2] == [MARKER, "## Assay gate: FAIL"]
    assert "- **FAIL** it is fail" in lines
    assert "<details><summary>2 other rules</summary>" in lines
    assert pull_request(Verdict(run="a", baseline=None, dataset="", rules=())).splitlines()[3] == (
        "a, without a baseline: no rule applied."
    )


def test_words_of_a_query_are_no_markup_and_call_nobody() -> None:
    told = pull_request(VERDICT, COMPARED)
    assert "who is @\u200badmin? \\| \\<b\\>bold\\</b\\> \\#\u200b1: mrr" in told
    assert escape("a\n\n# b `c` ![x](y)") == "a \\# b \\`c\\` \\!\\[x\\](y)"
    assert escape("ndcg@5") == "ndcg@5"


def test_cases_that_fell_are_findings() -> None:
    found = sarif(COMPARED, artifact="baseline.json")["runs"][0]
    assert [(one["level"], one["message"]["text"]) for one in found["results"]] == [
        ("error", "a who is @admin? | <b>bold</b> #1: mrr fell from 1.000 to 0.000"),
        ("warning", "b: mrr fell from 1.000 to 0.500"),
    ]
    rules = {rule["id"] for rule in found["tool"]["driver"]["rules"]}
    assert {one["ruleId"] for one in found["results"]} == rules


def test_every_file_is_written_and_a_summary_is_added_to_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_text("before\n", encoding="utf-8")
    outputs = Outputs(
        junit=tmp_path / "deep" / "gate.xml",
        summary=tmp_path / "summary.md",
        comment=tmp_path / "comment.md",
        sarif=tmp_path / "gate.sarif",
    )
    assert len(outputs.write(VERDICT, COMPARED, baseline="baseline.json")) == 4
    assert ET.parse(tmp_path / "deep" / "gate.xml").getroot().tag == "testsuite"
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("before\n## Assay gate: FAIL")
    assert json.loads((tmp_path / "gate.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert Outputs().write(VERDICT, COMPARED, baseline="") == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        Outputs(junit=tmp_path / "file" / "gate.xml").write(VERDICT, None, baseline="")


def test_the_file_of_a_step_comes_from_the_environment() -> None:
    assert step_summary({"GITHUB_STEP_SUMMARY": "there.md"}) == Path("there.md")
    with pytest.raises(InputError, match="GITHUB_STEP_SUMMARY is not set"):
        step_summary({})
