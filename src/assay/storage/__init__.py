"""The evidence store: one SQLite file, or one PostgreSQL schema, behind the same repositories.

Read `store` first. Below it: `work` (a unit of work) and `repositories/` (the only SQL); `opening` with `schema` and
`migrations/`; the back ends `sqlite` (with `lock`) and `postgres`; `query_log` (group commit); `checkpoints/`;
`consistency` (do the tables agree?); `failures` (drivers' exceptions in our words); `tables`, `types` and `rows`.
"""

from assay.storage.checkpoints.manifest import Checkpoint, Restored
from assay.storage.opening import StoreOptions
from assay.storage.query_log import LogStatus
from assay.storage.repositories.changes import Followed
from assay.storage.repositories.evidence import Recorded
from assay.storage.repositories.memories import Saved
from assay.storage.store import Store, is_postgres, list_checkpoints, open_store, restore_checkpoint
from assay.storage.work import Work

__all__ = [
    "Checkpoint",
    "Followed",
    "LogStatus",
    "Recorded",
    "Restored",
    "Saved",
    "Store",
    "StoreOptions",
    "Work",
    "is_postgres",
    "list_checkpoints",
    "open_store",
    "restore_checkpoint",
]
