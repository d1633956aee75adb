"""Answered questions with their scores, the whole record of each, and versions of prompts."""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.records.research import Dimension
from assay.storage.tables.base import metadata
from assay.storage.types import Finite, Json, Moment, TextType, WholeType, YesNo

research_sessions = Table(
    "research_sessions",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("created_at", Moment),
    Column("overall_score", Finite),
    Column("plan_score", Finite),
    Column("retrieval_score", Finite),
    Column("answer_score", Finite),
    *(Column(dimension.value, Finite) for dimension in Dimension),
    Column("passed", YesNo),
    Column("iterations", WholeType),
    Column("exhausted", YesNo),
    Column("escalated", YesNo),
    Column("severe", YesNo),
    Column("regenerated", YesNo),
    Column("skipped", YesNo),
    Column("judge_failed", YesNo),
    Column("status", TextType),
    Column("failure_type", TextType),
    Column("kind", TextType),
    Column("log_id", TextType),
    Column("session_id", TextType),
    Column("retry_of", TextType),
    Column("evaluated_by", TextType),
    Column("latency_ms", Finite),
    Column("evaluation_ms", Finite),
    Column("tokens", WholeType),
    Column("failed_dimensions", Json),
    Column("prompt_versions", Json),
    Column("custom_scores", Json),
    Column("tags", Json),
    Column("skip_reason", TextType),
    Column("question", TextType),
)

research_traces = Table(
    "research_traces",
    metadata,
    Column("log_id", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("trace", Json),
)

research_days = Table(
    "research_days",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("day", TextType, primary_key=True),
    Column("totals", Json),
)

prompts = Table(
    "prompts",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("prompt_id", TextType, primary_key=True),
    Column("version", WholeType, primary_key=True),
    Column("active", YesNo),
    Column("created_at", Moment),
    Column("created_by", TextType),
    Column("note", TextType),
    Column("text", TextType),
)

prompt_splits = Table(
    "prompt_splits",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("prompt_id", TextType, primary_key=True),
    Column("first", WholeType),
    Column("second", WholeType),
    Column("began_at", Moment),
    Column("created_by", TextType),
    Column("ended_at", Moment),
)
