"""The evidence store: one SQLite file, or one PostgreSQL schema, behind the same repositories. Read `store` first.

- `store`: an open store: units of work, the query log, checkpoints.
- `work`: a unit of work: every repository over one connection, one scope, one transaction.
- `repositories`: the only SQL, one repository for each subject.
- `opening`: opens a store: identifies the database at an address, refuses foreign ones, migrates ours.
- `schema`: the version of a database's schema, and its migration by Alembic.
- `migrations`: the history of the schema.
- `backend`: what both back ends share: errors of drivers, the write lock, and the protocol.
- `sqlite`: the back end of one SQLite file.
- `postgres`: the back end of a PostgreSQL schema with pgvector.
- `tables`: the tables of the newest schema, as queries use them.
- `rows`: conversion between records and rows, with column types and masking.
- `full_text`: full-text search: which words of passages are stored, and how queries match them.
- `leases`: background work that one process at a time does.
- `query_log`: logs queries in group commits, so that a search does not wait for the disk.
- `audit_chain`: the hash chain of the audit log.
- `archives`: files of rows that left the store.
- `erasing`: erases without a trace: unused pages, full-text segments and logs included.
- `byte_search`: which files still hold certain bytes.
- `token_texts`: removes token texts that version 0.1 kept in stored answers.
- `foreign_sqlite`: SQLite files of other programs, read without touching them.
- `consistency`: checks that the tables agree with each other.
- `checkpoints`: whole copies of the store.
- `store_move`: moves a whole store to another database, SQLite or PostgreSQL.
- `vector_tables`: a user's own table with a pgvector column, read for an evaluation.
"""

from assay.storage.checkpoints.folder import Checkpoint, Restored
from assay.storage.erasing import Marks
from assay.storage.full_text import AllOf, AnyOf, Field, FullTextQuery, IndexPassage, Phrase, Prefix, Within
from assay.storage.leases import HeldLease
from assay.storage.opening import StoreOptions
from assay.storage.query_log import LogStatus
from assay.storage.repositories.access import FlagRow
from assay.storage.repositories.chunks import ChunkVector, IndexedRow, Saved, TriggerMatch
from assay.storage.repositories.edges import MOST_EDGES, MOST_STANCES, EdgeRow, Reached, Stance, walk_edges
from assay.storage.repositories.evidence import Recorded
from assay.storage.repositories.facts import FactRow, ServedFact, StoredFact, choose_contested
from assay.storage.repositories.history import Followed, Standing
from assay.storage.repositories.memories import Authorship
from assay.storage.repositories.passages import (
    Candidate,
    CandidateMemory,
    FolderCount,
    MemoryColumns,
    ShownPassage,
)
from assay.storage.repositories.queries import SessionQuery
from assay.storage.repositories.sessions import SaveCounts, SaveRecord
from assay.storage.repositories.vectors import Near, NumberedVector, Unembedded, VectorPage
from assay.storage.store import Store, is_postgres, list_checkpoints, open_store, restore_checkpoint
from assay.storage.store_move import MovedTable, Place, StoreMove, move_store
from assay.storage.work import Work

__all__ = [
    "MOST_EDGES",
    "MOST_STANCES",
    "AllOf",
    "AnyOf",
    "Authorship",
    "Candidate",
    "CandidateMemory",
    "Checkpoint",
    "ChunkVector",
    "EdgeRow",
    "FactRow",
    "Field",
    "FlagRow",
    "FolderCount",
    "Followed",
    "FullTextQuery",
    "HeldLease",
    "IndexPassage",
    "IndexedRow",
    "LogStatus",
    "Marks",
    "MemoryColumns",
    "MovedTable",
    "Near",
    "NumberedVector",
    "Phrase",
    "Place",
    "Prefix",
    "Reached",
    "Recorded",
    "Restored",
    "SaveCounts",
    "SaveRecord",
    "Saved",
    "ServedFact",
    "SessionQuery",
    "ShownPassage",
    "Stance",
    "Standing",
    "Store",
    "StoreMove",
    "StoreOptions",
    "StoredFact",
    "TriggerMatch",
    "Unembedded",
    "VectorPage",
    "Within",
    "Work",
    "choose_contested",
    "is_postgres",
    "list_checkpoints",
    "move_store",
    "open_store",
    "restore_checkpoint",
    "walk_edges",
]
