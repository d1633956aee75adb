"""What is asked where a question stands in a conversation."""

from __future__ import annotations

from assay.records.datasets import Asking, Case, Dataset, Turn, build_query
from assay.records.searching import MAX_QUERY

HISTORY = (
    Turn(speaker="user", text="Is there a pool?"),
    Turn(speaker="agent", text="Yes, on the roof."),
)
CASE = Case(id="c", query="When does it open?", history=HISTORY)


def test_the_question_alone_or_with_what_came_before() -> None:
    assert build_query(CASE, Asking.LAST) == "When does it open?"
    assert build_query(CASE, Asking.USER) == "Is there a pool?\nWhen does it open?"
    assert build_query(CASE, Asking.CONVERSATION) == (
        "user: Is there a pool?\nagent: Yes, on the roof.\nuser: When does it open?"
    )


def test_a_question_without_history_is_asked_as_it_is() -> None:
    case = Case(id="c", query="When does it open?")
    assert {build_query(case, one) for one in Asking} == {"When does it open?"}


def test_the_oldest_turns_are_left_out_where_all_would_be_too_long() -> None:
    long = Case(id="c", query="And now?", history=(Turn(speaker="user", text="x" * MAX_QUERY), *HISTORY))
    assert build_query(long, Asking.USER) == "Is there a pool?\nAnd now?"
    assert build_query(long, Asking.CONVERSATION).startswith("user: Is there a pool?")


def test_the_turn_is_counted_by_what_the_user_said() -> None:
    assert CASE.turn == 2
    assert Case(id="c", query="x").turn == 1


def test_history_is_part_of_what_identifies_a_dataset() -> None:
    def content(*turns: Turn) -> str:
        return Dataset(name="d", documents=(), cases=(Case(id="c", query="q", history=turns),)).content_hash

    assert len({content(), content(*HISTORY), content(*reversed(HISTORY)), content(HISTORY[0])}) == 4
