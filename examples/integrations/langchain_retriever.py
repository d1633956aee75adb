"""A retriever of LangChain, measured; the metadata field `source` has the id of each document."""

from typing import Any

from hotel import DOCUMENTS, embed, measure
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore


class HotelEmbeddings(Embeddings):
    """Any embeddings of LangChain will do."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        rows: list[list[float]] = embed(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.embed_documents([text])[0]


def make_retriever() -> Any:
    """Return a retriever over the dataset's documents."""
    store = InMemoryVectorStore(HotelEmbeddings())
    store.add_documents([Document(document.text, metadata={"source": document.id}) for document in DOCUMENTS])
    return store.as_retriever()


if __name__ == "__main__":
    measure("langchain:langchain_retriever:make_retriever?id=source")
