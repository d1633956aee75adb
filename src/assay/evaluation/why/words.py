"""Words of queries and documents: which they share, how rare they are, and the part of a text that has most of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from assay.evaluation.placement import words_of
from assay.evaluation.waterfall import Gold
from assay.records.heading_path import lies_under
from assay.text.sections import document_sections

if TYPE_CHECKING:
    from assay.records.datasets import Dataset, Document

COMMON_SHARE = 0.4
"""A word that more of the documents have than this says nothing of any of them."""
FEW_DOCUMENTS = 10
"""Below this many documents, shares say nothing: then short words are taken for common ones."""
SHORTEST = 3
MOST_COUNTED = 5_000
"""Documents that rarity is counted over, the first by id."""
OPENING_WORDS = 24
TELLING_WORDS = 12
EXCERPT_WORDS = 60
_WORD = re.compile(r"[^\W_]+")
_MARKS = re.compile(r"[*#`]+")
"""Marks of Markdown that would be mistaken for those of words."""


class CorpusWords:
    """The words of a dataset's documents."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def content_words(self, text: str) -> tuple[str, ...]:
        """The words of a text that say something, each once, in order; common ones are left out."""
        return tuple(word for word in dict.fromkeys(words_of(text)) if not self._is_common(word))

    def telling_words(self, text: str, most: int, *, without: Collection[str] = ()) -> tuple[str, ...]:
        """The words of a text that it has often and few documents have; numbers are left out."""
        counts = Counter(words_of(text))
        known = [
            word
            for word in counts
            if word not in without and len(word) >= SHORTEST and not word.isdecimal() and not self._is_common(word)
        ]
        weights = {word: (1 + math.log(counts[word])) * self._rarity(word) for word in known}
        return tuple(sorted(known, key=lambda word: (-weights[word], word))[:most])

    def _rarity(self, word: str) -> float:
        """The inverse document frequency."""
        return math.log((self._counted + 1) / max(1, self._frequency[word]))

    def _is_common(self, word: str) -> bool:
        if len(self._dataset.documents) < FEW_DOCUMENTS:
            return len(word) < SHORTEST
        return self._frequency[word] > COMMON_SHARE * self._counted

    @property
    def _counted(self) -> int:
        return min(len(self._dataset.documents), MOST_COUNTED)

    @cached_property
    def _frequency(self) -> Counter[str]:
        """In how many documents each word is."""
        chosen = sorted(self._dataset.documents, key=lambda document: document.id)[:MOST_COUNTED]
        return Counter(word for document in chosen for word in set(words_of(f"{document.title} {document.text}")))


def text_of_gold(dataset: Dataset, gold: Gold) -> str:
    """The text of a gold item: the document, or the section that the evidence names. Empty: it is not known."""
    document = dataset.by_id.get(gold.document_id or "")
    if gold.support is None:
        return "" if document is None else document.text
    sections = () if document is None else _sections_below(document, gold.support.heading_path)
    return "\n".join(sections) or "\n".join(gold.support.snippets)


def _sections_below(document: Document, heading_path: str) -> list[str]:
    sections = document_sections(document.text, rel_path=document.rel_path or document.id, format=document.format)
    return [section.text for section in sections if lies_under(section.heading_path, heading_path)]


def shared_words(words: Iterable[str], text: str) -> tuple[str, ...]:
    """Those of some words that a text has."""
    there = set(words_of(text))
    return tuple(word for word in words if word in there)


def cut_excerpt(text: str, words: Collection[str], most: int = EXCERPT_WORDS) -> str:
    """The part of a text with the most of some words, on one line; dots show where it was cut."""
    pieces = text.split()
    if len(pieces) <= most:
        return " ".join(pieces)
    hits = [bool(set(words_of(piece)) & set(words)) for piece in pieces]
    begin = _best_window(hits, most)
    before, after = "... " if begin else "", " ..." if begin + most < len(pieces) else ""
    return f"{before}{' '.join(pieces[begin : begin + most])}{after}"


def _best_window(hits: Sequence[bool], size: int) -> int:
    """Where the window with the most hits begins; the first of equal ones."""
    count = best = sum(hits[:size])
    begin = 0
    for end in range(size, len(hits)):
        count += hits[end] - hits[end - size]
        if count > best:
            best, begin = count, end - size + 1
    return begin


def mark_words(text: str, words: Collection[str]) -> str:
    """A text with some words between asterisks, without marks of its own."""
    plain = _MARKS.sub("", text)
    return _WORD.sub(lambda found: f"*{found[0]}*" if found[0].casefold() in words else found[0], plain)
