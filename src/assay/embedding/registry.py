"""The registry of embedders, and the decorator `@embedder`, which adds one of your own.

    @embedder("mine", summary="The model of our house.")
    def load_mine(request: EmbedderRequest) -> Embedder: ...

With the settings `embedder.kind = "registered"` and `embedder.name = "mine"` memory is embedded with it. An installed
package names the same function as an entry point of the group `assay.embedders`. What is built in registers itself here
too; loading one imports its libraries, so nothing is loaded before it is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from assay.errors import BadValue
from assay.registry import Registry

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedderRequest:
    """What an embedder is loaded with."""

    threads: int = 0
    """Threads that make vectors; 0 is one for each core."""
    run_once: bool = False
    """Start sooner and run slower: for a program that embeds one query and ends."""


Loader = Callable[[EmbedderRequest], "Embedder"]
Function = TypeVar("Function", bound=Loader)


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedderEntry:
    """One embedder."""

    name: str
    summary: str
    load: Loader


def read_embedder(name: str, thing: object) -> EmbedderEntry:
    """Make an entry of a plain function."""
    if not callable(thing):
        raise BadValue(
            f"{thing!r} is not a function", remedy="Give a function of an EmbedderRequest that returns an embedder."
        )
    return EmbedderEntry(name=name, summary=(inspect.getdoc(thing) or "").partition("\n")[0], load=thing)


EMBEDDERS: Registry[EmbedderEntry] = Registry(
    "embedder", group="assay.embedders", read=read_embedder, builtin=("assay.embedding.registry",)
)
"""Every embedder that needs no further settings, by the name that `embedder.name` takes."""


def embedder(name: str, *, summary: str = "") -> Callable[[Function], Function]:
    """Register a function that loads an embedder; it is returned unchanged."""

    def add(function: Function) -> Function:
        entry = read_embedder(name, function)
        told = EmbedderEntry(name=name, summary=summary or entry.summary, load=function)
        EMBEDDERS.add(name, told, thing=function)
        return function

    return add


def find_embedder(name: str) -> EmbedderEntry:
    """Return an embedder by name."""
    entry = EMBEDDERS.find(name)
    if entry is None:
        raise BadValue(EMBEDDERS.explain_missing(name), remedy=f"There are: {', '.join(EMBEDDERS.names())}.")
    return entry


@embedder("minilm")
def _load_minilm(request: EmbedderRequest) -> Embedder:
    """The bundled model: all-MiniLM-L6-v2 with weights of 8 bits."""
    from assay.embedding.bundled import load_bundled  # noqa: PLC0415 - see the module's docstring

    return load_bundled(threads=request.threads, run_once=request.run_once)


@embedder("granite")
def _load_granite(request: EmbedderRequest) -> Embedder:
    """A model trained for retrieval, of the extra `granite`."""
    from assay.embedding.granite import load_granite  # noqa: PLC0415 - the same

    return load_granite(threads=request.threads, run_once=request.run_once)


@embedder("static")
def _load_static(request: EmbedderRequest) -> Embedder:  # noqa: ARG001 - it has no threads to choose
    """Means of word vectors, of the extra `fast`: hundreds of times as fast, without word order."""
    from assay.embedding.static import load_static  # noqa: PLC0415 - the same

    return load_static()
