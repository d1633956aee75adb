"""The parts of the memory together: one store, its indexes, an embedder, and what saves, finds, takes in and checks.

Made by `wiring.open_engine`. Everything takes a scope first, so one engine serves any number of tenants and threads.
What only some commands need is imported when it is needed: a search in a shell should not wait for what saves.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from assay.clock import Clock
from assay.embedding.wrappers import OnDemandEmbedder
from assay.errors import InputError
from assay.flags import Flags, FlagStates
from assay.index import Folded, Indexes
from assay.memory.learning.repeated_searches import ComparedQuery, RepeatedSearches
from assay.memory.searching import Searcher
from assay.records import (
    Edge,
    EdgeKind,
    Erased,
    Forget,
    MemoryFilter,
    MemoryList,
    PackedContext,
    RecentSession,
    Scope,
    SearchRequest,
    SearchResult,
    SessionSummary,
    ShownMemory,
    TaskEnded,
    TaskRecord,
    TaskReport,
    Tier,
    TierChange,
    Why,
)
from assay.records.fields import one_of
from assay.records.saving import Exported, ExportFormat, ImportFormat, ImportReport, IngestReport
from assay.storage import Store

if TYPE_CHECKING:
    from assay.memory.fact_reading import FactsRead
    from assay.memory.forgetting import Forgetting
    from assay.memory.health import Health
    from assay.memory.importing import ImportOptions, OnProgress
    from assay.memory.ingesting import Ingester, MakeSaver, OnFile
    from assay.memory.learning import Learning, Policy
    from assay.memory.reembedding import BackgroundReembedding, ModelState, Progress
    from assay.memory.rescanning import Rescanning
    from assay.memory.saving import Saver
    from assay.memory.searching.variants import VariantSearch
    from assay.records.learning import Observation, Observed, Validated
    from assay.records.memory_list import HealthReport

Search = Callable[[Scope, SearchRequest], SearchResult]
FindRoute = Callable[[Scope, SearchRequest], Search | None]
"""Returns how a request is searched where that is not as usual; None: as usual."""
MakeRoute = Callable[["Engine"], FindRoute]
MakeVariant = Callable[["Engine", tuple[str, ...]], "VariantSearch"]

FOLD_FROM = 1_000
"""New chunks from which it pays to fold them at once: the next process then need not read them one by one."""


class VectorModels(NamedTuple):
    """Whose vectors a tenant has."""

    active: str | None
    """The model that search compares with."""
    stored: Mapping[str, int]
    """How many chunks have a vector of each model."""
    chunks: int


class Engine:
    """A memory at work. Closed by `close` or at the end of a `with` block; closing twice is fine."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: OnDemandEmbedder | None,
        indexes: Indexes,
        flags: Flags,
        searcher: Searcher,
        make_saver: MakeSaver,
        clock: Clock,
        learning_policy: Policy | None = None,
        make_variant: MakeVariant | None = None,
        make_route: MakeRoute | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        """None: the settings ask for no vectors."""
        self.indexes = indexes
        self.flags = flags
        self.searcher = searcher
        self.clock = clock
        self.counters: dict[str, Callable[[], Mapping[str, int]]] = {}
        """What runs beside the engine in this process, such as `shadow`, and what it has counted so far."""
        self._make_saver = make_saver
        self._learning_policy = learning_policy
        self._make_variant = make_variant
        self._find_route = None if make_route is None else make_route(self)
        self._looked_after: set[str] = set()
        self._lock = threading.Lock()
        self.repeated = RepeatedSearches(store=store, embed=self._embed_loaded, clock=clock)
        """Records searches that repeat an earlier one of their session in vain."""
        searcher.watch(self.repeated.note)

    def _embed_loaded(self, query: str) -> ComparedQuery | None:
        """Embed a query if a model is loaded: nobody waits for one only to compare two queries."""
        if self.embedder is None or not self.embedder.loaded:
            return None
        made = self.searcher.embed(query)
        return None if made is None else ComparedQuery(made.values, self.embedder.profile.related)

    @cached_property
    def saver(self) -> Saver:
        """Keeps memories. Made when first needed: how long a chunk may be is for the embedder to say."""
        return self._make_saver(None)

    @cached_property
    def ingester(self) -> Ingester:
        """Takes in files."""
        from assay.memory.ingesting import Ingester  # noqa: PLC0415 - see the module's docstring

        return Ingester(store=self.store, make_saver=self._make_saver, clock=self.clock)

    @cached_property
    def checks(self) -> Health:
        """Looks whether everything works."""
        from assay.memory.health import Health  # noqa: PLC0415 - see the module's docstring

        return Health(
            store=self.store,
            searcher=self.searcher,
            indexes=self.indexes,
            flags=self.flags,
            embedder=self.embedder,
            clock=self.clock,
        )

    @cached_property
    def learning(self) -> Learning:
        """Learns from use."""
        from assay.memory.learning import Learning  # noqa: PLC0415 - see the module's docstring

        return Learning(
            store=self.store,
            flags=self.flags,
            sessions=self.searcher.sessions,
            clock=self.clock,
            policy=self._learning_policy,
        )

    def search(self, scope: Scope, request: SearchRequest) -> SearchResult:
        """Answer a question as it is served now: by a variant that is on, or by both sides of a running test."""
        route = None if self._find_route is None else self._find_route(scope, request)
        return self.searcher.search(scope, request) if route is None else route(scope, request)

    def variant(self, specs: tuple[str, ...]) -> VariantSearch:
        """Return the search of this memory with the settings and flags of some specs, the last one first."""
        if self._make_variant is None:
            raise InputError("this engine was opened without settings", remedy="Open it with wiring.open_engine.")
        return self._make_variant(self, specs)

    def validate(
        self,
        scope: Scope,
        memory_id: str,
        was_useful: bool,
        *,
        session_id: str | None = None,
        query_id: str | None = None,
        event_key: str | None = None,
        note: str = "",
    ) -> Validated:
        """Record a vote on a memory, useful or not; counted once for each event key."""
        from assay.memory.learning import Vote  # noqa: PLC0415 - see the module's docstring

        vote = Vote(
            memory_id=memory_id,
            useful=was_useful,
            session_id=session_id,
            query_id=query_id,
            event_key=event_key,
            note=note,
        )
        return self.learning.validate(scope, vote)

    def observe(self, scope: Scope, observation: Observation) -> Observed:
        """An agent was seen reading a memory or writing a text."""
        return self.learning.observe(scope, observation)

    def load(self, scope: Scope, memory_id: str, *, session_id: str | None = None) -> ShownMemory:
        """A memory, read whole: in a session that counts as a read."""
        return self.learning.load(scope, memory_id, session_id=session_id)

    @cached_property
    def reembedding(self) -> BackgroundReembedding | None:
        """Changes the model in the background; None without an embedder."""
        from assay.memory.reembedding import BackgroundReembedding  # noqa: PLC0415 - see the module's docstring

        return None if self.embedder is None else BackgroundReembedding(self.store, self.embedder)

    def ingest(
        self,
        scope: Scope,
        paths: Sequence[Path],
        *,
        root: Path | None = None,
        globs: Sequence[str] = (),
        follow_links: bool = False,
        gate: bool = False,
        prune: bool = False,
        on_file: OnFile | None = None,
    ) -> IngestReport:
        """Take in files and folders, and fold them into the indexes when they are many."""
        report = self.ingester.ingest(
            scope,
            paths,
            root=root,
            globs=globs,
            follow_links=follow_links,
            gate=gate,
            prune=prune,
            on_file=on_file,
        )
        if report.chunks >= FOLD_FROM:
            self.indexes.compact(scope)
        return report

    def import_memories(
        self,
        scope: Scope,
        path: Path,
        *,
        format: ImportFormat | str = "auto",  # noqa: A002 - the word of the command line
        source: str | None = None,
        options: ImportOptions | None = None,
        on_progress: OnProgress | None = None,
    ) -> ImportReport:
        """Import memories that another tool, or Assay itself, has exported; `source` names the file in source ids."""
        from assay.formats.memory_files import detect, open_source  # noqa: PLC0415 - see the module's docstring
        from assay.memory.exporting import Restorer  # noqa: PLC0415 - the same
        from assay.memory.importing import Importer, ImportOptions  # noqa: PLC0415 - the same

        chosen, how = one_of(ImportFormat)(format, "format"), options or ImportOptions()
        found = detect(path) if chosen is ImportFormat.AUTO else chosen
        if found is ImportFormat.ASSAY:
            if source is not None or how != ImportOptions(dry_run=how.dry_run):
                raise InputError(
                    "an Assay export is restored as it was: user, folder, source and gate do not apply to it",
                    remedy="Leave them out.",
                )
            restorer = Restorer(store=self.store, saver=self.saver)
            report = restorer.run(scope, path, dry_run=how.dry_run, on_progress=on_progress)
        else:
            importer = Importer(store=self.store, saver=self.saver, clock=self.clock)
            report = importer.run(scope, open_source(path, found, source), how, on_progress)
        if report.chunks >= FOLD_FROM:
            self.indexes.compact(scope)
        return report

    def export_memories(self, scope: Scope, path: Path, *, format: ExportFormat | str = "jsonl") -> Exported:  # noqa: A002 - the same
        """Write every memory to a file (lossless JSONL), or the current ones to a folder of Markdown notes."""
        from assay.memory.exporting import export  # noqa: PLC0415 - see the module's docstring

        return export(self.store, scope, path, one_of(ExportFormat)(format, "format"))

    def context(self, scope: Scope, request: SearchRequest) -> PackedContext:
        """What to have in view for a task: constitutional memories and the best of a search, within a budget."""
        from assay.memory.context import pack  # noqa: PLC0415 - see the module's docstring

        return pack(self.store, self.search, scope, request)

    def show(self, scope: Scope, memory_id: str, *, forgotten: bool = True) -> ShownMemory:
        """A memory with its chunks, edges, versions and saves; refuses a forgotten one unless `forgotten` allows it."""
        from assay.memory.rights import check_readable  # noqa: PLC0415 - see the module's docstring
        from assay.memory.showing import show  # noqa: PLC0415 - the same

        with self.store.reading(scope) as work:
            found = show(work, memory_id)
        if not forgotten:
            check_readable(found.memory)
        return found

    def list_memories(
        self, scope: Scope, wanted: MemoryFilter, *, after: str | None = None, limit: int = 50
    ) -> MemoryList:
        """One page of the memories that a filter lets through, newest first, and how many there are in all."""
        with self.store.reading(scope) as work:
            rows = work.memories.matching(wanted, after=after, limit=limit + 1)
            by_status = work.memories.count_matching(wanted)
        page = tuple(rows[:limit])
        return MemoryList(
            memories=page,
            total=sum(by_status.values()),
            by_status=by_status,
            next_after=page[-1].id if len(rows) > limit else None,
        )

    def link(
        self, scope: Scope, source_id: str, kind: EdgeKind, target_id: str, *, strength: float = 1.0, evidence: str = ""
    ) -> Edge:
        """Join two memories: the first `kind` the second."""
        from assay.memory.showing import link  # noqa: PLC0415 - see the module's docstring

        edge = Edge(
            source_id=source_id,
            target_id=target_id,
            kind=kind,
            strength=strength,
            evidence=evidence,
            created_at=self.clock.now(),
        )
        link(self.store, scope, edge)
        return edge

    def why(self, scope: Scope, memory_id: str) -> Why:
        """Return the reasons for a memory: the memories it rests on."""
        from assay.memory.showing import why  # noqa: PLC0415 - see the module's docstring

        with self.store.reading(scope) as work:
            return why(work, memory_id)

    def health(self, scope: Scope) -> HealthReport:
        """Whether every channel finds what it should."""
        return self.checks.check(scope)

    def flag_states(self, scope: Scope) -> FlagStates:
        """Return the current state of every feature flag."""
        with self.store.reading(scope) as work:
            return self.flags.describe(work)

    def vector_models(self, scope: Scope) -> VectorModels:
        """Which models the stored vectors are of, without loading any."""
        with self.store.reading(scope) as work:
            return VectorModels(work.vectors.active(), work.vectors.models(), work.memories.count_chunks())

    def folders(self, scope: Scope) -> Mapping[str, int]:
        """Every folder with its current memories, by name."""
        with self.store.reading(scope) as work:
            return dict(work.passages.folders())

    def delete_indexes(self, scope: Scope) -> str | None:
        """Remove the files of a tenant's indexes; return their folder. Processes that have them mapped go on."""
        folder = self.indexes.status(scope).folder
        if folder is None or not Path(folder).is_dir():
            return None
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def set_tier(
        self, scope: Scope, memory_id: str, tier: Tier, *, automated: bool = False, reason: str = ""
    ) -> TierChange:
        """Give a memory another tier in place, without a new version of it."""
        from assay.memory.tiering import set_tier  # noqa: PLC0415 - see the module's docstring

        return set_tier(self.store, scope, memory_id, tier, clock=self.clock, automated=automated, reason=reason)

    def preflight(self, scope: Scope, report: TaskReport) -> TaskRecord:
        """Begin a task: record what the agent knew before it."""
        from assay.memory.sessions import preflight  # noqa: PLC0415 - see the module's docstring

        return preflight(self.store, scope, report, self.clock)

    def postflight(self, scope: Scope, report: TaskReport) -> TaskEnded:
        """End a task; gives back what was read and not yet judged, for one batch of validations."""
        from assay.memory.sessions import postflight  # noqa: PLC0415 - see the module's docstring

        def validate(memory_id: str, useful: bool, session_id: str | None, key: str) -> object:
            return self.validate(scope, memory_id, useful, session_id=session_id, event_key=key)

        self.store.log.flush()
        return postflight(self.store, scope, report, self.clock, validate)

    def session_summary(self, scope: Scope, session_id: str) -> SessionSummary:
        """What happened in a session, and its numbers."""
        from assay.memory.sessions import summarise_session  # noqa: PLC0415 - see the module's docstring

        self.store.log.flush()
        self.repeated.settle()
        with self.store.reading(scope) as work:
            return summarise_session(work, session_id)

    def recent_sessions(
        self, scope: Scope, *, limit: int = 20, after: tuple[datetime, str] | None = None
    ) -> list[RecentSession]:
        """Return the sessions with the newest searches first; see `SessionRows.recent`."""
        self.store.log.flush()
        self.repeated.settle()
        with self.store.reading(scope) as work:
            return work.sessions.recent(limit=limit, after=after)

    @cached_property
    def forgetting(self) -> Forgetting:
        """Erases, to the last byte."""
        from assay.memory.forgetting import Forgetting  # noqa: PLC0415 - see the module's docstring

        return Forgetting(self.store, self.indexes)

    @cached_property
    def rescanning(self) -> Rescanning:
        """Finds and masks secrets that an older version stored in clear."""
        from assay.memory.rescanning import Rescanning  # noqa: PLC0415 - see the module's docstring

        return Rescanning(self.store, self.indexes, self.saver)

    def forget(self, scope: Scope, what: Forget) -> Erased:
        """Erase memories, a person, a writer or everything of the tenant, and prove it."""
        return self.forgetting.forget(scope, what)

    def model_state(self, scope: Scope) -> ModelState | None:
        """How far the vectors are those of the configured model; None without an embedder."""
        from assay.memory.reembedding import model_state  # noqa: PLC0415 - see the module's docstring

        if self.embedder is None:
            return None
        with self.store.reading(scope) as work:
            return model_state(work, self.embedder.model)

    def reembed(self, scope: Scope, *, progress: Progress | None = None) -> ModelState:
        """Give every chunk a vector of the configured model, and let search use it."""
        from assay.memory.reembedding import reembed  # noqa: PLC0415 - see the module's docstring

        if self.embedder is None:
            raise InputError("the settings name no embedder", remedy="Set embedder.kind to minilm, for example.")
        self.read_facts_again(scope)
        return reembed(self.store, scope, self.embedder, progress=progress)

    def compact(self, scope: Scope) -> tuple[Folded, FactsRead | None]:
        """Fold what came later into a new base of the indexes, and read facts again if the rules changed."""
        return self.indexes.compact(scope), self.read_facts_again(scope)

    def read_facts_again(self, scope: Scope) -> FactsRead | None:
        """Read the facts of every memory again if that was not done by this version; None: nothing to do."""
        from assay.memory.fact_reading import read_facts_again  # noqa: PLC0415 - see the module's docstring

        return read_facts_again(self.store, scope, may_end=self.saver.may_end_facts(scope))

    def keep_up(self, scope: Scope) -> bool:
        """Re-embed in the background if the model has changed; return whether re-embedding was started.

        For long-running processes. Each tenant is checked once. The check never loads the embedder: a process that has
        not used it yet is left alone.
        """
        if self.embedder is None or not self.embedder.loaded:
            return False
        with self._lock:
            if scope.tenant in self._looked_after:
                return False
            self._looked_after.add(scope.tenant)
        return self.reembedding is not None and self.reembedding.start(scope)

    def close(self) -> None:
        """Stop what runs in the background, write what the log still holds, and give everything back."""
        self.repeated.close()
        if "reembedding" in self.__dict__ and self.reembedding is not None:
            self.reembedding.close()
        if "learning" in self.__dict__:
            self.learning.close()
        self.indexes.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
