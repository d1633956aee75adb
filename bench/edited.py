"""Answers that copy a sentence of a passage, but for one thing: a number, a negation, a name, a clause, a sentence.

A judge has to lower its probability for each of them against the copy. Everything is chosen by hashes of the texts, so
each run makes the same edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from assay.hashing import bucket
from assay.text.claims import claims, sentences
from bench.labelled import Judged

FEWEST_WORDS, MOST_WORDS = 8, 40
"""Of a sentence that is copied."""
STRANGE_NAME = "Fenwick"
STRANGE_CLAUSE = "the committee awarded a purple bicycle to the winner"

_NUMBER = re.compile(r"\b\d{2,4}\b")
_VERB = re.compile(r"\b(?:is|was|were|are|has|had|can|will)\b")
_NAME = re.compile(r"(?<=[a-z] )[A-Z][a-z]{3,}\b")


class Edit(NamedTuple):
    """One sentence of an item's passages, and the same with an error."""

    kind: str
    copy: str
    text: str


def edit(item: Judged) -> list[Edit]:
    """Make every edit that one sentence of the item allows; none when no sentence can be copied."""
    usable = [sentence for passage in item.passages for sentence in sentences(passage) if _is_usable(sentence)]
    if not usable:
        return []
    copy = usable[bucket(item.text, "edited") * len(usable) // 100]
    return [Edit(kind, copy, text) for kind, text in _texts(copy) if len(claims(text)) >= 1]


def _texts(copy: str) -> Iterator[tuple[str, str]]:
    if number := _NUMBER.search(copy):
        yield "a changed number", _replace(copy, number, str(int(number[0]) + 7))
    if verb := _VERB.search(copy):
        yield "a negation", _replace(copy, verb, f"{verb[0]} not")
    if name := _NAME.search(copy):
        yield "another name", _replace(copy, name, STRANGE_NAME)
    yield "an added clause", f"{copy.removesuffix('.')}, and {STRANGE_CLAUSE}."
    yield "an added sentence", f"{copy} {STRANGE_CLAUSE.capitalize()}."


def _replace(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


def _is_usable(sentence: str) -> bool:
    whole = sentence.endswith(".") and len(claims(sentence)) == 1
    return whole and FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS
