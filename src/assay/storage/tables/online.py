"""Votes, interleaved lists and steps of the promotion ladder."""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.storage.tables.base import metadata
from assay.storage.types import Finite, Json, Moment, TextType, WholeType

ab_votes = Table(
    "ab_votes",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("feature_id", TextType),
    Column("attempt", WholeType),
    Column("query_key", TextType),
    Column("kind", TextType),
    Column("arm", TextType),
    Column("difference", Finite),
    Column("query_id", TextType),
    Column("created_at", Moment),
)

interleavings = Table(
    "interleavings",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("query_id", TextType, primary_key=True),
    Column("feature_id", TextType),
    Column("attempt", WholeType),
    Column("control_ids", Json),
    Column("treatment_ids", Json),
    Column("created_at", Moment),
    Column("credited_at", Moment),
)

ladder_steps = Table(
    "ladder_steps",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("feature_id", TextType),
    Column("attempt", WholeType),
    Column("step", TextType),
    Column("outcome", TextType),
    Column("sentence", TextType),
    Column("detail", Json),
    Column("actor", TextType),
    Column("created_at", Moment),
)
