"""The words of a passage that support a sentence of an answer."""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.text.terms import stems

LEAST_SHARE = 0.5
"""Share of a sentence's words that its support must have."""
_UNIT = re.compile(r"[^\n.!?]+(?:[.!?](?!\s)[^\n.!?]*)*[.!?]?")


class SupportSpan(NamedTuple):
    """Where the support stands in a passage."""

    start: int
    end: int


def find_support(sentence: str, passage: str) -> SupportSpan | None:
    """Return where a passage says what a sentence says; None: no sentence of it has half of the words.

    The sentence itself where the passage has it word by word, else the sentence of the passage that shares most words.
    """
    wanted = sentence.strip()
    if not wanted:
        return None
    place = passage.find(wanted)
    if place >= 0:
        return SupportSpan(place, place + len(wanted))
    words = set(stems(wanted))
    best, share = None, 0.0
    for unit in _UNIT.finditer(passage):
        own = words & set(stems(unit.group()))
        if words and len(own) / len(words) > share:
            best, share = unit, len(own) / len(words)
    if best is None or share < LEAST_SHARE:
        return None
    text = best.group()
    return SupportSpan(best.start() + len(text) - len(text.lstrip()), best.end() - len(text) + len(text.rstrip()))
