"""The five ways of finding passages: `vector`, `fts`, `bm25`, `trigger` and `graph`.

Each module has one function `search`. The first three take an `Ask` and offer passages; `trigger` and `graph` find
memories, and `ballot` lets each of them vote for that memory's best passage.
"""
