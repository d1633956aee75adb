"""A retriever, index or query engine of LlamaIndex: `llamaindex:MODULE:NAME`.

An index is asked for k nodes; a retriever and a query engine return as many as they were made for. The id is that of
the document a node was cut from, else the node's own. A query engine also answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.extras import load_package
from assay.systems.adapters.framework import FrameworkSystem, without_missing_scores


class LlamaIndex(FrameworkSystem):
    """Retrieves nodes, or queries."""

    package = "llama-index-core"
    module = "llama_index.core"
    takes = "a retriever, an index or a query engine of LlamaIndex"

    def accepts(self, thing: Any) -> bool:
        """Retrievers, indexes and query engines."""
        base = load_package("llama_index.core.base.base_retriever", self.package).BaseRetriever
        engines = load_package("llama_index.core.base.base_query_engine", self.package)
        indexes = load_package("llama_index.core.indices.base", self.package)
        self._is_index = isinstance(thing, indexes.BaseIndex)
        self._answers = isinstance(thing, engines.BaseQueryEngine)
        return self._is_index or self._answers or isinstance(thing, base)

    def ask(self, query: str, k: int) -> Any:
        """Retrieve or query."""
        if self._answers:
            response = self.thing.query(query)
            return {"results": self._nodes(response.source_nodes), "answer": str(response)}
        retriever = self.thing.as_retriever(similarity_top_k=k) if self._is_index else self.thing
        return self._nodes(retriever.retrieve(query))

    def _nodes(self, nodes: Iterable[Any]) -> list[dict[str, Any]]:
        return without_missing_scores(
            [
                self.document(
                    found.node.metadata,
                    [found.node.ref_doc_id, found.node.node_id],
                    text=found.node.get_content(),
                    score=found.score,
                )
                for found in nodes
            ]
        )
