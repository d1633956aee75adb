"""Look for hundreds of fixed texts in one text at once.

Most texts hold none of the beginnings and names that give a secret away. Each such text, a needle, is known by its
rarest gram: three letters that stand next to each other. A text is cut into grams once, and only needles whose gram is
among them are looked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import numpy as np

LETTERS = 3
"""Letters of a gram."""
_BY_FREQUENCY = "etaoinsrhldcumfpgwybvkxjqz"
_SHORT = 48
"""Up to so many letters, a text is cut letter by letter: arrays would take longer."""
_HASHES = 1 << 16
_KNOWN_GRAMS: set[str] = set()
"""By which needles are known; every `Needles` adds its own."""
_KNOWN_HASHES = np.zeros(_HASHES, np.bool_)
"""The same as hashes: most places of a text hold none of them."""


def cut_grams(lower: str) -> set[str]:
    """Return the grams of a text in small letters by which any needle is known."""
    if len(lower) < LETTERS:
        return set()
    places: Iterable[int] = range(len(lower) - LETTERS + 1)
    if len(lower) > _SHORT:
        places = np.flatnonzero(_KNOWN_HASHES[_hash_grams(lower)]).tolist()
    return {gram for place in places if (gram := lower[place : place + LETTERS]) in _KNOWN_GRAMS}


def _hash_grams(lower: str) -> np.ndarray:
    """Return the hash of the gram at each place; different grams may have the same."""
    # A lone surrogate cannot be stored, but may be looked at.
    letters = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), np.uint32)
    hashes = letters[:-2] * np.uint32(1297) + letters[1:-1] * np.uint32(37) + letters[2:]
    return hashes & np.uint32(_HASHES - 1)


class Needles:
    """Fixed texts that are looked for in many texts."""

    def __init__(self, needles: Iterable[str]) -> None:
        """Keep the needles; a needle is known by its place among them, and may have several."""
        self._needles = tuple(needles)
        short = [(place, needle) for place, needle in enumerate(self._needles) if len(needle.lower()) < LETTERS]
        self._short = tuple(short)
        """Those that have no gram."""
        self._short_ascii = tuple((place, needle) for place, needle in short if needle.isascii())
        self._by_gram: dict[str, list[int]] = {}
        for place, needle in enumerate(self._needles):
            lower = needle.lower()
            if len(lower) >= LETTERS:
                grams = [lower[begin : begin + LETTERS] for begin in range(len(lower) - LETTERS + 1)]
                self._by_gram.setdefault(min(grams, key=_rate), []).append(place)
        _KNOWN_GRAMS.update(self._by_gram)
        for gram in self._by_gram:
            _KNOWN_HASHES[_hash_grams(gram)] = True

    def find(self, text: str, grams: AbstractSet[str]) -> list[int]:
        """Return the places of the needles that a text holds, in order; `grams` are those of the text in small letters.

        Case matters if `text` is not in small letters.
        """
        short = self._short_ascii if text.isascii() else self._short
        found = [place for place, needle in short if needle in text]
        for gram in grams:
            if gram in self._by_gram:
                found += [place for place in self._by_gram[gram] if self._needles[place] in text]
        found.sort()
        return found

    def find_texts(self, text: str, grams: AbstractSet[str]) -> list[str]:
        """The same as `find`, as texts, each once."""
        return list(dict.fromkeys([self._needles[place] for place in self.find(text, grams)]))


def _rate(gram: str) -> tuple[int, str]:
    """About how frequent a gram is: by its rarest letter in English; of equals, the first of the alphabet."""
    return min(len(_BY_FREQUENCY) - _BY_FREQUENCY.find(letter) for letter in gram), gram
