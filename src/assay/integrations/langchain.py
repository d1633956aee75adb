"""A retriever of LangChain over Assay's memory: `AssayRetriever()` in a chain, or as a tool of an agent."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from assay.api import Memory
from assay.calls import MemoryCalls
from assay.extras import refuse_package
from assay.integrations.found import find_memories

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as problem:
    raise refuse_package("langchain-core", problem) from problem


class AssayRetriever(BaseRetriever):
    """Finds memories; their ids, titles and scores are in the metadata of the documents."""

    memory: MemoryCalls = Field(default_factory=Memory)
    """A `Memory`, or a `Client` of a server; without one, the memory of the settings."""
    k: int = 5
    folder: str | None = None
    """Only this folder and what is below it."""
    memory_tags: list[str] = Field(default_factory=list)
    """Only memories with all of these tags."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:  # noqa: ARG002 - LangChain's
        found = find_memories(self.memory, query, k=self.k, folder=self.folder, tags=self.memory_tags)
        return [Document(page_content=memory.text, id=memory.id, metadata=memory.facts) for memory in found]
