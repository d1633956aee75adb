"""What judges were shown and what they said, how they were calibrated, and what asking models cost."""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.storage.tables.base import metadata
from assay.storage.types import Finite, Json, Moment, TextType, WholeType, YesNo

judge_inputs = Table(
    "judge_inputs",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("input_hash", TextType, primary_key=True),
    Column("kind", TextType),
    Column("created_at", Moment),
    Column("content", Json),
)

judge_verdicts = Table(
    "judge_verdicts",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("run_id", TextType),
    Column("case_id", TextType),
    Column("repeat", WholeType),
    Column("kind", TextType),
    Column("fingerprint_id", TextType),
    Column("input_hash", TextType),
    Column("outcome", TextType),
    Column("score", Finite),
    Column("reason", TextType),
    Column("created_at", Moment),
    Column("detail", Json),
)

judge_calibrations = Table(
    "judge_calibrations",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("fingerprint_id", TextType),
    Column("kind", TextType),
    Column("made_at", Moment),
    Column("expires_at", Moment),
    Column("labels_hash", TextType),
    Column("cases", WholeType),
    Column("passed", YesNo),
    Column("figures", Json),
    Column("fingerprint", Json),
)

model_replies = Table(
    "model_replies",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("key", TextType, primary_key=True),
    Column("created_at", Moment),
    Column("reply", Json),
)

model_accounts = Table(
    "model_accounts",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("account", TextType, primary_key=True),
    Column("tokens", WholeType),
    Column("nano_usd", WholeType),
)

model_reservations = Table(
    "model_reservations",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("reservation", TextType, primary_key=True),
    Column("account", TextType),
    Column("tokens", WholeType),
    Column("nano_usd", WholeType),
    Column("created_at", Moment),
)
