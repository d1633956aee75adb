"""Adapters of frameworks, vector stores and search engines, registered like the other kinds of system.

An adapter's module is imported when a system of its kind is opened, and with it the package it needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.extras import need_extra
from assay.settings import load_settings
from assay.systems.protocol import System
from assay.systems.registry import SystemRequest, add_builtin
from assay.wiring.engines import open_embedder
from assay.wiring.network import gatekeeper_of

if TYPE_CHECKING:
    from assay.systems.adapters.vector_store import StoreOpening


class AdapterKind(NamedTuple):
    """One kind of system, and the class that adapts it."""

    module: str
    """Below `assay.systems.adapters`."""
    adapter: str
    package: str
    """What has to be installed; empty: nothing besides Assay."""
    summary: str
    example: str
    options: tuple[str, ...] = ("id",)
    """What may follow after a question mark."""

    def load(self) -> Any:
        """Import the adapter."""
        return getattr(importlib.import_module(f"assay.systems.adapters.{self.module}"), self.adapter)


FRAMEWORKS: Mapping[str, AdapterKind] = {
    "langchain": AdapterKind(
        "langchain",
        "LangChain",
        "langchain-core",
        "A retriever, vector store or chain of LangChain.",
        "langchain:my_module:retriever",
    ),
    "langgraph": AdapterKind(
        "langgraph",
        "LangGraph",
        "langgraph",
        "A graph or a store of LangGraph.",
        "langgraph:my_module:graph",
        ("id", "input", "documents", "namespace"),
    ),
    "llamaindex": AdapterKind(
        "llamaindex",
        "LlamaIndex",
        "llama-index-core",
        "A retriever, index or query engine of LlamaIndex.",
        "llamaindex:my_module:index",
    ),
    "haystack": AdapterKind(
        "haystack",
        "Haystack",
        "haystack-ai",
        "A pipeline or component of Haystack.",
        "haystack:my_module:pipeline",
    ),
    "dspy": AdapterKind("dspy", "Dspy", "dspy", "A module or retriever of DSPy.", "dspy:my_module:program"),
    "pydantic-ai": AdapterKind(
        "pydantic_ai",
        "PydanticAi",
        "pydantic-ai-slim",
        "An agent of Pydantic AI.",
        "pydantic-ai:my_module:agent",
        ("id", "tool"),
    ),
}
"""Objects of frameworks, by kind."""
_WITH_VECTOR = ("id", "text", "vector")
STORES: Mapping[str, AdapterKind] = {
    "chroma": AdapterKind("chroma", "Chroma", "chromadb", "A collection of Chroma.", "chroma:./db#notes"),
    "qdrant": AdapterKind(
        "qdrant",
        "Qdrant",
        "qdrant-client",
        "A collection of Qdrant in a folder.",
        "qdrant:./db#notes?id=doc",
        _WITH_VECTOR,
    ),
    "lancedb": AdapterKind("lancedb", "Lance", "lancedb", "A table of LanceDB.", "lancedb:./db#notes", _WITH_VECTOR),
    "faiss": AdapterKind("faiss", "Faiss", "faiss-cpu", "An index file of FAISS.", "faiss:notes.index", ()),
    "milvus": AdapterKind(
        "milvus",
        "Milvus",
        "pymilvus milvus-lite",
        "A collection of Milvus Lite.",
        "milvus:notes.db#notes",
        _WITH_VECTOR,
    ),
    "pgvector": AdapterKind(
        "pgvector",
        "Pgvector",
        "assaykit[postgres]",
        "A table of PostgreSQL with pgvector.",
        "pgvector:postgresql://me@localhost/app#notes",
        _WITH_VECTOR,
    ),
}
"""Vector stores, by kind."""
_ENGINE_OPTIONS = ("id", "text", "vector", "by", "auth")
SEARCH_ENGINES: Mapping[str, AdapterKind] = {
    "opensearch": AdapterKind(
        "search_engines",
        "open_index",
        "",
        "An index of OpenSearch.",
        "opensearch:http://localhost:9200#notes",
        _ENGINE_OPTIONS,
    ),
    "elasticsearch": AdapterKind(
        "search_engines",
        "open_index",
        "",
        "An index of Elasticsearch.",
        "elasticsearch:http://localhost:9200#notes",
        _ENGINE_OPTIONS,
    ),
}
"""Search engines over HTTP, by kind."""


Opener = Callable[[str, AdapterKind, SystemRequest], System]


def _open_framework(_: str, kind: AdapterKind, request: SystemRequest) -> System:
    system: System = kind.load()(request.text, request.folder)
    return system


def _open_store(_: str, kind: AdapterKind, request: SystemRequest) -> System:
    if kind.module == "pgvector":
        need_extra("postgres", "psycopg")
    system: System = kind.load()(_opening(kind, request))
    return system


def _open_engine(name: str, kind: AdapterKind, request: SystemRequest) -> System:
    system: System = kind.load()(name, _opening(kind, request))
    return system


def _opening(kind: AdapterKind, request: SystemRequest) -> StoreOpening:
    from assay.systems.adapters.vector_store import (  # noqa: PLC0415 - see the package's docstring
        StoreOpening,
        StoreTarget,
        read_target,
    )

    settings = load_settings().settings
    if kind.module == "faiss":  # a file holds one index
        target = StoreTarget(text=request.text, place=request.target, name=Path(request.target).name)
    else:
        target = read_target(request.text, kind.options)
    return StoreOpening(target=target, open_embedder=partial(open_embedder, settings), gate=gatekeeper_of(settings))


def _register(kinds: Mapping[str, AdapterKind], opener: Opener) -> None:
    for name, kind in kinds.items():
        _register_kind(name, kind, opener)


def _register_kind(name: str, kind: AdapterKind, opener: Opener) -> None:
    @add_builtin(name, summary=kind.summary, example=kind.example)
    def open_adapter(request: SystemRequest) -> System:
        return opener(name, kind, request)


_register(FRAMEWORKS, _open_framework)
_register(STORES, _open_store)
_register(SEARCH_ENGINES, _open_engine)
