"""Objects of Haystack over the texts of the contract."""

from __future__ import annotations

from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from tests.systems.adapter_contract import EMBEDDER, TEXTS


@component
class QueryEmbedder:
    """The contract's embedder."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": EMBEDDER.embed([text])[0].tolist()}


@component
class Answerer:
    """Answers without a model."""

    @component.output_types(replies=list[str], documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        return {"replies": [f"{len(documents)} notes."], "documents": documents}


def make_pipeline(texts: Any) -> Pipeline:
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    rows = EMBEDDER.embed(list(texts.values())).tolist() if texts else []
    store.write_documents(
        [Document(id=key, content=text, embedding=row) for (key, text), row in zip(texts.items(), rows, strict=True)]
    )
    pipeline = Pipeline()
    pipeline.add_component("embedder", QueryEmbedder())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    return pipeline


filled = make_pipeline(TEXTS)
empty = make_pipeline({})


def answering() -> Pipeline:
    pipeline = make_pipeline(TEXTS)
    pipeline.add_component("answerer", Answerer())
    pipeline.connect("retriever.documents", "answerer.documents")
    return pipeline


def words() -> InMemoryBM25Retriever:
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=key, content=text) for key, text in TEXTS.items()])
    return InMemoryBM25Retriever(store)


def without_a_query() -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("prompt", PromptBuilder("About {{ topic }}"))
    return pipeline
