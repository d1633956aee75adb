"""What a useful vote raises: its memory, for questions like the one it was cast on, and for no others.

Somebody who finds a result useful says so of one question. Were the memory raised for every question, it would push in
where nobody wanted it, be seen more, and be voted for more. So a vote bears on another question in the share of words
that both have; a vote outside any question, or on one that the log has forgotten, raises nothing. What lowers a memory
is another matter: what is wrong is wrong whatever is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from assay.memory.learning.denylist import DENYLIST
from assay.memory.learning.policy import READ_WORDS
from assay.memory.learning.validation import UP
from assay.text.terms import stems_of, words


class Praise(NamedTuple):
    """A useful vote that counted."""

    question: str
    steps: int
    """As how many it counted."""


def raised(question: str, praises: Iterable[Praise]) -> float:
    """By how much votes raise a confidence for a question: a step for each, as far as its own question bears on it."""
    asked = subject(question)
    return UP * sum(one.steps * bearing(asked, subject(one.question)) for one in praises)


@lru_cache(maxsize=2_000)
def subject(question: str) -> frozenset[str]:
    """What a question is about: the stems of its words, without those that stand in any question."""
    return frozenset(stems_of([one for one in words(question)[:READ_WORDS] if one not in DENYLIST]))


def bearing(one: frozenset[str], other: frozenset[str]) -> float:
    """Of what two questions are about, the share that both are about."""
    return len(one & other) / len(one | other) if one | other else 0.0
