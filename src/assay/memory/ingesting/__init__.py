"""Ingest: files and folders into memories.

- `run`: one run, from finding files to saving drafts; missing files and watching.
- `files`: finds files below a root and reads each into drafts.
- `conversations`: turns of chats as drafts, each with what stands around it.
"""

from assay.memory.ingesting.run import Ingester, MakeSaver, OnFile, Step

__all__ = ["Ingester", "MakeSaver", "OnFile", "Step"]
