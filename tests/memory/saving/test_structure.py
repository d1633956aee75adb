"""What a draft must be: paths inside their root, strict JSON, bounded lists, few constitutional memories."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.saving.conftest import draft

from assay.errors import BadValue
from assay.memory.saving import drafts
from assay.records import Format


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "..", "../x", "a/../../x", "a/..", "~/x", "~ada/x", "a\\b", "C:/x", "C:x", "//server/x"]
)
@pytest.mark.parametrize("field", ["rel_path", "folder"])
def test_a_path_outside_its_root_is_refused(path: str, field: str) -> None:
    with pytest.raises(BadValue, match=field):
        drafts.check_draft(draft(**{field: path}))


@pytest.mark.parametrize("path", ["", "a", "a/b.md", "a/..b/c", "./a", "a b/ü.md", "..."])
def test_a_path_inside_its_root_is_fine(path: str) -> None:
    drafts.check_draft(draft(rel_path=path))


@given(parts=st.lists(st.sampled_from(["..", ".", "a", "b", "", "~", "/"]), max_size=6))
def test_whatever_passes_stays_below_the_root_it_is_joined_to(parts: list[str]) -> None:
    path = "/".join(parts)
    try:
        drafts.check_draft(draft(rel_path=path))
    except BadValue:
        return
    root = Path("/srv/root")
    assert (root / PurePosixPath(path)).resolve().is_relative_to(root)


@pytest.mark.parametrize("body", ['{"a": 1}', "[]", "3", '"text"', '{"a": {"b": [null, true, 1.5]}}'])
def test_json_is_read(body: str) -> None:
    drafts.check_draft(draft(body=body, format=Format.JSON))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{", "line 1 column 2"),
        ("{'a': 1}", "not JSON"),
        ('{"a": NaN}', "NaN"),
        ("[Infinity]", "Infinity"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(body: str, told: str) -> None:
    with pytest.raises(BadValue, match=told):
        drafts.check_draft(draft(body=body, format=Format.JSON))


def test_what_is_not_json_is_fine_as_text() -> None:
    drafts.check_draft(draft(body="{", format=Format.TEXT))


@pytest.mark.parametrize(
    "given",
    [
        {"triggers": tuple(map(str, range(51)))},
        {"tags": tuple(map(str, range(101)))},
        {"metadata": {"text": "x" * 100_000}},
        {"metadata": {"assay": {"automated": True}}},
    ],
)
def test_lists_and_metadata_are_bounded_and_one_key_is_reserved(given: dict[str, Any]) -> None:
    with pytest.raises(BadValue) as problem:
        drafts.check_draft(draft(**given))
    assert problem.value.remedy


def test_constitutional_memories_have_a_number_and_a_size_at_and_beyond_the_limit() -> None:
    drafts.check_constitutional(200, [200] * 9)
    with pytest.raises(BadValue, match="there are 10"):
        drafts.check_constitutional(1, [1] * 10)
    with pytest.raises(BadValue, match=r"2,001 tokens together \(201 of them new\)"):
        drafts.check_constitutional(201, [200] * 9)
