"""The statements of a passage: what is left out, what stays whole, and what is joined or kept apart."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.statements import show_statement, statements

# --- What states nothing ---


def test_front_matter_is_left_out() -> None:
    text = "---\ntitle: The boat\nprice: 30 euros\n---\nThe boat is blue."
    assert statements(text) == ["The boat is blue."]
    assert statements(text.replace("\n---\nThe", "\n...\nThe")) == ["The boat is blue."]


def test_a_rule_at_the_beginning_that_is_never_closed_is_no_front_matter() -> None:
    assert statements("---\nThe boat is blue.") == ["The boat is blue."]


def test_front_matter_stands_only_at_the_beginning() -> None:
    text = "The boat is blue.\n\n---\ncolour: red\n\n---\n"
    assert "colour: red" in statements(text)


@pytest.mark.parametrize(
    "heading",
    ["# Prices", "###### Prices", "Prices\n======", "Prices\n---", "#"],
    ids=["one mark", "six marks", "underlined by =", "underlined by -", "empty"],
)
def test_a_heading_is_left_out(heading: str) -> None:
    assert statements(f"The boat is blue.\n\n{heading}\n\nIt costs 30 euros.") == [
        "The boat is blue.",
        "It costs 30 euros.",
    ]


def test_a_number_sign_before_a_word_is_no_heading() -> None:
    assert statements("#12 is the room with the balcony.") == ["#12 is the room with the balcony."]


@pytest.mark.parametrize(
    "mark", ["---", "***", "* * *", "___", "=====", "```", "~~~", "- ", "1. ", "- [ ]", "...", "| | |"]
)
def test_rules_fences_and_empty_items_are_left_out(mark: str) -> None:
    assert statements(f"The boat is blue.\n\n{mark}\n\nIt costs 30 euros.") == [
        "The boat is blue.",
        "It costs 30 euros.",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "---", "# Only a heading", "| - | - |"])
def test_a_passage_without_a_statement_has_none(text: str) -> None:
    assert statements(text) == []


# --- Tables and lists ---


def test_rows_of_a_table_stay_whole_without_its_header_and_separator() -> None:
    table = "| Room | Price |\n| :--- | ---: |\n| Deluxe. Large. | 180 euros |\n| Standard | 120 euros |"
    assert statements(table) == ["| Deluxe. Large. | 180 euros |", "| Standard | 120 euros |"]


def test_a_table_without_pipes_at_its_sides_is_one_too() -> None:
    table = "Room | Price\n--- | ---\nDeluxe. Large. | 180 euros"
    assert statements(table) == ["Deluxe. Large. | 180 euros"]


@pytest.mark.parametrize("mark", ["-", "*", "+", "\u2022", "1.", "12)", "- [ ]", "- [x]"])
def test_an_item_of_a_list_stays_whole_without_its_mark(mark: str) -> None:
    assert statements(f"{mark} Bring a towel. It may rain.\n{mark} Bring a hat.") == [
        "Bring a towel. It may rain.",
        "Bring a hat.",
    ]


def test_an_item_that_is_too_long_to_quote_is_split_into_sentences() -> None:
    sentence = "The boat is blue and has a white sail."
    found = statements("- " + " ".join([sentence] * 100))
    assert len(found) == 100
    assert found[1] == sentence


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("| Deluxe | 180 euros |", "Deluxe, 180 euros"),
        ("Deluxe | 180 euros", "Deluxe, 180 euros"),
        ("| Deluxe | | 180 euros |", "Deluxe, 180 euros"),
        ("The boat is blue.", "The boat is blue."),
    ],
)
def test_a_row_is_shown_without_pipes(statement: str, shown: str) -> None:
    assert show_statement(statement) == shown


# --- Lines ---


def test_a_sentence_wrapped_at_the_width_of_a_page_is_joined() -> None:
    text = (
        "The harbour master keeps the key of the blue boat in\n"
        "the top drawer of the desk and gives it to members of\n"
        "the club only. It is returned before\nNoon."
    )
    assert statements(text)[0] == (
        "The harbour master keeps the key of the blue boat in the top drawer of the desk and gives it to members of "
        "the club only."
    )


def test_a_wrapped_item_is_joined_and_stays_whole() -> None:
    text = "- The harbour master keeps the key. It is returned to\n  the porter before noon.\n- Bring a hat."
    assert statements(text) == [
        "The harbour master keeps the key. It is returned to the porter before noon.",
        "Bring a hat.",
    ]


def test_an_item_does_not_go_on_in_the_next_item() -> None:
    text = "- the harbour master keeps the key of the blue boat\n- bring a hat\n1. bring a towel"
    assert statements(text) == ["the harbour master keeps the key of the blue boat", "bring a hat", "bring a towel"]


def test_lines_of_a_record_are_kept_apart() -> None:
    record = "guest: Ada Winter\nroom: 12\narrival: 3 May 2024\nremark: late arrival | ground floor"
    assert statements(record) == record.split("\n")


def test_an_empty_line_ends_a_statement() -> None:
    first = "the harbour master keeps the key of the blue boat in the drawer"
    assert statements(f"{first}\n\nand the porter has another one") == [first, "and the porter has another one"]


# --- Any text ---


def count_calls(text: str) -> int:
    """Return how many functions are called to read a text: the work, without a clock."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        statements(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "line",
    [
        "the boat is blue and has a white sail and goes on and\n",
        "| Deluxe | 180 euros |\n",
        "- Bring a hat.\n",
        "---\n",
    ],
    ids=["wrapped lines", "rows", "items", "rules"],
)
def test_the_work_grows_with_the_length_of_the_text_and_not_faster(line: str) -> None:
    small, large = (count_calls(line * count) for count in (500, 5_000))
    assert large < 15 * small


@pytest.mark.parametrize("text", ["-" * 200_000, "- " * 100_000, "| " * 100_000, "#" * 200_000, "1. " * 70_000 + "x"])
def test_one_huge_line_of_marks_is_read(text: str) -> None:
    assert "".join(statements(text)).count("x") == text.count("x")


def test_one_huge_word_is_not_lost() -> None:
    assert "".join(statements("a" * 200_000)) == "a" * 200_000


@given(st.text(max_size=300))
def test_a_statement_has_letters_or_numbers_of_the_text_and_nothing_else(text: str) -> None:
    for statement in statements(text):
        assert any(map(str.isalnum, statement))
        rest = iter(text)
        assert all(character in rest for character in statement if not character.isspace())
