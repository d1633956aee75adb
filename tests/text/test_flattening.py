"""JSON as readable lines, in blocks that belong together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.text.sections import blocks

LEAVES = st.none() | st.booleans() | st.integers(-99, 99) | st.text(st.characters(codec="ascii", categories=["L"]))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [one for item in value.values() for one in leaves(item)] or ["{}"]
    if isinstance(value, list):
        return [one for item in value for one in leaves(item)] or ["[]"]
    return [value if isinstance(value, str) else json.dumps(value)]


@given(VALUES)
def test_every_leaf_is_one_line_in_document_order(value: Any) -> None:
    lines = [line for block in blocks(json.dumps(value)) for line in block.text.split("\n")]
    assert [line.rpartition(": ")[2] for line in lines] == leaves(value)


def test_an_object_is_told_by_its_members() -> None:
    body = '{"name": "Ada", "age": 36, "home": {"city": "London", "tags": ["x", "y"]}, "born": 1815}'
    assert [tuple(block) for block in blocks(body)] == [
        ("", "name: Ada\nage: 36"),
        ("home", "home.city: London\nhome.tags[0]: x\nhome.tags[1]: y"),
        ("", "born: 1815"),
    ]


def test_each_item_of_a_list_is_a_record_and_single_values_share_one() -> None:
    assert [tuple(block) for block in blocks('[{"a": 1}, {"a": 2}, 3, null, [4]]')] == [
        ("", "a: 1"),
        ("", "a: 2"),
        ("", "3\nnull"),
        ("", "[0]: 4"),
    ]
    assert [tuple(block) for block in blocks('{"users": [{"n": 1}, {"n": 2}], "ids": [5, 6]}')] == [
        ("users", "users[0].n: 1"),
        ("users", "users[1].n: 2"),
        ("ids", "ids: 5\nids: 6"),
    ]


def test_a_key_that_occurs_twice_is_kept_twice() -> None:
    assert blocks('{"a": 1, "a": 2}')[0].text == "a: 1\na: 2"


def test_nothing_is_lost_in_empty_values() -> None:
    assert blocks('{"a": [], "b": {}, "c": ""}')[0].text == "a: []\nb: {}\nc: "
    assert [blocks(body)[0].text for body in ("[]", "{}", "null", '"x"')] == ["[]", "{}", "null", "x"]


@pytest.mark.parametrize("body", ["", "{", "[1,]", "{'a': 1}", "[" * 100_000, "1" * 5_000])
def test_what_is_not_json_is_refused(body: str) -> None:
    with pytest.raises(BadValue, match="not JSON"):
        blocks(body)
