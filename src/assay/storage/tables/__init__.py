"""The tables as queries see them: names, columns and types of the newest schema, one module for each part.

Keys, indexes and CHECK constraints live in the migrations alone, which make the tables; a test compares the two.
Every table that holds a user's rows has a `tenant`. Full text differs on each back end and is described where it is
asked, in `repositories/full_text`.
"""

from __future__ import annotations

from assay.storage.tables.base import metadata
from assay.storage.tables.evidence import (
    eval_ab_tests,
    eval_candidates,
    eval_feedback,
    eval_judgments,
    eval_queries,
    eval_results,
    eval_shadow_runs,
)
from assay.storage.tables.memory import (
    audit,
    changes,
    chunks,
    edges,
    flags,
    indexed_documents,
    memories,
    memory_saves,
    memory_triggers,
    meta,
    vectors,
)

__all__ = [
    "audit",
    "changes",
    "chunks",
    "edges",
    "eval_ab_tests",
    "eval_candidates",
    "eval_feedback",
    "eval_judgments",
    "eval_queries",
    "eval_results",
    "eval_shadow_runs",
    "flags",
    "indexed_documents",
    "memories",
    "memory_saves",
    "memory_triggers",
    "meta",
    "metadata",
    "vectors",
]
