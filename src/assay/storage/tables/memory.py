"""What is remembered, and the store's own books: flags, changes, audit.

A memory's long texts stand last: SQLite reads a row up to the columns asked for.
"""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.storage.tables.base import metadata
from assay.storage.types import BlobType, Finite, Json, Moment, TextType, VectorType, WholeType, YesNo

meta = Table(
    "meta",
    metadata,
    Column("key", TextType, primary_key=True),
    Column("value", TextType),
    Column("updated_at", Moment),
)

memories = Table(
    "memories",
    metadata,
    Column("number", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("id", TextType),
    Column("folder", TextType),
    Column("tier", TextType),
    Column("created_at", Moment),
    Column("updated_at", Moment),
    Column("valid_from", Moment),
    Column("superseded_at", Moment),
    Column("version", WholeType),
    Column("confidence", Finite),
    Column("validation_count", WholeType),
    Column("access_count", WholeType),
    Column("frequency", WholeType),
    Column("context_type", TextType),
    Column("entity_type", TextType),
    Column("format", TextType),
    Column("source_id", TextType),
    Column("source_hash", TextType),
    Column("rel_path", TextType),
    Column("written_by", TextType),
    Column("written_with", TextType),
    Column("title", TextType),
    Column("tags", Json),
    Column("triggers", Json),
    Column("learned_triggers", Json),
    Column("metadata", Json),
    Column("body", TextType),
)

chunks = Table(
    "chunks",
    metadata,
    Column("number", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("memory_id", TextType),
    Column("position", WholeType),
    Column("token_count", WholeType),
    Column("heading_path", TextType),
    Column("text", TextType),
)

vectors = Table(
    "vectors",
    metadata,
    Column("number", WholeType, primary_key=True),
    Column("model", TextType, primary_key=True),
    Column("tenant", TextType),
    Column("dimension", WholeType),
    Column("text_hash", TextType),
    Column("vector", VectorType),
)

memory_triggers = Table(
    "memory_triggers",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("phrase", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
)

indexed_documents = Table(
    "indexed_documents",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("chunker", TextType),
    Column("doc_type", TextType),
    Column("skipped", Json),
)

memory_saves = Table(
    "memory_saves",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("save_id", TextType),
    Column("memory_id", TextType),
    Column("decision", TextType),
    Column("would_reject", TextType),
    Column("quality", Finite),
    Column("similarity", Finite),
    Column("neighbour_id", TextType),
    Column("source_id", TextType),
    Column("enforced", YesNo),
    Column("detail", Json),
    Column("at", Moment),
    Column("actor", TextType),
)

flags = Table(
    "flags",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("name", TextType, primary_key=True),
    Column("enabled", YesNo),
    Column("rollout_percent", WholeType),
    Column("shadow", YesNo),
    Column("activated_at", Moment),
    Column("reviewed_at", Moment),
    Column("updated_at", Moment),
    Column("updated_by", TextType),
)

edges = Table(
    "edges",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("source_id", TextType, primary_key=True),
    Column("target_id", TextType, primary_key=True),
    Column("kind", TextType, primary_key=True),
    Column("strength", Finite),
    Column("evidence", TextType),
    Column("created_at", Moment),
)

changes = Table(
    "changes",
    metadata,
    Column("seq", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("kind", TextType),
    Column("row_id", TextType),
    Column("operation", TextType),
    Column("at", Moment),
    Column("number", WholeType),
)

audit = Table(
    "audit",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("action", TextType),
    Column("target", TextType),
    Column("actor", TextType),
    Column("at", Moment),
    Column("detail", Json),
    Column("via", TextType),
    Column("place", WholeType),
    Column("salt", BlobType),
    Column("content", BlobType),
    Column("previous", BlobType),
    Column("hash", BlobType),
)
