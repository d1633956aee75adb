"""Assay itself as a system: searches and saves of the memory engine in any configuration.

- What the engine logged about a search, read after the clock has stopped.
- Searching.
- Saving: each case gets a tenant of its own in a temporary store.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.memory.searching import modes
from assay.memory.searching.fusion import replay
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.results import COMPARED
from assay.metrics.indexing import describe_index, index_coverage
from assay.records import (
    Channel,
    Draft,
    EdgeKind,
    Filters,
    FolderMode,
    Hit,
    HitPassage,
    Origin,
    RetrievedChunk,
    SaveDecision,
    SaveOutcome,
    Scope,
    SearchRequest,
)
from assay.records.evaluations import Retrieved, Seen
from assay.records.evidence import ChannelCandidates
from assay.records.saving import IndexedDocument, IndexVersions, SaveTask, Written
from assay.records.searching import MAX_RESULTS, SearchResult, Stage
from assay.systems.protocol import System

if TYPE_CHECKING:
    from assay.memory.engine import Engine
    from assay.records.datasets import Case, Dataset, Document
    from assay.records.evidence import LoggedQuery
    from assay.systems.registry import Configuration

# --- What the engine logged about a search, read after the clock has stopped ---
#
# The log has each channel's candidates as they were fused. What the session's boost and the query's expansion are
# worth is measured in pairs: the same search, in the same state, without the one thing.

_RRF_K = 60


class EngineSearch(NamedTuple):
    """One search of a run."""

    request: SearchRequest
    result: SearchResult


@dataclass(frozen=True, kw_only=True)
class SearchHistory:
    """Reads from the query log how searches over one dataset were made."""

    engine: Engine
    scope: Scope
    dataset: Dataset
    held: frozenset[str]
    """The documents in the store."""
    document: Callable[[str], str]
    """From a memory's id to its document's."""

    def seen(self, case: Case, searched: EngineSearch) -> Seen:
        """Everything known about the search for a case."""
        request, result = searched
        logged = self._load_logged_query(result.query_id)
        found = [drop_compared(candidate, result.stages) for candidate in logged.candidates]
        about = self._about(case)
        with_history = bool(request.working_memory)
        return Seen(
            indexed=tuple(document for document in about if document in self.held),
            channels={candidate.channel: tuple(self._best_scores(candidate)) for candidate in found},
            channel_scores={candidate.channel: tuple(self._best_scores(candidate).values()) for candidate in found},
            excluded=tuple(document for document in about if self._shut_out(document, result.excluded_folders)),
            shut_out=tuple(document for document in about if self._shut_out(document, _folders_left_out(result))),
            fused=self._documents(_replay_fusion(logged, result)),
            unboosted=self._search_without_boost(request) if with_history else None,
            only_expanded=self._only_expanded(searched) if self._expands(request, result) else None,
            tokens_saved=result.tokens_saved if with_history else None,
        )

    def _load_logged_query(self, query_id: str) -> LoggedQuery:
        log = self.engine.store.log
        # Writing and reading every search by itself took as long as a third of the search.
        if (waiting := log.find_waiting(self.scope, query_id)) is not None:
            return waiting
        log.make_sure_of(query_id)
        with self.engine.store.reading(self.scope) as work:
            return work.queries.get(query_id)

    def _again(self, request: SearchRequest, flag: str) -> SearchResult:
        return self.engine.searcher.search(self.scope, replace(request, without=(*request.without, flag)))

    def _search_without_boost(self, request: SearchRequest) -> tuple[str, ...]:
        return tuple(self.document(memory_id) for memory_id in self._again(request, "session_boost").ids)

    def _expands(self, request: SearchRequest, result: SearchResult) -> bool:
        identity = request.session_id or self.scope.principal
        planned = modes.plan_mode(result.mode, SearchOptions()).expand
        return planned and self.engine.flag_states(self.scope).enabled("query_expansion", identity)

    def _only_expanded(self, searched: EngineSearch) -> tuple[str, ...]:
        plain = self._load_logged_query(self._again(searched.request, "query_expansion").query_id)
        found = {document for offered in plain.candidates for document in self._documents(offered.ids)}
        return tuple(document for document in map(self.document, searched.result.ids) if document not in found)

    def _about(self, case: Case) -> tuple[str, ...]:
        """The documents a case is about: those graded, and those its anchors stand in."""
        places = {support.rel_path for support in case.anchors.supports} if case.anchors else set()
        anchored = [document.id for document in self.dataset.documents if document.rel_path in places] if places else []
        return tuple(dict.fromkeys([*case.labels, *anchored]))

    def _shut_out(self, document: str, folders: Collection[str]) -> bool:
        folder = self.dataset.by_id[document].folder if document in self.dataset.by_id else ""
        return any(folder == excluded or folder.startswith(f"{excluded}/") for excluded in folders)

    def _documents(self, passage_ids: Iterable[str]) -> tuple[str, ...]:
        """Documents of passages (`memory#position`), each at its first place."""
        return tuple(dict.fromkeys(self._of_passage(passage_id) for passage_id in passage_ids))

    def _of_passage(self, passage_id: str) -> str:
        return self.document(passage_id.rpartition("#")[0])

    def _best_scores(self, offered: ChannelCandidates) -> Mapping[str, float]:
        """Each document at its first place, with the score it has there."""
        best: dict[str, float] = {}
        for passage_id, score in zip(offered.ids, offered.scores, strict=True):
            best.setdefault(self._of_passage(passage_id), score)
        return best


def drop_compared(offered: ChannelCandidates, stages: Iterable[Stage]) -> ChannelCandidates:
    """What a channel found itself: `vector` and `bm25` also list what others found, below their own."""
    compared = [stage.detail.get(COMPARED, {}) for stage in stages if stage.name == "filter"]
    own = len(offered.ids) - (compared[-1].get(offered.channel, 0) if compared else 0)
    return ChannelCandidates(channel=offered.channel, ids=offered.ids[:own], scores=offered.scores[:own])


def _folders_left_out(result: SearchResult) -> Sequence[str]:
    """The folders that the choice of folders left out, before anything was widened."""
    return next((stage.detail.get("excluded", ()) for stage in result.stages if stage.name == "folder-choice"), ())


def _replay_fusion(logged: LoggedQuery, result: SearchResult) -> list[str]:
    weights = {Channel(name): weight for name, weight in result.weights.items()}
    rrf_k = (logged.fusion_weights or {}).get("rrf_k", _RRF_K)
    candidates: tuple[ChannelCandidates, ...] = logged.candidates
    return [candidate.number for candidate in replay(candidates, result.fusion, weights, rrf_k)]


# --- Searching ---
#
# `take_in` puts a dataset's documents into a store, each under its id as the source; `AssaySystem` leads from memories
# back to documents by it. A case that stands in a session is asked with what the session holds. Where a case names
# places in documents, the passages come in the order of their own scores. `assay_seen` tells how a list came about.

OnDocument = Callable[[int, int], None]
"""Called with the number of documents stored and their total."""
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
    """Store the documents of a dataset that are not there yet, so an interrupted call can be resumed."""
    with engine.store.writing(scope) as work:
        work.queries.remove_before(engine.clock.now() - LOG_KEPT)
    there = set(_sources(engine, scope).values())
    missing = [document for document in dataset.documents if document.id not in there]
    for done, _ in enumerate(engine.saver.save_many(scope, _drafts(missing)), start=1):
        if on_document is not None:
            on_document(done, len(missing))
    if missing and dataset.edges:
        _link(engine, scope, dataset)
    _replace(engine, scope, dataset)
    if missing and is_dated(dataset) and engine.flag_states(scope).enabled("reconsolidation", scope.principal):
        _settle_facts(engine, scope)
    if len(missing) >= FOLD_FROM:
        engine.indexes.compact(scope)


def _drafts(documents: Iterable[Document]) -> Iterator[Draft]:
    """A document without text cannot be stored; it is then not in the index, as in any other system."""
    for document in documents:
        if document.text.strip() or document.title.strip():
            yield _draft(document)


def _draft(document: Document) -> Draft:
    return Draft(
        title=document.title.strip() or document.id,
        body=document.text if document.text.strip() else document.title,
        triggers=document.triggers,
        tier=document.tier,
        format=document.format,
        folder=document.folder,
        rel_path=document.rel_path,
        entity_type=document.entity_type,
        tags=document.tags,
        metadata=document.metadata,
        source_id=document.id,
        valid_from=document.dated,
        written_with="assay run",
    )


def _link(engine: Engine, scope: Scope, dataset: Dataset) -> None:
    memory_of = {document: memory for memory, document in _sources(engine, scope).items()}
    with engine.store.writing(scope) as work:
        for edge in dataset.edges:
            if edge.source_id in memory_of and edge.target_id in memory_of:
                ends = memory_of[edge.source_id], memory_of[edge.target_id]
                work.edges.put(replace(edge, source_id=ends[0], target_id=ends[1]))


def _replace(engine: Engine, scope: Scope, dataset: Dataset) -> None:
    """Mark documents that the dataset calls superseded as superseded in the store, as the save would have."""
    replaced = {edge.target_id: edge.created_at for edge in dataset.edges if edge.kind is EdgeKind.SUPERSEDES}
    if not replaced:
        return
    with engine.store.writing(scope) as work:
        for document, at in replaced.items():
            for memory in work.memories.by_source(document):
                if memory.superseded_at is None:
                    work.memories.update(replace(memory, superseded_at=at))


def is_dated(dataset: Dataset) -> bool:
    """Whether every document has a date, so that it is known which was written after which."""
    return bool(dataset.documents) and all(document.dated for document in dataset.documents)


def _settle_facts(engine: Engine, scope: Scope) -> None:
    """End the facts that documents of a later date replace, as saves in the order of their dates would have."""
    memories = list(_sources(engine, scope))
    with engine.store.writing(scope) as work:
        for start in range(0, len(memories), FOLD_FROM):
            work.facts.settle(work.facts.topics_touched_by(memories[start : start + FOLD_FROM]))


def _find_previous_query(case: Case) -> str | None:
    """Return what the user said before the question of a case; None where it opens the conversation."""
    return next((turn.text for turn in reversed(case.history) if turn.by_user and turn.text.strip()), None)


def _sources(engine: Engine, scope: Scope) -> dict[str, str]:
    """Every memory that came from a document, with the document's id; also those that were superseded."""
    found: dict[str, str] = {}
    after = ""
    with engine.store.reading(scope) as work:
        while page := work.memories.page(after=after):
            after = page[-1].id
            found |= {memory.id: memory.source_id for memory in page if memory.source_id}
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
        # A document without a date would count as written today, and be in no answer to an earlier question.
        self._dated = is_dated(dataset)
        self._searched: dict[str, EngineSearch] = {}
        self._telling = SearchHistory(
            engine=engine, scope=scope, dataset=dataset, held=self._held, document=self._document
        )

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """One search."""
        request = self._request(query, k, case)
        result = self._engine.searcher.search(self._scope, request)
        self._searched[case.id] = EngineSearch(request, result)
        return self._to_retrieved(result, ranked=request.explain)

    def _request(self, query: str, k: int, case: Case) -> SearchRequest:
        asked, session = self._configuration, case.session
        held = () if session is None else session.working_memory
        return SearchRequest(
            query=query,
            k=min(k, MAX_RESULTS),
            mode=asked.mode,
            channels=asked.channels,
            folder_mode=case.folder_mode if asked.folder_mode is FolderMode.OFF else asked.folder_mode,
            filters=Filters(as_of=case.asked_at if self._dated else None),
            previous_query=_find_previous_query(case) if asked.previous_query and query == case.query else None,
            session_id=None if session is None else session.session_id,
            working_memory=tuple(self._memory_of[held_id] for held_id in held if held_id in self._memory_of),
            context_type=asked.context_type,
            token_budget=asked.token_budget,
            tokens_used=asked.tokens_used,
            min_relevance=asked.min_relevance,
            # The scores of single passages are told in explanations only.
            explain=case.anchors is not None,
            origin=Origin.EVALUATION,
            tool_name="assay run",
        )

    def _to_retrieved(self, result: SearchResult, *, ranked: bool) -> Retrieved:
        stages: dict[str, float] = {"embedding": result.telemetry.embedding_latency_ms}
        for stage in result.stages:
            stages[stage.name] = stages.get(stage.name, 0.0) + stage.duration_ms
        shown = (
            _rank_passages(result.hits)
            if ranked
            else ((hit, passage) for hit in result.hits for passage in _best_first(hit))
        )
        return Retrieved(
            ids=tuple(self._document(hit.memory_id) for hit in result.hits),
            scores=tuple(hit.score for hit in result.hits),
            passages=tuple(self._chunk(hit, passage) for hit, passage in shown),
            pinned=tuple(self._document(memory.memory_id) for memory in result.pinned),
            outdated={self._document(hit.memory_id): marks for hit in result.hits if (marks := _marks(hit))},
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
        """The logged search for a case, and the results of the same search without session or expansion."""
        searched = self._searched.pop(case.id, None)
        return None if searched is None else self._telling.seen(case, searched)

    def trail(self, case: Case, k: int) -> Trail:
        """One search for a case with everything that fusion was given, for a replay."""
        self.retrieve(case.query, k, case)
        result = self._searched.pop(case.id).result
        self._engine.store.log.flush()
        with self._engine.store.reading(self._scope) as work:
            return Trail(result, work.queries.get(result.query_id), self._document_of)

    def holds(self, document_ids: Collection[str]) -> frozenset[str]:
        """Which of these are in the store."""
        return frozenset(document for document in document_ids if document in self._held)

    def subject(self) -> Mapping[str, Any]:
        """Embedder, chunker, index, flags and all requested options."""
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
            else _describe_index(
                self._engine, self._scope, models.active, str(self._made_of.get("analysis") or "unknown")
            ),
            "flags": {name: states.enabled(name, self._scope.principal) for name in sorted(states)},
            **self._made_of,
        }

    def close(self) -> None:
        """Close the engine where it is this system's own."""
        if self._close is not None:
            self._close()


def _marks(hit: Hit) -> tuple[str, ...]:
    """What a hit shows as no longer true; of a memory that was superseded, everything."""
    whole = () if hit.superseded_at is None else (hit.title, hit.text)
    return (*(fact.statement for fact in hit.outdated), *whole)


def _describe_index(engine: Engine, scope: Scope, model: str, analysis: str) -> dict[str, Any]:
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


def _best_first(hit: Hit) -> list[HitPassage]:
    """The passages of a hit: the one that matched best, then the others in the order of the document."""
    return sorted(hit.passages, key=lambda passage: passage.position != hit.best_position)


def _rank_passages(hits: Iterable[Hit]) -> list[tuple[Hit, HitPassage]]:
    """Every passage that is shown, best first by its own score: hits give theirs in the order of the document."""
    worth: list[tuple[float, Hit, HitPassage]] = []
    for hit in hits:
        scores = {} if hit.explanation is None else hit.explanation.passage_scores()
        worth += [(scores.get(passage.position, 0.0), hit, passage) for passage in hit.passages]
    return [(hit, passage) for _, hit, passage in sorted(worth, key=lambda entry: -entry[0])]


# --- Saving: each case gets a tenant of its own in a temporary store ---
#
# The older note is there before the clock starts, kept without the gate; the newer one is saved with the gate
# enforced, as it is when the warn-only period is over and a person has looked at what it would have turned away.
# `enforce` makes it so for one tenant.

LOOKED_AT = 5
"""Results looked at after a save, for a note that should no longer be served."""


class _Place(NamedTuple):
    """A tenant with the older note in it."""

    scope: Scope
    older: str
    """The memory that holds it."""


class AssaySaves(System):
    """Saves notes into a memory."""

    def __init__(
        self,
        engine: Engine,
        dataset: Dataset,
        configuration: Configuration,
        *,
        enforce: Callable[[Scope], object],
        name: str = "assay",
        made_of: Mapping[str, Any] | None = None,
        close: Callable[[], None] | None = None,
        on_document: OnDocument | None = None,
    ) -> None:
        self.name = name
        self._engine = engine
        self._dataset = dataset
        self._configuration = configuration
        self._made_of = made_of or {}
        self._close = close
        self._enforce = enforce
        self._numbers = itertools.count()
        self._ready: dict[str, _Place] = {}
        engine.store.checkpoints.create("empty")
        for done, case in enumerate(dataset.cases, start=1):
            self._ready[case.id] = self._prepare(_task(case))
            if on_document is not None:
                on_document(done, len(dataset.cases))

    def _prepare(self, task: SaveTask) -> _Place:
        engine, older = self._engine, self._dataset.by_id[task.after]
        scope = Scope(tenant=f"save-{next(self._numbers)}")
        self._enforce(scope)
        draft = Draft(title=older.title, body=older.text, triggers=older.triggers)
        kept = engine.saver.save(scope, draft, gated=False)
        return _Place(scope, kept.memory_id or "")

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - it is never asked
        """A dataset of saves has no searches."""
        return Retrieved(ids=())

    def save(self, case: Case) -> Retrieved:
        """Save the newer note, then search for it."""
        task = _task(case)
        place = self._ready.pop(case.id, None) or self._prepare(task)
        outcome = self._engine.saver.save(place.scope, Draft(title=task.title, body=task.body, triggers=task.triggers))
        query = f"{task.title}\n{task.body}"
        request = SearchRequest(query=query, k=LOOKED_AT, origin=Origin.EVALUATION, tool_name="assay run")
        found = self._engine.searcher.search(place.scope, request)
        newer = f"{case.id}:newer"
        return Retrieved(
            ids=tuple(task.after if result_id == place.older else newer for result_id in found.ids),
            scores=tuple(hit.score for hit in found.hits),
            saved=self._describe_written(place, outcome),
            notes=found.degraded,
        )

    def _describe_written(self, place: _Place, outcome: SaveOutcome) -> Written:
        with self._engine.store.reading(place.scope) as work:
            older = work.memories.get(place.older)
            holder = None if outcome.memory_id is None else work.memories.find(outcome.memory_id)
            joined = work.edges.of(place.older)
        turned_away = outcome.decision is SaveDecision.REJECT
        ended = sum(fact.memory_id == place.older for fact in outcome.outdated)
        return Written(
            decided=outcome.decision,
            old_live=older.superseded_at is None,
            new_live=not turned_away and holder is not None and holder.superseded_at is None,
            marked=ended > 0 or any(edge.kind is EdgeKind.CONTRADICTS for edge in joined),
            kept="" if turned_away or holder is None else holder.body,
            ended=ended,
        )

    def subject(self) -> Mapping[str, Any]:
        """The requested options, and what the engine is made of."""
        return {"system": self.name, "kind": "assay", "configuration": self._configuration.as_json(), **self._made_of}

    def close(self) -> None:
        """Throw the store away."""
        if self._close is not None:
            self._close()


def _task(case: Case) -> SaveTask:
    if case.save is None:
        raise ValueError(f"{case.id} saves nothing")
    return case.save
