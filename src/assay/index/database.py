"""PostgreSQL as the index (`index.kind = database`): no files on this machine, nothing that follows the change log.

- What one process knows of a tenant.
- What one search sees: every answer is a statement in the search's own snapshot.
- Putting a tenant into the index.
- The indexes of all tenants.

Words come from `passage_stems` (`tsvector` with GIN, BM25), vectors from pgvector's HNSW. Both are written by the
transaction that writes a chunk, so a search sees exactly what its snapshot holds. `assay.index.indexes` is the same
over files; `protocol` is what both answer.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path

import numpy as np

from assay.clock import Clock
from assay.errors import AssayError, NotReady, SettingError
from assay.index.building import Progress
from assay.index.columns import Whole
from assay.index.indexes import measure_recall
from assay.index.lexical import SCORE_DIGITS
from assay.index.options import Folded, IndexOptions, IndexStatus, Recall
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
from assay.records import CosineSpread, Filters, LogPosition, Scope
from assay.storage import Store, Work
from assay.storage.repositories.passage_filters import PassageFilter
from assay.storage.repositories.stems import StemQuery, StemScore, StemTotals
from assay.text.terms import ANALYSIS_VERSION, stems_of

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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ranked:
    """What the database ranked for some stems in one snapshot."""

    found: list[StemScore]
    limit: int
    is_whole: bool
    """Whether passages without the rarest stems were looked at, too."""


class _Tenant:
    """One tenant in this process. Threads share it; each answer is replaced as a whole."""

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.is_complete = False
        self.indexed_model: str | None = None
        """The model whose vectors are known to have their index in the database."""
        self.problem: str | None = None
        self.thread: threading.Thread | None = None
        self.samples: dict[tuple[str, PassageFilter | None], _Sample] = {}
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


class DatabaseView:
    """One snapshot of a tenant. Made by `DatabaseIndexes.view`."""

    def __init__(self, work: Work, tenant: _Tenant, totals: StemTotals, options: IndexOptions) -> None:
        standing = work.changes.standing()
        self._work = work
        self._tenant = tenant
        self._totals = totals
        self._options = options
        self._known = tenant.known_at(standing.position)
        self._ranked: dict[tuple[tuple[tuple[str, float], ...], PassageFilter | None], _Ranked] = {}
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

    def lexical(self, terms: Mapping[str, float], *, limit: int, allowed: AllowedPassages | None = None) -> list[Found]:
        """The best passages for weighted stems by BM25."""
        weights = self._weigh(terms)
        if not weights or limit < 1:
            return []
        own = _own(allowed)
        found = self._rank(weights, None if own is None else own.within, limit)
        return self._score(found, weights, limit)

    def lexical_of(self, terms: Mapping[str, float], numbers: Sequence[int]) -> list[Found]:
        """BM25 of these passages for weighted stems, best first; one that holds none of them is left out."""
        weights = self._weigh(terms)
        found = self._work.stems.of_passages(list(weights), numbers) if weights and numbers else []
        return self._score(found, weights, len(found))

    def nearest(
        self, vector: Query, *, model: str, limit: int, allowed: AllowedPassages | None = None, exact: bool = False
    ) -> list[Found]:
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

    def cosines(self, vector: Query, numbers: Sequence[int], *, model: str) -> list[Found]:
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

    def _rank(self, weights: Mapping[str, float], within: PassageFilter | None, limit: int) -> list[StemScore]:
        """Return about the best passages, with enough to spare that the first `limit` are among them.

        A search asks for the same stems twice, to choose folders and to find passages, and ranking is most of its cost.
        """
        key = (tuple(weights.items()), within)
        kept = self._ranked.get(key)
        if kept is not None and limit <= kept.limit and (kept.is_whole or limit <= len(kept.found)):
            return kept.found
        queries = self._plan(weights, self._frequencies(list(weights)), limit)
        for query in queries:
            found = self._work.stems.best(query, within)
            if len(found) >= limit:
                break
        self._ranked[key] = _Ranked(found=found, limit=limit, is_whole=query is queries[-1])
        return found

    def _plan(self, weights: Mapping[str, float], held: Mapping[str, int], limit: int) -> list[StemQuery]:
        """Return the statements to try in turn: the rarest stems alone, then all of them.

        A passage without any of the rarest stems scores little; ranking all that hold a frequent one would cost most.
        """
        ranked = sorted(weights, key=lambda stem: (-weights[stem], stem))
        most = self._options.database_postings
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

    def _score(self, found: Sequence[StemScore], weights: Mapping[str, float], limit: int) -> list[Found]:
        """Score exactly what PostgreSQL chose, as the files on disk would."""
        if not found:
            return []
        lengths = np.array([passage.length for passage in found], np.int64)
        norms = length_norms(lengths, self._totals.tokens / max(self._totals.passages, 1))
        scores = np.zeros(len(found))
        for stem, weight in weights.items():
            times = np.array([passage.frequencies.get(stem, 0) for passage in found], np.int64)
            scores += weight * term_scores(times, norms)
        numbers = np.array([passage.number for passage in found], np.int64)
        return best([Scored(numbers, scores)], limit, digits=SCORE_DIGITS)

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


# --- Putting a tenant into the index ---
#
# Saves go on meanwhile: from `begin` on they write their own stems, and each batch here holds the tenant's write lock
# only while it is written. Whoever is cut short goes on where the index ends.


def fill_index(store: Store, scope: Scope, options: IndexOptions, progress: Progress | None = None) -> int:
    """Put every passage into the word index of the database; return how many were missing."""
    with store.writing(scope) as work:
        work.stems.begin(options.title_repeats)
    added, after = 0, 0
    while True:
        with store.writing(scope) as work:
            rows = work.stems.read_missing(after=after, limit=options.page)
            work.stems.write_passages(rows)
            if not rows:
                work.stems.complete()
                return added
        added, after = added + len(rows), rows[-1].number
        if progress is not None:
            with store.reading(scope) as work:
                progress(added, work.memories.count_chunks())


def build_vector_index(store: Store, scope: Scope, options: IndexOptions) -> bool:
    """Let PostgreSQL index a tenant's vectors once it has outgrown exact search; return whether it has the index."""
    with store.reading(scope) as work:
        model = work.vectors.active()
        if model is None or work.vectors.count(model) <= options.exact_below:
            return False
        dimension = work.vectors.page(model, limit=1).vectors.shape[1]
    store.build_vector_index(scope, model, dimension)
    return True


# --- The indexes of all tenants ---

_LEAVE_S = 10.0
"""How long closing waits for what is done in the background."""


class DatabaseIndexes:
    """The indexes of all tenants of a PostgreSQL store. Thread-safe; close it before the store.

    indexes = DatabaseIndexes(store, clock=clock)
    indexes.prepare(scope)
    with store.reading(scope) as work:
        indexes.view(work).lexical({"cooki": 1.0}, limit=50)
    """

    def __init__(self, store: Store, *, clock: Clock, options: IndexOptions | None = None) -> None:
        if store.backend_name != "postgres":
            raise SettingError(
                f"index.kind is 'database', and {store.place} is a SQLite file",
                remedy="Set index.kind to local, or name a PostgreSQL database with --db or ASSAY_DB.",
            )
        self._store = store
        self._clock = clock
        self._options = options or IndexOptions()
        self._mutex = threading.Lock()
        self._tenants: dict[str, _Tenant] = {}
        self._closed = threading.Event()
        atexit.register(self.close)

    def prepare(self, scope: Scope) -> None:
        """Put a tenant into the index if it is not: a small one now, a large one in the background.

        A store that cannot be written to leaves it as it is; searches then say what is missing.
        """
        tenant = self._of(scope)
        if tenant.is_complete:
            return
        with self._store.reading(scope) as work:
            tenant.is_complete = _is_usable(work.stems.totals(), self._options)
            if tenant.is_complete:
                return
            small = work.memories.count_chunks() <= self._options.whole_below
        if small or not self._options.background:
            self._fill(scope, tenant)
        else:
            self._begin(scope, tenant, self._fill)

    def view(self, work: Work, *, progress: Progress | None = None) -> DatabaseView:  # noqa: ARG002 - of the protocol
        """What a search in this unit of work sees: everything its snapshot holds."""
        tenant = self._of(work.scope)
        totals = work.stems.totals()
        if totals is None or not _is_usable(totals, self._options):
            tenant.is_complete = False
            raise self._not_ready(work, tenant, totals)
        view = DatabaseView(work, tenant, totals, self._options)
        outgrown = view.document_count > self._options.exact_below and tenant.indexed_model != view.model
        if outgrown and self._options.background and not self._closed.is_set():
            self._begin(work.scope, tenant, self._index_vectors)
        return view

    def compact(self, scope: Scope, progress: Progress | None = None, *, whole: bool = True) -> Folded:
        """Put what is missing into the index, and build the vector index if it is due.

        `whole` also lets PostgreSQL clean up and count the tables of the index.
        """
        began, tenant = self._clock.monotonic(), self._of(scope)
        added = fill_index(self._store, scope, self._options, progress)
        tenant.is_complete, tenant.problem = True, None
        self._index_vectors(scope, tenant)
        if whole:
            self._store.tidy_stems()
        with self._store.reading(scope) as work:
            totals = work.stems.totals()
        passages = 0 if totals is None else totals.passages
        return Folded(
            done=True,
            reason=f"{passages} passages in the database, {added} of them new",
            passages=passages,
            seconds=self._clock.monotonic() - began,
            log_lines_forgotten=self._forget_old_lines(scope),
        )

    def status(self, scope: Scope) -> IndexStatus:
        """Return the status of the index."""
        tenant = self._of(scope)
        with self._store.reading(scope) as work:
            totals, standing = work.stems.totals(), work.changes.standing()
            usable = _is_usable(totals, self._options)
            indexed = standing.model is not None and work.vectors.has_index(standing.model)
            return IndexStatus(
                kind="database",
                generation=None,
                on_disk=False,
                passages=0 if totals is None else totals.passages,
                memories=work.filtered.count_memories(),
                base_passages=0 if totals is None else totals.passages,
                tail_passages=0,
                position=standing.position,
                log_end=standing.position,
                vector_kind="none" if standing.model is None else "hnsw" if indexed else "exact",
                model=standing.model,
                active_model=standing.model,
                vectors=None if standing.model is None else work.vectors.count(standing.model),
                folder=None,
                bytes_on_disk=0,
                bytes_in_database=work.filtered.stem_bytes()
                + (0 if standing.model is None else work.vectors.index_bytes(standing.model)),
                rebuilt_because=None,
                last_problem=tenant.problem if usable else str(self._not_ready(work, tenant, totals)),
                folding=tenant.thread is not None and tenant.thread.is_alive(),
                lock_holder=None,
                at=self._clock.now(),
            )

    def recall(self, scope: Scope, *, sample: int, rng: np.random.Generator, depth: int = 50) -> Recall:
        """How much of the exact answer the vector index gives, for stored vectors as queries."""
        self.prepare(scope)
        with self._store.reading(scope) as work:
            return measure_recall(self.view(work), work, sample=sample, rng=rng, depth=depth)

    def erase(self, scope: Scope) -> Path | None:
        """Nothing: an erased text left the index in the transaction that erased it."""
        self._of(scope).samples.clear()
        return None

    def delete(self, scope: Scope) -> str | None:
        """Delete the word index of a tenant in the database; return what was deleted."""
        tenant = self._of(scope)
        with self._store.writing(scope) as work:
            passages = work.stems.forget()
        tenant.is_complete = False
        return f"the words of {passages} passages in the database" if passages else None

    def wait(self) -> None:
        """Wait for what is done in the background."""
        for tenant in list(self._tenants.values()):
            if tenant.thread is not None:
                tenant.thread.join()

    def close(self) -> None:
        """Wait a little for what is done in the background. Closing twice is fine."""
        atexit.unregister(self.close)
        self._closed.set()
        for tenant in list(self._tenants.values()):
            if tenant.thread is not None:
                tenant.thread.join(_LEAVE_S)

    def _of(self, scope: Scope) -> _Tenant:
        with self._mutex:
            return self._tenants.setdefault(scope.tenant, _Tenant())

    def _fill(self, scope: Scope, tenant: _Tenant) -> None:
        try:
            fill_index(self._store, scope, self._options, self._give_up)
            tenant.is_complete, tenant.problem = True, None
        except _Closing:
            return
        except AssayError as problem:
            tenant.problem = str(problem)

    def _index_vectors(self, scope: Scope, tenant: _Tenant) -> None:
        with self._store.reading(scope) as work:
            model = work.vectors.active()
        if build_vector_index(self._store, scope, self._options):
            tenant.indexed_model = model

    def _forget_old_lines(self, scope: Scope) -> int:
        """No index follows the change log here; what is kept is for processes with files, which may share the store."""
        before = self._clock.now() - timedelta(days=self._options.keep_log_days)
        with self._store.writing(scope) as work:
            return work.changes.trim_before(before)

    def _begin(self, scope: Scope, tenant: _Tenant, act: Callable[[Scope, _Tenant], None]) -> None:
        """Do something in the background, unless something is being done."""

        def run() -> None:
            try:
                act(scope, tenant)
            except AssayError as problem:
                tenant.problem = str(problem)

        with tenant.mutex:
            if tenant.thread is None or not tenant.thread.is_alive():
                tenant.thread = threading.Thread(target=run, name="assay-database-index", daemon=True)
                tenant.thread.start()

    def _give_up(self, done: int, total: int) -> None:  # noqa: ARG002 - of `Progress`
        if self._closed.is_set():
            raise _Closing

    def _not_ready(self, work: Work, tenant: _Tenant, totals: StemTotals | None) -> NotReady:
        held = 0 if totals is None else totals.passages
        because = "" if tenant.problem is None else f" ({tenant.problem})"
        return NotReady(
            f"the index in the database holds {held:,} of {work.memories.count_chunks():,} passages{because}",
            remedy="Run `assay index compact`, or wait for the process that is at it.",
        )


class _Closing(Exception):
    """The process ends while an index is filled."""


def _is_usable(totals: StemTotals | None, options: IndexOptions) -> bool:
    """Whether an index holds every passage, as this version analyses it."""
    if totals is None or not totals.complete:
        return False
    return (totals.analysis, totals.title_repeats) == (ANALYSIS_VERSION, options.title_repeats)
