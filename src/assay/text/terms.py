"""Terms: what every lexical channel makes of a text, so that all of them see the same words.

`words` keeps each word as it was written but for case, width and diacritics: the precise form. `stems` are the same
words without their English endings: the generous form, one stem for each word. A word is a run of letters and digits;
everything else separates. Words hold no ASCII but small letters and digits, so they can stand unquoted, joined by
spaces, in any full-text engine. `ANALYSIS_VERSION` changes whenever the same text could give other terms; what was
derived under another version has to be made anew.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import tantivy

ANALYSIS_VERSION = "1"
LONGEST_WORD = 64
"""Longer words are cut here, before any engine cuts them at a length of its own."""

LONGEST_PHRASE = 8
"""Words of a trigger phrase that is looked for in queries; a longer one is found by full text alone."""

_ASCII_WORDS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))
"""What becomes of each character of an ASCII text: a space where no word is. Three times as quick as an expression."""


class _Letters(dict[int, str | int | None]):
    """What becomes of each character of a decomposed, case-folded text; learned as characters are met."""

    def __missing__(self, point: int) -> str | int | None:
        self[point] = found = _becomes(point)
        return found


_LETTERS = _Letters()


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    if text.isascii():
        found = text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()
        if max(map(len, found), default=0) <= LONGEST_WORD:
            return found
    else:
        found = _fold(text).split(" ")
    return [word[:LONGEST_WORD] for word in found if word]


def stems(text: str) -> list[str]:
    """The stem of each word of a text, in order."""
    return stems_of(words(text))


def stems_of(found: list[str]) -> list[str]:
    """The stem of each of these words, as `words` gave them."""
    return list(_stemmer().analyze(" ".join(found)))


class _Stems(dict[str, str]):
    """Stems of words met before: a corpus has few words, and asking the stemmer is most of an analysis."""

    def __missing__(self, word: str) -> str:
        if word.isdigit():
            # Nothing is taken from a number, and there is no end of them.
            return word
        if len(self) >= _MOST_STEMS:
            self.clear()
        self[word] = found = stems_of([word])[0]
        return found


_MOST_STEMS = 200_000
_STEMS = _Stems()


def bag_of_stems(text: str) -> list[str]:
    """The same as `stems`, quicker for many texts of one collection: stems of words met before are kept."""
    return look_up_stems(words(text))


def look_up_stems(found: Iterable[str]) -> list[str]:
    """The same as `stems_of`, quicker for words met before."""
    return list(map(_STEMS.__getitem__, found))


def look_up_stem(word: str) -> str:
    """The same for one word."""
    return _STEMS[word]


def normalise_phrase(text: str) -> str:
    """The words of a text with one space between them: two phrases that read alike are equal."""
    return " ".join(words(text))


@cache
def _stemmer() -> tantivy.TextAnalyzer:
    import tantivy  # noqa: PLC0415 - the base install has words without stems

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return builder.filter(tantivy.Filter.stemmer("english")).build()


def _fold(text: str) -> str:
    """Decomposed, so that a letter and its diacritic come apart; composed again for Hangul and kana."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    # Case folding may give characters that come apart once more.
    plain = unicodedata.normalize("NFKD", apart).translate(_LETTERS)
    return unicodedata.normalize("NFC", plain)


def _becomes(point: int) -> str | int | None:
    character = chr(point)
    if character.isalnum():
        return point
    if _is_ignorable(point):
        return None
    # Marks of scripts that write vowels with them belong to the word; a diacritic was dropped above.
    return point if unicodedata.category(character) in {"Mn", "Mc"} else " "


def _is_ignorable(point: int) -> bool:
    """Latin, Greek and Cyrillic diacritics, variation selectors, soft hyphen and joiners."""
    return (
        0x0300 <= point <= 0x036F
        or 0x1AB0 <= point <= 0x1AFF
        or 0x1DC0 <= point <= 0x1DFF
        or 0xFE00 <= point <= 0xFE0F
        or 0xFE20 <= point <= 0xFE2F
        or 0xE0100 <= point <= 0xE01EF
        or point in {0x00AD, 0x200C, 0x200D}
    )
