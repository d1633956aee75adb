"""Assay's memory as a part of other frameworks: retrievers, and a store of LangGraph. Each module needs its framework.

- `langchain`: `AssayRetriever`, a retriever of LangChain.
- `llamaindex`: `AssayRetriever`, a retriever of LlamaIndex.
- `haystack`: `AssayRetriever`, a component of Haystack.
- `langgraph`: `AssayStore`, a store of LangGraph that agents write to and search.
- `found`: what a search found, as these hand it on.

    from assay.integrations.langchain import AssayRetriever

    retriever = AssayRetriever()

Without a memory they use the one of the settings; `AssayRetriever(memory=Memory("notes.db"), k=3)` names another.
"""
