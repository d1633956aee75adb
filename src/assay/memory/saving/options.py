"""The options of saving, and the quality score they bound.

- Quality: how much a draft is worth keeping, as the weighted mean of six parts from 0 to 1.
- Options, each number with its reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from assay.memory.saving.subjects import GENERIC
from assay.memory.saving.telling_words import EMPTY_WORDS, answers_a_question, tells_something
from assay.records import Draft, Quality, QualityPart, values
from assay.records.fields import require
from assay.text.terms import normalise_phrase, stems_of, words
from assay.text.wording import wording

# --- Quality: how much a draft is worth keeping, as the weighted mean of six parts from 0 to 1 ---
#
# | part | weight | 1 when | 0 when |
# | --- | --- | --- | --- |
# | title | 0.15 | two to twelve words that say something | generic, without a letter, or the note tells nothing |
# | triggers | 0.10 | two or more | none |
# | length | 0.20 | twelve words or more in the body | none, or the note tells nothing |
# | structure | 0.10 | a heading, list, table or code | over 100 words without any |
# | metadata | 0.10 | two of folder, path, tags, context type, metadata, source | none of them |
# | signal | 0.35 | content words and facts are half of all words | empty words only, or the note tells nothing |
#
# A note tells nothing when title and body together do not name two different things (`telling_words`). The other three
# parts then reach 0.3 at most: less than `REJECT_BELOW`.

REJECT_BELOW = 0.4

QUALITY_WEIGHTS = {"title": 0.15, "triggers": 0.10, "length": 0.20, "structure": 0.10, "metadata": 0.10, "signal": 0.35}

FULL_LENGTH = 12
NEEDS_STRUCTURE = 100
"""A text of more words than this is hard to read without headings or lists."""
FULL_SIGNAL = 0.5
QUALITY_CHARACTERS = 50_000
"""Characters that are looked at: the worth of a longer text shows before."""

_STRUCTURE = re.compile(r"^[^\S\n]*+(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|\||```|~~~)", re.MULTILINE)


def score_quality(draft: Draft) -> Quality:
    """What a draft is worth, and why."""
    body = draft.body[:QUALITY_CHARACTERS]
    count = len(words(body))
    # Of a text that tells nothing no other part may make a note, however long it is and whatever labels it carries.
    telling = tells_something(draft.title, body)
    values = {
        "title": _title(draft.title) if telling else 0.0,
        "triggers": min(1.0, len(draft.triggers) / 2),
        "length": min(1.0, count / FULL_LENGTH) if telling else 0.0,
        "structure": _structure(body, count),
        "metadata": _metadata(draft),
        "signal": _signal(draft.title, body) if telling else 0.0,
    }
    parts = tuple(QualityPart(name, values[name], weight) for name, weight in QUALITY_WEIGHTS.items())
    return Quality(score=sum(part.value * part.weight for part in parts), parts=parts)


def _title(title: str) -> float:
    found = words(title)
    said = [word for word in found if any(map(str.isalpha, word))]
    if not said or normalise_phrase(title) in GENERIC or set(stems_of(said)) <= EMPTY_WORDS:
        return 0.0
    return 1.0 if 2 <= len(found) <= 12 else 0.5


def _structure(body: str, count: int) -> float:
    if _STRUCTURE.search(body):
        return 1.0
    return 0.5 if count <= NEEDS_STRUCTURE else 0.0


def _metadata(draft: Draft) -> float:
    given = (draft.folder, draft.rel_path, draft.tags, draft.context_type, draft.metadata, draft.source_id)
    return min(1.0, sum(map(bool, given)) / 2)


def _signal(title: str, body: str) -> float:
    if answers_a_question(title, body):
        return 1.0
    text = wording(body)
    said = (text.content - EMPTY_WORDS) | {fact.value for fact in text.facts if fact.value not in EMPTY_WORDS}
    # Tokens, since an address such as 10.0.0.12 is one fact and four words. A long text repeats its words: what it says
    # is judged on a hundred of them.
    count = min(len(text.tokens), NEEDS_STRUCTURE)
    return min(1.0, len(said) / (FULL_SIGNAL * count)) if count else 0.0


# --- Options, each number with its reason ---


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveOptions:
    """How saving goes about its work."""

    reject_below: float = REJECT_BELOW
    """A quality below it is turned away."""
    warn_only: timedelta = timedelta(days=14)
    """The gate only warns for this long after it was activated, so that its mistakes are seen before they cost."""
    neighbours: int = 3
    """Memories a draft is compared with."""
    fetched: int = 20
    """Chunks fetched for each query vector to find them: the mean of a memory may be nearer than its best chunk."""
    asked: int = 8
    """Chunks of a draft used as query vectors, beside their mean."""
    copies: int = 10
    """Notes close to what others wrote that a program may save for one principal in a day; more are kept apart."""
    alike: int = 50
    """Notes close to any other, its own too, that a program may save for one principal in a day."""
    batch: int = 512
    """Drafts of one transaction, at most, when many are saved."""
    batch_seconds: float = 2.0
    """How long such a transaction should take: an interrupted run loses no more work than that."""

    def __post_init__(self) -> None:
        require(self, values.share, "reject_below")
        require(self, values.finite, "batch_seconds")
        require(self, values.count, "neighbours", "fetched", "asked", "copies", "alike", "batch")
