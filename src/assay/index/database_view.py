"""What one search sees of a tenant that PostgreSQL indexes (`index.kind = database`).

- What one process knows of a tenant.
- What one search sees: every answer is a statement in the search's own snapshot.

Words come from `passage_stems` (`tsvector` with GIN, BM25), vectors from pgvector's HNSW. `assay.index.database` puts
tenants into the index and makes the views.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from assay.index.columns import Whole
from assay.index.kept_tables import AnswersFromTables, KeptTables
from assay.index.lexical import SCORE_DIGITS
from assay.index.options import IndexOptions
from assay.index.protocol import AllowedPassages, FolderSize
from assay.index.rows import Rows
from assay.index.scoring import (
    COSINE_DIGITS,
    Found,
    MeasuredVectors,
    Query,
    Scored,
    best,
    idf,
    join_vectors,
    length_norms,
    measure_vectors,
    round_query,
    term_scores,
)
from assay.index.view import SAMPLED, SPARE, check_model, compare_stored, measure_spread
from assay.records import CosineSpread, Filters, LogPosition
from assay.storage import Authorship, Work
from assay.storage.repositories.passage_filters import PassageFilter
from assay.storage.repositories.stems import StemQuery, StemScores, StemTotals
from assay.text.terms import stems_of

# --- What one process knows of a tenant ---
#
# Only what would be asked again by the next search: frequencies of stems, whether anything is superseded, and samples
# of vectors. The first two hold for one position of the change log. A sample of a large tenant is a statistic: it is
# kept until the tenant has grown or shrunk by a fiftieth.

_FREQUENCIES_KEPT = 10_000
_SAMPLES_KEPT = 16
_SAMPLE_DRIFT = 0.02
_LARGE = 20 * SAMPLED
"""From here on, a sample is taken at even distances of numbers instead of by counting through."""
_ENOUGH = SAMPLED // 4
"""A sample at even distances with fewer passages is taken by counting through after all."""
_FULL_SEARCH = 4
"""How many times as many passages are looked at when the rarest stems alone gave too few."""


@dataclass(kw_only=True)
class _Known:
    """What was asked at one position of the change log."""

    position: LogPosition
    frequencies: dict[str, int] = field(default_factory=dict)
    has_superseded: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sample:
    vectors: MeasuredVectors
    passages: int
    """How many the tenant had when it was taken."""
    position: LogPosition


class DatabaseTenant:
    """One tenant in this process. Threads share it; each answer is replaced as a whole."""

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.is_complete = False
        self.indexed_model: str | None = None
        """The model whose vectors are known to have their index in the database."""
        self.problem: str | None = None
        self.thread: threading.Thread | None = None
        self.samples: dict[tuple[str, PassageFilter | None], _Sample] = {}
        self.tables = KeptTables()
        self._known: _Known | None = None

    def known_at(self, position: LogPosition) -> _Known:
        """What is known at a position; older views keep their own."""
        known = self._known
        if known is None or known.position != position:
            known = self._known = _Known(position=position)
        return known


# --- What one search sees: every answer is a statement in the search's own snapshot ---


@dataclass(frozen=True, kw_only=True, eq=False)
class DatabaseAllowed:
    """The passages that pass a filter, of one view; counted when asked."""

    within: PassageFilter
    work: Work

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return self.work.filtered.count(self.within)


class DatabaseView(AnswersFromTables):
    """One snapshot of a tenant. Made by `DatabaseIndexes.view`."""

    def __init__(self, work: Work, tenant: DatabaseTenant, totals: StemTotals, options: IndexOptions) -> None:
        standing = work.changes.standing()
        super().__init__(work, standing, tenant.tables)
        self._tenant = tenant
        self._totals = totals
        self._options = options
        self._known = tenant.known_at(standing.position)
        self.position = standing.position
        """Up to where the change log is known."""
        self.model = standing.model
        """Whose vectors are searched; None when there are none."""
        self.document_count = totals.passages
        """How many passages there are."""

    def rows(self, numbers: Iterable[int]) -> Rows:
        """What ranking needs to know of these passages; deleted numbers are left out."""
        return Rows(self._work.passages.candidates(set(numbers)))

    def first_passages(self, memory_ids: Collection[str]) -> dict[str, int]:
        """The number of the first passage of each of these memories; one without passages is left out."""
        return self._work.passages.first_numbers(memory_ids)

    def words(self, numbers: Sequence[int]) -> dict[int, str]:
        """The analysed words of these passages (`AnalysedPassage.lines`); a number that is gone is left out."""
        return self._work.passages.words(numbers)

    def authors_of(self, memory_ids: Collection[str]) -> dict[str, Authorship]:
        """Who wrote these memories; an id that is not there is absent."""
        return self._work.memories.authors_of(memory_ids)

    def may_match_triggers(self, runs: Collection[str]) -> bool:  # noqa: ARG002 - signature is the protocol's
        """Whether one of these runs of words may be a trigger phrase. Always True: looking takes no longer."""
        return True

    def may_have_facts(self) -> bool:
        """Whether any memory may state a fact; False: none does."""
        return self._work.facts.may_exist()

    def document_frequency(self, stem: str) -> int:
        """How many passages hold a stem."""
        return self._frequencies([stem])[stem]

    def word_frequency(self, word: str) -> int:
        """How many passages hold a word in any of its forms: the frequency of its stem."""
        return max(self._frequencies(stems_of([word])).values(), default=0)

    def find_allowed(
        self, filters: Filters, memory_numbers: Sequence[int] | Whole | None = None
    ) -> DatabaseAllowed | None:
        """The passages that pass, or None when all do. Tags and types come as the memories that SQL found."""
        if memory_numbers is None and self._passes_all(filters):
            return None
        numbers = None if memory_numbers is None else tuple(int(number) for number in memory_numbers)
        return self._allow(PassageFilter(either=(_bare(filters),), memory_numbers=numbers))

    def find_allowed_only(self, wider: Filters, *, without: Filters) -> DatabaseAllowed:
        """The passages that pass the first filters and not the second."""
        return self._allow(PassageFilter(either=(_bare(wider),), without=_bare(without)))

    def join_allowed(self, parts: Sequence[AllowedPassages | None]) -> DatabaseAllowed | None:
        """What passes one of these filters of this view; None when one of them lets everything pass.

        Filters that are joined differ in their folder alone.
        """
        known = [part for part in map(_own, parts) if part is not None]
        if len(known) < len(parts) or not known:
            return None
        either = tuple(filters for part in known for filters in part.within.either)
        return self._allow(PassageFilter(either=either, memory_numbers=known[0].within.memory_numbers))

    def lexical(
        self, terms: Mapping[str, float], *, limit: int, allowed: AllowedPassages | None = None
    ) -> Sequence[Found]:
        """The best passages for weighted stems by BM25."""
        weights = self._weigh(terms)
        if not weights or limit < 1:
            return []
        own = _own(allowed)
        within = None if own is None else own.within
        for query in self._plan(weights, self._frequencies(list(weights)), limit):
            found = self._work.stems.best(query, within)
            if len(found.numbers) >= limit:
                break
        return self._score(found, weights, limit)

    def lexical_of(self, terms: Mapping[str, float], numbers: Sequence[int]) -> Sequence[Found]:
        """BM25 of these passages for weighted stems, best first; one that holds none of them is left out."""
        weights = self._weigh(terms)
        if not weights or not numbers:
            return []
        return self._score(self._work.stems.of_passages(list(weights), numbers), weights, len(numbers))

    def nearest(
        self, vector: Query, *, model: str, limit: int, allowed: AllowedPassages | None = None, exact: bool = False
    ) -> Sequence[Found]:
        """The passages whose vectors are nearest by cosine, of one model only."""
        check_model(self.model, model)
        query = round_query(vector)
        if limit < 1:
            return []
        own = _own(allowed)
        within = None if own is None else own.within
        if not exact and self.document_count > self._options.exact_below:
            # The graph gives equals in no order: with some to spare, those that belong first are among them.
            found = self._ask(query, model, limit + SPARE, within, exact=False)
            if within is None or len(found.numbers) >= limit:
                return best([found], limit, digits=COSINE_DIGITS)
        # A filter that leaves little ends the walk through the graph before enough are found.
        return best([self._ask(query, model, limit, within, exact=True)], limit, digits=COSINE_DIGITS)

    def cosines(self, vector: Query, numbers: Sequence[int], *, model: str) -> Sequence[Found]:
        """The cosines of these passages, best first; one without a vector of the model is left out."""
        check_model(self.model, model)
        return best(
            [compare_stored(self._work, round_query(vector), numbers, model)], len(numbers), digits=COSINE_DIGITS
        )

    def cosine_spread(
        self, vector: Query, *, model: str, allowed: AllowedPassages | None = None
    ) -> CosineSpread | None:
        """How near the passages are to a vector as a whole; None without a passage that has a vector."""
        check_model(self.model, model)
        own = _own(allowed)
        return measure_spread(self._find_sample(model, None if own is None else own.within), round_query(vector))

    def numbers(self, allowed: AllowedPassages | None = None) -> Whole:
        """The numbers of every passage, or of those allowed."""
        own = _own(allowed)
        return np.array(self._work.filtered.numbers(None if own is None else own.within), np.int64)

    def passes(self, numbers: Sequence[int] | Whole, allowed: AllowedPassages) -> list[bool]:
        """Return which of these passages, found elsewhere, are allowed."""
        own = _own(allowed)
        listed = [int(number) for number in numbers]
        if own is None:
            return [True] * len(listed)
        passing = self._work.filtered.among(listed, own.within)
        return [number in passing for number in listed]

    def memories_of(self, numbers: Sequence[int] | Whole) -> Whole:
        """The memory number of each passage; -1 for a passage that is not here."""
        listed = [int(number) for number in numbers]
        owners = self._work.filtered.memories_of(listed)
        return np.array([owners.get(number, -1) for number in listed], np.int64)

    def folders(self, filters: Filters | None = None) -> list[FolderSize]:
        """Every folder that holds memories which pass, with their number, by name."""
        return [FolderSize(*row) for row in self._work.filtered.folders(_bare(filters or Filters()))]

    def _passes_all(self, filters: Filters) -> bool:
        if _bare(filters) == Filters(include_superseded=True):
            return True
        if _bare(filters) != Filters():
            return False
        if self._known.has_superseded is None:
            self._known.has_superseded = self._work.filtered.has_superseded()
        return not self._known.has_superseded

    def _allow(self, within: PassageFilter) -> DatabaseAllowed:
        return DatabaseAllowed(within=within, work=self._work)

    def _frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        known = self._known.frequencies
        if missing := [stem for stem in stems if stem not in known]:
            found = self._work.stems.frequencies(missing)
            if len(known) >= _FREQUENCIES_KEPT:
                known.clear()
            for stem in missing:
                known[stem] = found.get(stem, 0)
            return {stem: found.get(stem, known.get(stem, 0)) for stem in stems}
        return {stem: known[stem] for stem in stems}

    def _weigh(self, terms: Mapping[str, float]) -> dict[str, float]:
        """Return each term's weight times its idf, of those that a passage holds."""
        asked = [stem for stem, weight in terms.items() if weight > 0.0]
        held = {stem: times for stem, times in self._frequencies(asked).items() if times}
        return {stem: terms[stem] * idf(self.document_count, times) for stem, times in held.items()}

    def _plan(self, weights: Mapping[str, float], held: Mapping[str, int], limit: int) -> list[StemQuery]:
        """Return the statements to try in turn: the rarest stems alone, then all of them.

        A passage without any of the rarest stems scores little; ranking all that hold a frequent one would cost most.
        """
        ranked = sorted(weights, key=lambda stem: (-weights[stem], stem))
        most = self._options.database_postings_for(self._totals.passages)
        required: list[str] = []
        looked_at = 0
        for stem in ranked:
            if required and looked_at + held[stem] > most:
                break
            required.append(stem)
            looked_at += held[stem]
        average = self._totals.tokens / max(self._totals.passages, 1)
        whole = StemQuery(weights, ranked, (), average, limit + SPARE, _FULL_SEARCH * most)
        if len(required) == len(ranked) and looked_at <= most:
            return [whole]
        # Even the rarest is frequent: first those passages that hold another of the stems, too.
        together = [stem for stem in ranked if stem not in required] if looked_at > most else []
        return [whole._replace(required=required, together=together), whole]

    def _score(self, found: StemScores, weights: Mapping[str, float], limit: int) -> Sequence[Found]:
        """Score exactly what PostgreSQL chose, as the files on disk would."""
        norms = length_norms(found.lengths, self._totals.tokens / max(self._totals.passages, 1))
        scores = np.zeros(len(found.numbers))
        for weight, times in zip(weights.values(), found.frequencies.T, strict=True):
            scores += weight * term_scores(times, norms)
        return best([Scored(found.numbers, scores)], limit, digits=SCORE_DIGITS)

    def _ask(self, query: Query, model: str, limit: int, within: PassageFilter | None, *, exact: bool) -> Scored:
        found = self._work.vectors.nearest(model, query, limit, within=within, exact=exact)
        return Scored(
            np.array([neighbour.number for neighbour in found], np.int64),
            np.array([neighbour.similarity for neighbour in found], np.float64),
        )

    def _find_sample(self, model: str, within: PassageFilter | None) -> MeasuredVectors:
        """An even sample of the vectors; kept, so that the next search over the same passages need not read it."""
        samples, key = self._tenant.samples, (model, within)
        found = samples.get(key)
        if found is None or not self._is_fresh(found):
            page = self._work.vectors.by_numbers(model, self._sample(within))
            vectors = join_vectors([measure_vectors(page.vectors)] if len(page.numbers) else [])
            found = _Sample(vectors=vectors, passages=self.document_count, position=self.position)
            if len(samples) >= _SAMPLES_KEPT:
                samples.clear()
            samples[key] = found
        return found.vectors

    def _is_fresh(self, sample: _Sample) -> bool:
        if sample.position == self.position:
            return True
        drift = abs(sample.passages - self.document_count)
        same_past = sample.position.epoch == self.position.epoch
        return same_past and self.document_count > _LARGE and drift <= _SAMPLE_DRIFT * self.document_count

    def _sample(self, within: PassageFilter | None) -> list[int]:
        if self.document_count > _LARGE:
            spread = self._work.filtered.sample_spread(within, SAMPLED)
            if len(spread) >= _ENOUGH:
                return spread
        return self._work.filtered.sample_evenly(within, SAMPLED)


def _bare(filters: Filters) -> Filters:
    """The filters that columns of memories answer; tags and types come as numbers of memories."""
    return Filters(
        folder=filters.folder,
        tiers=filters.tiers,
        since=filters.since,
        until=filters.until,
        as_of=filters.as_of,
        include_superseded=filters.include_superseded,
    )


def _own(allowed: AllowedPassages | None) -> DatabaseAllowed | None:
    """Return a filter's passages as this kind of view made them."""
    if allowed is None or isinstance(allowed, DatabaseAllowed):
        return allowed
    raise TypeError(f"{type(allowed).__name__} was made by another kind of index")
