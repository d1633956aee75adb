"""The memory engine of the settings: embedder, learning, engine, and an engine for measuring saves.

- Embedders with their similarity scale and chunk length.
- The cross-encoder that orders results again.
- Options of learning from use.
- Engines: store, indexes, flags, embedder, search and saving.
- Assay as a system that saves, over a temporary store.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.clock import Clock, SystemClock
from assay.errors import BadValue, InputError, SettingError
from assay.extras import need_extra
from assay.records import Scope
from assay.settings import Settings
from assay.wiring.network import gatekeeper_of, hold_to_host
from assay.wiring.search_options import search_options
from assay.wiring.stores import open_store, short_hash

if TYPE_CHECKING:
    from assay.embedding.protocol import CrossEncoder, Embedder, SimilarityProfile
    from assay.embedding.wrappers import OnDemandCrossEncoder, OnDemandEmbedder
    from assay.flags import Flags
    from assay.index import SearchIndexes
    from assay.memory.engine import Engine, FindRoute, MakeVariant, Search
    from assay.memory.ingesting import MakeSaver
    from assay.memory.ingesting.run import Meter
    from assay.memory.learning.policy import Policy
    from assay.memory.saving import Saver
    from assay.memory.searching.variants import VariantSearch
    from assay.records.datasets import Dataset
    from assay.records.flags import Flag
    from assay.storage import Store
    from assay.systems.assay_engine import OnDocument
    from assay.systems.protocol import System
    from assay.systems.registry import Configuration
    from assay.text.chunking import Chunker


# --- Embedders with their similarity scale and chunk length ---

T = TypeVar("T")

LEAST_CHUNK = 64
"""Tokens; with fewer, a title and its headings leave no room for the text under them."""
_KEYS = {"remote": ("embedder.url", "embedder.key_variable"), "local": ("embedder.folder",)}
"""Settings that say where texts are sent, or which model file is loaded, by kind of embedder."""
WORDS_WITHOUT_EMBEDDER = 200
"""Chunk length when the embedder does not give its limit; about as much text as the bundled one takes."""


def open_embedder(settings: Settings, given: Embedder | None = None) -> Embedder:
    """Return the embedder of the settings, or the one given, with their thresholds; loaded at its first use."""
    found = on_demand_embedder(settings, given, run_once=False)
    if found is None:
        raise SettingError("the setting embedder.kind is none", remedy="Set it to minilm, for example.")
    return found


REMEMBERED_TEXTS = 20_000


def open_remembering_embedder(settings: Settings) -> Embedder | None:
    """Return an embedder that remembers texts, for filling several stores with the same documents; None: no vectors."""
    if settings.embedder == "none":
        return None
    from assay.embedding.wrappers import CachedEmbedder  # noqa: PLC0415 - see the package's docstring

    return CachedEmbedder(open_embedder(settings), REMEMBERED_TEXTS)


def load_embedder(settings: Settings, *, run_once: bool = False) -> Embedder:
    """The embedder the settings name, ready for work."""
    threads = settings.embedder_threads or 0
    settings.refuse_withheld(*_KEYS.get(settings.embedder, ()))
    if settings.embedder == "remote":
        return _remote(settings)
    if settings.embedder == "local":
        from assay.embedding.onnx import OnnxOptions, load_local  # noqa: PLC0415 - see the package's docstring

        folder = _require(settings.embedder_folder, "embedder.folder", "local")
        return load_local(folder, options=OnnxOptions(threads=threads, run_once=run_once))
    from assay.embedding.registry import EmbedderRequest, find_embedder  # noqa: PLC0415 - see the package's docstring

    name: str = settings.embedder
    if name == "registered":
        name = _require(settings.embedder_name, "embedder.name", name)
    return find_embedder(name).load(EmbedderRequest(threads=threads, run_once=run_once))


def on_demand_embedder(settings: Settings, given: Embedder | None, *, run_once: bool) -> OnDemandEmbedder | None:
    """The embedder the settings name, or the one given, loaded when first needed; None where they ask for none."""
    if given is None and settings.embedder == "none":
        return None
    if given is None:
        # Now, and not when it is first asked: a search goes on without an embedder that cannot be loaded.
        settings.refuse_withheld(*_KEYS.get(settings.embedder, ()))
    from assay.embedding.protocol import embeds_elsewhere  # noqa: PLC0415 - see the package's docstring
    from assay.embedding.wrappers import OnDemandEmbedder  # noqa: PLC0415 - the same

    def load() -> Embedder:
        return given or load_embedder(settings, run_once=run_once)

    elsewhere = given is not None and embeds_elsewhere(given)
    return OnDemandEmbedder(load, profile=lambda loaded: _profile(settings, loaded), elsewhere=elsewhere)


def _remote(settings: Settings) -> Embedder:
    import numpy as np  # noqa: PLC0415 - see the package's docstring

    from assay.embedding.remote import RemoteEmbedder  # noqa: PLC0415 - the same
    from assay.models.endpoint import Endpoint, EndpointOptions, key_from  # noqa: PLC0415 - the same

    url = _require(settings.embedder_url, "embedder.url", "remote")
    name = _require(settings.embedder_model, "embedder.model", "remote")
    key = key_from(os.environ, settings.embedder_key_variable)
    if key:
        hold_to_host(settings.embedder_key_variable, url, os.environ)
    options = EndpointOptions(url=url, key=key)
    gate = gatekeeper_of(settings)
    endpoint = Endpoint(options, gate=gate, clock=SystemClock(), rng=np.random.default_rng())
    if settings.embedder_dimension is None:
        return RemoteEmbedder.connect(endpoint, name=name)
    return RemoteEmbedder(endpoint, name=name, dimension=settings.embedder_dimension)


def _require(value: T | None, key: str, kind: str) -> T:
    if not value:
        raise SettingError(
            f"the embedder {kind} needs the setting {key}", remedy=f"Set {key}, or another embedder.kind."
        )
    return value


def _profile(settings: Settings, embedder: Embedder) -> SimilarityProfile:
    """What similarities mean: as the settings say, else as the embedder does."""
    own = {
        "duplicate": settings.similarity_duplicate,
        "merge": settings.similarity_merge,
        "related": settings.similarity_related,
    }
    return replace(embedder.profile, **{name: value for name, value in own.items() if value is not None})


def chunker_of(embedder: OnDemandEmbedder | None, *, most: int | None = None, overlap: int = 0) -> Chunker:
    """Chunks as long as the embedder reads; without one, of as many words as the bundled one would read tokens.

    `most` makes them shorter, never longer: what an embedder does not read cannot be found by it.
    """
    from assay.text.chunking import Chunker  # noqa: PLC0415 - see the package's docstring
    from assay.text.terms import words  # noqa: PLC0415 - the same

    if embedder is None:
        limit = _limit(WORDS_WITHOUT_EMBEDDER, most)
        return Chunker(lambda text: len(words(text)), limit, _overlap(overlap, limit))
    limit = _limit(embedder.token_limit, most)
    return Chunker(embedder.count_tokens, limit, _overlap(overlap, limit))


def _overlap(tokens: int, limit: int) -> int:
    if tokens > limit // 2:
        raise SettingError(
            f"chunking.overlap_tokens {tokens} is more than half of a chunk, which has at most {limit} tokens",
            remedy=f"Give 0 to {limit // 2}, or a larger chunking.max_tokens.",
        )
    return tokens


def _limit(reads: int, most: int | None) -> int:
    if most is not None and not LEAST_CHUNK <= most <= reads:
        raise SettingError(
            f"chunking.max_tokens {most} is not from {LEAST_CHUNK} to {reads}, which is as much as is read",
            remedy=f"Give {LEAST_CHUNK} to {reads}, or leave it out.",
        )
    return reads if most is None else most


# --- The cross-encoder that orders results again ---

NO_CROSS_ENCODER = "no cross-encoder is configured"
NAME_CROSS_ENCODER = "Set rerank.folder to a folder with model.onnx and tokenizer.json of a cross-encoder."


def open_cross_encoder(settings: Settings, *, run_once: bool = False) -> OnDemandCrossEncoder | None:
    """Return the cross-encoder of the settings, loaded when first needed; None where they name none."""
    settings.refuse_withheld("rerank.folder")
    folder = settings.rerank_folder
    if folder is None:
        return None
    from assay.embedding.wrappers import OnDemandCrossEncoder  # noqa: PLC0415 - see the package's docstring

    def load() -> CrossEncoder:
        from assay.embedding.cross_encoder import load_cross_encoder  # noqa: PLC0415 - the same
        from assay.embedding.onnx import OnnxOptions  # noqa: PLC0415 - the same

        options = OnnxOptions(threads=settings.embedder_threads or 0, run_once=run_once)
        try:
            return load_cross_encoder(folder, options=options)
        except InputError as problem:
            raise SettingError(f"the setting rerank.folder: {problem.message}", remedy=problem.remedy) from problem

    return OnDemandCrossEncoder(load)


def _explain_unavailable(settings: Settings) -> dict[str, str]:
    """Say, by flag, why its feature cannot work with these settings and what to do about it."""
    return {} if settings.rerank_folder is not None else {"cross_encoder": f"{NO_CROSS_ENCODER}. {NAME_CROSS_ENCODER}"}


# --- Options of learning from use ---


def learning_policy(settings: Settings) -> Policy:
    """The safeguards, with the shadow period of the settings."""
    from assay.memory.learning.policy import Limits, Policy  # noqa: PLC0415 - see the package's docstring

    try:
        return Policy(limits=Limits(shadow=timedelta(days=settings.learning_shadow_days)))
    except BadValue as problem:
        raise SettingError(
            f"the setting learning.shadow_days is {settings.learning_shadow_days}, below 7", remedy=problem.remedy
        ) from problem


# --- Engines: store, indexes, flags, embedder, search and saving ---

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

    An embedder that is given is used instead of theirs. `run_once` is for a process that runs one command and ends: it
    starts sooner, and folds no index in the background.
    """
    need_extra("memory", *ENGINE_MODULES)
    from assay.embedding.wrappers import CachedEmbedder  # noqa: PLC0415 - see the package's docstring
    from assay.memory.engine import Engine  # noqa: PLC0415 - the same
    from assay.memory.searching import Searcher  # noqa: PLC0415 - the same

    clock = clock or SystemClock()
    flags = flags_of(settings, clock=clock)
    chosen = on_demand_embedder(settings, embedder, run_once=run_once)
    cross_encoder = open_cross_encoder(settings, run_once=run_once)
    store = open_store(settings, clock=clock, create=create)
    indexes = _open_indexes(settings, store, clock, run_once=run_once)
    searcher = Searcher(
        store=store,
        embedder=None if chosen is None else CachedEmbedder(chosen),
        indexes=indexes,
        flags=flags,
        clock=clock,
        options=search_options(settings),
        cross_encoder=cross_encoder,
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
        make_variant=_make_variant(settings),
        make_route=_make_route,
    )


def _make_variant(settings: Settings) -> MakeVariant:
    """Open variants of a memory's search, each once."""
    known: dict[tuple[str, ...], VariantSearch] = {}

    def make(engine: Engine, specs: tuple[str, ...]) -> VariantSearch:
        from assay.wiring.variants import open_variant  # noqa: PLC0415 - see the package's docstring

        if specs not in known:
            known[specs] = open_variant(settings, engine, specs)
        return known[specs]

    return make


def _make_route(engine: Engine) -> FindRoute:
    """Serve searches as running tests and variants say; what merges two lists is loaded when a test runs."""
    from assay.memory.serving import Serving  # noqa: PLC0415 - see the package's docstring

    def merge(engine: Engine, change: Flag, specs: tuple[str, ...]) -> Search:
        from assay.online.sides import interleave  # noqa: PLC0415 - see the package's docstring

        return interleave(engine, change, specs)

    return Serving(engine, merge).find_route


def flags_of(settings: Settings, *, clock: Clock | None = None) -> Flags:
    """Feature flags, with what the environment and the file say of them."""
    from assay.flags import Flags, overrides_from  # noqa: PLC0415 - see the package's docstring

    overrides = overrides_from(settings.flags)
    return Flags(overrides, clock=clock or SystemClock(), unavailable=_explain_unavailable(settings))


def _make_saver(  # noqa: PLR0917 - everything a saver is made of, in the order it is built
    settings: Settings,
    store: Store,
    embedder: OnDemandEmbedder | None,
    indexes: SearchIndexes,
    flags: Flags,
    clock: Clock,
) -> MakeSaver:
    def make(meter: Meter | None) -> Saver:
        from assay.memory.ingesting.run import MeteredChunker, MeteredEmbedder  # noqa: PLC0415 - see the docstring
        from assay.memory.saving import SaveOptions, Saver  # noqa: PLC0415 - the same

        most, overlap = settings.chunking_max_tokens, settings.chunking_overlap_tokens
        chunker = chunker_of(embedder, most=most, overlap=overlap)
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


def _open_indexes(settings: Settings, store: Store, clock: Clock, *, run_once: bool) -> SearchIndexes:
    """Files on this machine, or PostgreSQL itself."""
    from assay.index import DatabaseIndexes, Indexes, IndexOptions  # noqa: PLC0415 - see the package's docstring

    options = IndexOptions(exact_below=settings.index_exact_below, background=not run_once)
    if settings.index_kind == "local":
        return Indexes(store, _index_folder(settings, store), clock=clock, options=options)
    try:
        return DatabaseIndexes(store, clock=clock, options=options)
    except SettingError:
        store.close()
        raise


def _index_folder(settings: Settings, store: Store) -> Path:
    """Below a folder that the settings name, each store has one of its own."""
    from assay.index import default_folder  # noqa: PLC0415 - see the package's docstring

    if settings.index_folder is None:
        return default_folder(store)
    return settings.index_folder / short_hash(store.place)


# --- Assay as a system that saves, over a temporary store ---

GATE = "save_quality_gate"
WARNED = timedelta(days=30)
"""How long ago the gate was switched on in such a store: longer than it only warns."""


class Earlier:
    """A clock that is behind another by a fixed time."""

    def __init__(self, clock: Clock, by: timedelta) -> None:
        self._clock = clock
        self._by = by

    def now(self) -> datetime:
        """The moment that long ago."""
        return self._clock.now() - self._by

    def monotonic(self) -> float:
        """As the other clock has it."""
        return self._clock.monotonic()


def open_saves(  # noqa: PLR0917 - everything a system is made of
    settings: Settings,
    configuration: Configuration,
    dataset: Dataset,
    name: str,
    made_of: dict[str, Any],
    on_document: OnDocument | None,
) -> System:
    """A system that saves what a dataset's cases give; closing it removes everything that was saved."""
    from assay.systems.assay_engine import AssaySaves  # noqa: PLC0415 - see the package's docstring

    folder = tempfile.TemporaryDirectory(prefix="assay-saves-")
    try:
        engine = open_engine(settings.change(db=str(Path(folder.name) / "assay.db")))
    except BaseException:
        folder.cleanup()
        raise

    earlier = flags_of(settings, clock=Earlier(engine.clock, WARNED))

    def enforce(scope: Scope) -> None:
        if earlier.activate(engine.store, scope, GATE).on:
            engine.flags.review(engine.store, scope, GATE)

    def close() -> None:
        engine.close()
        folder.cleanup()

    try:
        return AssaySaves(
            engine,
            dataset,
            configuration,
            enforce=enforce,
            name=name,
            made_of=made_of,
            close=close,
            on_document=on_document,
        )
    except BaseException:
        close()
        raise
