"""Assay's memory as the store of LangGraph, measured. In a graph of your own: graph.compile(store=AssayStore())."""

from hotel import DOCUMENTS, EMBEDDER, measure

from assay import Memory
from assay.integrations.langgraph import AssayStore


def make_store() -> AssayStore:
    """Return a store that holds the dataset's documents."""
    store = AssayStore(Memory("hotel-store.db", embedder=EMBEDDER))
    for document in DOCUMENTS:
        store.put(("hotel", "notes"), document.id, {"text": document.text})
    return store


if __name__ == "__main__":
    measure("langgraph:langgraph_store:make_store?namespace=hotel")
