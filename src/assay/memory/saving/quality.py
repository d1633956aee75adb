"""How much a draft is worth keeping: the weighted mean of six parts, each from 0 to 1.

| part | weight | 1 when | 0 when |
| --- | --- | --- | --- |
| title | 0.15 | two to twelve words that say something | generic, or without a letter |
| triggers | 0.10 | two or more | none |
| length | 0.20 | twelve words or more in the body | none |
| structure | 0.10 | a heading, list, table or code | over 100 words without any |
| metadata | 0.10 | two of folder, path, tags, context type, metadata, source | none of them |
| signal | 0.35 | distinct words of content and facts make up half of all words | empty words only |
"""

from __future__ import annotations

import re

from assay.memory.saving.subject import GENERIC
from assay.records import Draft, Quality, QualityPart
from assay.text.terms import normalised_phrase, stems_of, words
from assay.text.wording import wording, words_of

REJECT_BELOW = 0.4

WEIGHTS = {"title": 0.15, "triggers": 0.10, "length": 0.20, "structure": 0.10, "metadata": 0.10, "signal": 0.35}

FULL_LENGTH = 12
NEEDS_STRUCTURE = 100
"""A text of more words than this is hard to read without headings or lists."""
FULL_SIGNAL = 0.5
READ = 50_000
"""Characters that are looked at: the worth of a longer text shows before."""

EMPTY_WORDS = frozenset(
    stems_of(
        words_of(
            "ok okay thanks thank test tests testing todo stuff thing things something anything somehow asdf "
            "qwerty foo bar baz misc etc various maybe probably placeholder lorem ipsum dolor tbd wip hello "
            "hi hey yes yeah some several blah whatever later soon untitled new good nice great"
        )
    )
)
"""Words of content that tell nobody anything."""

_STRUCTURE = re.compile(r"^[^\S\n]*+(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|\||```|~~~)", re.MULTILINE)


def score(draft: Draft) -> Quality:
    """What a draft is worth, and why."""
    body = draft.body[:READ]
    count = len(words(body))
    values = {
        "title": _title(draft.title),
        "triggers": min(1.0, len(draft.triggers) / 2),
        "length": min(1.0, count / FULL_LENGTH),
        "structure": _structure(body, count),
        "metadata": _metadata(draft),
        "signal": _signal(body, count),
    }
    parts = tuple(QualityPart(name, values[name], weight) for name, weight in WEIGHTS.items())
    return Quality(score=sum(part.value * part.weight for part in parts), parts=parts)


def _title(title: str) -> float:
    found = words(title)
    said = [word for word in found if any(map(str.isalpha, word))]
    if not said or normalised_phrase(title) in GENERIC or set(stems_of(said)) <= EMPTY_WORDS:
        return 0.0
    return 1.0 if 2 <= len(found) <= 12 else 0.5


def _structure(body: str, count: int) -> float:
    if _STRUCTURE.search(body):
        return 1.0
    return 0.5 if count <= NEEDS_STRUCTURE else 0.0


def _metadata(draft: Draft) -> float:
    given = (draft.folder, draft.rel_path, draft.tags, draft.context_type, draft.metadata, draft.source_id)
    return min(1.0, sum(map(bool, given)) / 2)


def _signal(body: str, count: int) -> float:
    text = wording(body)
    said = (text.content - EMPTY_WORDS) | {fact.value for fact in text.facts if fact.value not in EMPTY_WORDS}
    # A long text repeats its words: what it says is judged on a hundred of them.
    return min(1.0, len(said) / (FULL_SIGNAL * min(count, NEEDS_STRUCTURE))) if count else 0.0
