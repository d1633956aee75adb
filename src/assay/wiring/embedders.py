"""The embedder the settings name, with what its similarities mean and how long its chunks are."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from assay.clock import SystemClock
from assay.errors import SettingError
from assay.settings import Settings
from assay.wiring.key_hosts import hold_to_host
from assay.wiring.network import gatekeeper_of

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder, SimilarityProfile
    from assay.memory.on_demand import OnDemandEmbedder
    from assay.text.chunking import Chunker

T = TypeVar("T")

LEAST_CHUNK = 64
"""Tokens; with fewer, a title and its headings leave no room for the text under them."""
_KEYS = {"remote": ("embedder.url", "embedder.key_variable"), "local": ("embedder.folder",)}
"""Settings that say where texts are sent, or which model file is loaded, by kind of embedder."""
WORDS_WITHOUT_EMBEDDER = 200
"""How long a chunk is when no embedder says how much it reads; about as much text as the bundled one takes."""


def configured_embedder(settings: Settings) -> Embedder:
    """The embedder the settings name, with the thresholds they name; loaded when first asked."""
    found = on_demand_embedder(settings, None, run_once=False)
    if found is None:
        raise SettingError("the setting embedder.kind is none", remedy="Set it to minilm, for example.")
    return found


def load_embedder(settings: Settings, *, run_once: bool = False) -> Embedder:
    """The embedder the settings name, ready for work."""
    threads = settings.embedder_threads or 0
    settings.refuse_withheld(*_KEYS.get(settings.embedder, ()))
    if settings.embedder == "static":
        from assay.embedding.static import load_static  # noqa: PLC0415 - see the package's docstring

        return load_static()
    if settings.embedder == "remote":
        return _remote(settings)
    if settings.embedder == "local":
        from assay.embedding.local import load_local  # noqa: PLC0415 - see the package's docstring
        from assay.embedding.onnx import OnnxOptions  # noqa: PLC0415 - the same

        folder = _require(settings.embedder_folder, "embedder.folder", "local")
        return load_local(folder, options=OnnxOptions(threads=threads, run_once=run_once))
    from assay.embedding.bundled import load_bundled  # noqa: PLC0415 - see the package's docstring

    return load_bundled(threads=threads, run_once=run_once)


def on_demand_embedder(settings: Settings, given: Embedder | None, *, run_once: bool) -> OnDemandEmbedder | None:
    """The embedder the settings name, or the one given, loaded when first needed; None where they ask for none."""
    if given is None and settings.embedder == "none":
        return None
    if given is None:
        # Now, and not when it is first asked: a search goes on without an embedder that cannot be loaded.
        settings.refuse_withheld(*_KEYS.get(settings.embedder, ()))
    from assay.memory.on_demand import OnDemandEmbedder  # noqa: PLC0415 - see the package's docstring

    def load() -> Embedder:
        return given or load_embedder(settings, run_once=run_once)

    return OnDemandEmbedder(load, profile=lambda loaded: _profile(settings, loaded))


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


def chunker_of(embedder: OnDemandEmbedder | None, *, most: int | None = None) -> Chunker:
    """Chunks as long as the embedder reads; without one, of as many words as the bundled one would read tokens.

    `most` makes them shorter, never longer: what an embedder does not read cannot be found by it.
    """
    from assay.text.chunking import Chunker  # noqa: PLC0415 - see the package's docstring
    from assay.text.terms import words  # noqa: PLC0415 - the same

    if embedder is None:
        return Chunker(lambda text: len(words(text)), _limit(WORDS_WITHOUT_EMBEDDER, most))
    return Chunker(embedder.count_tokens, _limit(embedder.token_limit, most))


def _limit(reads: int, most: int | None) -> int:
    if most is not None and not LEAST_CHUNK <= most <= reads:
        raise SettingError(
            f"chunking.max_tokens {most} is not from {LEAST_CHUNK} to {reads}, which is as much as is read",
            remedy=f"Give {LEAST_CHUNK} to {reads}, or leave it out.",
        )
    return reads if most is None else most
