"""The options of saving, and the quality score they bound.

- Quality: how much a draft is worth keeping, as the weighted mean of six parts from 0 to 1.
- Options, each number with its reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from assay.memory.saving.agreement import GENERIC
from assay.records import Draft, Quality, QualityPart, values
from assay.records.fields import require
from assay.text.terms import normalise_phrase, stems_of, words
from assay.text.wording import wording, words_of

# --- Quality: how much a draft is worth keeping, as the weighted mean of six parts from 0 to 1 ---
#
# | part | weight | 1 when | 0 when |
# | --- | --- | --- | --- |
# | title | 0.15 | two to twelve words that say something | generic, or without a letter |
# | triggers | 0.10 | two or more | none |
# | length | 0.20 | twelve words or more in the body | none |
# | structure | 0.10 | a heading, list, table or code | over 100 words without any |
# | metadata | 0.10 | two of folder, path, tags, context type, metadata, source | none of them |
# | signal | 0.35 | distinct words of content and facts make up half of all words | empty words only |

REJECT_BELOW = 0.4

QUALITY_WEIGHTS = {"title": 0.15, "triggers": 0.10, "length": 0.20, "structure": 0.10, "metadata": 0.10, "signal": 0.35}

FULL_LENGTH = 12
NEEDS_STRUCTURE = 100
"""A text of more words than this is hard to read without headings or lists."""
FULL_SIGNAL = 0.5
QUALITY_CHARACTERS = 50_000
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
"""Content words that carry no information."""

_STRUCTURE = re.compile(r"^[^\S\n]*+(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|\||```|~~~)", re.MULTILINE)


def score_quality(draft: Draft) -> Quality:
    """What a draft is worth, and why."""
    body = draft.body[:QUALITY_CHARACTERS]
    count = len(words(body))
    values = {
        "title": _title(draft.title),
        "triggers": min(1.0, len(draft.triggers) / 2),
        "length": min(1.0, count / FULL_LENGTH),
        "structure": _structure(body, count),
        "metadata": _metadata(draft),
        "signal": _signal(body, count),
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


def _signal(body: str, count: int) -> float:
    text = wording(body)
    said = (text.content - EMPTY_WORDS) | {fact.value for fact in text.facts if fact.value not in EMPTY_WORDS}
    # A long text repeats its words: what it says is judged on a hundred of them.
    return min(1.0, len(said) / (FULL_SIGNAL * min(count, NEEDS_STRUCTURE))) if count else 0.0


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
    batch: int = 64
    """Drafts of one transaction, at most, when many are saved."""
    batch_seconds: float = 2.0
    """How long such a transaction should take: an interrupted run loses no more work than that."""

    def __post_init__(self) -> None:
        require(self, values.share, "reject_below")
        require(self, values.finite, "batch_seconds")
        require(self, values.count, "neighbours", "fetched", "asked", "copies", "alike", "batch")
