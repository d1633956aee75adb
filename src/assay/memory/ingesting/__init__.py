"""Ingest: files and folders into memories.

- `run`: one run, from finding files to saving drafts; missing files and watching.
- `files`: finds files below a root and reads each into drafts.
- `report`: what became of every file, and where the time went.
"""

from assay.memory.ingesting.report import Fate, IngestReport, Skip
from assay.memory.ingesting.run import Ingester, MakeSaver, OnFile, Step

__all__ = ["Fate", "IngestReport", "Ingester", "MakeSaver", "OnFile", "Skip", "Step"]
