"""What stands around a turn of a chat: the words of its neighbours, by which a search finds it too.

A turn often makes sense only with its neighbours: "Yes, since May!" answers a question that stands before it. Its own
text and its vector stay as they are; the words of the neighbours are kept beside it (`MemoryRecord.surroundings`) and
indexed with it, once each. Which turns and how many words: `design/conversations.md`.
"""

from __future__ import annotations

from collections.abc import Sequence

REACH = 2
"""Turns before and after that belong to the surroundings."""
LONGEST_TURN = 100
"""Words from which on a turn makes sense alone. Long answers of an assistant would otherwise be found by every question
they are near to."""
MOST_WORDS = 120
"""Words taken from one neighbour."""


def find_surroundings(turns: Sequence[str]) -> list[str]:
    """Return for each turn of one sitting the text around it; empty for a turn that is long enough to stand alone."""
    return [_around(turns, place) if len(turn.split()) < LONGEST_TURN else "" for place, turn in enumerate(turns)]


def _around(turns: Sequence[str], place: int) -> str:
    near = (*turns[max(0, place - REACH) : place], *turns[place + 1 : place + 1 + REACH])
    return "\n".join(filter(None, map(_beginning, near)))


def _beginning(turn: str) -> str:
    """The first lines of a turn, whole, so that a text that is erased is found in copies of it; at least one line."""
    lines: list[str] = []
    count = 0
    for line in turn.splitlines():
        count += len(line.split())
        if lines and count > MOST_WORDS:
            break
        lines.append(" ".join(line.split()[:MOST_WORDS]))
    return "\n".join(lines)
