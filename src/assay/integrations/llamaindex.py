"""A retriever of LlamaIndex over Assay's memory: `AssayRetriever()` in a query engine or an agent."""

from __future__ import annotations

from collections.abc import Sequence

from assay.api import Memory
from assay.calls import MemoryCalls
from assay.extras import refuse_package
from assay.integrations.found import find_memories

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as problem:
    raise refuse_package("llama-index-core", problem) from problem


class AssayRetriever(BaseRetriever):
    """Finds memories as nodes; `memory` is a `Memory` or a `Client`, without one the memory of the settings."""

    def __init__(
        self, memory: MemoryCalls | None = None, *, k: int = 5, folder: str | None = None, tags: Sequence[str] = ()
    ) -> None:
        self.memory = memory or Memory()
        self.k = k
        self.folder = folder
        self.tags = tuple(tags)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = find_memories(self.memory, query_bundle.query_str, k=self.k, folder=self.folder, tags=self.tags)
        return [
            NodeWithScore(node=TextNode(id_=memory.id, text=memory.text, metadata=memory.facts), score=memory.score)
            for memory in found
        ]
