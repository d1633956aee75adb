"""What the rules read out of a question."""

from __future__ import annotations

import pytest

from assay.records.research import QuestionKind
from assay.text.questions import LONGEST, part_stems, read_question


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between Postgres and SQLite for small apps?", ("Postgres", "SQLite")),
        ("Is tea healthier than coffee?", ("tea", "coffee")),
        ("Compare Rust with Go in compile time", ("Rust", "Go")),
        ("Should I use tabs or spaces?", ("tabs", "spaces")),
        ("How does a virus differ from a bacterium?", ("virus", "bacterium")),
        ("Which languages target WebAssembly, other than Rust?", ()),
        ("How do I boil an egg?", ()),
    ],
)
def test_the_sides_of_a_comparison_are_found(question: str, sides: tuple[str, ...]) -> None:
    asked = read_question(question)
    assert asked.sides == sides
    assert (asked.kind is QuestionKind.COMPARISON) == bool(sides)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Why did it fail, and who was responsible?", ("Why did it fail", "who was responsible")),
        ("Who founded the Red Cross and why?", ("Who founded the Red Cross", "why")),
        ("What are the causes and effects of rust?", ("causes of rust", "effects of rust")),
        ("How do I list containers and stop them?", ("How do I list containers", "stop them")),
        ("What do salt and pepper cost?", ("What do salt and pepper cost",)),
    ],
)
def test_the_parts_of_a_question_are_found(question: str, parts: tuple[str, ...]) -> None:
    assert read_question(question).parts == parts


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many people lived in Rome?", QuestionKind.QUANTITY),
        ("When was it opened?", QuestionKind.TIME),
        ("Why is the sky blue?", QuestionKind.REASON),
        ("How do I install it?", QuestionKind.PROCEDURE),
        ("What is CRISPR?", QuestionKind.DEFINITION),
        ("Who wrote it?", QuestionKind.FACT),
        ("Does the lease allow pets?", QuestionKind.YES_NO),
        ("Could you please tell me about the French Revolution", QuestionKind.OPEN),
    ],
)
def test_the_kind_of_answer_is_read(question: str, kind: QuestionKind) -> None:
    assert read_question(question).kind is kind


def test_time_and_what_is_ruled_out_are_kept_apart_from_the_subject() -> None:
    asked = read_question("Which European countries except Switzerland used the euro since 2015?")
    assert asked.excluded == ("Switzerland",)
    assert asked.time == ("since 2015",)
    assert "switzerland" not in asked.keys
    assert "euro" in asked.keys


def test_a_question_in_another_language_keeps_its_words() -> None:
    asked = read_question("Wie lange werden Backups aufbewahrt?")
    assert asked.kind is QuestionKind.OPEN
    assert "backups" in asked.keys


@pytest.mark.parametrize("question", ["", "???", "x" * 50_000, "is it more " * 5_000, "\n" * 50_000, "no, " * 12_000])
def test_whatever_is_asked_is_read(question: str) -> None:
    assert len(read_question(question).text) <= LONGEST


def test_words_that_an_answer_replaces_are_not_looked_for_in_it() -> None:
    assert part_stems("how long are backups kept") == ["backup", "kept"]
    assert part_stems("how long") == ["long"]
