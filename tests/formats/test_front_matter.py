"""Front matter: what it gives, what is left of the text, and that nothing of a text is lost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assay.formats.front_matter import split


def test_properties_are_read_and_the_text_below_is_left() -> None:
    found = split("---\ntitle: A note\ntags: [one, '#two']\naliases: other, names\ncreated: 2025-02-03\n---\n\nText.\n")
    assert (found.title, found.tags, found.aliases, found.body) == (
        "A note",
        ("one", "two"),
        ("other", "names"),
        "Text.\n",
    )
    assert found.created == datetime(2025, 2, 3, tzinfo=UTC)
    assert found.properties["created"] == "2025-02-03"


@pytest.mark.parametrize(
    ("text", "body", "problem"),
    [
        ("No front matter.\n---\n", "No front matter.\n---\n", ""),
        ("---\nJust a sentence between two rules.\n---\nMore.\n", None, ""),
        ("---\n---\nEmpty.\n", "Empty.\n", ""),
        ("---\r\ntitle: x\r\n---\r\nText.\r\n", "Text.\r\n", ""),
        ("---\ntitle: x\n...\nText.\n", "Text.\n", ""),
        ("---\nbroken: [\n---\nText.\n", None, "line"),
        ("---\nnever ended\n", None, ""),
        ("--- \ntitle: x\n---", "", ""),
    ],
)
def test_what_is_not_front_matter_stays_text(text: str, body: str | None, problem: str) -> None:
    found = split(text)
    assert found.body == (text if body is None else body)
    assert problem in found.problem
    assert bool(found.problem) == bool(problem)


def test_values_are_json_and_dates_that_are_none_are_none() -> None:
    written = (
        "when: 2025-01-01 10:00:00",
        "many: !!set {b, a}",
        "bad: .nan",
        "7: seven",
        "date: soon",
        "tags: a b",
    )
    found = split("\n".join(("---", *written, "---", "x")))
    assert found.properties == {
        "when": "2025-01-01T10:00:00", "many": ["a", "b"], "bad": "nan", "7": "seven", "date": "soon",
        "tags": "a b",
    }  # fmt: skip
    assert found.created is None
    assert found.tags == ("a", "b")


def test_code_in_yaml_is_not_run() -> None:
    found = split("---\nx: !!python/object/apply:os.system ['true']\n---\nText.\n")
    assert found.problem
    assert found.properties == {}


def test_a_line_of_nested_lists_is_a_problem_of_that_text_alone() -> None:
    found = split("---\n" + "- " * 49_000 + "x\n---\nThe ferry runs.")
    assert found.problem
    assert found.body.endswith("The ferry runs.")
