"""Objects of LlamaIndex over the texts of the contract."""

from __future__ import annotations

from typing import Any

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms.mock import MockLLM
from tests.systems.adapter_contract import EMBEDDER, TEXTS


class Embedding(BaseEmbedding):
    """The contract's embedder."""

    def _get_text_embedding(self, text: str) -> list[float]:
        row: list[float] = EMBEDDER.embed([text])[0].tolist()
        return row

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def make_index(texts: Any) -> VectorStoreIndex:
    documents = [Document(text=text, doc_id=key) for key, text in texts.items()]
    return VectorStoreIndex.from_documents(documents, embed_model=Embedding())


filled = make_index(TEXTS)
empty = make_index({})
retriever = filled.as_retriever(similarity_top_k=3)
engine = filled.as_query_engine(llm=MockLLM(), similarity_top_k=2)
