"""What is learned from use: votes, evidence, learned terms, every change of a memory, and how far learning has come."""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.storage.tables.base import metadata
from assay.storage.types import Json, Moment, TextType, WholeType, YesNo

memory_votes = Table(
    "memory_votes",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("ballot", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("principal", TextType),
    Column("useful", YesNo),
    Column("at", Moment),
)

learned_terms = Table(
    "learned_terms",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("term", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("state", TextType),
    Column("learned_at", Moment),
    Column("applied_at", Moment),
    Column("ended_at", Moment),
    Column("writer", TextType),
)

learning_evidence = Table(
    "learning_evidence",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("term", TextType, primary_key=True),
    Column("session_id", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("principal", TextType),
    Column("query_id", TextType),
    Column("rank", WholeType),
    Column("at", Moment),
)

learning_changes = Table(
    "learning_changes",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("memory_id", TextType),
    Column("kind", TextType),
    Column("before", Json),
    Column("after", Json),
    Column("detail", Json),
    Column("writer", TextType),
    Column("at", Moment),
    Column("undone_at", Moment),
)

learning_cycles = Table(
    "learning_cycles",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("number", WholeType, primary_key=True),
    Column("began_at", Moment),
    Column("ended_at", Moment),
    Column("queries", WholeType),
)

learning_progress = Table(
    "learning_progress",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("last_event", WholeType),
    Column("last_watched", WholeType),
    Column("killed_at", Moment),
    Column("killed_because", TextType),
)
