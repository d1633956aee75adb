"""The facades behind the public names: what a program calls, without knowing how things are wired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from assay import wiring
from assay.clock import Clock
from assay.records import (
    Channel,
    Draft,
    Edge,
    EdgeKind,
    Filters,
    FolderMode,
    Format,
    Intent,
    Mode,
    SaveOutcome,
    SearchRequest,
    SearchResult,
    Tier,
)
from assay.records.checked import one_of
from assay.settings import KNOWN, Settings, load_settings

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.flags import FlagState
    from assay.memory.graph import Why
    from assay.memory.health import HealthReport
    from assay.memory.ingesting import IngestReport
    from assay.memory.showing import ShownMemory
    from assay.storage import Store


def open_store(db: str | Path | None = None, *, create: bool = True, clock: Clock | None = None) -> Store:
    """Open the evidence store at a path or `postgresql://` address; without one, the store the settings name."""
    return wiring.open_store(_settings(db, {}), clock=clock, create=create)


class Memory:
    """A memory: save notes, take in documents, search, and see why each result is where it is.

    The words are those of the command line. `settings` are those of `assay.toml` by their names here, such as
    `tenant="blue"` or `search_k=5`; an `embedder` is a kind (`"minilm"`, `"static"`, `"none"`) or an embedder itself.
    """

    def __init__(
        self,
        db: str | Path | None = None,
        *,
        embedder: str | Embedder | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        kind = {"embedder": embedder} if isinstance(embedder, str) else {}
        self.settings = _settings(db, settings | kind)
        self.scope = wiring.scope_of(self.settings)
        given = None if isinstance(embedder, str) else embedder
        self.engine = wiring.open_engine(self.settings, clock=clock, embedder=given)

    def save(
        self,
        *,
        title: str,
        body: str,
        triggers: Sequence[str] = (),
        tier: Tier | str = Tier.NORMAL,
        folder: str = "",
        tags: Sequence[str] = (),
        format: Format | str = Format.MARKDOWN,  # noqa: A002 - the record's own word
        context_type: str = "",
        metadata: Mapping[str, Any] | None = None,
        source_id: str | None = None,
        valid_from: datetime | None = None,
        automated: bool = False,
    ) -> SaveOutcome:
        """Keep a memory; the outcome says what every step decided."""
        draft = Draft(
            title=title,
            body=body,
            triggers=tuple(triggers),
            tier=one_of(Tier)(tier, "tier"),
            folder=folder,
            tags=tuple(tags),
            format=one_of(Format)(format, "format"),
            context_type=context_type,
            metadata=metadata or {},
            source_id=source_id,
            valid_from=valid_from,
            written_with="assay.Memory",
            automated=automated,
        )
        outcome = self.engine.saver.save(self.scope, draft)
        self.engine.keep_up(self.scope)
        return outcome

    def ingest(
        self,
        *paths: str | Path,
        root: str | Path | None = None,
        globs: Sequence[str] = (),
        gate: bool = False,
        prune: bool = False,
    ) -> IngestReport:
        """Take in files and folders: what is new or changed, in batches that survive an interruption."""
        report = self.engine.ingest(
            self.scope,
            [Path(path) for path in paths],
            root=None if root is None else Path(root),
            globs=globs,
            gate=gate,
            prune=prune,
        )
        self.engine.keep_up(self.scope)
        return report

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        mode: Mode | str = Mode.AUTO,
        intent: Intent | str | None = None,
        folder: str | None = None,
        folder_mode: FolderMode | str = FolderMode.OFF,
        tiers: Sequence[Tier | str] = (),
        tags: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
        channels: Sequence[Channel | str] | None = None,
        session: str | None = None,
        budget: int | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """Find memories: hits with score, title and text, and with `explain` every number behind the score."""
        filters = Filters(
            folder=folder,
            tiers=tuple(one_of(Tier)(one, "tiers") for one in tiers),
            tags=tuple(tags),
            since=since,
            until=until,
            as_of=as_of,
            include_superseded=include_superseded,
        )
        request = SearchRequest(
            query=query,
            k=self.settings.search_k if k is None else k,
            mode=one_of(Mode)(mode, "mode"),
            intent=None if intent is None else one_of(Intent)(intent, "intent"),
            filters=filters,
            folder_mode=one_of(FolderMode)(folder_mode, "folder_mode"),
            channels=None if channels is None else tuple(one_of(Channel)(one, "channels") for one in channels),
            session_id=session,
            token_budget=budget,
            explain=explain,
            tool_name="assay.Memory",
        )
        found = self.engine.searcher.search(self.scope, request)
        self.engine.keep_up(self.scope)
        return found

    def show(self, memory_id: str) -> ShownMemory:
        """A memory with its chunks, edges, versions and the saves behind it."""
        return self.engine.show(self.scope, memory_id)

    def link(
        self, source_id: str, kind: EdgeKind | str, target_id: str, *, strength: float = 1.0, evidence: str = ""
    ) -> Edge:
        """Join two memories: the first caused, enabled, supports, ... the second."""
        return self.engine.link(
            self.scope, source_id, one_of(EdgeKind)(kind, "kind"), target_id, strength=strength, evidence=evidence
        )

    def why(self, memory_id: str) -> Why:
        """What caused, enabled or supports a memory, and what stands behind that in turn."""
        return self.engine.why(self.scope, memory_id)

    def restore(self, memory_id: str) -> SaveOutcome:
        """Bring a superseded memory back, or take a merge apart."""
        return self.engine.saver.restore(self.scope, memory_id)

    def health(self) -> HealthReport:
        """Whether every channel finds what it should."""
        return self.engine.health(self.scope)

    def flag(self, name: str, value: str | bool | int | None = None) -> FlagState:
        """How a flag stands; with a value (`on`, `off`, a percentage), after switching it."""
        if value is None:
            return self.engine.flag_states(self.scope)[name]
        return self.engine.flags.turn(self.engine.store, self.scope, name, value)

    def close(self) -> None:
        """Give everything back. Closing twice is fine."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self.engine.store.place!r}, tenant={self.scope.tenant!r})"


def _settings(db: str | Path | None, given: Mapping[str, Any]) -> Settings:
    """File, environment and what the program says, the last winning. Names are those of `Settings`."""
    keys = {one.name: one.key for one in KNOWN}
    options = {keys.get(name, name): None if value is None else str(value) for name, value in given.items()}
    return load_settings(options={**options, "db": None if db is None else str(db)}).settings
