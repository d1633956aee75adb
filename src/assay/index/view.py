"""What one search sees of the indexes: one fixed state, unchanged by saves during the search.

A view may be a little newer than the snapshot it was opened for, if another thread has read on. Its rows all
come from the snapshot then, so a passage that it does not hold yet is simply not found there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.errors import OtherModel
from assay.index.columns import Fact, Whole, find
from assay.index.kept_tables import AnswersFromTables, KeptTables
from assay.index.lexical import SCORE_DIGITS, score_postings
from assay.index.options import IndexOptions
from assay.index.protocol import AllowedPassages, FolderSize
from assay.index.rows import Rows, read_columns
from assay.index.scoring import (
    COSINE_DIGITS,
    Found,
    MeasuredVectors,
    Query,
    Scored,
    best,
    cosines,
    join_vectors,
    length_norms,
    measure_vectors,
    round_query,
)
from assay.index.state import Allowed, State
from assay.index.vectors import PassingRows
from assay.records import CosineSpread, Filters, LogPosition
from assay.storage import Authorship, Standing, Work
from assay.text.terms import stems_of

SPARE = 50
"""Extra passages read from the database, so that equal scores can be put in order."""
SAMPLED = 1_000
"""Passages compared to know the spread of a query's cosines: the mean of so many is exact to a hundredth."""
FEW_PHRASES = 200
"""Trigger phrases of a store that are kept; they are read again after every save."""
AUTHORS_KEPT = 50_000
"""Authors of memories that one state keeps."""
_NONE = Scored(np.zeros(0, np.int64), np.zeros(0))
SAMPLES_KEPT = 4
"""Samples that one state keeps, for the filters that are asked with: 1,000 vectors are 1.5 MB."""


class View(AnswersFromTables):
    """One state of a tenant's indexes, for one search. Made by `Indexes.view`."""

    def __init__(
        self,
        state: State,
        work: Work,
        *,
        standing: Standing,
        options: IndexOptions,
        vectors_in_database: bool,
        tables: KeptTables,
    ) -> None:
        super().__init__(work, standing, tables)
        self._state = state
        self._standing = standing.position
        self._options = options
        self._in_database = vectors_in_database
        self._model = work.vectors.active() if vectors_in_database else state.model

    @property
    def position(self) -> LogPosition:
        """Up to where the change log is known."""
        return self._state.position

    @property
    def model(self) -> str | None:
        """Whose vectors are searched; None when there are none."""
        return self._model

    @property
    def document_count(self) -> int:
        """How many passages there are."""
        return self._state.alive.count

    def rows(self, numbers: Iterable[int]) -> Rows:
        """What ranking needs to know of these passages; deleted numbers are left out."""
        if self._standing != self._state.position:
            return Rows(self._work.passages.candidates(numbers))
        columns = read_columns(self._state, numbers)
        return Rows.of(columns) if columns.are_whole() else Rows(self._work.passages.candidates(columns.numbers))

    def first_passages(self, memory_ids: Collection[str]) -> dict[str, int]:
        """The number of the first passage of each of these memories; one without passages is left out."""
        ends = self._ends
        if ends is None:
            return self._find_firsts(memory_ids)
        found = {memory_id: number for memory_id in memory_ids if (number := ends.firsts.get(memory_id)) is not None}
        others = [memory_id for memory_id in memory_ids if memory_id not in ends.memory_ids]
        return found | self._find_firsts(others) if others else found

    def _find_firsts(self, memory_ids: Collection[str]) -> dict[str, int]:
        if self._standing != self._state.position:
            return self._work.passages.first_numbers(memory_ids)
        found = self._state.kept.firsts_among(memory_ids)
        if missing := [memory_id for memory_id in memory_ids if memory_id not in found]:
            read = self._work.passages.first_numbers(missing)
            self._state.kept.add_firsts(read, self._standing)
            found |= read
        return found

    def words(self, numbers: Sequence[int]) -> dict[int, str]:
        """The analysed words of these passages (`AnalysedPassage.lines`); a number that is gone is left out."""
        if self._standing != self._state.position:
            return self._work.passages.words(numbers)
        kept = self._state.kept
        found = kept.words_among(numbers)
        if missing := [number for number in numbers if number not in found]:
            read = self._work.passages.words(missing)
            kept.add_words(read, self._standing)
            found |= read
        return found

    def authors_of(self, memory_ids: Collection[str]) -> dict[str, Authorship]:
        """Who wrote these memories; an id that is not there is absent."""
        ends = self._ends
        if ends is not None and all(memory_id in ends.authors for memory_id in memory_ids):
            return {memory_id: ends.authors[memory_id] for memory_id in memory_ids}
        if self._standing != self._state.position:
            return self._work.memories.authors_of(memory_ids)
        authors = self._state.authors
        found = {memory_id: known for memory_id in memory_ids if (known := authors.get(memory_id)) is not None}
        if missing := [memory_id for memory_id in memory_ids if memory_id not in found]:
            read = self._work.memories.authors_of(missing)
            if len(authors) + len(read) > AUTHORS_KEPT:
                authors.clear()
            authors.update(read)
            found |= read
        return found

    def may_match_triggers(self, runs: Collection[str]) -> bool:
        """Whether one of these runs of words may be a memory's trigger phrase; False: none is."""
        few: frozenset[str] | None = self._know_once("phrases", lambda: self._work.triggers.find_few(FEW_PHRASES))
        return few is None or not few.isdisjoint(runs)

    def may_have_facts(self) -> bool:
        """Whether any memory may state a fact; False: none does."""
        # Facts that are read anew, by the rules of another version, are not in the log.
        name = f"facts {self._at.unlogged_writes}"
        return bool(self._know_once(name, self._work.facts.may_exist))

    def _know_once(self, name: str, find: Callable[[], Any]) -> Any:
        """Ask the store once for each position of the log, for what changes only with lines of it."""
        if self._standing != self._state.position:
            return find()
        known = self._state.known_once
        if name not in known:
            known[name] = find()
        return known[name]

    def document_frequency(self, stem: str) -> int:
        """How many passages hold a stem; until folded, a passage that changed may count in both its forms."""
        return min(self._state.frequency(stem), self.document_count)

    def word_frequency(self, word: str) -> int:
        """How many passages hold a word in any of its forms: the frequency of its stem."""
        return max((self.document_frequency(stem) for stem in stems_of([word])), default=0)

    def find_allowed(self, filters: Filters, memory_numbers: Sequence[int] | Whole | None = None) -> Allowed | None:
        """The passages that pass, or None when all do. Tags and types come as the memories that SQL found."""
        numbers = None if memory_numbers is None else np.asarray(memory_numbers, dtype=np.int64)
        return self._state.find_allowed(filters, numbers)

    def find_allowed_only(self, wider: Filters, *, without: Filters) -> Allowed:
        """The passages that pass the first filters and not the second."""
        return self._state.find_allowed_only(wider, without)

    def join_allowed(self, parts: Sequence[AllowedPassages | None]) -> Allowed | None:
        """What passes one of these filters of this view; None when one of them lets everything pass."""
        known = [part for part in map(_own, parts) if part is not None]
        if len(known) < len(parts) or not known:
            return None
        base = np.logical_or.reduce([part.base for part in known])
        tail = np.logical_or.reduce([part.tail for part in known])
        return Allowed(base=base, tail=tail, count=int(base.sum()) + int(tail.sum()))

    def lexical(
        self, terms: Mapping[str, float], *, limit: int, allowed: AllowedPassages | None = None
    ) -> Sequence[Found]:
        """The best passages for weighted stems by BM25."""
        state, passing = self._state, self._state.passing(_own(allowed))
        weights = state.weigh_terms(terms)
        if not weights or limit < 1:
            return []
        parts: list[Scored] = []
        of_base = passing.count
        if len(state.tail.numbers):
            norms = length_norms(state.tail.lengths, state.average_length)
            places, scores = score_postings(state.tail.postings, weights, norms, passing.tail)
            parts, of_base = [Scored(state.tail.numbers[places], scores)], of_base - int(np.count_nonzero(passing.tail))
        if state.base.lexical is not None:
            places, scores = state.base.lexical.search(weights, limit, passing.base, of_base)
            parts.append(Scored(state.base.numbers[places], scores))
        return best(parts, limit, digits=SCORE_DIGITS)

    def lexical_of(self, terms: Mapping[str, float], numbers: Sequence[int]) -> Sequence[Found]:
        """BM25 of these passages for weighted stems, best first; one that holds none of them is left out."""
        state, weights = self._state, self._state.weigh_terms(terms)
        if not weights or not len(numbers):
            return []
        (in_base, of_base), (in_tail, of_tail) = state.locate(np.asarray(numbers, dtype=np.int64))
        parts = []
        if of_tail.any():
            asked = np.zeros(len(state.tail.numbers), bool)
            asked[in_tail[of_tail]] = True
            norms = length_norms(state.tail.lengths, state.average_length)
            places, scores = score_postings(state.tail.postings, weights, norms, asked)
            parts.append(Scored(state.tail.numbers[places], scores))
        if state.base.lexical is not None and of_base.any():
            places, scores = state.base.lexical.score(weights, in_base[of_base])
            parts.append(Scored(state.base.numbers[places], scores))
        return best(parts, len(numbers), digits=SCORE_DIGITS)

    def nearest(
        self, vector: Query, *, model: str, limit: int, allowed: AllowedPassages | None = None, exact: bool = False
    ) -> Sequence[Found]:
        """The passages whose vectors are nearest by cosine, of one model only."""
        self._check_model(model)
        query = round_query(vector)
        if limit < 1:
            return []
        if self._in_database:
            return self._nearest_in_database(query, model, limit, _own(allowed), exact=exact)
        state, passing = self._state, self._state.passing(_own(allowed))
        parts = [self._nearest_of_tail(query, limit, passing)] if len(state.tail.vector_places) else []
        if state.base.vectors is not None:
            places, scores = state.base.vectors.nearest(query, limit, state.find_vector_rows(passing), exact=exact)
            parts.append(Scored(state.base.numbers[places], scores))
        return best(parts, limit, digits=COSINE_DIGITS)

    def cosines(self, vector: Query, numbers: Sequence[int], *, model: str) -> Sequence[Found]:
        """The cosines of these passages, best first; one without a vector of the model is left out."""
        self._check_model(model)
        query, wanted = round_query(vector), np.asarray(numbers, dtype=np.int64)
        parts = (
            [compare_stored(self._work, query, numbers, model)] if self._in_database else self._compare(query, wanted)
        )
        return best(parts, len(wanted), digits=COSINE_DIGITS)

    def cosine_spread(
        self, vector: Query, *, model: str, allowed: AllowedPassages | None = None
    ) -> CosineSpread | None:
        """How near the passages are to a vector as a whole; None without a passage that has a vector.

        Of more than `SAMPLED` passages, every second, third and so on is compared, so that the cost does not grow.
        """
        self._check_model(model)
        query = round_query(vector)
        return measure_spread(self._find_sample(model, _own(allowed)), query)

    def numbers(self, allowed: AllowedPassages | None = None) -> Whole:
        """The numbers of every passage, or of those allowed."""
        passing = self._state.passing(_own(allowed))
        return np.concatenate([self._state.base.numbers[passing.base], self._state.tail.numbers[passing.tail]])

    def passes(self, numbers: Sequence[int] | Whole, allowed: AllowedPassages) -> list[bool]:
        """Return which of these passages, found elsewhere, are allowed."""
        passing = self._state.passing(_own(allowed))
        found: list[bool] = self._state.passes(np.asarray(numbers, dtype=np.int64), passing).tolist()
        return found

    def memories_of(self, numbers: Sequence[int] | Whole) -> Whole:
        """The memory number of each passage; -1 for a passage that is not here."""
        return self._state.memories_of(np.asarray(numbers, dtype=np.int64))

    def folders(self, filters: Filters | None = None) -> list[FolderSize]:
        """Every folder that holds memories which pass, with their number, by name."""
        state = self._state
        of_base, of_tail = state.current_memories(filters or Filters())
        new = ~np.isin(state.tail.memories[Fact.NUMBER], state.base.memories[Fact.NUMBER])
        moved = state.base.memories[Fact.FOLDER].copy()
        places = np.searchsorted(state.base.memories[Fact.NUMBER], state.tail.memories[Fact.NUMBER][~new])
        moved[places] = state.tail.memories[Fact.FOLDER][~new]
        codes = np.concatenate([moved[of_base], state.tail.memories[Fact.FOLDER][of_tail & new]])
        sizes = np.bincount(codes, minlength=1)
        names = state.folders.names()
        return sorted(FolderSize(names[code], int(sizes[code])) for code in np.flatnonzero(sizes))

    def _check_model(self, model: str) -> None:
        check_model(self._model, model)

    def _find_sample(self, model: str, allowed: Allowed | None) -> MeasuredVectors:
        """An even sample of the vectors; kept, so that the next search over the same passages need not read it."""
        samples = self._state.samples
        found = samples.get(allowed)
        if found is None:
            found = self._read_sample(model, allowed) if self._in_database else self._sample(allowed)
            if len(samples) >= SAMPLES_KEPT:
                samples.clear()
            samples[allowed] = found
        return found

    def _sample(self, allowed: Allowed | None) -> MeasuredVectors:
        """An even sample of the vectors in the index."""
        state, passing = self._state, self._state.passing(allowed)
        tail, base = state.tail, state.base.vectors
        of_tail = np.flatnonzero(passing.tail[tail.vector_places])
        rows = PassingRows(np.zeros(0, bool), 0) if base is None else state.find_vector_rows(passing)
        step = _step(len(of_tail) + rows.total)
        parts = [tail.vectors.pick(of_tail[::step])] if len(of_tail) else []
        if base is not None and rows.total:
            every = rows.total == len(rows.mask)
            of_base = np.arange(0, rows.total, step) if every else np.flatnonzero(rows.mask)[::step]
            parts.append(measure_vectors(base.matrix[of_base]))
        return join_vectors(parts)

    def _read_sample(self, model: str, allowed: Allowed | None) -> MeasuredVectors:
        """The same where the database keeps the vectors."""
        numbers = self.numbers(allowed)
        listed = numbers[:: _step(len(numbers))].tolist()
        page = self._work.vectors.by_numbers(model, listed)
        return join_vectors([measure_vectors(page.vectors)] if len(page.numbers) else [])

    def _compare(self, query: Query, numbers: Whole) -> list[Scored]:
        """The cosines of passages of the base and of the tail, as `nearest` would give them."""
        state, tail, base = self._state, self._state.tail, self._state.base.vectors
        (in_base, of_base), (in_tail, of_tail) = state.locate(numbers)
        parts = []
        if len(tail.vector_places):
            rows, there = find(tail.vector_places, in_tail[of_tail])
            known = numbers[of_tail][there]
            parts = [Scored(known, tail.vectors.pick(rows[there]).cosines(query))] if len(known) else []
        if base is not None:
            if not of_base.all():
                in_base, numbers = in_base[of_base], numbers[of_base]
            rows, there = find(base.places, in_base)
            if not there.all():
                rows, numbers = rows[there], numbers[there]
            parts.append(Scored(numbers, cosines(base.matrix[rows], query)))
        return parts

    def _nearest_of_tail(self, query: Query, limit: int, passing: Allowed) -> Scored:
        tail = self._state.tail
        among = np.flatnonzero(passing.tail[tail.vector_places])
        if not len(among):
            return _NONE
        scores = tail.vectors.cosines(query)[among]
        if len(among) > limit:
            # All that tie with the last of them come, too, and more that rounding may make equal.
            last = np.partition(np.nan_to_num(scores, nan=-1.0), -limit)[-limit] - 10.0**-COSINE_DIGITS
            near = scores >= last
            among, scores = among[near], scores[near]
        return Scored(tail.numbers[tail.vector_places[among]], scores)

    def _nearest_in_database(
        self, query: Query, model: str, limit: int, allowed: Allowed | None, *, exact: bool
    ) -> Sequence[Found]:
        total = self.document_count
        exact = exact or total <= self._options.exact_below
        if allowed is None:
            return self._ask_database(query, model, limit, None, exact=exact)
        if not allowed.count:
            return []
        if allowed.count > self._options.exact_below:
            found = self._ask_database(query, model, int((limit + 50) * total / allowed.count), None, exact=exact)
            passing = self._state.passes(np.array([neighbour.number for neighbour in found], np.int64), allowed)
            kept = [neighbour for neighbour, passes in zip(found, passing, strict=True) if passes]
            if len(kept) >= limit:
                return kept[:limit]
        return self._ask_database(query, model, limit, self.numbers(allowed), exact=True)

    def _ask_database(
        self, query: Query, model: str, limit: int, numbers: Whole | None, *, exact: bool
    ) -> Sequence[Found]:
        listed = None if numbers is None else numbers.tolist()
        # An index of vectors gives equals in no order: with some to spare, those that belong first are among them.
        wanted = limit if exact else limit + SPARE
        found = self._work.vectors.nearest(model, query, wanted, numbers=listed, exact=exact)
        scored = Scored(
            np.array([neighbour.number for neighbour in found], np.int64),
            np.array([neighbour.similarity for neighbour in found], np.float64),
        )
        return best([scored], limit, digits=COSINE_DIGITS)


def compare_stored(work: Work, query: Query, numbers: Sequence[int], model: str) -> Scored:
    """The cosines of passages whose vectors the database keeps."""
    page = work.vectors.by_numbers(model, list(numbers))
    if not len(page.numbers):
        return _NONE
    return Scored(np.asarray(page.numbers, np.int64), cosines(page.vectors.astype(np.float16), query))


def check_model(here: str | None, wanted: str) -> None:
    """Refuse a vector of another model than those of the index."""
    if wanted != here:
        raise OtherModel(
            f"the vectors of this index are of {here or 'no model'}, not of {wanted}",
            remedy="Embed with that model, or re-embed and run `assay index compact`.",
        )


def measure_spread(vectors: MeasuredVectors, query: Query) -> CosineSpread | None:
    """How near these vectors are to a query as a whole; None without a vector that has a cosine."""
    every = vectors.cosines(query) if len(vectors.lengths) else np.zeros(0)
    # A vector of zeros has no cosine.
    finite = np.isfinite(every)
    real = every if finite.all() else every[finite]
    if not len(real):
        return None
    return CosineSpread(mean=float(real.mean()), deviation=float(real.std()), passages=len(real))


def _own(allowed: AllowedPassages | None) -> Allowed | None:
    """Return a filter's passages as this kind of view made them."""
    if allowed is None or isinstance(allowed, Allowed):
        return allowed
    raise TypeError(f"{type(allowed).__name__} was made by another kind of index")


def _step(count: int) -> int:
    """How far apart the sampled passages are, out of this many."""
    return max(1, -(-count // SAMPLED))
