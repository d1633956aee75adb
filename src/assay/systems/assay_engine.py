"""Assay itself as a system, in any configuration: every case is one search of the engine, asked as an evaluation.

`take_in` puts a dataset's documents into a store, each under its id as the source; `AssaySystem` leads from memories
back to documents by it. How a list came about is read from the query log once the clock has stopped: each channel's
candidates as they were fused, and the fused list before boosts and reranking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from assay.memory.engine import Engine
from assay.memory.searching.fusion import replay
from assay.records import Channel, Draft, Filters, FolderMode, Hit, Origin, RetrievedChunk, Scope, SearchRequest
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import Retrieved, Seen
from assay.records.evidence import ChannelCandidates, LoggedQuery
from assay.records.searching import MAX_RESULTS, SearchResult
from assay.systems.protocol import System
from assay.systems.specs import Configuration

OnDocument = Callable[[int, int], None]
"""Told how many documents are taken in, of how many."""
FOLD_FROM = 1_000
"""Documents from which it pays to fold what was taken in at once."""
LOG_KEPT = timedelta(days=1)
"""A run reads its own searches in the log right after them; older ones only make the store larger."""
_RRF_K = 60


def take_in(engine: Engine, scope: Scope, dataset: Dataset, on_document: OnDocument | None = None) -> None:
    """Put into a store whatever of a dataset is not there yet. One that was stopped goes on where it stopped."""
    with engine.store.writing(scope) as work:
        work.queries.remove_before(engine.clock.now() - LOG_KEPT)
    there = set(_sources(engine, scope).values())
    missing = [one for one in dataset.documents if one.id not in there]
    for done, _ in enumerate(engine.saver.save_many(scope, _drafts(missing)), start=1):
        if on_document is not None:
            on_document(done, len(missing))
    if missing and dataset.edges:
        _link(engine, scope, dataset)
    if len(missing) >= FOLD_FROM:
        engine.indexes.compact(scope)


def _drafts(documents: Iterable[Document]) -> Iterator[Draft]:
    """A document without a single word cannot be kept; it is then not in the index, as in any other system."""
    for one in documents:
        if one.text.strip() or one.title.strip():
            yield _draft(one)


def _draft(one: Document) -> Draft:
    return Draft(
        title=one.title.strip() or one.id,
        body=one.text if one.text.strip() else one.title,
        triggers=one.triggers,
        tier=one.tier,
        format=one.format,
        folder=one.folder,
        rel_path=one.rel_path,
        entity_type=one.entity_type,
        tags=one.tags,
        metadata=one.metadata,
        source_id=one.id,
        valid_from=one.dated,
        written_with="assay run",
    )


def _link(engine: Engine, scope: Scope, dataset: Dataset) -> None:
    memory_of = {document: memory for memory, document in _sources(engine, scope).items()}
    with engine.store.writing(scope) as work:
        for one in dataset.edges:
            if one.source_id in memory_of and one.target_id in memory_of:
                ends = memory_of[one.source_id], memory_of[one.target_id]
                work.edges.put(replace(one, source_id=ends[0], target_id=ends[1]))


def _sources(engine: Engine, scope: Scope) -> dict[str, str]:
    """Every current memory that came from a document, with the document's id."""
    found: dict[str, str] = {}
    after = ""
    with engine.store.reading(scope) as work:
        while page := work.memories.page(after=after):
            after = page[-1].id
            found |= {one.id: one.source_id for one in page if one.source_id and one.superseded_at is None}
    return found


class AssaySystem(System):
    """Searches a memory."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        dataset: Dataset,
        configuration: Configuration,
        *,
        name: str = "assay",
        made_of: Mapping[str, Any] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._engine = engine
        self._scope = scope
        self._dataset = dataset
        self._configuration = configuration
        self._made_of = made_of or {}
        self._close = close
        self._document_of = _sources(engine, scope)
        self._held = frozenset(self._document_of.values())
        self._results: dict[str, SearchResult] = {}

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """One search."""
        asked = self._configuration
        request = SearchRequest(
            query=query,
            k=min(k, MAX_RESULTS),
            mode=asked.mode,
            channels=asked.channels,
            folder_mode=case.folder_mode if asked.folder_mode is FolderMode.OFF else asked.folder_mode,
            filters=Filters(),
            origin=Origin.EVALUATION,
            tool_name="assay run",
        )
        result = self._engine.searcher.search(self._scope, request)
        self._results[case.id] = result
        return self._retrieved(result)

    def _retrieved(self, result: SearchResult) -> Retrieved:
        stages: dict[str, float] = {"embedding": result.telemetry.embedding_latency_ms}
        for one in result.stages:
            stages[one.name] = stages.get(one.name, 0.0) + one.duration_ms
        return Retrieved(
            ids=tuple(self._document(hit.memory_id) for hit in result.hits),
            scores=tuple(hit.score for hit in result.hits),
            passages=tuple(chunk for hit in result.hits for chunk in self._passages(hit)),
            pinned=tuple(self._document(one.memory_id) for one in result.pinned),
            stages=stages,
            notes=result.degraded,
        )

    def _document(self, memory_id: str) -> str:
        return self._document_of.get(memory_id, memory_id)

    def _passages(self, hit: Hit) -> Iterator[RetrievedChunk]:
        place = hit.rel_path or self._document(hit.memory_id)
        for one in hit.passages:
            chunk_id = f"{self._document(hit.memory_id)}:chunk:{one.position}"
            yield RetrievedChunk(rel_path=place, heading_path=one.heading_path, text=one.text, chunk_id=chunk_id)

    def seen(self, case: Case, given: Retrieved) -> Seen | None:  # noqa: ARG002 - the log knows more
        """What the log says of the search for a case."""
        result = self._results.pop(case.id, None)
        if result is None:
            return None
        self._engine.store.log.flush()
        with self._engine.store.reading(self._scope) as work:
            logged = work.queries.get(result.query_id)
        about = self._about(case)
        return Seen(
            indexed=tuple(one for one in about if one in self._held),
            channels={one.channel: self._documents(one.ids) for one in logged.candidates},
            excluded=tuple(one for one in about if self._shut_out(one, result.excluded_folders)),
            fused=self._documents(_fused(logged, result)),
        )

    def _about(self, case: Case) -> tuple[str, ...]:
        """The documents a case is about: those graded, and those its anchors stand in."""
        places = {one.rel_path for one in case.anchors.supports} if case.anchors else set()
        anchored = [one.id for one in self._dataset.documents if one.rel_path in places] if places else []
        return tuple(dict.fromkeys([*case.labels, *anchored]))

    def _shut_out(self, document: str, folders: Collection[str]) -> bool:
        folder = self._dataset.by_id[document].folder if document in self._dataset.by_id else ""
        return any(folder == one or folder.startswith(f"{one}/") for one in folders)

    def _documents(self, passage_ids: Iterable[str]) -> tuple[str, ...]:
        """Documents of passages (`memory#position`), each at its first place."""
        return tuple(dict.fromkeys(self._document(one.rpartition("#")[0]) for one in passage_ids))

    def holds(self, document_ids: Collection[str]) -> frozenset[str]:
        """Which of these are in the store."""
        return frozenset(one for one in document_ids if one in self._held)

    def subject(self) -> Mapping[str, Any]:
        """Embedder, chunker, index, flags and everything that was asked for."""
        states = self._engine.flag_states(self._scope)
        models = self._engine.vector_models(self._scope)
        return {
            "system": self.name,
            "kind": "assay",
            "configuration": self._configuration.as_json(),
            "embedder": models.active,
            "chunks": models.chunks,
            "flags": {name: states.enabled(name, self._scope.principal) for name in sorted(states)},
            **self._made_of,
        }

    def close(self) -> None:
        """Close the engine where it is this system's own."""
        if self._close is not None:
            self._close()


def _fused(logged: LoggedQuery, result: SearchResult) -> list[str]:
    weights = {Channel(name): weight for name, weight in result.weights.items()}
    rrf_k = (logged.fusion_weights or {}).get("rrf_k", _RRF_K)
    candidates: tuple[ChannelCandidates, ...] = logged.candidates
    return [one.number for one in replay(candidates, result.fusion, weights, rrf_k)]
