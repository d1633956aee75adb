"""What the memory engine needs: numbers, full text, vectors, trigger phrases, decisions of saves, flags.

Memories and chunks get a number that is never used again; derived indexes know rows by it. SQLite can count one only
in a table's key, so the three tables of what is remembered are made anew and filled from the old ones. The order of
columns changes with it: long texts stand last, since SQLite reads a row up to the columns asked for.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from alembic import op
from sqlalchemy import CheckConstraint, Column, Connection, ForeignKeyConstraint, Row, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import TSVECTOR

from assay.storage.full_text import AnalysedPassage, analysed_body, analysed_triggers, trigger_phrases
from assay.storage.migrations.columns import (
    counter,
    create,
    finite,
    not_negative,
    one_of,
    real,
    share,
    text,
    whole,
    yes_no,
)
from assay.storage.repositories.chunks import full_text
from assay.storage.rows import VectorType
from assay.text.terms import normalised_phrase

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TIERS = ("constitutional", "critical", "important", "normal", "temporary", "deprecated")
FORMATS = ("MARKDOWN", "TEXT", "JSON")
EDGE_KINDS = ("caused", "enabled", "supersedes", "contradicts", "derived_from", "supports")
DECISIONS = ("store", "merge", "supersede", "reject")
BATCH = 500

SPREAD = {
    "memories": {
        "tenant, id": "100000 100000 1",
        "folder, tenant, superseded_at": "100000 1000 1000 900",
        "source_id, tenant": "100000 2 2",
        "tenant, number": "10 10 1",
    },
    "chunks": {"memory_id, position, tenant": "400000 4 1 1", "tenant, number": "400000 40000 1"},
    "vectors": {"number, model": "400000 1 1", "model, text_hash, tenant": "400000 400000 1 1"},
    "memory_triggers": {"memory_id, phrase, tenant": "200000 2 1 1", "phrase, tenant": "200000 2 2"},
    "indexed_documents": {"memory_id, tenant": "100000 1 1"},
    "edges": {"tenant, source_id, target_id, kind": "50000 50000 2 1 1", "tenant, target_id": "50000 50000 2"},
    "changes": {"tenant, seq": "500000 500000 1"},
}
"""Of each index: rows, then rows with the same first column, the same first two, and so on."""

_MEMORY = (
    "tenant, id, folder, tier, created_at, updated_at, valid_from, superseded_at, version, confidence,"
    " validation_count, access_count, frequency, context_type, entity_type, format, source_id, source_hash, rel_path,"
    " written_by, written_with, title, tags, triggers, learned_triggers, metadata, body"
)
_CHUNK = "tenant, memory_id, position, token_count, heading_path, text"
_EDGE = "tenant, source_id, target_id, kind, strength, evidence, created_at"


def upgrade() -> None:
    """From 0001, with every row."""
    _set_aside()
    _memories()
    _chunks()
    _edges()
    _bring_back()
    op.add_column("changes", whole("number", null=True))
    _full_text()
    _vectors()
    _triggers()
    _decisions()
    _fill(op.get_bind())
    if op.get_context().dialect.name == "sqlite":
        _tell_how_rows_are_spread(op.get_bind())


def _set_aside() -> None:
    # Names of indexes and of keys are the schema's, not the table's: the new tables want them.
    for index, table in (
        ("memories_by_folder", "memories"),
        ("memories_by_source_id", "memories"),
        ("edges_by_target", "edges"),
    ):
        op.drop_index(index, table)
    for table in ("edges", "chunks", "memories"):
        op.rename_table(table, f"{table}_0001")
        if op.get_context().dialect.name == "postgresql":
            op.execute(sql(f"ALTER INDEX {table}_pkey RENAME TO {table}_0001_pkey"))


def _memories() -> None:
    create(
        "memories",
        counter("number"),
        text("tenant"),
        text("id"),
        text("folder"),
        text("tier"),
        text("created_at"),
        text("updated_at"),
        text("valid_from"),
        text("superseded_at", null=True),
        whole("version"),
        real("confidence"),
        whole("validation_count"),
        whole("access_count"),
        whole("frequency"),
        text("context_type"),
        text("entity_type"),
        text("format"),
        text("source_id", null=True),
        text("source_hash", null=True),
        text("rel_path"),
        text("written_by"),
        text("written_with"),
        text("title"),
        text("tags"),
        text("triggers"),
        text("learned_triggers"),
        text("metadata"),
        text("body"),
        UniqueConstraint("tenant", "id", name="memory_id_is_taken_once"),
        one_of("tier", TIERS),
        one_of("format", FORMATS),
        *share("confidence"),
        *not_negative("version", "validation_count", "access_count", "frequency"),
    )


def _chunks() -> None:
    create(
        "chunks",
        counter("number"),
        text("tenant"),
        text("memory_id"),
        whole("position"),
        whole("token_count"),
        text("heading_path"),
        text("text"),
        # By the memory first: an index that begins with the tenant is a trap for checks of references, see 0001.
        UniqueConstraint("memory_id", "position", "tenant", name="chunk_has_its_own_position"),
        UniqueConstraint("tenant", "number", name="chunk_is_of_one_tenant"),
        _of_a_memory("chunk_has_its_memory"),
        *not_negative("position", "token_count"),
    )


def _edges() -> None:
    create(
        "edges",
        text("tenant", key=True),
        text("source_id", key=True),
        text("target_id", key=True),
        text("kind", key=True),
        real("strength"),
        text("evidence"),
        text("created_at"),
        _of_a_memory("edge_has_its_source", column="source_id"),
        _of_a_memory("edge_has_its_target", column="target_id"),
        one_of("kind", EDGE_KINDS),
        *share("strength"),
    )


def _of_a_memory(name: str, *, column: str = "memory_id", ondelete: str | None = None) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["tenant", column], ["memories.tenant", "memories.id"], name=name, ondelete=ondelete)


def _bring_back() -> None:
    _move("memories", _MEMORY, "tenant, created_at, id")
    _move("chunks", _CHUNK, "tenant, memory_id, position")
    _move("edges", _EDGE, "tenant, source_id")
    for table in ("edges", "chunks", "memories"):
        op.drop_table(f"{table}_0001")
    op.create_index("memories_by_folder", "memories", ["folder", "tenant", "superseded_at"])
    op.create_index("memories_by_source_id", "memories", ["source_id", "tenant"])
    law = sql("tier = 'constitutional'")
    op.create_index("memories_constitutional", "memories", ["tenant", "number"], sqlite_where=law, postgresql_where=law)
    op.create_index("edges_by_target", "edges", ["tenant", "target_id"])


def _move(table: str, columns: str, order: str) -> None:
    op.execute(sql(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}_0001 ORDER BY {order}"))  # noqa: S608 - constants


def _full_text() -> None:
    if op.get_context().dialect.name == "sqlite":
        op.execute(
            sql("CREATE VIRTUAL TABLE passages_fts USING fts5(tenant, title, triggers, body, tokenize = 'ascii')")
        )
        return
    create(
        "passages_text",
        whole("number", key=True),
        text("tenant"),
        text("title"),
        text("triggers"),
        text("body"),
        Column("terms", TSVECTOR, nullable=False),
        ForeignKeyConstraint(["tenant", "number"], ["chunks.tenant", "chunks.number"], name="words_have_their_chunk"),
    )
    op.create_index("passages_text_by_term", "passages_text", ["terms"], postgresql_using="gin")


def _vectors() -> None:
    length = "length(vector) = 2 * dimension"
    if op.get_context().dialect.name == "postgresql":
        length = "vector_dims(vector) = dimension"
    create(
        "vectors",
        whole("number", key=True),
        text("model", key=True),
        text("tenant"),
        whole("dimension"),
        text("text_hash"),
        Column("vector", VectorType, nullable=False),
        CheckConstraint(length, name="vector_has_its_dimension"),
        ForeignKeyConstraint(
            ["tenant", "number"],
            ["chunks.tenant", "chunks.number"],
            name="vector_has_its_chunk",
            ondelete="CASCADE",
        ),
    )
    op.create_index("vectors_by_text", "vectors", ["model", "text_hash", "tenant"])


def _triggers() -> None:
    create(
        "memory_triggers",
        text("memory_id", key=True),
        text("phrase", key=True),
        text("tenant", key=True),
        _of_a_memory("trigger_has_its_memory", ondelete="CASCADE"),
    )
    op.create_index("memory_triggers_by_phrase", "memory_triggers", ["phrase", "tenant"])
    create(
        "indexed_documents",
        text("memory_id", key=True),
        text("tenant", key=True),
        text("chunker"),
        text("doc_type"),
        text("skipped"),
        _of_a_memory("indexed_document_has_its_memory", ondelete="CASCADE"),
    )


def _decisions() -> None:
    create(
        "memory_saves",
        counter("id"),
        text("tenant"),
        text("save_id"),
        text("memory_id", null=True),
        text("decision"),
        text("would_reject", null=True),
        real("quality", null=True),
        real("similarity", null=True),
        text("neighbour_id", null=True),
        text("source_id", null=True),
        whole("enforced"),
        text("detail"),
        text("at"),
        text("actor"),
        UniqueConstraint("tenant", "save_id", name="save_is_told_once"),
        one_of("decision", DECISIONS),
        *share("quality"),
        *finite("similarity"),
        *yes_no("enforced"),
    )
    op.create_index("memory_saves_by_memory", "memory_saves", ["memory_id", "tenant"])
    op.create_index("memory_saves_by_time", "memory_saves", ["tenant", "at"])
    create(
        "flags",
        text("tenant", key=True),
        text("name", key=True),
        whole("enabled", null=True),
        whole("rollout_percent", null=True),
        whole("shadow", null=True),
        text("activated_at", null=True),
        text("reviewed_at", null=True),
        text("updated_at"),
        text("updated_by"),
        *yes_no("enabled", "shadow"),
        CheckConstraint("rollout_percent BETWEEN 0 AND 100", name="rollout_is_a_percentage"),
    )


def _fill(connection: Connection) -> None:
    """The words and trigger phrases of what is there already."""
    for rows in _pages(
        connection,
        "SELECT c.number, c.tenant, c.heading_path, c.text, m.title, m.triggers FROM chunks c"
        " JOIN memories m ON m.tenant = c.tenant AND m.id = c.memory_id WHERE c.number > :after"
        " ORDER BY c.number LIMIT :limit",
    ):
        for tenant, some in groupby(rows, key=lambda row: str(row.tenant)):
            full_text(connection, tenant).write([_words_of(row) for row in some])
    for rows in _pages(
        connection,
        "SELECT number, tenant, id, triggers FROM memories WHERE number > :after ORDER BY number LIMIT :limit",
    ):
        phrases = [
            {"tenant": row.tenant, "memory_id": row.id, "phrase": phrase}
            for row in rows
            for phrase in trigger_phrases(json.loads(row.triggers))
        ]
        if phrases:
            wanted = "INSERT INTO memory_triggers (tenant, memory_id, phrase) VALUES (:tenant, :memory_id, :phrase)"
            connection.execute(sql(wanted), phrases)


def _pages(connection: Connection, question: str) -> Iterator[list[Row[Any]]]:
    after = 0
    while rows := list(connection.execute(sql(question), {"after": after, "limit": BATCH})):
        yield rows
        after = rows[-1].number


def _words_of(row: Row[Any]) -> AnalysedPassage:
    return AnalysedPassage(
        number=row.number,
        title=normalised_phrase(row.title),
        triggers=analysed_triggers(json.loads(row.triggers)),
        body=analysed_body(row.heading_path, row.text),
    )


def _tell_how_rows_are_spread(connection: Connection) -> None:
    """SQLite gathers no statistics by itself, and without them believes a tenant to be ten rows.

    It then reads the whole tenant where a key would do. These figures hold for a large tenant; a small one is quick
    whatever the plan.
    """
    connection.execute(sql("ANALYZE memories"))  # makes the table
    connection.execute(sql("DELETE FROM sqlite_stat1"))
    for table, indexes in SPREAD.items():
        for name in connection.execute(sql("SELECT name FROM pragma_index_list(:table)"), {"table": table}).scalars():
            columns = sql("SELECT name FROM pragma_index_info(:index) ORDER BY seqno")
            found = ", ".join(connection.execute(columns, {"index": name}).scalars())
            row = {"table": table, "index": name, "spread": indexes[found]}
            connection.execute(sql("INSERT INTO sqlite_stat1 VALUES (:table, :index, :spread)"), row)
    connection.execute(sql("ANALYZE sqlite_schema"))  # reads the table
