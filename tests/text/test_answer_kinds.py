"""The kind of value a question asks for, and whether a sentence has one."""

from __future__ import annotations

import pytest

from assay.text.answer_kinds import AnswerKind, expected_kind, has_value
from assay.text.wording import wording


def finds(kind: AnswerKind, text: str, question: str = "") -> bool:
    """Whether a sentence has a value of a kind that the question does not have."""
    known = {fact.value for fact in wording(question).facts}
    return has_value(kind, text, wording(text).facts, known)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How much does the boat cost?", AnswerKind.MONEY),
        ("What is the price of a room?", AnswerKind.MONEY),
        ("How much is the deposit?", AnswerKind.MONEY),
        ("What did we pay for the piano?", AnswerKind.MONEY),
        ("When was the harbour built?", AnswerKind.DATE),
        ("In which year did she move?", AnswerKind.DATE),
        ("Since when is the bridge closed?", AnswerKind.DATE),
        ("What time does breakfast begin?", AnswerKind.TIME_OF_DAY),
        ("Until when can I check out?", AnswerKind.TIME_OF_DAY),
        ("What are the opening hours of the pool?", AnswerKind.TIME_OF_DAY),
        ("How long are backups kept?", AnswerKind.DURATION),
        ("How many nights did they stay?", AnswerKind.DURATION),
        ("How far is the station?", AnswerKind.LENGTH),
        ("How heavy is the anchor?", AnswerKind.MASS),
        ("What percentage of guests return?", AnswerKind.SHARE),
        ("How many rooms are there?", AnswerKind.NUMBER),
        ("How old is the ship?", AnswerKind.NUMBER),
        ("Who has the key?", AnswerKind.NAME),
        ("Which company built the lift?", AnswerKind.NAME),
        ("What is the door code?", AnswerKind.CODE),
        ("What is the phone number of the porter?", AnswerKind.CODE),
        ("Why is the bridge closed?", None),
        ("How do I book the boat?", None),
        ("Is the pool heated?", None),
        ("", None),
    ],
)
def test_a_question_asks_for_a_kind_of_value_or_for_any_statement(question: str, kind: AnswerKind | None) -> None:
    assert expected_kind(question) is kind
    assert expected_kind(question.upper()) is kind


def test_a_question_over_several_lines_is_read_like_one_line() -> None:
    assert expected_kind("How\n  much\ndoes the boat cost?") is AnswerKind.MONEY


@pytest.mark.parametrize(
    ("kind", "with_value", "without"),
    [
        (AnswerKind.MONEY, "The boat costs 30 euros.", "The boat seats 30 people."),
        (AnswerKind.DATE, "The harbour was built on 3 May 1911.", "The harbour was built by hand."),
        (AnswerKind.DATE, "The harbour was built in 1911.", "The harbour has 19 boats."),
        (AnswerKind.DATE, "The pool is closed on Monday.", "The pool is closed."),
        (AnswerKind.TIME_OF_DAY, "Breakfast begins at 07:30.", "Breakfast begins early."),
        (AnswerKind.DURATION, "They are kept for 30 days.", "They are kept in 30 boxes."),
        (AnswerKind.LENGTH, "The station is 3 km away.", "The station has 3 platforms."),
        (AnswerKind.MASS, "The anchor weighs 40 kg.", "The anchor lies 40 days."),
        (AnswerKind.SHARE, "About 40 % of the guests return.", "About 40 guests return."),
        (AnswerKind.NUMBER, "There are 12 rooms.", "There are many rooms."),
        (AnswerKind.NAME, "The key is with Ada Winter.", "The key is with the porter."),
        (AnswerKind.CODE, "The door opens with 4711.", "The door opens with a key."),
    ],
)
def test_a_value_of_a_kind_is_found_and_another_value_is_not_taken_for_it(
    kind: AnswerKind, with_value: str, without: str
) -> None:
    assert finds(kind, with_value)
    assert not finds(kind, without)


@pytest.mark.parametrize(
    ("kind", "question", "repeated", "new"),
    [
        (
            AnswerKind.NAME,
            "Who gave Ada Winter the key?",
            "The key went to Ada Winter.",
            "Ada Winter got it from Tom Frost.",
        ),
        (
            AnswerKind.DATE,
            "When after 1911 was it rebuilt?",
            "It was built before 1911.",
            "It was rebuilt in 1954.",
        ),
        (AnswerKind.NUMBER, "How many of the 12 rooms are free?", "There are 12 rooms.", "Of 12 rooms 5 are free."),
    ],
)
def test_a_value_of_the_question_itself_does_not_count(
    kind: AnswerKind, question: str, repeated: str, new: str
) -> None:
    assert not finds(kind, repeated, question)
    assert finds(kind, new, question)


@pytest.mark.parametrize("amount", ["$30", "$ 30", "\u00a330", "\u00a5300", "\u20ac30", "30\u20ac", "30 \u20ac"])
def test_an_amount_with_the_sign_of_a_currency_is_money(amount: str) -> None:
    assert finds(AnswerKind.MONEY, f"The boat costs {amount} a day.")


def test_a_currency_sign_without_an_amount_is_no_money() -> None:
    assert not finds(AnswerKind.MONEY, "The prices are in $ and \u20ac.")


def test_a_currency_sign_says_nothing_about_another_kind() -> None:
    assert not finds(AnswerKind.NAME, "it costs $30")
