"""Tokens, sign-ins of browsers, the keys of requests, and whose a file is."""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.storage.tables.base import metadata
from assay.storage.types import Moment, TextType, WholeType, YesNo

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("tenant", TextType),
    Column("token_id", TextType, primary_key=True),
    Column("name", TextType),
    Column("access", TextType),
    Column("digest", TextType),
    Column("created_at", Moment),
    Column("created_by", TextType),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("person", YesNo),
)

login_sessions = Table(
    "login_sessions",
    metadata,
    Column("tenant", TextType),
    Column("session_id", TextType, primary_key=True),
    Column("token_id", TextType),
    Column("digest", TextType),
    Column("created_at", Moment),
    Column("last_seen_at", Moment),
    Column("expires_at", Moment),
    Column("ended_at", Moment),
    Column("via", TextType),
)

request_keys = Table(
    "request_keys",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("principal", TextType, primary_key=True),
    Column("key", TextType, primary_key=True),
    Column("fingerprint", TextType),
    Column("created_at", Moment),
    Column("status", WholeType),
    Column("answer", TextType),
)

owned_files = Table(
    "owned_files",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("kind", TextType, primary_key=True),
    Column("name", TextType, primary_key=True),
    Column("principal", TextType),
    Column("created_at", Moment),
)
