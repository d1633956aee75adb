"""Systems that can be compared, each behind the same contract.

- `contract`: what a contender must do, and what it declares.
- `plain`: BM25, exact vectors, Markdown with grep.
- `assay_memory`: Assay itself.
- `vector_stores`: Chroma, Qdrant and LanceDB, run locally.
- `memory_products`: mem0 and LangGraph's store.
- `described`: services over HTTP and MCP servers that a TOML file describes.
- `python_class`: a class of your own.
- `floors`: names of the rows that need no system.
"""
