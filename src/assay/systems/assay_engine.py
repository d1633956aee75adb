"""Assay itself as a system, in any configuration: every case is one search of the engine, asked as an evaluation.

`take_in` puts a dataset's documents into a store, each under its id as the source; `AssaySystem` leads from memories
back to documents by it. A case that stands in a session is asked with what the session holds. Where a case names places
in documents, the passages come in the order of their own scores. `assay_seen` tells how a list came about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from assay.memory.engine import Engine
from assay.metrics.indexing import describe_index, index_coverage
from assay.records import (
    Draft,
    EdgeKind,
    Filters,
    FolderMode,
    Hit,
    HitPassage,
    Origin,
    RetrievedChunk,
    Scope,
    SearchRequest,
)
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import Retrieved, Seen
from assay.records.evidence import LoggedQuery
from assay.records.indexed import IndexedDocument, IndexVersions
from assay.records.searching import MAX_RESULTS, SearchResult
from assay.systems.assay_seen import Searched, Telling
from assay.systems.protocol import System
from assay.systems.specs import Configuration

OnDocument = Callable[[int, int], None]
"""Told how many documents are taken in, of how many."""
FOLD_FROM = 1_000
"""Documents from which it pays to fold what was taken in at once."""
LOG_KEPT = timedelta(days=1)
"""A run reads its own searches in the log right after them; older ones only make the store larger."""


class Trail(NamedTuple):
    """A search, its line of the log with each channel's list, and the documents behind the memories in it."""

    result: SearchResult
    logged: LoggedQuery
    document_of: Mapping[str, str]


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
    _replace(engine, scope, dataset)
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


def _replace(engine: Engine, scope: Scope, dataset: Dataset) -> None:
    """What the dataset says was superseded is so in the store too, as after the save that did it."""
    replaced = {one.target_id: one.created_at for one in dataset.edges if one.kind is EdgeKind.SUPERSEDES}
    if not replaced:
        return
    with engine.store.writing(scope) as work:
        for document, at in replaced.items():
            for memory in work.memories.by_source(document):
                if memory.superseded_at is None:
                    work.memories.update(replace(memory, superseded_at=at))


def _sources(engine: Engine, scope: Scope) -> dict[str, str]:
    """Every memory that came from a document, with the document's id; also those that were superseded."""
    found: dict[str, str] = {}
    after = ""
    with engine.store.reading(scope) as work:
        while page := work.memories.page(after=after):
            after = page[-1].id
            found |= {one.id: one.source_id for one in page if one.source_id}
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
        self._memory_of = {document: memory for memory, document in self._document_of.items()}
        self._searched: dict[str, Searched] = {}
        self._telling = Telling(engine=engine, scope=scope, dataset=dataset, held=self._held, document=self._document)

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """One search."""
        request = self._request(query, k, case)
        result = self._engine.searcher.search(self._scope, request)
        self._searched[case.id] = Searched(request, result)
        return self._retrieved(result, ranked=request.explain)

    def _request(self, query: str, k: int, case: Case) -> SearchRequest:
        asked, session = self._configuration, case.session
        held = () if session is None else session.working_memory
        return SearchRequest(
            query=query,
            k=min(k, MAX_RESULTS),
            mode=asked.mode,
            channels=asked.channels,
            folder_mode=case.folder_mode if asked.folder_mode is FolderMode.OFF else asked.folder_mode,
            filters=Filters(),
            session_id=None if session is None else session.session_id,
            working_memory=tuple(self._memory_of[one] for one in held if one in self._memory_of),
            # The scores of single passages are told in explanations only.
            explain=case.anchors is not None,
            origin=Origin.EVALUATION,
            tool_name="assay run",
        )

    def _retrieved(self, result: SearchResult, *, ranked: bool) -> Retrieved:
        stages: dict[str, float] = {"embedding": result.telemetry.embedding_latency_ms}
        for one in result.stages:
            stages[one.name] = stages.get(one.name, 0.0) + one.duration_ms
        shown = _ranked_passages(result.hits) if ranked else ((hit, one) for hit in result.hits for one in hit.passages)
        return Retrieved(
            ids=tuple(self._document(hit.memory_id) for hit in result.hits),
            scores=tuple(hit.score for hit in result.hits),
            passages=tuple(self._chunk(hit, passage) for hit, passage in shown),
            pinned=tuple(self._document(one.memory_id) for one in result.pinned),
            stages=stages,
            notes=result.degraded,
        )

    def _document(self, memory_id: str) -> str:
        return self._document_of.get(memory_id, memory_id)

    def _chunk(self, hit: Hit, passage: HitPassage) -> RetrievedChunk:
        document = self._document(hit.memory_id)
        return RetrievedChunk(
            rel_path=hit.rel_path or document,
            heading_path=passage.heading_path,
            text=passage.text,
            chunk_id=f"{document}:chunk:{passage.position}",
        )

    def seen(self, case: Case, given: Retrieved) -> Seen | None:  # noqa: ARG002 - the log knows more
        """What the log says of the search for a case, and what the same search gives without session or expansion."""
        searched = self._searched.pop(case.id, None)
        return None if searched is None else self._telling.seen(case, searched)

    def trail(self, case: Case, k: int) -> Trail:
        """One search for a case with everything that fusion was given, for whoever replays it."""
        self.retrieve(case.query, k, case)
        result = self._searched.pop(case.id).result
        self._engine.store.log.flush()
        with self._engine.store.reading(self._scope) as work:
            return Trail(result, work.queries.get(result.query_id), self._document_of)

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
            "index": {}
            if models.active is None
            else _indexed(self._engine, self._scope, models.active, str(self._made_of.get("analysis") or "unknown")),
            "flags": {name: states.enabled(name, self._scope.principal) for name in sorted(states)},
            **self._made_of,
        }

    def close(self) -> None:
        """Close the engine where it is this system's own."""
        if self._close is not None:
            self._close()


def _indexed(engine: Engine, scope: Scope, model: str, analysis: str) -> dict[str, Any]:
    """How the documents were split and embedded, so that a run shows when that changes."""
    with engine.store.reading(scope) as work:
        rows = work.indexed.documents(model)
    documents = [
        IndexedDocument(
            chunk_tokens=row.chunk_tokens,
            skipped=row.skipped,
            versions=IndexVersions(chunker=row.chunker, embedder=model, index=analysis) if row.chunker else None,
        )
        for row in rows
    ]
    return describe_index(index_coverage(documents))


def _ranked_passages(hits: Iterable[Hit]) -> list[tuple[Hit, HitPassage]]:
    """Every passage that is shown, best first by its own score: hits give theirs in the order of the document."""
    worth: list[tuple[float, Hit, HitPassage]] = []
    for hit in hits:
        scores = {} if hit.explanation is None else hit.explanation.passage_scores()
        worth += [(scores.get(one.position, 0.0), hit, one) for one in hit.passages]
    return [(hit, one) for _, hit, one in sorted(worth, key=lambda one: -one[0])]
