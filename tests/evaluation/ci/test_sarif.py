"""SARIF: what the schema demands of a log, and findings that point at the line of their case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator  # type: ignore[import-untyped] # it has no stubs here
from tests.evaluation.made import reading

from assay.evaluation.ci import MOST, Outputs, case_lines, sarif
from assay.evaluation.comparison import Compared, compare_two
from assay.evaluation.gating import Verdict

LEVEL = {"enum": ["none", "note", "warning", "error"]}
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {"properties": {"uri": {"type": "string", "pattern": r"^[^\s\\\\]+$"}}},
                "region": {"properties": {"startLine": {"type": "integer", "minimum": 1}}},
            },
        }
    },
}
RULES_OF_THE_SCHEMA = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {
                                        "uniqueItems": True,
                                        "items": {
                                            "required": ["id"],
                                            "properties": {
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "help": TEXT,
                                                "defaultConfiguration": {
                                                    "properties": {
                                                        "level": {"enum": ["none", "note", "warning", "error"]}
                                                    }
                                                },
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                    "results": {
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": LEVEL,
                                "message": TEXT,
                                "locations": {"type": "array", "items": LOCATION},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                                "properties": {"type": "object"},
                            },
                        }
                    },
                },
            },
        },
    },
}
"""The parts of the published schema that a log of this kind can break, in its own terms."""


def fallen(cases: dict[str, float], **more: Any) -> Compared:
    before = reading({"mrr": dict.fromkeys(cases, 1.0)}, name="then")
    return compare_two(before, reading({"mrr": cases}, **more))


def valid(log: dict[str, Any]) -> dict[str, Any]:
    Draft7Validator(RULES_OF_THE_SCHEMA).validate(json.loads(json.dumps(log)))
    run: dict[str, Any] = log["runs"][0]
    ids = [one["id"] for one in run["tool"]["driver"]["rules"]]
    assert all(ids[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    return run


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=6))
def test_whatever_cases_are_called_the_log_is_valid(cases: dict[str, float]) -> None:
    run = valid(sarif(fallen({**cases, "x": 0.5}), artifact="my cases/golden.json"))
    assert len(run["results"]) == sum(value < 1.0 for value in {**cases, "x": 0.5}.values())


def test_a_lost_case_is_an_error_and_a_worse_one_a_warning() -> None:
    run = valid(sarif(fallen({"a": 0.0, "b": 0.5, "c": 1.0}), artifact="b.json", lines={"b": 17}))
    found = {one["properties"]["case"]: one for one in run["results"]}
    assert found["a"]["ruleId"] == "assay/case-lost"
    assert found["a"]["level"] == "error"
    assert found["b"]["level"] == "warning"
    place = found["b"]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "b.json", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 17}}
    assert found["a"]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_the_same_finding_has_the_same_fingerprint_whatever_the_numbers() -> None:
    one, other = (valid(sarif(fallen({"a": value, "b": 1.0}), artifact="b.json")) for value in (0.5, 0.2))
    assert one["results"][0]["partialFingerprints"] == other["results"][0]["partialFingerprints"]


def test_without_a_file_a_finding_has_no_place() -> None:
    assert valid(sarif(fallen({"a": 0.0, "b": 1.0}), artifact=""))["results"][0]["locations"] == []


def test_a_file_elsewhere_is_told_by_its_address(tmp_path: Path) -> None:
    run = valid(sarif(fallen({"a": 0.0, "b": 1.0}), artifact=str(tmp_path / "a b.json")))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
    assert uri.endswith("a%20b.json")


def test_too_many_findings_are_counted() -> None:
    run = valid(sarif(fallen({f"q{number}": 0.5 for number in range(MOST + 7)}), artifact="b.json"))
    assert len(run["results"]) == MOST
    assert run["properties"]["omitted"] == 7


def test_lines_are_those_that_name_the_case(tmp_path: Path) -> None:
    path = tmp_path / "golden.json"
    path.write_text(
        '{"queries": [\n {"query_id": "q1"},\n {"query_id": "q\\u0032",\n "query_text": "q1"}]}', encoding="utf-8"
    )
    assert case_lines(path, {"q1", "q2", "q3"}) == {"q1": 2, "q2": 3}
    assert case_lines(tmp_path / "none.json", {"q1"}) == {}


def test_the_datasets_file_is_pointed_into_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cases.jsonl").write_text('{"id": "b"}\n{"id": "a"}\n', encoding="utf-8")
    verdict = Verdict(run="now", baseline="then", dataset="docs", rules=())
    outputs = Outputs(sarif=Path("gate.sarif"), cases=Path("cases.jsonl"))
    outputs.write(verdict, fallen({"a": 0.0, "b": 1.0}), baseline="baseline.json")
    run = valid(json.loads(Path("gate.sarif").read_text(encoding="utf-8")))
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("cases.jsonl", 2)
