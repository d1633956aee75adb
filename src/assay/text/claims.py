"""An answer as the claims it makes: one for each sentence that states something, with the citations it carries.

Questions, greetings and sentences that only lead to others ("Here are three reasons:") state nothing that could be
supported, so they are no claims.
"""

from __future__ import annotations

import re

from assay.records.answers import Claim
from assay.text.sentences import sentences
from assay.text.terms import words

MOST_CLAIMS = 100
"""Of one answer; what comes after them is not judged, and the judge says so."""
FEWEST_WORDS = 2
"""A sentence of fewer words states nothing unless it has a number."""

_CITATION = re.compile(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
_LEAD = re.compile(
    r"^(?:here (?:is|are)|sure|certainly|of course|hello|hi|thanks?|thank you|sorry|i hope|let me)\b.*", re.IGNORECASE
)


def claims(answer: str) -> list[Claim]:
    """The claims of an answer, in order; each sentence with the numbers it cites."""
    found = [claim for sentence in sentences(answer) if (claim := _claim(sentence)) is not None]
    return found[:MOST_CLAIMS]


def without_citations(text: str) -> str:
    """A text without its marks `[1]`."""
    return re.sub(r"(?<!\s)\s+([.,;:!?])", r"\1", _CITATION.sub("", text)).strip()


def cited(text: str) -> tuple[int, ...]:
    """The numbers a text cites, each once, in order."""
    numbers = (int(number) for group in _CITATION.findall(text) for number in re.findall(r"\d+", group))
    return tuple(dict.fromkeys(numbers))


def _claim(sentence: str) -> Claim | None:
    text = without_citations(sentence)
    if text.endswith("?") or (_LEAD.match(text) and text.endswith((":", "!"))):
        return None
    found = words(text)
    if len(found) < FEWEST_WORDS and not any(character.isdigit() for character in text):
        return None
    return Claim(text=text, citations=cited(sentence))
