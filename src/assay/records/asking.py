"""What a system is asked where a question stands in a conversation: the question alone, or with what came before.

A retriever gets one text. Which one is a choice that moves numbers, so it is made here, once, and kept with the run as
part of its subject: two choices can be compared like two systems.
"""

from __future__ import annotations

from enum import StrEnum

from assay.records.datasets import Case
from assay.records.searching import MAX_QUERY


class Asking(StrEnum):
    """Which text of a conversation is the query."""

    LAST = "last"
    """The question alone."""
    USER = "user"
    """Everything the user said, oldest first, the question last."""
    CONVERSATION = "conversation"
    """Both sides, each turn as `speaker: text`."""


def asked(case: Case, asking: Asking) -> str:
    """The text of a case; the oldest turns are left out where all of them would be too long to ask."""
    if asking is Asking.LAST or not case.history:
        return case.query
    if asking is Asking.USER:
        earlier = [one.text for one in case.history if one.by_user]
        return _newest([*earlier, case.query])
    return _newest([*(f"{one.speaker}: {one.text}" for one in case.history), f"user: {case.query}"])


def _newest(lines: list[str]) -> str:
    kept: list[str] = []
    length = 0
    for line in reversed(lines):
        length += len(line) + 1
        if kept and length > MAX_QUERY:
            break
        kept.append(line)
    return "\n".join(reversed(kept))
