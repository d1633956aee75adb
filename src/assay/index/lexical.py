"""The words of passages: a tantivy index for the base, postings in memory for the tail.

- The base's words: a tantivy index over stems, without positions.
- The tail's words: for each stem the passages that hold it and how often.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import tantivy
from numpy.typing import NDArray

from assay.index.columns import Mask, Whole
from assay.index.scoring import Scores, idf, term_scores

# --- The base's words: a tantivy index over stems, without positions ---
#
# Queries are built term by term, never parsed: nothing a user types is an operator. The fast field `place` says which
# passage of the base a document is.

SCORE_DIGITS = 4
"""Scores are sums of 32-bit floats; beyond this many decimals they are noise."""

_HEAP = 512_000_000
"""As much as a writer may hold before it begins a second segment."""
_SMALL_HEAP = 64_000_000
"""The same for one that only adds a tail."""
_FEW = 128
"""So many places are looked up one by one, and one more for each `_PER_PLACE` passages there are."""
_PER_PLACE = 4_000
_FREQUENT = 0.2
"""In a large index, a word that more than this share of passages hold only ranks what rarer words chose."""
CHOSEN = 300
"""Passages that rarer words choose beyond those that are wanted. Each costs about 15 microseconds."""
_NAMED = 5
"""Naming n passages in the query costs about n; fetching more than needed about count / n. Measured: naming is
cheaper while n * n is below this many times the count."""
_SPARE = 32
_FREQUENCIES_KEPT = 10_000


class LexicalBuilder:
    """Takes passages in order and makes them a `LexicalBase`, in a folder or in memory."""

    def __init__(self, folder: Path | None) -> None:
        if folder is not None:
            folder.mkdir()
        self._index = tantivy.Index(_schema(), path=None if folder is None else str(folder))
        # One thread: documents stay in the order of their numbers, and two builds of the same data are the same.
        self._writer = self._index.writer(heap_size=_HEAP, num_threads=1)
        self._places = 0
        self._tokens = 0

    def add(self, stems: list[str]) -> None:
        """The next passage."""
        self._writer.add_document(_document(stems, self._places))
        self._places += 1
        self._tokens += len(stems)

    def finish(self) -> LexicalBase:
        """Write everything."""
        self._writer.commit()
        self._writer.wait_merging_threads()
        return LexicalBase(self._index, tokens=self._tokens)

    def give_up(self) -> None:
        """Let the writer go."""
        with suppress(ValueError):
            self._writer.rollback()


def add_words(folder: Path, bags: Sequence[list[str]], *, first_place: int) -> int:
    """Append passages to the index in a folder; return how many words they hold."""
    writer = tantivy.Index.open(str(folder)).writer(heap_size=_SMALL_HEAP, num_threads=1)
    for place, stems in enumerate(bags, first_place):
        writer.add_document(_document(stems, place))
    writer.commit()
    writer.wait_merging_threads()
    return sum(map(len, bags))


class LexicalBase:
    """An index that no longer changes."""

    def __init__(self, index: tantivy.Index, *, tokens: int, all_words_below: int | None = None) -> None:
        """Up to `all_words_below` passages every word of a query chooses passages; None: however many there are."""
        # The default reader would watch the folder for commits that never come.
        index.config_reader("manual")
        index.reload()
        self._schema = index.schema
        self._searcher = index.searcher()
        self.count = int(self._searcher.num_docs)
        self.tokens = tokens
        self._last_terms: tuple[tuple[tuple[str, float], ...], list[tantivy.Query]] | None = None
        self._all_words_below = all_words_below
        self._frequencies: dict[str, int] = {}

    @classmethod
    def open(cls, folder: Path, *, tokens: int, all_words_below: int | None = None) -> LexicalBase:
        """The index in a folder; it stays readable when the folder is deleted."""
        return cls(tantivy.Index.open(str(folder)), tokens=tokens, all_words_below=all_words_below)

    @property
    def average_length(self) -> float:
        """Stems in a passage, on average."""
        return self.tokens / max(self.count, 1)

    def frequency(self, stem: str) -> int:
        """How many passages hold a stem."""
        found = self._frequencies.get(stem)
        if found is None:
            found = int(self._searcher.doc_freq("body", stem))
            if len(self._frequencies) >= _FREQUENCIES_KEPT:
                self._frequencies.clear()
            self._frequencies[stem] = found
        return found

    def search(
        self, weights: Mapping[str, float], limit: int, passing: Mask, passing_count: int
    ) -> tuple[Whole, Scores]:
        """The best passing places and their scores, with all that tie with the last of them.

        tantivy scores every passage that holds a word of the query. In a large index, words that every fifth passage
        holds would be most of that, so they do not choose there: they rank what the other words chose.
        """
        rare = self._rare(weights)
        if len(rare) == len(weights):
            return self._search(weights, limit, passing, passing_count)
        places, scores = self._search(rare, limit + CHOSEN, passing, passing_count)
        if len(places) < limit:
            return self._search(weights, limit, passing, passing_count)
        order = np.lexsort((places, -scores))[: limit + CHOSEN]
        return self.score(weights, places[order])

    def _rare(self, weights: Mapping[str, float]) -> Mapping[str, float]:
        """The stems that choose passages; all of them if none is rare."""
        if self._all_words_below is None or self.count <= self._all_words_below:
            return weights
        most = _FREQUENT * self.count
        return {stem: weight for stem, weight in weights.items() if self.frequency(stem) <= most} or weights

    def _search(
        self, weights: Mapping[str, float], limit: int, passing: Mask, passing_count: int
    ) -> tuple[Whole, Scores]:
        terms = self._terms(weights)
        if not terms or not passing_count or limit < 1:
            return np.zeros(0, np.int64), np.zeros(0)
        if passing_count < self.count and passing_count**2 <= _NAMED * self.count:
            query = self._among(terms, np.flatnonzero(passing))
            passing_count = self.count
        else:
            query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        # Within one segment a single term's ties come in the order of places, which is the order of numbers.
        ties_in_order = len(weights) == 1 and self._searcher.num_segments == 1
        fetch = _first_fetch(limit, passing_count / self.count)
        while True:
            places, scores = self._top(query, min(fetch, self.count))
            kept = passing[places]
            exhausted = len(places) < fetch
            if exhausted or _complete(scores[kept], scores[-1], limit, ties_in_order=ties_in_order):
                return places[kept], scores[kept]
            fetch *= 4

    def score(self, weights: Mapping[str, float], places: Whole) -> tuple[Whole, Scores]:
        """Those of these places that hold any of the stems, and their scores."""
        terms = self._terms(weights)
        if not terms or not len(places):
            return np.zeros(0, np.int64), np.zeros(0)
        return self._top(self._among(terms, places), len(places))

    def _terms(self, weights: Mapping[str, float]) -> list[tantivy.Query]:
        """A query for each stem that is here; its weight is idf included, and tantivy's own idf is taken out of it."""
        asked = tuple(weights.items())
        # A search asks for the best passages, and then for the scores of others.
        last = self._last_terms
        if last is not None and last[0] == asked:
            return last[1]
        made = []
        for stem, weight in weights.items():
            if frequency := self.frequency(stem):
                term = tantivy.Query.term_query(self._schema, "body", stem, "freq")
                made.append(tantivy.Query.boost_query(term, weight / idf(self.count, frequency)))
        # One assignment, so that threads need no lock.
        self._last_terms = asked, made
        return made

    def _among(self, terms: Sequence[tantivy.Query], places: Whole) -> tantivy.Query:
        """The named places, each with the sum of its terms.

        One term after the other is optional beside what there is so far, so that tantivy looks each up at the named
        places alone. For a union of all terms it would go through every passage that holds any of them.
        """
        if len(places) <= _FEW + self.count // _PER_PLACE:
            # A set looks through all places there are, which for a few takes ten times as long.
            each = [tantivy.Query.term_query(self._schema, "place", place) for place in places.tolist()]
            named = tantivy.Query.boolean_query([(tantivy.Occur.Should, one) for one in each])
        else:
            named = tantivy.Query.term_set_query(self._schema, "place", places.tolist())
        query = tantivy.Query.const_score_query(named, 0.0)
        for term in terms:
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Should, term)])
        return query

    def _top(self, query: tantivy.Query, fetch: int) -> tuple[Whole, Scores]:
        """The best places of a query with their scores; without named ones that hold no stem, which score 0."""
        hits = self._searcher.search(query, fetch, count=False).hits
        if not hits:
            return np.zeros(0, np.int64), np.zeros(0)
        scores, addresses = zip(*hits, strict=True)
        found = len(scores) - scores.count(0.0)
        places = self._searcher.fast_field_values("place", list(addresses[:found]))
        return np.array(places, dtype=np.int64), np.array(scores[:found], dtype=np.float64)


def _first_fetch(limit: int, share: float) -> int:
    return int(limit / max(share, 1e-6) * 1.2) + _SPARE


def _complete(kept: Scores, lowest: float, limit: int, *, ties_in_order: bool) -> bool:
    """Whether nothing that was not fetched could still stand among the first `limit`."""
    if len(kept) < limit:
        return False
    return ties_in_order or lowest < round(float(kept[limit - 1]), SCORE_DIGITS) - 10.0**-SCORE_DIGITS


def _document(stems: list[str], place: int) -> tantivy.Document:
    document = tantivy.Document()
    document.add_text("body", " ".join(stems))
    document.add_unsigned("place", place)
    return document


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=False, tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("place", indexed=True, fast=True)
    return builder.build()


# --- The tail's words: for each stem the passages that hold it and how often ---
#
# One writer adds while many read: a reader names how many passages it knows of and sees no others.


class Postings:
    """Stem to pairs of place and frequency, places growing."""

    def __init__(self) -> None:
        self._pairs: dict[str, array[int]] = {}

    def add(self, place: int, stems: Sequence[str]) -> None:
        """The passage at a place holds these stems."""
        for stem, frequency in Counter(stems).items():
            pairs = self._pairs.get(stem)
            if pairs is None:
                pairs = self._pairs[stem] = array("i")
            # One call for both numbers: a reader never sees half a pair.
            pairs.extend((place, frequency))

    def bags(self, known: int) -> list[list[str]]:
        """The stems of each of the first `known` passages, in no order."""
        found: list[list[str]] = [[] for _ in range(known)]
        for stem, pairs in list(self._pairs.items()):
            numbers = pairs.tolist()
            for place, frequency in zip(numbers[::2], numbers[1::2], strict=True):
                if place < known:
                    found[place] += [stem] * frequency
        return found

    def of(self, stem: str, known: int) -> tuple[Whole, Whole]:
        """Places and frequencies among the first `known` passages."""
        found = self._pairs.get(stem)
        if found is None:
            return _NOTHING, _NOTHING
        pairs = np.frombuffer(found.tobytes(), dtype=np.intc).astype(np.int64).reshape(-1, 2)
        pairs = pairs[: np.searchsorted(pairs[:, 0], known)]
        return pairs[:, 0], pairs[:, 1]


_NOTHING: Whole = np.zeros(0, np.int64)


def score_postings(
    postings: Postings, weights: Mapping[str, float], norms: NDArray[np.float64], passing: Mask
) -> tuple[Whole, NDArray[np.float64]]:
    """The passing places that hold any of the terms, and their scores. Weights include the idf."""
    total = np.zeros(len(passing))
    met = np.zeros(len(passing), bool)
    for stem, weight in weights.items():
        places, frequencies = postings.of(stem, len(passing))
        total[places] += weight * term_scores(frequencies, norms[places])
        met[places] = True
    found = np.flatnonzero(met & passing)
    return found, total[found]
