"""The five ways of finding passages: `vector`, `fts`, `bm25`, `trigger` and `graph`.

Each module has one function `search`. The first three take an `Ask` (`ask`) and offer passages; `trigger` and `graph`
find memories, and each of these votes for its best passage. `registering` is where they and added ones are registered.
"""
