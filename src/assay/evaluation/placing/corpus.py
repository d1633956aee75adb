"""Where a text stands in the documents of a dataset: exactly, or by most of its runs of three words.

Texts are compared word by word, without case, punctuation and markup, so that a chunker may strip or wrap as it likes.
A text that stands in a document word for word is there. One that does not (a heading put before it, links taken out, a
cut at its end) is in the document that has the most of its runs of three words, if that is at least half of them
(`ALIKE`). Documents are indexed once; a text costs time in proportion to its own length.

A text may reach over several sections. It counts as a passage of each of which it has enough (`_covers`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from assay.records.anchors import Spot
from assay.records.datasets import Document
from assay.text.sectioning import document_sections

ALIKE = 0.5
"""The share of a text's runs that one document must have for the text to be placed there."""
FOREIGN = 0.1
"""Below this share in every document a text is not from these documents at all."""
RUN = 3
SHORT = 8
"""Texts with fewer words must stand somewhere word for word."""
ENOUGH = 8
"""Words of a section's body that make a text a passage of it; of a shorter body, half."""
_COMMON = 200
"""A run that so many documents have says nothing about which of them is meant."""
_WORD = re.compile(r"[^\W_]+")

Words = Sequence[str]


class _Section(NamedTuple):
    heading_path: str
    start: int
    """Its first word under the heading, among the words of the document."""
    end: int


class CorpusText:
    """The documents of a dataset, searchable by passage."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._notes = {document.rel_path or document.id: _Note(document) for document in documents}
        self._places: dict[tuple[str, str | None], tuple[Spot, ...]] = {}

    @property
    def paths(self) -> Collection[str]:
        """Every file."""
        return self._notes.keys()

    def headings(self, rel_path: str) -> list[str]:
        """The heading paths of one file, in order."""
        return self._notes[rel_path].headings

    def locate(self, text: str, rel_path: str | None) -> tuple[Spot, ...]:
        """Every section in which a text stands; the named file is looked at first."""
        key = (text, rel_path)
        if key not in self._places:
            self._places[key] = tuple(dict.fromkeys(self._locate(words_of(text), rel_path)))
        return self._places[key]

    def is_foreign(self, text: str) -> bool:
        """Whether a text shares next to nothing with any document; short texts cannot be told."""
        words = words_of(text)
        if len(words) < SHORT:
            return False
        runs = set(_runs(words))
        return max(self._shared(runs).values(), default=0) < FOREIGN * len(runs)

    def _locate(self, words: Words, rel_path: str | None) -> Iterator[Spot]:
        if not words:
            return
        named = [] if rel_path is None else list(self._notes[rel_path].sections_with(words))
        if named:
            yield from (Spot(str(rel_path), heading) for heading in named)
            return
        for other in self._best(words):
            yield from (Spot(other, heading) for heading in self._notes[other].sections_with(words))

    def _best(self, words: Words) -> list[str]:
        """The files with the most of a text's runs; several where they have equally many."""
        runs = set(_runs(words))
        shared = self._shared(runs)
        most = max(shared.values(), default=0)
        least = len(runs) if len(words) < SHORT else ALIKE * len(runs)
        return [path for path, count in shared.items() if count == most] if runs and most >= least else []

    def _shared(self, runs: set[int]) -> Counter[str]:
        holders = [self._index.get(run, []) for run in runs]
        telling = [found for found in holders if len(found) <= _COMMON]
        # A text that only has what everybody has is looked for all the same: it may be a licence in 300 files.
        return Counter(path for found in (telling if any(telling) else holders) for path in found)

    @cached_property
    def _index(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for path, note in self._notes.items():
            for run in note.places:
                found.setdefault(run, []).append(path)
        return found


class _Note:
    """One document as words, with where its sections begin."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @cached_property
    def headings(self) -> list[str]:
        return list(dict.fromkeys(section.heading_path for section in self._divided[1]))

    @cached_property
    def _divided(self) -> tuple[list[str], list[_Section]]:
        words: list[str] = []
        found: list[_Section] = []
        one = self._document
        for section in document_sections(one.text, rel_path=one.rel_path or one.id, format=one.format):
            words += words_of(section.text[: section.opening])
            start = len(words)
            words += words_of(section.text[section.opening :])
            found.append(_Section(section.heading_path, start, len(words)))
        return words, found

    @cached_property
    def _joined(self) -> str:
        return f" {' '.join(self._divided[0])} "

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """Where each run of three words begins."""
        found: dict[int, list[int]] = {}
        for place, run in enumerate(_runs(self._divided[0])):
            found.setdefault(run, []).append(place)
        return found

    def sections_with(self, words: Words) -> list[str]:
        """The heading paths of the sections in which a text stands."""
        exact = [self._covered(start, start + len(words)) for start in self._exact(words)]
        if exact:
            return [heading for headings in exact for heading in headings]
        return self._alike(words) if len(words) >= SHORT else []

    def _exact(self, words: Words) -> Iterator[int]:
        wanted = f" {' '.join(words)} "
        at, place, counted = self._joined.find(wanted), 0, 0
        while at >= 0:
            place += self._joined.count(" ", counted, at)
            counted = at
            yield place
            at = self._joined.find(wanted, at + 1)

    def _covered(self, start: int, end: int) -> list[str]:
        return [
            section.heading_path
            for section in self._divided[1]
            if _covers(min(end, section.end) - max(start, section.start), section, end - start)
        ]

    def _alike(self, words: Words) -> list[str]:
        """The sections that have enough of a text's runs.

        Each run counts for one section, that which has most of the text: a phrase that every section has does not make
        the text a passage of all of them.
        """
        runs = list(_runs(words))
        if sum(run in self.places for run in runs) < ALIKE * len(runs):
            return []
        found = [self._sections_of(run) for run in runs]
        totals = Counter(section for sections in found for section in sections)
        counted = Counter(max(sections, key=lambda one: (totals[one], -one)) for sections in found if sections)
        divided = self._divided[1]
        return [
            divided[place].heading_path
            for place, count in sorted(counted.items())
            if _covers(count + RUN - 1, divided[place], len(words))
        ]

    def _sections_of(self, run: int) -> set[int]:
        """The sections in whose body a run begins."""
        found = set()
        for place in self.places.get(run, ()):
            number = self._section_at(place)
            if number is not None:
                found.add(number)
        return found

    def _section_at(self, place: int) -> int | None:
        at = bisect_right(self._starts, place) - 1
        return at if at >= 0 and place < self._divided[1][at].end else None

    @cached_property
    def _starts(self) -> list[int]:
        return [section.start for section in self._divided[1]]


def _covers(words: int, section: _Section, length: int) -> bool:
    """Whether a text of this length has enough words of a section to be a passage of it."""
    body = section.end - section.start
    return words > 0 and (words >= ENOUGH or 2 * words >= body or 2 * words >= length)


def words_of(text: str) -> list[str]:
    """The words of a text: no case, punctuation or markup."""
    return _WORD.findall(text.casefold())


def _runs(words: Words) -> Iterator[int]:
    return (hash(run) for run in zip(*(words[start:] for start in range(RUN)), strict=False))
