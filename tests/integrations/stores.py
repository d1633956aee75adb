"""Fill each vector store with texts, as its guide says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import chromadb
import faiss
import lancedb
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from chromadb.config import Settings
from pymilvus import DataType, MilvusClient
from qdrant_client import QdrantClient, models
from tests.systems.adapter_contract import DIMENSION, AdapterCase, vectors

Texts = Mapping[str, str]


def fill_chroma(folder: Path, texts: Texts) -> str:
    client = chromadb.PersistentClient(path=str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))
    items = client.create_collection("notes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
    if texts:
        items.add(ids=list(texts), embeddings=vectors(texts), documents=list(texts.values()))
    client.close()
    return f"chroma:{folder / 'chroma'}#notes"


def fill_qdrant(folder: Path, texts: Texts) -> str:
    client = QdrantClient(path=str(folder / "qdrant"))
    client.create_collection(
        "notes", vectors_config=models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
    )
    rows = enumerate(zip(texts, vectors(texts), strict=True))
    points = [models.PointStruct(id=number, vector=row, payload={"doc": {"id": key}}) for number, (key, row) in rows]
    if points:
        client.upsert("notes", points=points)
    client.close()
    return f"qdrant:{folder / 'qdrant'}#notes?id=doc.id"


def fill_lance(folder: Path, texts: Texts) -> str:
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), DIMENSION))])
    rows = [
        {"id": key, "text": text, "vector": row} for (key, text), row in zip(texts.items(), vectors(texts), strict=True)
    ]
    table = lancedb.connect(str(folder / "lance")).create_table("notes", schema=schema)
    if rows:
        table.add(rows)
    return f"lancedb:{folder / 'lance'}#notes"


def fill_indexed_lance(folder: Path, texts: Texts) -> str:
    name = fill_lance(folder, texts)
    if texts:
        table = lancedb.connect(str(folder / "lance")).open_table("notes")
        table.create_index("vector", config=lancedb.index.IvfFlat(distance_type="cosine", num_partitions=1))
    return name


def fill_faiss(folder: Path, texts: Texts, index: faiss.Index | None = None) -> str:
    index = index or faiss.IndexHNSWFlat(DIMENSION, 16, faiss.METRIC_INNER_PRODUCT)
    if texts:
        index.add(np.array(vectors(texts), dtype=np.float32))
    path = folder / "notes.index"
    faiss.write_index(index, str(path))
    path.with_name("notes.index.ids").write_text("".join(f"{key}\n" for key in texts), encoding="utf-8")
    return f"faiss:{path}"


def fill_flat_faiss(folder: Path, texts: Texts) -> str:
    return fill_faiss(folder, texts, faiss.IndexFlatL2(DIMENSION))


def fill_milvus(folder: Path, texts: Texts, index: str = "HNSW") -> str:
    client = MilvusClient(str(folder / "notes.db"))
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=200)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=DIMENSION)
    indexes = client.prepare_index_params()
    given = {"M": 16, "efConstruction": 100} if index == "HNSW" else {}
    indexes.add_index("embedding", index_type=index, metric_type="COSINE", params=given)
    client.create_collection("notes", schema=schema, index_params=indexes)
    rows = [{"key": key, "embedding": row} for key, row in zip(texts, vectors(texts), strict=True)]
    if rows:
        client.insert("notes", rows)
        client.flush("notes")
    client.close()
    return f"milvus:{folder / 'notes.db'}#notes"


def fill_flat_milvus(folder: Path, texts: Texts) -> str:
    return fill_milvus(folder, texts, "FLAT")


NO_COLLECTION = "{filled}#nothing"
CASES = {
    "chroma": AdapterCase("chroma", fill_chroma, NO_COLLECTION, "approximate"),
    "chroma, no folder": AdapterCase("chroma", fill_chroma, "chroma:{folder}/nothing#notes", "approximate"),
    "qdrant": AdapterCase("qdrant", fill_qdrant, NO_COLLECTION, "exact"),
    "lancedb": AdapterCase("lancedb", fill_lance, NO_COLLECTION, "exact"),
    "lancedb, indexed": AdapterCase("lancedb", fill_indexed_lance, NO_COLLECTION, "approximate"),
    "faiss": AdapterCase("faiss", fill_faiss, "faiss:{folder}/nothing.index", "approximate"),
    "faiss, flat": AdapterCase("faiss", fill_flat_faiss, "faiss:{folder}/nothing.index", "exact"),
    "milvus": AdapterCase("milvus", fill_milvus, NO_COLLECTION, "approximate"),
    "milvus, flat": AdapterCase("milvus", fill_flat_milvus, NO_COLLECTION, "exact"),
}
