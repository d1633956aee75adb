"""Texts that are masked on their way into a table, whoever writes the row.

Memories are masked by the saver, which tells what it masked; everything else that people, agents or models write is
masked here, where a record becomes a row. Each table of the schema is on one of the two lists below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MASKED: Mapping[str, tuple[str, ...]] = {
    "audit": ("detail",),
    "edges": ("evidence",),
    "eval_feedback": ("metadata",),
    "eval_queries": ("query",),
    "eval_results": ("per_query_results",),
    "judge_inputs": ("content",),
    "judge_verdicts": ("reason", "detail"),
    "model_replies": ("reply",),
    "prompts": ("text", "note"),
    "research_sessions": ("question", "skip_reason"),
    "research_traces": ("trace",),
    "tasks": ("goal", "result"),
}
"""By table, the columns that hold a text somebody wrote."""

NOT_MASKED: Mapping[str, str] = {
    "memories": "masked by the saver, which tells what it masked",
    "memory_saves": "what the saver decided, told of masked memories; those of an export file are masked when imported",
    "chunks": "cut from a masked memory",
    "memory_triggers": "triggers of a masked memory",
    "indexed_documents": "names of the chunker and of formats",
    "vectors": "numbers and a hash",
    "changes": "ids and numbers",
    "learned_terms": "words of masked queries",
    "learning_changes": "words of masked queries",
    "learning_evidence": "words of masked queries",
    "learning_cycles": "numbers",
    "learning_progress": "numbers, and a reason that Assay words",
    "memory_votes": "ids",
    "ab_votes": "ids and numbers",
    "eval_ab_tests": "names of features and numbers",
    "eval_candidates": "ids and scores",
    "eval_judgments": "ids and grades",
    "eval_shadow_runs": "ids and numbers",
    "flags": "names of flags",
    "interleavings": "ids",
    "judge_calibrations": "names of models and numbers",
    "ladder_steps": "sentences that Assay words",
    "known_files": "paths, which must be found again as they are",
    "owned_files": "names of files, which must be found again as they are",
    "meta": "facts about the store",
    "model_accounts": "numbers",
    "model_reservations": "numbers",
    "prompt_splits": "versions of prompts",
    "research_days": "numbers",
    "access_tokens": "hashes of tokens",
    "login_sessions": "hashes of sessions",
    "request_keys": "answers that must be given again as they were; tokens are left out of them before",
}
"""Why the other tables are left alone."""


def mask_row(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the texts of its table masked."""
    for column in MASKED.get(table, ()):
        if row.get(column):
            row[column] = mask_value(row[column])
    return row


def mask_value(value: Any) -> Any:
    """Return a text or a JSON value without its secrets."""
    # A process that writes nothing need not wait for the rules.
    from assay.text.secrets import mask_json  # noqa: PLC0415

    masks: list[Any] = []
    clean = mask_json(value, "", masks)
    return clean if masks else value
