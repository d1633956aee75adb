"""The only place that builds concrete objects from settings.

What is heavy or optional is imported inside the function that needs it: the base install has no SQLAlchemy, and
`assay --help` must not wait for it.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.clock import Clock, SystemClock
from assay.errors import MissingExtra, NothingMeasured, SettingError
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import DEFAULT_TENANT, FusionMethod, Scope
from assay.settings import Origin, Settings, default_cache, default_db, fit_to_show, load_settings

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder, SimilarityProfile
    from assay.evaluation.datasets import Registry
    from assay.evaluation.lookup import Lookup
    from assay.flags import Flags
    from assay.index import Indexes
    from assay.memory.engine import Engine
    from assay.memory.ingesting import MakeSaver
    from assay.memory.ingesting.metering import Meter
    from assay.memory.on_demand import OnDemandEmbedder
    from assay.memory.saving import Saver
    from assay.records.datasets import Dataset
    from assay.storage import Checkpoint, Restored, Store, StoreOptions
    from assay.systems.assay_engine import OnDocument
    from assay.systems.protocol import System
    from assay.systems.specs import Configuration, SystemSpec
    from assay.text.chunking import Chunker

T = TypeVar("T")

WORDS_WITHOUT_EMBEDDER = 200
"""How long a chunk is when no embedder says how much it reads; about as much text as the bundled one takes."""


ENGINE_MODULES = ("sqlalchemy", "alembic", "tantivy", "usearch", "semantic_text_splitter", "markdown_it")
"""What the engine cannot do without."""


def scope_of(settings: Settings) -> Scope:
    """Whose rows are meant, and who acts."""
    return Scope(tenant=settings.tenant, principal=settings.principal)


def open_store(settings: Settings, *, clock: Clock | None = None, create: bool = True, migrate: bool = True) -> Store:
    """The store the settings name."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import open_store as open_at  # noqa: PLC0415 - see the module's docstring

    clock = clock or SystemClock()
    options = store_options(settings)
    return open_at(settings.db, clock=clock, create=create, migrate=migrate, options=options)


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
    from assay.embedding.cached import CachedEmbedder  # noqa: PLC0415 - see the module's docstring
    from assay.index import Indexes, IndexOptions  # noqa: PLC0415 - the same
    from assay.memory.engine import Engine  # noqa: PLC0415 - the same
    from assay.memory.searching import Searcher, SearchOptions  # noqa: PLC0415 - the same

    clock = clock or SystemClock()
    flags = flags_of(settings, clock=clock)
    chosen = _embedder(settings, embedder, run_once=run_once)
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
        options=SearchOptions(method=FusionMethod(settings.search_fusion)),
    )
    return Engine(
        store=store,
        embedder=chosen,
        indexes=indexes,
        flags=flags,
        searcher=searcher,
        make_saver=_make_saver(store, chosen, indexes, flags, clock),
        clock=clock,
    )


def flags_of(settings: Settings, *, clock: Clock | None = None) -> Flags:
    """Feature flags, with what the environment and the file say of them."""
    from assay.flags import Flags, overrides_from  # noqa: PLC0415 - see the module's docstring

    return Flags(overrides_from(settings.flags), clock=clock or SystemClock())


def registry_of(settings: Settings) -> Registry:
    """Where imported datasets are kept."""
    from assay.evaluation.datasets import Registry  # noqa: PLC0415 - see the module's docstring

    return Registry(settings.datasets_folder or default_db(os.environ).parent / "datasets")


def open_system(text: str, dataset: Dataset, *, on_document: OnDocument | None = None) -> System:
    """The system under test that a spec such as `assay:mode=quick` names, ready for a dataset's questions."""
    from assay.systems.specs import parse_spec  # noqa: PLC0415 - see the module's docstring

    spec = parse_spec(text, Path.cwd())
    if spec.kind == "python":
        from assay.systems.python_function import load_function  # noqa: PLC0415 - the same

        return load_function(spec.target, Path.cwd())
    if spec.kind == "http":
        from assay.systems.http_service import load_service  # noqa: PLC0415 - the same

        return load_service(Path(spec.target).expanduser())
    if spec.kind == "run":
        from assay.systems.run_file import RunFile  # noqa: PLC0415 - the same

        return RunFile(Path(spec.target).expanduser())
    return _open_assay(spec, dataset, on_document)


def _open_assay(spec: SystemSpec, dataset: Dataset, on_document: OnDocument | None) -> System:
    """Assay over a dataset's documents, in a store of their own: never the user's."""
    need_extra("memory", *ENGINE_MODULES)
    from assay.systems.specs import Configuration  # noqa: PLC0415 - see the module's docstring

    configuration = spec.configuration or Configuration()
    if not dataset.documents:
        raise NothingMeasured(
            f"{dataset.name} has no documents for Assay to search",
            remedy="Add its corpus, or evaluate what holds it: python:, http: or run:.",
        )
    settings = corpus_settings(configuration, dataset)
    engine = open_engine(settings)
    from assay.systems.assay_engine import AssaySystem, take_in  # noqa: PLC0415 - see the module's docstring

    scope = scope_of(settings)
    try:
        take_in(engine, scope, dataset, on_document)
        if engine.embedder is not None and engine.vector_models(scope).active != engine.embedder.model:
            engine.reembed(scope)
        made_of = _made_of(settings)
        return AssaySystem(engine, scope, dataset, configuration, name=spec.text, made_of=made_of, close=engine.close)
    except BaseException:
        engine.close()
        raise


def corpus_settings(configuration: Configuration, dataset: Dataset) -> Settings:
    """The settings as file, environment and a configuration have them, over a cache store for these documents.

    One store for each corpus and way of indexing it; what only searches differently shares one.
    """
    from dataclasses import replace  # noqa: PLC0415 - see the module's docstring

    from assay.text.chunking import CHUNKER_VERSION  # noqa: PLC0415 - the same

    loaded = load_settings(options=dict(configuration.settings)).settings
    origin = Origin("option", "--system")
    flags = {**loaded.flags, **{name: (value, origin) for name, value in configuration.flags.items()}}
    embedder = [loaded.embedder, str(loaded.embedder_folder), loaded.embedder_url, loaded.embedder_model]
    edges = sorted([one.source_id, one.target_id, one.kind.value, one.strength] for one in dataset.edges)
    key = content_hash([dataset.corpus_hash, edges, CHUNKER_VERSION, embedder, loaded.embedder_dimension])
    place = default_cache(os.environ) / "corpora" / key.removeprefix(HASH_PREFIX)[:16] / "assay.db"
    return replace(loaded, db=str(place), tenant=DEFAULT_TENANT, index_folder=None, flags=flags)


def _made_of(settings: Settings) -> dict[str, Any]:
    """What the numbers of a run of Assay hang on, besides what the store itself tells."""
    from assay.text.chunking import CHUNKER_VERSION  # noqa: PLC0415 - see the module's docstring
    from assay.text.terms import ANALYSIS_VERSION  # noqa: PLC0415 - the same

    return {
        "chunker": CHUNKER_VERSION,
        "analysis": ANALYSIS_VERSION,
        "fusion": settings.search_fusion,
        "exact_below": settings.index_exact_below,
        "embedder_kind": settings.embedder,
    }


def lookup_of(settings: Settings, *, runs: Path | None = None) -> Lookup:
    """Where finished runs and their datasets are looked for."""
    from assay.evaluation.lookup import Lookup  # noqa: PLC0415 - see the module's docstring
    from assay.evaluation.running.folder import DEFAULT_RUNS  # noqa: PLC0415 - the same

    return Lookup(runs=runs or settings.runs_folder or DEFAULT_RUNS, registry=registry_of(settings))


def list_checkpoints(settings: Settings) -> list[Checkpoint]:
    """The store's checkpoints, also when the store itself cannot be opened."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import list_checkpoints as list_at  # noqa: PLC0415 - see the module's docstring

    return list_at(settings.db, store_options(settings))


def restore_checkpoint(settings: Settings, wanted: str, *, clock: Clock | None = None) -> Restored:
    """Bring the store back to a checkpoint, also when the store itself cannot be opened."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import restore_checkpoint as restore_at  # noqa: PLC0415 - see the module's docstring

    return restore_at(settings.db, wanted, scope_of(settings), clock or SystemClock(), store_options(settings))


def store_options(settings: Settings) -> StoreOptions:
    """How the settings ask for the store to be opened."""
    from assay.storage import StoreOptions  # noqa: PLC0415 - see the module's docstring

    return StoreOptions(
        lock_timeout_s=settings.lock_timeout_s,
        readers=settings.readers,
        flush_interval_s=settings.flush_interval_s,
        log_capacity=settings.log_capacity,
        postgres_schema=settings.postgres_schema,
        checkpoint_folder=_checkpoint_folder(settings),
        postgres_programs=settings.postgres_programs,
    )


def need_extra(extra: str, *modules: str) -> None:
    """Refuse, with the install command, when an optional part is not there."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"this needs the Python package {missing[0]!r}, which is not installed",
            remedy=f"Install it: pip install 'assay[{extra}]'.",
        )


def _embedder(settings: Settings, given: Embedder | None, *, run_once: bool) -> OnDemandEmbedder | None:
    if given is None and settings.embedder == "none":
        return None
    from assay.memory.on_demand import OnDemandEmbedder  # noqa: PLC0415 - see the module's docstring

    def load() -> Embedder:
        return given or load_embedder(settings, run_once=run_once)

    return OnDemandEmbedder(load, profile=lambda loaded: _profile(settings, loaded))


def configured_embedder(settings: Settings) -> Embedder:
    """The embedder the settings name, with the thresholds they name; loaded when first asked."""
    found = _embedder(settings, None, run_once=False)
    if found is None:
        raise SettingError("the setting embedder.kind is none", remedy="Set it to minilm, for example.")
    return found


def load_embedder(settings: Settings, *, run_once: bool = False) -> Embedder:
    """The embedder the settings name, ready for work."""
    threads = settings.embedder_threads or 0
    if settings.embedder == "static":
        from assay.embedding.static import load_static  # noqa: PLC0415 - see the module's docstring

        return load_static()
    if settings.embedder == "remote":
        return _remote(settings)
    if settings.embedder == "local":
        from assay.embedding.local import load_local  # noqa: PLC0415 - see the module's docstring
        from assay.embedding.onnx import OnnxOptions  # noqa: PLC0415 - the same

        folder = _needed(settings.embedder_folder, "embedder.folder", "local")
        return load_local(folder, options=OnnxOptions(threads=threads, run_once=run_once))
    from assay.embedding.bundled import load_bundled  # noqa: PLC0415 - see the module's docstring

    return load_bundled(threads=threads, run_once=run_once)


def _remote(settings: Settings) -> Embedder:
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    from assay.embedding.remote import RemoteEmbedder  # noqa: PLC0415 - the same
    from assay.models.endpoint import Endpoint, EndpointOptions, key_from  # noqa: PLC0415 - the same

    url = _needed(settings.embedder_url, "embedder.url", "remote")
    name = _needed(settings.embedder_model, "embedder.model", "remote")
    options = EndpointOptions(url=url, key=key_from(os.environ, settings.embedder_key_variable))
    endpoint = Endpoint(options, clock=SystemClock(), rng=np.random.default_rng())
    if settings.embedder_dimension is None:
        return RemoteEmbedder.connect(endpoint, name=name)
    return RemoteEmbedder(endpoint, name=name, dimension=settings.embedder_dimension)


def _needed(value: T | None, key: str, kind: str) -> T:
    if not value:
        raise SettingError(
            f"the embedder {kind} needs the setting {key}", remedy=f"Set {key}, or another embedder.kind."
        )
    return value


def _profile(settings: Settings, embedder: Embedder) -> SimilarityProfile:
    """What similarities mean: as the settings say, else as the embedder does."""
    from dataclasses import replace  # noqa: PLC0415 - nowhere else

    own = {
        "duplicate": settings.similarity_duplicate,
        "merge": settings.similarity_merge,
        "related": settings.similarity_related,
    }
    return replace(embedder.profile, **{name: value for name, value in own.items() if value is not None})


def _make_saver(
    store: Store, embedder: OnDemandEmbedder | None, indexes: Indexes, flags: Flags, clock: Clock
) -> MakeSaver:
    def make(meter: Meter | None) -> Saver:
        from assay.memory.ingesting.metering import MeteredChunker, MeteredEmbedder  # noqa: PLC0415 - see the docstring
        from assay.memory.saving import Saver  # noqa: PLC0415 - the same

        chunker = _chunker(embedder)
        return Saver(
            store=store,
            embedder=embedder if meter is None or embedder is None else MeteredEmbedder(embedder, meter),
            indexes=indexes,
            flags=flags,
            chunker=chunker if meter is None else MeteredChunker(chunker, meter),
            clock=clock,
        )

    return make


def _chunker(embedder: OnDemandEmbedder | None) -> Chunker:
    """Chunks as long as the embedder reads; without one, of as many words as the bundled one would read tokens."""
    from assay.text.chunking import Chunker  # noqa: PLC0415 - see the module's docstring
    from assay.text.terms import words  # noqa: PLC0415 - the same

    if embedder is None:
        return Chunker(lambda text: len(words(text)), WORDS_WITHOUT_EMBEDDER)
    return Chunker(embedder.count_tokens, embedder.token_limit)


def _index_folder(settings: Settings, store: Store) -> Path:
    """Below a folder that the settings name, each store has one of its own."""
    from assay.index import default_folder  # noqa: PLC0415 - see the module's docstring

    if settings.index_folder is None:
        return default_folder(store)
    return settings.index_folder / _short_hash(store.place)


def _short_hash(text: str) -> str:
    return content_hash(text).removeprefix(HASH_PREFIX)[:8]


def _checkpoint_folder(settings: Settings) -> Path | None:
    from assay.storage import is_postgres  # noqa: PLC0415 - see the module's docstring

    if not is_postgres(settings.db):
        return settings.checkpoint_folder
    # A server has no "beside": its checkpoints lie with the user's data, apart for each server and database.
    folder = settings.checkpoint_folder or default_db(os.environ).parent / "checkpoints"
    return folder / f"{settings.postgres_schema}-{_short_hash(fit_to_show(settings.db))}"
