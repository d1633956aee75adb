"""A query engine of LlamaIndex over Assay's memory, measured: what it found, and what it answered."""

from hotel import measure, open_memory
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from assay.integrations.llamaindex import AssayRetriever


def make_engine() -> RetrieverQueryEngine:
    """Return the engine; its model is a stand-in for any model of LlamaIndex."""
    return RetrieverQueryEngine.from_args(AssayRetriever(open_memory(), k=10), llm=MockLLM(max_tokens=20))


if __name__ == "__main__":
    measure("llamaindex:llamaindex_memory:make_engine?id=rel_path")
