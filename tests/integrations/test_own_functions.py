"""Collections that keep an embedding function: it makes the vectors of queries, and offline refuses it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import lancedb
import numpy as np
import pytest
from chromadb.config import Settings
from chromadb.utils.embedding_functions import known_embedding_functions, register_embedding_function
from lancedb.embeddings import TextEmbeddingFunction, get_registry, register
from lancedb.pydantic import LanceModel, Vector
from tests.systems.adapter_contract import DIMENSION, EMBEDDER, QUERIES, TEXTS, ids, nearest

from assay.errors import AddressRefused, UnknownSystem
from assay.network import ANYWHERE, Gatekeeper
from assay.systems.adapters.vector_store import StoreOpening, VectorStore, read_target
from assay.testing import HashedEmbedder
from assay.wiring.adapter_kinds import STORES

KEPT = "kept-by-the-store"


@register_embedding_function
class ChromaFunction(chromadb.EmbeddingFunction[Any]):
    """The contract's embedder, as Chroma keeps one."""

    def __init__(self) -> None: ...

    def __call__(self, input: Any) -> Any:  # noqa: A002 - Chroma's name
        return [np.array(row) for row in EMBEDDER.embed(list(input))]

    @staticmethod
    def name() -> str:
        return KEPT

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> ChromaFunction:
        return ChromaFunction()

    def get_config(self) -> dict[str, Any]:
        return {}


@register(KEPT)
class LanceFunction(TextEmbeddingFunction):
    """The same, as LanceDB keeps one."""

    def ndims(self) -> int:
        return DIMENSION

    def generate_embeddings(self, texts: Any, *_: Any, **__: Any) -> list[Any]:
        return list(EMBEDDER.embed(list(texts)))


def fill_chroma(folder: Path) -> str:
    client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
    items = client.create_collection("notes", embedding_function=ChromaFunction())
    items.add(ids=list(TEXTS), documents=list(TEXTS.values()))
    client.close()
    return f"chroma:{folder}#notes"


def fill_lance(folder: Path) -> str:
    function = get_registry().get(KEPT).create()

    class Note(LanceModel):
        id: str
        text: str = function.SourceField()
        vector: Vector(DIMENSION) = function.VectorField()  # type: ignore[valid-type]

    folder.mkdir()
    table = lancedb.connect(str(folder)).create_table("notes", schema=Note)
    table.add([{"id": key, "text": text} for key, text in TEXTS.items()])
    return f"lancedb:{folder}#notes"


def refuse() -> HashedEmbedder:
    raise AssertionError("the embedder of the settings is not needed")


def opened(name: str, gate: Gatekeeper = ANYWHERE) -> VectorStore:
    kind = name.partition(":")[0]
    made: VectorStore = STORES[kind].load()(StoreOpening(target=read_target(name), open_embedder=refuse, gate=gate))
    return made


@pytest.mark.parametrize("fill", [fill_chroma, fill_lance])
def test_queries_are_embedded_by_the_function_of_the_collection(fill: Callable[[Path], str], tmp_path: Path) -> None:
    name = fill(tmp_path / "db")
    with closing(opened(name)) as system:
        assert [ids(system, query) for query in QUERIES] == [nearest(query, 3) for query in QUERIES]
        assert str(system.subject()["embedder"]) in {KEPT, "LanceFunction"}
    with pytest.raises(AddressRefused, match="by its own function") as refused:
        opened(name, Gatekeeper.of([], offline=True))
    assert "Switch offline off" in refused.value.remedy


def test_a_function_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = fill_chroma(tmp_path / "db")
    monkeypatch.delitem(known_embedding_functions, KEPT)
    with pytest.raises(UnknownSystem, match=f"the embedding function '{KEPT}' of notes cannot be made"):
        opened(name)


def test_the_default_function_of_chroma_is_not_called(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(path=str(tmp_path), settings=Settings(anonymized_telemetry=False))
    items = client.create_collection("notes")
    items.add(ids=list(TEXTS), embeddings=EMBEDDER.embed(list(TEXTS.values())))
    client.close()
    opening = StoreOpening(
        target=read_target(f"chroma:{tmp_path}#notes"),
        open_embedder=lambda: EMBEDDER,
        gate=Gatekeeper.of([], offline=True),
    )
    with closing(STORES["chroma"].load()(opening)) as system:
        assert ids(system, QUERIES[0]) == nearest(QUERIES[0], 3)
        assert system.subject()["embedder"] == EMBEDDER.model
