"""What runs beside the memory in a server: shadow runs, interleaving, and orderly closing.

- Shadow runs, interleaved search and the ladder of changes.
- A memory that serves others while a process runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from assay.clock import Clock
from assay.memory.engine import Engine
from assay.online.interleaving import InterleavedSearch
from assay.online.ladder import Ladder
from assay.online.shadow import Shadow, ShadowOptions, Treatment
from assay.records import Origin, Scope, SearchRequest, SearchResult
from assay.settings import Settings
from assay.wiring.engines import open_engine
from assay.wiring.tracing import trace

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.memory.engine import Engine


# --- Shadow runs, interleaved search and the ladder of changes ---


def ladder_of(engine: Engine) -> Ladder:
    """The ladder of an engine's flags."""

    def surfacing(scope: Scope) -> float | None:
        with engine.store.reading(scope) as work:
            wanted = {memory.id for memory in work.memories.constitutional()}
        if not wanted:
            return None
        request = SearchRequest(query="constitutional memories", k=1, origin=Origin.CANARY, tool_name="canary")
        given = {memory.memory_id for memory in engine.searcher.search(scope, request).pinned}
        return len(wanted & given) / len(wanted)

    return Ladder(store=engine.store, flags=engine.flags, clock=engine.clock, surfacing=surfacing)


def treatment_of(engine: Engine, feature_id: str, *, on: bool) -> Treatment:
    """Return the engine's search with one flag changed, run with the history that the control had."""
    searcher = engine.searcher.with_flags(engine.flags.force(feature_id, on=on))

    def treatment(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        return searcher.search(scope, request, before=before)

    return treatment


def shadow_of(engine: Engine, settings: Settings) -> Shadow:
    """Shadow runs behind an engine, of every flag whose shadow is on: each as what it is not now. Close it first."""
    known: dict[tuple[str, bool], Treatment] = {}

    def features(scope: Scope) -> Mapping[str, Treatment]:
        states = engine.flag_states(scope)
        shadowed = {name: not state.on for name, state in states.items() if state.shadow}
        for name, on in shadowed.items():
            known.setdefault((name, on), treatment_of(engine, name, on=on))
        return {name: known[name, on] for name, on in shadowed.items()}

    options = ShadowOptions(percent=settings.shadow_percent)
    shadow = Shadow(store=engine.store, features=features, clock=engine.clock, options=options)
    engine.searcher.watch(shadow)

    def counts() -> Mapping[str, int]:
        return shadow.counts._asdict()

    engine.counters["shadow"] = counts
    return shadow


def open_interleaved_search(engine: Engine, feature_id: str) -> InterleavedSearch:
    """The engine's search with a flag's two sides in one list."""
    return InterleavedSearch(
        store=engine.store,
        searcher=engine.searcher.with_flags(engine.flags.force(feature_id, on=False)),
        treatment=treatment_of(engine, feature_id, on=True),
        feature_id=feature_id,
        clock=engine.clock,
    )


# --- A memory that serves others while a process runs ---


@contextmanager
def serving(
    settings: Settings, *, create: bool = True, clock: Clock | None = None, embedder: Embedder | None = None
) -> Iterator[Engine]:
    """The engine the settings name, watched by shadow runs and spans; what they still hold is written at the end."""
    # A server would come to need each of them, and whoever calls it then could do nothing about it.
    settings.refuse_withheld(*settings.withheld)
    with ExitStack() as ending:
        engine = ending.enter_context(open_engine(settings, clock=clock, create=create, embedder=embedder))
        ending.callback(shadow_of(engine, settings).close)
        # What spans wait to be sent is sent when the process ends: the provider sees to that itself.
        trace(settings, engine)
        yield engine
