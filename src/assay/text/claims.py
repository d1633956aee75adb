"""Sentences of a text, and the claims of an answer with their citations.

- Split a text into sentences.
- Claims of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.records.answers import Claim
from assay.text.terms import words

# --- Split a text into sentences ---
#
# Marks end a sentence when a space and something that can begin one follow; abbreviations, initials and numbered items
# do not. A line of its own (a heading, an item of a list) is a sentence. What is longer than `LONGEST` is cut at a
# space.

LONGEST = 1_000
"""Characters of one sentence."""

# A run of marks is looked at from its first alone: else a line of dots would take the square of its length. Citations
# behind a mark belong to the sentence before them and are never given back, also where they end the text.
_END = re.compile(
    r"""(?<![.!?])[.!?]++["')\]\u201d\u2019]*(?:\s*\[\d+(?:\s*,\s*\d+)*\])*+\s+(?=["'(\[\u201c\u2018*`]*[^\W_a-z])"""
    r"|[\u3002\uff01\uff1f]"
)
_MARK = re.compile(r"^(?:[-*+\u2022]|\d{1,3}[.)]|[a-z][.)]|#{1,6}|>)\s+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|dr|mr|mrs|ms|prof|st|no|nos|vol|fig|figs|eq|al|cf|vs|e\.g|i\.e|etc|inc|ltd|co|corp|jr|sr"
    r"|approx|ca|gen|col|sgt|capt|rev|hon|u\.s|u\.k|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, without the marks of lists and headings."""
    # What no store can keep is no part of a sentence: claims and quotations made of them are records.
    plain = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    return [sentence for line in plain.splitlines() for sentence in _of_line(line)]


def _of_line(line: str) -> Iterator[str]:
    rest = _MARK.sub("", line.strip())
    start = 0
    for mark in _END.finditer(rest):
        if not _ABBREVIATION.search(rest[max(start, mark.start() - 12) : mark.start() + 1]):
            yield from _bound(rest[start : mark.end()])
            start = mark.end()
    yield from _bound(rest[start:])


def _bound(sentence: str) -> Iterator[str]:
    rest = sentence.strip()
    while len(rest) > LONGEST:
        cut = rest.rfind(" ", LONGEST // 2, LONGEST)
        cut = cut if cut > 0 else LONGEST
        yield rest[:cut].strip()
        rest = rest[cut:].strip()
    if any(character.isalnum() for character in rest):
        yield rest


# --- Claims of an answer ---
#
# Questions, greetings and sentences that only lead to others ("Here are three reasons:") state nothing that could be
# supported, so they are no claims.

MOST_CLAIMS = 100
"""Claims of one answer at most; the rest is not judged, and the judge reports that."""
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


def find_citations(text: str) -> tuple[int, ...]:
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
    return Claim(text=text, citations=find_citations(sentence))
