"""The tables as queries see them: names, columns and types of the newest schema, one module for each part.

Keys, indexes and CHECK constraints live in the migrations alone, which make the tables; a test compares the two.
Every table that holds a user's rows has a `tenant`. Full text differs on each back end and is described where it is
asked, in `repositories/full_text`.
"""

from __future__ import annotations

from assay.storage.tables.access import access_tokens, login_sessions, owned_files, request_keys
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
from assay.storage.tables.judging import (
    judge_calibrations,
    judge_inputs,
    judge_verdicts,
    model_accounts,
    model_replies,
    model_reservations,
)
from assay.storage.tables.learning import (
    learned_terms,
    learning_changes,
    learning_cycles,
    learning_evidence,
    learning_progress,
    memory_votes,
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
from assay.storage.tables.online import ab_votes, interleavings, ladder_steps
from assay.storage.tables.research import (
    prompt_splits,
    prompts,
    research_days,
    research_sessions,
    research_traces,
)
from assay.storage.tables.sessions import known_files, tasks

__all__ = [
    "ab_votes",
    "access_tokens",
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
    "interleavings",
    "judge_calibrations",
    "judge_inputs",
    "judge_verdicts",
    "known_files",
    "ladder_steps",
    "learned_terms",
    "learning_changes",
    "learning_cycles",
    "learning_evidence",
    "learning_progress",
    "login_sessions",
    "memories",
    "memory_saves",
    "memory_triggers",
    "memory_votes",
    "meta",
    "metadata",
    "model_accounts",
    "model_replies",
    "model_reservations",
    "owned_files",
    "prompt_splits",
    "prompts",
    "request_keys",
    "research_days",
    "research_sessions",
    "research_traces",
    "tasks",
    "vectors",
]
