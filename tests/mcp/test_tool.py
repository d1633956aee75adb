"""Arguments from clients: wrong ones are told by name with what to do, and every limit stands in the schema."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it ships no types

from assay.errors import BadValue
from assay.mcp.tools import BY_NAME, TOOLS, Tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
every_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.name))


def refused(name: str, **given: Any) -> BadValue:
    with pytest.raises(BadValue) as problem:
        BY_NAME[name].read(given)
    return problem.value


@every_tool
def test_every_field_is_described_and_every_text_and_list_has_a_limit(tool: Tool[Any, Any]) -> None:
    schema = tool.describe().input_schema
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    for field, one in schema["properties"].items():
        assert one.get("description"), field
        for part in one.get("anyOf", [one]):
            if part.get("type") == "string" and "enum" not in part and part.get("format") != "date-time":
                assert part["maxLength"], field
            if part.get("type") == "array":
                assert part["maxItems"], field


@every_tool
def test_every_result_is_an_object_with_a_schema(tool: Tool[Any, Any]) -> None:
    schema = tool.describe().output_schema
    assert schema is not None
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"


@given(
    tool=st.sampled_from(TOOLS),
    given=st.dictionaries(st.sampled_from(["query", "k", "memory_id", "body", "tags", "x"]), JSON, max_size=4),
)
def test_any_json_is_taken_or_refused_with_a_remedy(tool: Tool[Any, Any], given: dict[str, Any]) -> None:
    with suppress(BadValue):
        tool.read(given)
        return
    with pytest.raises(BadValue, match=tool.name) as problem:
        tool.read(given)
    assert problem.value.remedy


@pytest.mark.parametrize(
    ("name", "given", "said", "remedy"),
    [
        ("memory_search", {"query": 5}, "query: input should be a valid string, not 5", "query: Words or a question"),
        ("memory_search", {"query": "a", "k": "5"}, "k: input should be a valid integer, not '5'", "1 to 100"),
        ("memory_search", {"query": "a", "k": True}, "k: input should be a valid integer", "1 to 100"),
        ("memory_search", {"query": "a", "k": 0}, "greater than or equal to 1, not 0", "1 to 100"),
        ("memory_search", {"query": "a", "k": 101}, "less than or equal to 100", "1 to 100"),
        ("memory_search", {}, "query is missing", "query: Words"),
        ("memory_search", {"query": "a", "quary": 1}, "there is no field quary", "Did you mean query?"),
        ("memory_search", {"query": "a", "tags": "b"}, "tags: input should be a valid", "tags: Only memories"),
        ("memory_search", {"query": "a" * 20_001}, "at most 20000 characters", "20,000"),
        ("memory_search", {"query": "a", "since": "soon"}, "since: ", "ISO 8601"),
        ("memory_search", {"query": "a", "mode": "wild"}, "mode: input should be 'quick'", "How much work"),
        ("memory_save", {"title": "a", "body": "b" * 1_000_001}, "at most 1000000 characters", "1,000,000"),
        ("memory_save", {"title": "a", "body": "b", "tags": ["x"] * 51}, "at most 50 items", "Up to 50 tags"),
        ("memory_causal_link", {"source_id": "a", "kind": "caused", "target_id": "b", "strength": 2.0}, "2.0", "1"),
        ("memory_health", {"verbose": True}, "there is no field verbose", "takes nothing"),
        ("eval_run", {"dataset": "../secret"}, "dataset: string should match", "by its name"),
        ("eval_run", {"dataset": ".hidden"}, "dataset: string should match", "by its name"),
        ("eval_compare", {"control": "/etc", "treatment": "latest"}, "control: string should match", "not a path"),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(name: str, given: dict[str, Any], said: str, remedy: str) -> None:
    problem = refused(name, **given)
    assert said in problem.message
    assert remedy in problem.remedy


def test_every_fault_is_told_at_once() -> None:
    problem = refused("memory_search", query=5, k="x", colour=1)
    assert all(word in problem.message for word in ("query", "k:", "colour"))


def test_a_wrong_value_is_repeated_in_part_only() -> None:
    assert len(refused("memory_search", query=["x" * 10_000]).message) < 200


def test_a_moment_without_a_zone_is_utc() -> None:
    read = BY_NAME["memory_search"].read({"query": "a", "since": "2026-05-31T14:00:00"})
    assert read.since == datetime(2026, 5, 31, 14, tzinfo=UTC)
