"""A component of Haystack over Assay's memory: `pipeline.add_component("memory", AssayRetriever())`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.api import Memory
from assay.calls import MemoryCalls
from assay.errors import InputError
from assay.extras import refuse_package
from assay.integrations.found import find_memories

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as problem:
    raise refuse_package("haystack-ai", problem) from problem


@component
class AssayRetriever:
    """Finds memories as documents. Without a `memory` it opens the one at `db`, or the one of the settings."""

    def __init__(
        self,
        memory: MemoryCalls | None = None,
        *,
        db: str | None = None,
        top_k: int = 5,
        folder: str | None = None,
        tags: Sequence[str] = (),
    ) -> None:
        self.memory = memory or Memory(db)
        self.top_k = top_k
        self.folder = folder
        self.tags = list(tags)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Search the memory."""
        found = find_memories(self.memory, query, k=top_k or self.top_k, folder=self.folder, tags=self.tags)
        return {
            "documents": [
                Document(id=memory.id, content=memory.text, meta=memory.facts, score=memory.score) for memory in found
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """Describe the component for a pipeline that is written to a file."""
        if not isinstance(self.memory, Memory):
            raise InputError(
                f"a {type(self.memory).__name__} cannot be written with a pipeline", remedy="Give db= or a Memory."
            )
        described: dict[str, Any] = default_to_dict(
            self, db=str(self.memory.settings.db), top_k=self.top_k, folder=self.folder, tags=self.tags
        )
        return described

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AssayRetriever:
        """Make the component that `to_dict` described."""
        made: AssayRetriever = default_from_dict(cls, data)
        return made
