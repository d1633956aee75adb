"""Adapters of frameworks, vector stores and search engines: systems that users already have.

- `options`: the options after the question mark of a name.
- `framework`: what all frameworks share: the object that a module has, and its documents as results.
- `langchain`: a retriever or chain of LangChain.
- `langgraph`: a graph of LangGraph.
- `llamaindex`: a retriever or query engine of LlamaIndex.
- `haystack`: a pipeline or component of Haystack.
- `dspy`: a module of DSPy.
- `pydantic_ai`: an agent of Pydantic AI.
- `vector_store`: what all vector stores share: query vectors, exact search beside the index's own, times.
- `chroma`: a collection of Chroma.
- `qdrant`: a collection of Qdrant in a folder.
- `lancedb`: a table of LanceDB.
- `faiss`: an index file of FAISS.
- `milvus`: a collection of Milvus Lite.
- `pgvector`: a table of PostgreSQL with pgvector.
- `search_engines`: an index of OpenSearch or Elasticsearch, by vector or by words.
- `search_index`: the same index over HTTP: its mapping and its hits.
- `search_bodies`: the requests of both engines.

A package is imported when a system of its kind is opened. None is a dependency of Assay: one that is missing is named
with the command that installs it.
"""
