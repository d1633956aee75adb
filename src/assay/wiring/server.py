"""What runs beside the memory in a server: shadow runs and orderly closing.

- Shadow runs and the ladder of changes.
- A memory that serves others while a process runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from assay.clock import Clock
from assay.errors import NothingMeasured
from assay.memory.engine import Engine
from assay.online.ladder import Ladder, summarise_shadows
from assay.online.shadow import RankedIds, Shadow, ShadowOptions, Treatment, replay
from assay.online.sides import treatment_of
from assay.records import Origin, Scope, SearchRequest
from assay.records.datasets import Case, Dataset
from assay.records.flags import ShadowSummary
from assay.settings import Settings
from assay.wiring.engines import open_engine
from assay.wiring.retention import schedule_retention
from assay.wiring.systems import open_system
from assay.wiring.tracing import trace

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.memory.engine import Engine


# --- Shadow runs and the ladder of changes ---


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


def shadow_of(engine: Engine, settings: Settings) -> Shadow:
    """Shadow runs behind an engine, of every flag whose shadow is on: each as what it is not now. Close it first.

    A variant that is another system is not among them: it is asked when past searches are replayed.
    """

    def features(scope: Scope) -> Mapping[str, Treatment]:
        states = engine.flag_states(scope)
        return {
            name: treatment_of(engine, state.flag, on=not state.on)
            for name, state in states.items()
            if state.shadow and not state.flag.is_outside
        }

    options = ShadowOptions(percent=settings.shadow_percent)
    shadow = Shadow(store=engine.store, features=features, clock=engine.clock, options=options)
    engine.searcher.watch(shadow)

    def counts() -> Mapping[str, int]:
        return shadow.counts._asdict()

    engine.counters["shadow"] = counts
    return shadow


def replay_shadow(engine: Engine, settings: Settings, scope: Scope, feature_id: str, *, last: int) -> ShadowSummary:
    """Ask the newest searches of use again, with a change and without it, and sum up the comparisons."""
    state = engine.flag_states(scope)[feature_id]
    control = treatment_of(engine, state.flag, on=state.on)
    with ExitStack() as ending:
        treatment: Treatment
        if state.flag.is_outside:
            treatment = ending.enter_context(outside_treatment(engine, settings, scope, state.flag.spec))
        else:
            treatment = treatment_of(engine, state.flag, on=not state.on)
        runs = replay(engine.store, scope, feature_id, control, treatment, last=last, clock=engine.clock)
    if not runs:
        raise NothingMeasured("no search of use is logged yet", remedy="Search first, then replay.")
    with engine.store.reading(scope) as work:
        return summarise_shadows(runs, work.queries.intents_of([run.query_id for run in runs]))


@contextmanager
def outside_treatment(engine: Engine, settings: Settings, scope: Scope, spec: str) -> Iterator[Treatment]:
    """Another system as a treatment; the ids it gives are those of memories, or their source ids."""
    settings.refuse_withheld(*settings.withheld)
    with engine.store.reading(scope) as work:
        memory_of = work.memories.ids_by_source()
    asked = Dataset(name="shadow", version="1", documents=(), cases=())
    with closing(open_system(spec, asked)) as system:

        def treatment(scope: Scope, request: SearchRequest, before: str) -> RankedIds:  # noqa: ARG001 - as others
            began = engine.clock.monotonic()
            case = Case(id=before, query=request.query)
            given = system.retrieve(request.query, request.k, case)
            took = (engine.clock.monotonic() - began) * 1000.0
            ids = dict.fromkeys(memory_of.get(name, name) for name in given.ids)
            return RankedIds(tuple(ids), took)

        yield treatment


# --- A memory that serves others while a process runs ---


@contextmanager
def serving(
    settings: Settings, *, create: bool = True, clock: Clock | None = None, embedder: Embedder | None = None
) -> Iterator[Engine]:
    """The engine the settings name, with shadow runs, spans and retention; what they hold is written at the end."""
    # A server would come to need each of them, and whoever calls it then could do nothing about it.
    settings.refuse_withheld(*settings.withheld)
    with ExitStack() as ending:
        engine = ending.enter_context(open_engine(settings, clock=clock, create=create, embedder=embedder))
        ending.callback(shadow_of(engine, settings).close)
        scheduled = schedule_retention(settings, engine.store, engine.clock)
        if scheduled is not None:
            scheduled.start()
            ending.callback(scheduled.close)
        # What spans wait to be sent is sent when the process ends: the provider sees to that itself.
        trace(settings, engine)
        yield engine
