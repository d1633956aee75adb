"""Which words of a text match a query, as the lexical channels compare words: without case, accents and endings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from assay.text.terms import stems_of, words

_WORD = re.compile(r"[^\W_]+")
NOT_MARKED = frozenset({
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "may", "me",
    "my", "no", "not", "of", "on", "or", "our", "shall", "should", "so", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "up", "us", "was", "we", "were", "what", "when",
    "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
})  # fmt: skip
"""Function words: they match nearly every text, so marking them would show nothing."""


class TextPiece(NamedTuple):
    """A part of a text."""

    text: str
    matched: bool
    """Whether it is a word of the query."""


def mark_matches(query: str, text: str) -> tuple[TextPiece, ...]:
    """Return a text in pieces, each word that the query has in a piece of its own; joined, they are the text."""
    wanted = _stems_by_word([word for word in words(query) if word not in NOT_MARKED])
    found = list(_WORD.finditer(text))
    matching = _find_matching({match.group() for match in found}, set(wanted.values()))
    pieces, begin = [], 0
    for match in found:
        if match.group() in matching:
            pieces += [TextPiece(text[begin : match.start()], False), TextPiece(match.group(), True)]
            begin = match.end()
    pieces.append(TextPiece(text[begin:], False))
    return tuple(piece for piece in pieces if piece.text)


def _find_matching(spelt: Iterable[str], wanted: set[str]) -> set[str]:
    """Return the words, as a text spells them, one of whose stems is wanted."""
    parts = {spelling: words(spelling) for spelling in spelt}
    stems = _stems_by_word([word for own in parts.values() for word in own])
    return {spelling for spelling, own in parts.items() if any(stems[word] in wanted for word in own)}


def _stems_by_word(found: Iterable[str]) -> dict[str, str]:
    distinct = sorted(set(found))
    return dict(zip(distinct, stems_of(distinct), strict=True)) if distinct else {}
