"""What stands around a turn of a chat."""

from __future__ import annotations

from assay.text.surroundings import LONGEST_TURN, MOST_WORDS, REACH, find_surroundings


def test_two_turns_on_each_side_belong_to_a_short_turn() -> None:
    turns = [f"turn {number}" for number in range(6)]
    around = find_surroundings(turns)
    assert around[0] == "turn 1\nturn 2"
    assert around[3] == "turn 1\nturn 2\nturn 4\nturn 5"
    assert REACH == 2


def test_a_long_turn_stands_alone_and_gives_only_its_beginning() -> None:
    first, second = " ".join(["word"] * MOST_WORDS), " ".join(["more"] * MOST_WORDS)
    short, long = "Yes.", f"{first}\n{second}"
    assert len(long.split()) >= LONGEST_TURN
    assert find_surroundings([short, long]) == [first, ""]


def test_nothing_stands_around_a_single_turn() -> None:
    assert find_surroundings(["Hello"]) == [""]
    assert find_surroundings([]) == []
