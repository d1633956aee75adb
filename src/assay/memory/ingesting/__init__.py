"""Ingest: files and folders into memories.

`walk` finds files below a root, `read` turns a file into drafts, `run` puts them to the saver and `report` says what
became of every file, `metering` where the time went. `missing` finds what the store holds and the disk no longer does,
`watch` does it all again whenever something changed.
"""

from assay.memory.ingesting.report import Fate, IngestReport, Skip
from assay.memory.ingesting.run import Ingester, MakeSaver, OnFile, Step

__all__ = ["Fate", "IngestReport", "Ingester", "MakeSaver", "OnFile", "Skip", "Step"]
