"""A retriever, vector store or chain of LangChain: `langchain:MODULE:NAME`.

A vector store, and a retriever made of one, are asked for k documents; other retrievers and chains return as many as
they were made for. A chain may return documents, or a dictionary with documents and an answer, or an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.extras import load_package
from assay.systems.adapters.framework import (
    ANSWERS,
    DOCUMENTS,
    FrameworkSystem,
    first_of,
    steps_of,
    without_missing_scores,
)

_SCORES = ("score", "relevance_score")


class LangChain(FrameworkSystem):
    """Invokes an object of LangChain."""

    package = "langchain-core"
    module = "langchain_core"
    takes = "a retriever, a vector store or a runnable of LangChain"

    def accepts(self, thing: Any) -> bool:
        """Runnables and vector stores."""
        runnables = load_package("langchain_core.runnables", self.package)
        stores = load_package("langchain_core.vectorstores", self.package)
        self._stores: Any = stores
        return isinstance(thing, (runnables.Runnable, stores.VectorStore))

    def ask(self, query: str, k: int) -> Any:
        """Search or invoke."""
        if isinstance(self.thing, self._stores.VectorStore):
            return self._read(self.thing.similarity_search(query, k=k))
        more = {"k": k} if isinstance(self.thing, self._stores.VectorStoreRetriever) else {}
        return self._read(self.thing.invoke(query, **more))

    def _read(self, found: Any) -> dict[str, Any]:
        if isinstance(found, list):
            return {"results": self.read_documents(found)}
        if isinstance(found, Mapping):
            documents, answer = first_of(found, DOCUMENTS), first_of(found, ANSWERS)
            listed = documents if isinstance(documents, list) else []
            steps = steps_of(found, self.read_documents)
            return {"results": self.read_documents(listed), "answer": read_message(answer), **steps}
        return {"results": [], "answer": read_message(found)}

    def read_documents(self, documents: list[Any]) -> list[dict[str, Any]]:
        """Read documents of LangChain; scores are those of the metadata, where each has one."""
        return without_missing_scores(
            [
                self.document(
                    document.metadata,
                    [document.id],
                    text=document.page_content,
                    score=first_of(document.metadata, _SCORES),
                )
                for document in documents
            ]
        )


def read_message(message: Any) -> str | None:
    """Return the text of a message, or of what a parser made of it."""
    if message is None or isinstance(message, str):
        return message
    text = getattr(message, "text", None)
    return text if isinstance(text, str) else str(getattr(message, "content", message))
