"""The memory engine: saving, searching, learning, and the care of what is stored.

- `engine`: the parts together; read it first.
- `saving`: keeps what is worth keeping and decides what becomes of memories that are like it.
- `searching`: finds memories and explains every score.
- `learning`: learns from use, with safeguards.
- `ingesting`: files and folders into memories.
- `importing`: memories of other tools into the store.
- `exporting`: memories into files, and Assay's own export back into a store.
- `showing`: everything known about one memory, its links, and why it is as it is.
- `context`: the memories that an agent should have for a task, within a token budget.
- `serving`: which variant, or both sides of which running test, answer a search.
- `sessions`: what a session was given, its tasks, and its summary.
- `health`: does every channel find what it should?
- `rights`: who may change a memory.
- `tiering`: changes the tier of a memory in place.
- `forgetting`: erases memories, a person or a tenant for good.
- `rescanning`: masks secrets that an older version stored.
- `retention`: moves old searches and feedback to an archive.
- `reembedding`: changes the embedding model.
- `fact_reading`: reads the facts of stored memories again, after the rules changed.
"""
