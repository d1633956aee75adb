"""What the examples share: documents of the `hotel` dataset, their vectors, and a memory that holds them."""

from collections.abc import Sequence
from typing import Any

from assay import Dataset, Memory, evaluate
from assay.embedding.bundled import load_bundled

DOCUMENTS = Dataset.load("hotel").documents
IDS = [document.id for document in DOCUMENTS]
TEXTS = [document.text for document in DOCUMENTS]
EMBEDDER = load_bundled()
DIMENSION = EMBEDDER.dimension


def embed(texts: Sequence[str]) -> Any:
    """Return one vector for each text, by the model that `assay run` embeds queries with."""
    return EMBEDDER.embed(list(texts))


def open_memory(path: str = "hotel.db") -> Memory:
    """Open a memory of Assay that holds every document, each under its id as `rel_path`."""
    memory = Memory(path, embedder=EMBEDDER)
    for document in DOCUMENTS:
        memory.save(document.title or document.id, document.text, rel_path=document.id, source_id=document.id)
    return memory


def measure(system: str) -> None:
    """Print what `assay run hotel --system SYSTEM` measures, over a tenth of the questions."""
    result = evaluate("hotel", system, metrics="recall@5,mrr", sample=0.1)
    print(result)
    print(*result.notes, sep="\n")
