"""The memory engine the settings name: store, indexes, flags, embedder, search and saving together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.clock import Clock, SystemClock
from assay.extras import need_extra
from assay.records import FusionMethod
from assay.settings import Settings
from assay.wiring.embedders import chunker_of, on_demand_embedder
from assay.wiring.learning import learning_policy
from assay.wiring.stores import open_store, short_hash

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.flags import Flags
    from assay.index import Indexes
    from assay.memory.engine import Engine
    from assay.memory.ingesting import MakeSaver
    from assay.memory.ingesting.metering import Meter
    from assay.memory.on_demand import OnDemandEmbedder
    from assay.memory.saving import Saver
    from assay.memory.searching import SearchOptions
    from assay.storage import Store

ENGINE_MODULES = ("sqlalchemy", "alembic", "tantivy", "usearch", "semantic_text_splitter")
"""What the engine cannot work without; it does without an embedder."""


def open_engine(
    settings: Settings,
    *,
    clock: Clock | None = None,
    create: bool = True,
    embedder: Embedder | None = None,
    run_once: bool = False,
) -> Engine:
    """The memory the settings name.

    An embedder that is given counts instead of theirs. `run_once` is for a process that asks one question and ends: it
    starts sooner, and folds no index in the background.
    """
    need_extra("memory", *ENGINE_MODULES)
    from assay.embedding.cached import CachedEmbedder  # noqa: PLC0415 - see the package's docstring
    from assay.index import Indexes, IndexOptions  # noqa: PLC0415 - the same
    from assay.memory.engine import Engine  # noqa: PLC0415 - the same
    from assay.memory.searching import Searcher  # noqa: PLC0415 - the same

    clock = clock or SystemClock()
    flags = flags_of(settings, clock=clock)
    chosen = on_demand_embedder(settings, embedder, run_once=run_once)
    store = open_store(settings, clock=clock, create=create)
    indexes = Indexes(
        store,
        _index_folder(settings, store),
        clock=clock,
        options=IndexOptions(exact_below=settings.index_exact_below, background=not run_once),
    )
    searcher = Searcher(
        store=store,
        embedder=None if chosen is None else CachedEmbedder(chosen),
        indexes=indexes,
        flags=flags,
        clock=clock,
        options=search_options(settings),
    )
    return Engine(
        store=store,
        embedder=chosen,
        indexes=indexes,
        flags=flags,
        searcher=searcher,
        make_saver=_make_saver(settings, store, chosen, indexes, flags, clock),
        clock=clock,
        learning_policy=learning_policy(settings),
    )


def search_options(settings: Settings) -> SearchOptions:
    """How the settings weigh and fuse; what they leave open is as Assay has it."""
    from assay.memory.searching import SearchOptions  # noqa: PLC0415 - see the package's docstring
    from assay.memory.searching.options import BASE_WEIGHTS, weights_over  # noqa: PLC0415 - the same

    named = {one: getattr(settings, f"search_weights_{one.value}") for one in BASE_WEIGHTS}
    base = {one: weight if named[one] is None else named[one] for one, weight in BASE_WEIGHTS.items()}
    own = SearchOptions()
    return SearchOptions(
        method=FusionMethod(settings.search_fusion),
        weights=weights_over(base),
        rrf_k=own.rrf_k if settings.search_rrf_k is None else settings.search_rrf_k,
        coefficient=own.coefficient if settings.search_coefficient is None else settings.search_coefficient,
    )


def flags_of(settings: Settings, *, clock: Clock | None = None) -> Flags:
    """Feature flags, with what the environment and the file say of them."""
    from assay.flags import Flags, overrides_from  # noqa: PLC0415 - see the package's docstring

    return Flags(overrides_from(settings.flags), clock=clock or SystemClock())


def _make_saver(  # noqa: PLR0917 - everything a saver is made of, in the order it is built
    settings: Settings,
    store: Store,
    embedder: OnDemandEmbedder | None,
    indexes: Indexes,
    flags: Flags,
    clock: Clock,
) -> MakeSaver:
    def make(meter: Meter | None) -> Saver:
        from assay.memory.ingesting.metering import MeteredChunker, MeteredEmbedder  # noqa: PLC0415 - see the docstring
        from assay.memory.saving import SaveOptions, Saver  # noqa: PLC0415 - the same

        chunker = chunker_of(embedder, most=settings.chunking_max_tokens)
        return Saver(
            store=store,
            embedder=embedder if meter is None or embedder is None else MeteredEmbedder(embedder, meter),
            indexes=indexes,
            flags=flags,
            chunker=chunker if meter is None else MeteredChunker(chunker, meter),
            clock=clock,
            options=SaveOptions(copies=settings.save_copies_per_day, alike=settings.save_alike_per_day),
        )

    return make


def _index_folder(settings: Settings, store: Store) -> Path:
    """Below a folder that the settings name, each store has one of its own."""
    from assay.index import default_folder  # noqa: PLC0415 - see the package's docstring

    if settings.index_folder is None:
        return default_folder(store)
    return settings.index_folder / short_hash(store.place)
