"""Memories with passages and vectors, for tests of the indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.records import Chunk, Scope
from assay.storage import Saved, Store
from assay.storage.repositories.chunks import ChunkVector
from assay.testing import note

MODEL = "model-a"
DIMENSION = 8


def vector_of(text: str, model: str = MODEL) -> NDArray[np.float32]:
    """A unit vector that only the text and the model decide."""
    seed = int.from_bytes(f"{model}{text}".encode().ljust(8)[-8:], "little") + len(text)
    made = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return made / np.linalg.norm(made)


def saved(memory_id: str, texts: Sequence[str] = ("",), *, model: str | None = MODEL, **given: Any) -> Saved:
    """A memory with these passages, each with its vector."""
    chunks = [
        Chunk(memory_id=memory_id, position=position, text=text, heading_path="", token_count=len(text.split()))
        for position, text in enumerate(texts)
    ]
    vectors = None if model is None else [ChunkVector(f"h:{text}", vector_of(text, model)) for text in texts]
    return Saved(note(memory_id, **given), chunks, vectors, model)


def save(store: Store, scope: Scope, *memories: Saved) -> None:
    """Keep them in one transaction."""
    with store.writing(scope) as work:
        work.memories.add_many(memories)
        if work.vectors.active() is None and any(one.model for one in memories):
            work.vectors.activate(MODEL)
