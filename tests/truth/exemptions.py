"""Items that have no probe of their own, with the reason; and items that are known to have no effect.

The first table is meant to become shorter, the second one is to stay empty.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, str] = {}
"""Items that are known to have no effect, with the reason: tests expect that, and fail when one has an effect."""

_ROW_NUMBERS = {
    "ab_votes": "id",
    "audit": "id",
    "changes": "seq",
    "eval_ab_tests": "id",
    "eval_feedback": "id",
    "eval_judgments": "id",
    "eval_queries": "id",
    "eval_results": "id",
    "eval_shadow_runs": "id",
    "ladder_steps": "id",
    "memories": "number",
    "memory_saves": "id",
    "research_sessions": "id",
    "trace_spans": "number",
}
_TABLES = {
    "judge_calibrations": "needs a judge that asks a model: tests/cli/test_judge.py reads every column by a command",
    "judge_inputs": "needs a judge that asks a model: tests/judging/test_keeping.py reads it back",
    "judge_verdicts": "needs a judge that asks a model: tests/judging/test_keeping.py reads it back",
    "model_accounts": "a count that refuses the next question: probed by the setting model.budget_tokens",
    "model_reservations": "exists only while a model is asked: tests/models/test_around_models.py",
    "model_replies": "a cache by key: tests/models/test_around_models.py asks twice and sees one request",
    "owned_files": "decides whose files are found: tests/storage/test_contract_owned_files.py",
    "known_files": "found and erased with a tenant: tests/memory/test_forgetting.py",
    "meta": "the identity of the store and its schema: tests/storage/test_migrations.py",
    "learning_evidence": "two sessions must choose alike: tests/memory/learning/test_triggers.py",
    "leases": "who works in the background: tests/storage/test_contract_leases.py",
    "live_events": "what another server shows of a question: tests/server/test_several_servers.py",
    "live_questions": "what another server shows of a question: tests/server/test_several_servers.py",
    "shared_limits": "a count that refuses the next request: tests/storage/test_contract_leases.py",
    "indexed_documents": "what a next ingest compares with: tests/memory/ingesting/test_run.py",
}
"""Tables whose rows act at a later moment than a read, with the test that shows it."""
_LATER = {
    "changes.at": "from when on a change is old: tests/storage/test_contract_changes.py",
    "changes.number": "which vector an index adds: tests/storage/test_contract_changes.py",
    "changes.operation": "whether an index adds or removes: tests/storage/test_contract_changes.py",
    "eval_feedback.event_key": "an event that is sent twice counts once: tests/memory/learning/test_observing.py",
    "eval_feedback.metadata": "whose choice it was, which learning asks: tests/memory/learning/test_triggers.py",
    "interleavings.credited_at": "a list votes once: tests/online/test_interleaving.py",
    "learning_cycles.began_at": "counts toward the approval: tests/memory/learning/test_policy.py",
    "learning_cycles.ended_at": "counts toward the approval: tests/memory/learning/test_policy.py",
    "learning_cycles.number": "counts toward the approval: tests/memory/learning/test_policy.py",
    "learning_cycles.queries": "counts toward the approval: tests/memory/learning/test_policy.py",
    "learning_progress.killed_at": "needs a kill switch that fired: tests/memory/learning/test_kill_switch.py",
    "learning_progress.killed_because": "needs a kill switch that fired: tests/memory/learning/test_kill_switch.py",
    "learning_progress.last_event": "where the next run goes on: tests/memory/learning/test_kill_switch.py",
    "learning_progress.last_watched": "when the kill switch looked last: tests/memory/learning/test_kill_switch.py",
    "learned_terms.writer": "who a rollback is for: tests/memory/learning/test_rollback.py",
    "memory_facts.is_change": "ends facts of the next save: tests/storage/test_contract_facts.py",
    "memory_facts.kind": "decides whether another value ends it: tests/storage/test_contract_facts.py",
    "memory_facts.position": "orders facts of a memory, as a row number does: tests/text/test_facts.py",
    "memory_facts.replaces": "ends facts of the next save: tests/storage/test_contract_facts.py",
    "memory_facts.restated_at": "which of two views is the newer one: tests/memory/saving/test_fact_changes.py",
    "memory_facts.topic": "which facts are compared at the next save: tests/storage/test_contract_facts.py",
    "memory_facts.value": "compared at the next save: tests/storage/test_contract_facts.py",
    "memory_votes.at": "when a vote was cast, for whoever inspects the store: no read needs it",
    "memory_votes.principal": "whose votes count together, with others: tests/memory/learning/test_validation.py",
    "prompt_splits.ended_at": "a split that ended is dealt no longer: tests/wiring/test_research.py",
    "research_days.day": "a day without totals is counted from its sessions: tests/storage/test_research.py",
    "research_days.tenant": "a day without totals is counted from its sessions: tests/storage/test_research.py",
    "vectors.dimension": "the database refuses a vector of another length: tests/storage/test_consistency.py",
    "vectors.text_hash": "a text is not embedded twice: tests/memory/saving/test_saver.py",
}
"""Columns that act at a later moment than a read, with the test that shows it."""


def _list_columns() -> dict[str, str]:
    from assay.storage import tables  # noqa: PLC0415 - only the columns of tables are needed of the store

    found = {
        f"column:{table}.{column.name}": reason
        for table, reason in _TABLES.items()
        for column in tables.metadata.tables[table].columns
    }
    numbers = {
        f"column:{table}.{name}": "a row number: it orders rows, and is not shown"
        for table, name in _ROW_NUMBERS.items()
    }
    return {**numbers, **found, **{f"column:{name}": reason for name, reason in _LATER.items()}}


_NEEDS_A_MODEL = {
    "flag:cross_encoder": "needs a pair model, which that test builds: tests/memory/test_cross_encoder.py",
    "setting:rerank.folder": "needs a pair model, which that test builds: tests/cli/test_reranking.py",
    "setting:rerank.depth": "needs a pair model, which that test builds: tests/memory/test_cross_encoder.py",
    "setting:rerank.threshold": "needs a pair model, which that test builds: tests/cli/test_reranking.py",
    "field:judgment.grade.most": "needs a chat model, which that test scripts: tests/online/test_model_grades.py",
}
EXEMPT: Mapping[str, str] = {**_NEEDS_A_MODEL, **_list_columns()}
"""Items that cannot be probed by changing them alone, and why."""
