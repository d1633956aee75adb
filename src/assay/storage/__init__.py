"""The evidence store: one SQLite file, or one PostgreSQL schema, behind the same repositories.

Read `store` first. Below it: `work` (a unit of work) and `repositories/` (the only SQL); `opening` with `schema` and
`migrations/`; the back ends `sqlite` (with `lock`) and `postgres`; `query_log` (group commit); `checkpoints/`;
`archives` (rows that left); `marks`, `erasing` with `byte_search`, `known_files` (what must leave no byte behind);
`full_text` (what can be asked of words); `consistency` (do the tables agree?); `failures` (drivers' exceptions in our
words); `tables`, `types` and `rows`.
"""

from assay.storage.checkpoints.folder import Checkpoint, Restored
from assay.storage.erasing import Marks
from assay.storage.full_text import AllOf, AnyOf, Field, FullTextQuery, Phrase, Prefix, Within
from assay.storage.opening import StoreOptions
from assay.storage.query_log import LogStatus
from assay.storage.repositories.access import FlagRow
from assay.storage.repositories.chunks import ChunkVector, IndexedRow, Saved, TriggerMatch
from assay.storage.repositories.evidence import Recorded
from assay.storage.repositories.history import Followed, Standing
from assay.storage.repositories.memories import Authorship, Reached, Stance
from assay.storage.repositories.passages import (
    Candidate,
    CandidateMemory,
    FolderCount,
    IndexPassage,
    MemoryColumns,
    ShownPassage,
)
from assay.storage.repositories.queries import SessionQuery
from assay.storage.repositories.sessions import SaveCounts, SaveRecord
from assay.storage.repositories.vectors import Near, NumberedVector, Unembedded, VectorPage
from assay.storage.store import Store, is_postgres, list_checkpoints, open_store, restore_checkpoint
from assay.storage.work import Work

__all__ = [
    "AllOf",
    "AnyOf",
    "Authorship",
    "Candidate",
    "CandidateMemory",
    "Checkpoint",
    "ChunkVector",
    "Field",
    "FlagRow",
    "FolderCount",
    "Followed",
    "FullTextQuery",
    "IndexPassage",
    "IndexedRow",
    "LogStatus",
    "Marks",
    "MemoryColumns",
    "Near",
    "NumberedVector",
    "Phrase",
    "Prefix",
    "Reached",
    "Recorded",
    "Restored",
    "SaveCounts",
    "SaveRecord",
    "Saved",
    "SessionQuery",
    "ShownPassage",
    "Stance",
    "Standing",
    "Store",
    "StoreOptions",
    "TriggerMatch",
    "Unembedded",
    "VectorPage",
    "Within",
    "Work",
    "is_postgres",
    "list_checkpoints",
    "open_store",
    "restore_checkpoint",
]
