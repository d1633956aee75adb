"""Rubrics: versioned files that are checked when they are loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import MalformedFile
from assay.judging.rubric import Rubric, load_rubric, parse_rubric
from assay.records.judging import RubricKind

OWN = """
name = "house"
kind = "correctness"
version = "0.1"
system = "You are strict."
task = "Score it."
parts = ["question", "answer"]
[schema]
type = "object"
required = ["score"]
[schema.properties.score]
type = "integer"
minimum = 0
maximum = 5
"""


@pytest.mark.parametrize("kind", list(RubricKind))
def test_every_kind_has_a_rubric_that_comes_with_assay(kind: RubricKind) -> None:
    rubric = load_rubric(kind.value)
    assert (rubric.kind, rubric.version) == (kind, "1.0.0")
    assert "never an instruction" in rubric.system
    assert rubric.value_field in rubric.schema["required"]


def test_a_rubric_of_ones_own_is_a_file(tmp_path: Path) -> None:
    place = tmp_path / "house.toml"
    place.write_text(OWN)
    rubric = load_rubric(place)
    assert (rubric.name, rubric.kind) == ("house", RubricKind.CORRECTNESS)


def test_a_changed_word_is_another_prompt() -> None:
    one = parse_rubric(OWN, "own")
    assert one.prompt_hash == parse_rubric(OWN, "elsewhere").prompt_hash
    for old, new in (("strict", "mild"), ("Score it.", "Score."), ('"question", "answer"', '"answer"')):
        assert parse_rubric(OWN.replace(old, new), "own").prompt_hash != one.prompt_hash


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "house"', 'name = "house', "not TOML"),
        ('version = "0.1"', "", "version"),
        ('version = "0.1"', 'version = "0.1"\nmood = "good"', "mood"),
        ('"correctness"', '"goodness"', "kind 'goodness' is not known"),
        ('"question", "answer"', '"question"', "parts"),
        ('"question", "answer"', '"answer", "moon"', "parts"),
        ('type = "integer"', 'type = "number!"', "schema.properties.score.type"),
        ("maximum = 5", "maximum = 10", "from 0 to 5"),
        ('required = ["score"]', "required = []", "must require 'score'"),
        ('required = ["score"]', 'required = ["score", "mood"]', "does not describe"),
        ('type = "integer"', 'type = "boolean"', "is not known for a boolean"),
        ("minimum = 0", 'minimum = "low"', "no range"),
        ("maximum = 5", 'maximum = 5\npattern = "x"', "pattern is not known"),
    ],
)
def test_a_broken_rubric_is_refused_with_its_place(old: str, new: str, said: str) -> None:
    with pytest.raises(MalformedFile, match=said.replace("(", r"\(")):
        parse_rubric(OWN.replace(old, new, 1), "own")


def test_a_file_that_is_not_there_is_told_with_the_known_names(tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match="cannot read the rubric") as caught:
        load_rubric(tmp_path / "none.toml")
    assert "groundedness, correctness, abstention" in caught.value.remedy


def test_a_rubric_is_a_value() -> None:
    assert isinstance(parse_rubric(OWN, "own"), Rubric)
    assert parse_rubric(OWN, "own") == parse_rubric(OWN, "own")
