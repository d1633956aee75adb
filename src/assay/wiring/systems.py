"""Systems that can be evaluated, their corpus, and the files a caller may see.

- Files of a caller.
- Systems, datasets and runs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, NothingMeasured, SettingError
from assay.evaluation.datasets import Registry
from assay.evaluation.lookup import Lookup
from assay.evaluation.running.files import DEFAULT_RUNS
from assay.evaluation.shelf import FilePlaces, Shelf, file_key
from assay.extras import need_extra
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import DEFAULT_TENANT, Scope
from assay.records.fields import plain
from assay.settings import Origin, Settings, default_cache, default_db, load_settings
from assay.systems.registry import Configuration, SystemRequest, parse_spec, read_configuration
from assay.text.terms import ANALYSIS_VERSION
from assay.wiring.engines import ENGINE_MODULES, NAME_CROSS_ENCODER, NO_CROSS_ENCODER, open_engine, open_saves
from assay.wiring.models import has_model
from assay.wiring.stores import open_store, scope_of

if TYPE_CHECKING:
    from assay.memory.engine import Engine
    from assay.records.access import FileKind
    from assay.records.datasets import Dataset
    from assay.systems.assay_engine import OnDocument
    from assay.systems.protocol import System


# --- Files of a caller ---


def shelf_of(settings: Settings, engine: Engine, scope: Scope) -> Shelf:
    """Return the runs, datasets and labels that a caller may see."""
    return Shelf(store=engine.store, scope=scope, places=file_places(settings), clock=engine.clock)


def file_places(settings: Settings) -> FilePlaces:
    """Return where the settings' own tenant keeps its files, and beside it the folders of other tenants."""
    return FilePlaces(own_tenant=settings.tenant, runs=runs_folder(settings), datasets=datasets_folder(settings))


def runs_folder(settings: Settings) -> Path:
    """Return where the settings' own tenant keeps its runs."""
    return settings.runs_folder or DEFAULT_RUNS


def datasets_folder(settings: Settings) -> Path:
    """Return where the settings' own tenant keeps imported datasets."""
    return settings.datasets_folder or default_db(os.environ).parent / "datasets"


def claim_files(settings: Settings, kind: FileKind, paths: Iterable[Path]) -> str:
    """Write down that files belong to the settings' tenant, where there is a store.

    A store that cannot take it costs the note that is returned, not the files.
    """
    if not _has_store(settings):
        return ""
    try:
        with open_store(settings, create=False) as store, store.writing(scope_of(settings)) as work:
            for path in paths:
                work.owned_files.claim(kind, file_key(path))
    except AssayError as problem:
        return f"The store does not say whose these files are: {problem.message}."
    return ""


def _has_store(settings: Settings) -> bool:
    """Whether a store exists; checked without opening it, and without the packages that only a store needs."""
    if importlib.util.find_spec("sqlalchemy") is None:
        return False
    from assay.storage import is_postgres  # noqa: PLC0415 - see the package's docstring

    return is_postgres(settings.db) or Path(settings.db).is_file()


# --- Systems, datasets and runs ---


def registry_of(settings: Settings) -> Registry:
    """Where imported datasets are kept."""
    return Registry(datasets_folder(settings))


def open_system(text: str, dataset: Dataset, *, on_document: OnDocument | None = None) -> System:
    """The system under test that a spec such as `assay:mode=quick` names, ready for a dataset's questions."""
    folder = Path.cwd()
    spec = parse_spec(text, folder)
    return spec.entry.open(
        SystemRequest(text=spec.text, target=spec.target, dataset=dataset, folder=folder, on_document=on_document)
    )


def open_assay(request: SystemRequest) -> System:
    """Assay over a dataset's documents, in a store of their own: never the user's."""
    need_extra("memory", *ENGINE_MODULES)
    dataset, on_document = request.dataset, request.on_document
    configuration = read_configuration(request.target, request.folder)
    if not dataset.documents:
        raise NothingMeasured(
            f"{dataset.name} has no documents for Assay to search",
            remedy="Add its corpus, or evaluate what holds it: python:, http: or run:.",
        )
    settings = corpus_settings(configuration, dataset)
    if any(case.save is not None for case in dataset.cases):
        return open_saves(settings, configuration, dataset, request.text, _describe_instrument(settings), on_document)
    engine = open_engine(settings)
    from assay.systems.assay_engine import AssaySystem, take_in  # noqa: PLC0415 - see the package's docstring

    scope = scope_of(settings)
    try:
        take_in(engine, scope, dataset, on_document)
        if engine.embedder is not None and engine.vector_models(scope).active != engine.embedder.model:
            engine.reembed(scope)
        made_of = {**_describe_instrument(settings), **_describe_reranker(engine, scope)}
        if configuration.answers:
            return _open_answers(engine, settings, request, configuration, made_of)
        return AssaySystem(
            engine, scope, dataset, configuration, name=request.text, made_of=made_of, close=engine.close
        )
    except BaseException:
        engine.close()
        raise


def _open_answers(
    engine: Engine, settings: Settings, request: SystemRequest, configuration: Configuration, made_of: dict[str, Any]
) -> System:
    """Assay's own answers: the pipeline of `assay ask` with the model of the settings, else with rules."""
    from assay.systems.assay_answers import AssayAnswers, prepare_engine  # noqa: PLC0415 - see the package's docstring
    from assay.wiring.research import open_research  # noqa: PLC0415 - the same

    scope = scope_of(settings)
    prepared, searcher = prepare_engine(engine)
    return AssayAnswers(
        engine,
        scope,
        request.dataset,
        configuration,
        pipeline=open_research(settings, prepared, scope),
        searcher=searcher,
        name=request.text,
        made_of={**made_of, "answers": _describe_answers(settings)},
        close=engine.close,
    )


def _describe_answers(settings: Settings) -> dict[str, Any]:
    """What answers depend on besides the search: the model, what `[research]` sets, and the code that answers."""
    by = {"model": settings.model_name, "url": settings.model_url} if has_model(settings) else {"model": None}
    return {**by, "code": _hash_answer_code(), **({"research": plain(settings.research)} if settings.research else {})}


def _hash_answer_code() -> str:
    """One hash of the files that plan, answer and decide what is answerable."""
    here = Path(__file__).parents[1]
    files = sorted(path for place in ("research", "judging") for path in (here / place).rglob("*") if path.is_file())
    code = {path.relative_to(here).as_posix(): path.read_bytes() for path in files if "__pycache__" not in path.parts}
    return content_hash({name: hashlib.sha256(content).hexdigest() for name, content in code.items()})


def corpus_settings(configuration: Configuration, dataset: Dataset) -> Settings:
    """The settings as file, environment and a configuration have them, over a cache store for these documents.

    One store for each corpus and way of indexing it; what only searches differently shares one.
    """
    from assay.text.chunking import CHUNKER_VERSION  # noqa: PLC0415 - see the package's docstring

    loaded = load_settings(options=dict(configuration.settings)).settings
    origin = Origin("option", "--system")
    flags = {**loaded.flags, **{name: (value, origin) for name, value in configuration.flags.items()}}
    embedder = [loaded.embedder, str(loaded.embedder_folder), loaded.embedder_url, loaded.embedder_model]
    edges = sorted([edge.source_id, edge.target_id, edge.kind.value, edge.strength] for edge in dataset.edges)
    made: list[Any] = [dataset.corpus_hash, edges, CHUNKER_VERSION, embedder, loaded.embedder_dimension]
    # Only where it is said, so that what was indexed without it is still found.
    made += [] if loaded.chunking_max_tokens is None else [loaded.chunking_max_tokens]
    made += [["overlap", loaded.chunking_overlap_tokens]] if loaded.chunking_overlap_tokens else []
    key = content_hash(made)
    place = default_cache(os.environ) / "corpora" / key.removeprefix(HASH_PREFIX)[:16] / "assay.db"
    return loaded.change(db=str(place), tenant=DEFAULT_TENANT, index_folder=None, flags=flags)


def _describe_instrument(settings: Settings) -> dict[str, Any]:
    """What the numbers of a run of Assay depend on, besides what the store itself reports."""
    from assay.text.chunking import CHUNKER_VERSION  # noqa: PLC0415 - see the package's docstring

    return {
        "chunker": CHUNKER_VERSION,
        "analysis": ANALYSIS_VERSION,
        "fusion": settings.search_fusion,
        "full_text": settings.search_full_text,
        **{name: value for name, value in _describe_tuning(settings).items() if value is not None},
        "exact_below": settings.index_exact_below,
        "embedder_kind": settings.embedder,
        **({"channels": added} if (added := _list_added_channels()) else {}),
    }


def _describe_reranker(engine: Engine, scope: Scope) -> dict[str, str]:
    """Name the cross-encoder, where the flag is on; a run that asks for one that is not there is refused."""
    if not engine.flag_states(scope)["cross_encoder"].on:
        return {}
    if engine.searcher.cross_encoder is None:
        raise SettingError(f"the flag cross_encoder is on, but {NO_CROSS_ENCODER}", remedy=NAME_CROSS_ENCODER)
    return {"reranker": engine.searcher.cross_encoder.name}


def _list_added_channels() -> dict[str, str]:
    """Channels that packages and programs added, each with a hash of its code."""
    from assay.memory.searching.channels import list_added_channels  # noqa: PLC0415 - see the docstring

    return {entry.channel.value: entry.code for entry in list_added_channels()}


def _describe_tuning(settings: Settings) -> dict[str, Any]:
    """What was set instead of what Assay has, None where nothing was."""
    weights = {
        name: getattr(settings, f"search_weights_{name}") for name in ("vector", "fts5", "bm25", "graph", "trigger")
    }
    return {
        "weights": {name: weight for name, weight in weights.items() if weight is not None} or None,
        "rrf_k": settings.search_rrf_k,
        "coefficient": settings.search_coefficient,
        "max_tokens": settings.chunking_max_tokens,
        "overlap_tokens": settings.chunking_overlap_tokens or None,
        "rerank_depth": settings.rerank_depth,
        "rerank_threshold": settings.rerank_threshold,
    }


def lookup_of(settings: Settings, *, runs: Path | None = None) -> Lookup:
    """Where finished runs and their datasets are looked for."""
    return Lookup(runs=runs or runs_folder(settings), registry=registry_of(settings))
