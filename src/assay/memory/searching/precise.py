"""The score of the precise channel: how well one passage holds all of the query's words, where, and how close together.

The database only finds matches; this formula ranks them, so both back ends give the same order from the same words.

    score = coverage^2 * (0.5 + 0.2 * place + 0.3 * nearness)

- coverage: the share of the query's terms that the passage holds in any field, each weighed by its idf;
- place: the mean weight of the best field of each term found (title 3, triggers 2, body 1; over 3), weighed by idf;
- nearness: terms found in a field over the length of the shortest stretch of it that holds them all, the best field
  counting; 1 when a quoted phrase, or all of the query in its own order, stands in one field. One term is near itself.

The score lies in (0, 1] for a passage that holds any term and is 0 for one that holds none. Terms are the query's words
and prefixes; a prefix is found in any word that begins with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Final

from assay.memory.searching.query import ParsedQuery

TITLE, TRIGGERS, BODY = 3.0, 2.0, 1.0
GROUND, PLACE, NEARNESS = 0.5, 0.2, 0.3
_FEW: Final = 16
"""Terms that are looked for one by one; for more of them, a field is taken apart."""


class Precise:
    """Scores passages for one query, whose terms have these idfs. Inside, a term stands between two spaces."""

    def __init__(self, parsed: ParsedQuery, idf: Mapping[str, float]) -> None:
        self._parsed = parsed
        self._terms = [_in_line([term]) for term in parsed.terms]
        self._idf = {_in_line([term]): idf[term] for term in parsed.terms + parsed.prefixes}
        self._whole = math.fsum(self._idf.values())
        self._quoted = [_in_line(phrase) for phrase in parsed.phrases]
        self._as_asked = [_in_line(parsed.words)]
        self._one_by_one = not parsed.prefixes and len(self._terms) <= _FEW
        self._known: dict[tuple[tuple[str, float], ...], tuple[float, float]] = {}

    def score(self, lines: str) -> float:
        """The score of a passage, whose words are given as `AnalysedPassage.lines`."""
        # Most passages hold few of the terms, and most fields none.
        there = [term for term in self._terms if term in lines] if self._one_by_one else None
        title, triggers, body = lines.split("\n")
        best: dict[str, float] = {}
        fields: list[tuple[str, list[str]]] = []
        for weight, line in ((BODY, body), (TRIGGERS, triggers), (TITLE, title)):
            if here := self._held(line) if there is None else [term for term in there if term in line]:
                fields.append((line, here))
                for term in here:
                    # The heavier field comes later and overwrites.
                    best[term] = weight
        if not best:
            return 0.0
        covered, ground = self._covered(tuple(best.items()))
        near = max([self._nearness(line, here, len(best)) for line, here in fields])
        return covered * (ground + NEARNESS * near)

    def _covered(self, best: tuple[tuple[str, float], ...]) -> tuple[float, float]:
        """The square of coverage, and what place adds to the ground. The same terms in the same fields come often."""
        known = self._known.get(best)
        if known is None:
            idf = self._idf
            found = math.fsum([idf[term] for term, _ in best])
            place = math.fsum([idf[term] * weight for term, weight in best]) / (found * TITLE)
            known = self._known[best] = (found / self._whole) ** 2, GROUND + PLACE * place
        return known

    def _held(self, line: str) -> list[str]:
        return [_in_line([term]) for term in dict.fromkeys(term for _, term in self._places(line))]

    def _places(self, line: str) -> list[tuple[int, str]]:
        """Where terms stand in a field, in order."""
        words, parsed = line.split(), self._parsed
        if not parsed.prefixes:
            return list(compress(enumerate(words), map(parsed.term_set.__contains__, words)))
        return [(at, term) for at, word in enumerate(words) if (term := _term_of(word, parsed)) is not None]

    def _nearness(self, line: str, here: Sequence[str], found: int) -> float:
        """How close together the terms found stand in one field, which holds these of them."""
        different = len(here)
        wanted = self._quoted or (self._as_asked if different == len(self._terms) > 1 else ())
        for phrase in wanted:
            if phrase in line:
                return 1.0
        if different == 1:
            return 1.0 / found
        # A field that holds few of the terms found is not near for holding them close.
        return different / self._stretch(line, here) * different / found

    def _stretch(self, line: str, here: Sequence[str]) -> int:
        """The length in words of the shortest stretch that holds every term of the field."""
        if self._one_by_one:
            places = [line.find(term) for term in here]
            # Most fields say each term once: the stretch goes from the first of them to the last.
            if places == [line.rfind(term) for term in here]:
                return line.count(" ", min(places), max(places)) + 1
        return _shortest_stretch(self._places(line), len(here))


def inverse_frequencies(parsed: ParsedQuery, frequency: Callable[[str], int], document_count: int) -> dict[str, float]:
    """The idf of each term, `ln(1 + (n - df + 0.5) / (df + 0.5))`, as BM25 has it; above 0 for every frequency.

    A prefix stands for words of any frequency and weighs as much as the mean term, or 1 when it stands alone.
    """
    known = {term: inverse_frequency(frequency(term), document_count) for term in parsed.terms}
    mean = math.fsum(known.values()) / len(known) if known else 1.0
    return known | dict.fromkeys(parsed.prefixes, mean)


def inverse_frequency(frequency: int, document_count: int) -> float:
    """The idf of a term in this many of all passages."""
    count = max(document_count, frequency)
    return math.log1p((count - frequency + 0.5) / (frequency + 0.5))


def _term_of(word: str, parsed: ParsedQuery) -> str | None:
    if word in parsed.term_set:
        return word
    return next((prefix for prefix in parsed.prefixes if word.startswith(prefix)), None)


def _shortest_stretch(places: Sequence[tuple[int, str]], different: int) -> int:
    """The length in words of the shortest stretch that holds every term of the field."""
    shortest = places[-1][0] - places[0][0] + 1
    latest: dict[str, int] = {}
    for at, term in places:
        # Taken out and put in again, a term stands last: the first of them is where the stretch begins.
        latest.pop(term, None)
        latest[term] = at
        if len(latest) == different:
            stretch = at - next(iter(latest.values())) + 1
            if stretch < shortest:
                shortest = stretch
                if shortest == different:
                    break
    return shortest


def _in_line(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "
