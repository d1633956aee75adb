"""Tasks, and the files that hold rows of the store."""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.storage.tables.base import metadata
from assay.storage.types import Finite, Moment, TextType

tasks = Table(
    "tasks",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("task_id", TextType, primary_key=True),
    Column("session_id", TextType),
    Column("folder", TextType),
    Column("goal", TextType),
    Column("knowledge_before", Finite),
    Column("uncertainty_before", Finite),
    Column("context_before", Finite),
    Column("begun_at", Moment),
    Column("knowledge_after", Finite),
    Column("uncertainty_after", Finite),
    Column("context_after", Finite),
    Column("ended_at", Moment),
    Column("result", TextType),
)

known_files = Table(
    "known_files",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("path", TextType, primary_key=True),
    Column("kind", TextType),
    Column("noted_at", Moment),
)
