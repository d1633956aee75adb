"""Heading paths have one spelling and one rule for "lies under"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import Chunk
from assay.records.heading_path import SEPARATOR, lies_under, normalise

parts = st.lists(st.text(alphabet="ab \t", max_size=4).map(str.strip).filter(bool), max_size=4)


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("", ""),
        (" > ", ""),
        (">", ""),
        ("Guide", "Guide"),
        ("Guide>Install", "Guide > Install"),
        ("  Guide  >   Install \n on\tLinux ", "Guide > Install on Linux"),
        ("Guide > > Install > ", "Guide > Install"),
        ("\u00c9tape > \u6f22\u5b57", "\u00c9tape > \u6f22\u5b57"),
    ],
)
def test_a_path_has_one_spelling(written: str, spelt: str) -> None:
    assert normalise(written) == spelt
    assert Chunk(memory_id="m_1", position=0, text="", token_count=0, heading_path=written).heading_path == spelt


@pytest.mark.parametrize(
    ("path", "ancestor", "expected"),
    [
        ("Guide > Install", "Guide", True),
        ("Guide > Install", "Guide>Install", True),
        ("Guide", "Guide > Install", False),
        ("Guidebook > Install", "Guide", False),
        ("Guide > Install", "Install", False),
        ("Guide", "guide", False),
        ("Guide", "", True),
        ("", "", True),
        ("", "Guide", False),
        ("Guide", " > ", True),
    ],
)
def test_a_path_lies_under_what_it_continues(path: str, ancestor: str, expected: bool) -> None:
    assert lies_under(path, ancestor) is expected


@given(st.text(alphabet="ab> \t\n", max_size=20))
def test_spelling_twice_changes_nothing(path: str) -> None:
    assert normalise(normalise(path)) == normalise(path)


@given(parts, parts)
def test_every_path_lies_under_its_beginnings(outer: list[str], inner: list[str]) -> None:
    assert lies_under(SEPARATOR.join(outer + inner), SEPARATOR.join(outer))
