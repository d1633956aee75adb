"""The whole schema: every table, index and constraint of a new store.

The columns of the `eval_*` tables carry the names of the published evaluation framework; added are `tenant`,
`origin`, `event_key`, `attempt`, `state_json` and `metrics_json`. Allowed values are spelt out, not imported: a
migration states what was true when it was written. Stores of earlier revisions are brought here by
`assay.storage.migrations.older_stores`.
"""

from alembic import op
from sqlalchemy import CheckConstraint, Column, Connection, ForeignKeyConstraint, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import TSVECTOR

from assay.storage.migrations.columns import (
    blob,
    counter,
    create,
    finite,
    not_negative,
    one_of,
    real,
    share,
    text,
    whole,
    yes_no,
)
from assay.storage.migrations.older_stores import create_login_sessions, create_owned_files
from assay.storage.rows import BlobType, TextType, VectorType, WholeType

revision = "0013"
down_revision = None
branch_labels = None
depends_on = None

TIERS = ("constitutional", "critical", "important", "normal", "temporary", "deprecated")
FORMATS = ("MARKDOWN", "TEXT", "JSON")
EDGE_KINDS = ("caused", "enabled", "supersedes", "contradicts", "derived_from", "supports")
ORIGINS = ("use", "evaluation", "shadow", "canary")
JUDGMENT_SOURCES = ("manual", "implicit", "bootstrapped", "validated", "llm_judge")
RUN_TYPES = ("full", "shadow", "regression", "ab_test")
EVENT_TYPES = (
    "read_after_search",
    "re_search",
    "scroll_past",
    "reference",
    "validate_useful",
    "validate_not_useful",
)
TEST_STATES = ("running", "graduated", "rejected", "paused")
RESULT_NUMBERS = (
    "mrr_at_5",
    "mrr_at_10",
    "ndcg_at_5",
    "ndcg_at_10",
    "ndcg_at_20",
    "recall_at_5",
    "recall_at_10",
    "constitutional_surfacing_rate",
    "importance_weighted_recall",
    "cold_start_mrr",
    "session_personalization_lift",
    "causal_chain_completeness",
    "avg_latency_ms",
    "result_diversity_score",
    "confidence_interval_lower",
    "confidence_interval_upper",
    "mrr_delta",
    "ndcg_delta",
    "p_value",
)
DECISIONS = ("store", "merge", "supersede", "reject")
TERM_STATES = ("shadow", "applied", "expired", "withdrawn")
CHANGE_KINDS = ("vote", "promote", "apply", "expire")
REPORTED = ("knowledge", "uncertainty", "context")
JUDGE_KINDS = ("groundedness", "correctness", "abstention")
JUDGE_OUTCOMES = ("scored", "unreadable", "unavailable", "skipped", "contested", "void")
RESEARCH_STATES = ("answered", "abstained", "withheld", "failed")
STAGES = ("overall_score", "plan_score", "retrieval_score", "answer_score")
DIMENSIONS = (
    "intent_alignment",
    "query_coverage",
    "scope_appropriateness",
    "context_recall",
    "context_precision",
    "source_quality",
    "faithfulness",
    "relevance",
    "factual_accuracy",
    "completeness",
    "coherence",
)
MARKS = ("exhausted", "escalated", "severe", "regenerated", "skipped", "judge_failed")
VOTE_KINDS = ("paired", "interleaved", "split")
ARMS = ("control", "treatment", "both")
STEPS = ("offline", "shadow", "interleaving", "ab_test", "graduation", "guardrail")
STEP_OUTCOMES = (
    "begun",
    "passed",
    "failed",
    "inconclusive",
    "recommended",
    "graduated",
    "rejected",
    "paused",
    "rolled_back",
)
ACCESS = ("read", "write", "admin", "operator")
ROWS_PER_KEY = {
    "memories": {
        "tenant, id": "100000 100000 1",
        "folder, tenant, superseded_at": "100000 1000 1000 900",
        "source_id, tenant": "100000 2 2",
        "tenant, number": "10 10 1",
    },
    "chunks": {"memory_id, position, tenant": "400000 4 1 1", "tenant, number": "400000 40000 1"},
    "vectors": {"number, model": "400000 1 1", "model, text_hash, tenant": "400000 400000 1 1"},
    "memory_triggers": {"memory_id, phrase, tenant": "200000 2 1 1", "phrase, tenant": "200000 2 2"},
    "indexed_documents": {"memory_id, tenant": "100000 1 1"},
    "edges": {"tenant, source_id, target_id, kind": "50000 50000 2 1 1", "tenant, target_id": "50000 50000 2"},
    "changes": {"tenant, seq": "500000 500000 1"},
}
"""Rows of each SQLite index, then rows with the same first column, the same first two, and so on."""


def upgrade() -> None:
    """Create every table."""
    create("meta", text("key", key=True), text("value"), text("updated_at"))
    _create_memories()
    _create_edges()
    _create_saves()
    _create_flags()
    _create_chunks()
    _create_logs()
    _create_queries()
    _create_results()
    _create_experiments()
    _create_votes_and_learned_terms()
    _create_learning_changes()
    _create_sessions()
    _create_judging()
    _create_model_costs()
    _create_research()
    _create_access()
    if op.get_context().dialect.name == "sqlite":
        _write_statistics(op.get_bind())


def _create_memories() -> None:
    create(
        "memories",
        counter("number"),
        text("tenant"),
        text("id"),
        text("folder"),
        text("tier"),
        text("created_at"),
        text("updated_at"),
        text("valid_from"),
        text("superseded_at", null=True),
        whole("version"),
        real("confidence"),
        whole("validation_count"),
        whole("access_count"),
        whole("frequency"),
        text("context_type"),
        text("entity_type"),
        text("format"),
        text("source_id", null=True),
        text("source_hash", null=True),
        text("rel_path"),
        text("written_by"),
        text("written_with"),
        text("title"),
        text("tags"),
        text("triggers"),
        text("learned_triggers"),
        text("metadata"),
        text("body"),
        UniqueConstraint("tenant", "id", name="memory_id_is_taken_once"),
        one_of("tier", TIERS),
        one_of("format", FORMATS),
        *share("confidence"),
        *not_negative("version", "validation_count", "access_count", "frequency"),
    )
    op.create_index("memories_by_folder", "memories", ["folder", "tenant", "superseded_at"])
    op.create_index("memories_by_source_id", "memories", ["source_id", "tenant"])
    law = sql("tier = 'constitutional'")
    op.create_index("memories_constitutional", "memories", ["tenant", "number"], sqlite_where=law, postgresql_where=law)


def _create_edges() -> None:
    create(
        "edges",
        text("tenant", key=True),
        text("source_id", key=True),
        text("target_id", key=True),
        text("kind", key=True),
        real("strength"),
        text("evidence"),
        text("created_at"),
        _of_a_memory("edge_has_its_source", column="source_id"),
        _of_a_memory("edge_has_its_target", column="target_id"),
        one_of("kind", EDGE_KINDS),
        *share("strength"),
    )
    op.create_index("edges_by_target", "edges", ["tenant", "target_id"])


def _create_saves() -> None:
    create(
        "memory_saves",
        counter("id"),
        text("tenant"),
        text("save_id"),
        text("memory_id", null=True),
        text("decision"),
        text("would_reject", null=True),
        real("quality", null=True),
        real("similarity", null=True),
        text("neighbour_id", null=True),
        text("source_id", null=True),
        whole("enforced"),
        text("detail"),
        text("at"),
        text("actor"),
        UniqueConstraint("tenant", "save_id", name="save_is_told_once"),
        one_of("decision", DECISIONS),
        *share("quality"),
        *finite("similarity"),
        *yes_no("enforced"),
    )
    op.create_index("memory_saves_by_memory", "memory_saves", ["memory_id", "tenant"])
    op.create_index("memory_saves_by_time", "memory_saves", ["tenant", "at"])


def _create_flags() -> None:
    create(
        "flags",
        text("tenant", key=True),
        text("name", key=True),
        whole("enabled", null=True),
        whole("rollout_percent", null=True),
        whole("shadow", null=True),
        text("activated_at", null=True),
        text("reviewed_at", null=True),
        text("updated_at"),
        text("updated_by"),
        *yes_no("enabled", "shadow"),
        CheckConstraint("rollout_percent BETWEEN 0 AND 100", name="rollout_is_a_percentage"),
    )


def _of_a_memory(name: str, *, column: str = "memory_id", ondelete: str | None = None) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["tenant", column], ["memories.tenant", "memories.id"], name=name, ondelete=ondelete)


def _create_chunks() -> None:
    create(
        "chunks",
        counter("number"),
        text("tenant"),
        text("memory_id"),
        whole("position"),
        whole("token_count"),
        text("heading_path"),
        text("text"),
        # By the memory first: an index that begins with the tenant slows down checks of references (see `_index_by`).
        UniqueConstraint("memory_id", "position", "tenant", name="chunk_has_its_own_position"),
        UniqueConstraint("tenant", "number", name="chunk_is_of_one_tenant"),
        _of_a_memory("chunk_has_its_memory"),
        *not_negative("position", "token_count"),
    )
    _create_full_text()
    _create_vectors()
    create(
        "memory_triggers",
        text("memory_id", key=True),
        text("phrase", key=True),
        text("tenant", key=True),
        _of_a_memory("trigger_has_its_memory", ondelete="CASCADE"),
    )
    op.create_index("memory_triggers_by_phrase", "memory_triggers", ["phrase", "tenant"])
    create(
        "indexed_documents",
        text("memory_id", key=True),
        text("tenant", key=True),
        text("chunker"),
        text("doc_type"),
        text("skipped"),
        _of_a_memory("indexed_document_has_its_memory", ondelete="CASCADE"),
    )


def _create_full_text() -> None:
    if op.get_context().dialect.name == "sqlite":
        op.execute(
            sql("CREATE VIRTUAL TABLE passages_fts USING fts5(tenant, title, triggers, body, tokenize = 'ascii')")
        )
        return
    create(
        "passages_text",
        whole("number", key=True),
        text("tenant"),
        text("title"),
        text("triggers"),
        text("body"),
        Column("terms", TSVECTOR, nullable=False),
        ForeignKeyConstraint(["tenant", "number"], ["chunks.tenant", "chunks.number"], name="words_have_their_chunk"),
    )
    op.create_index("passages_text_by_term", "passages_text", ["terms"], postgresql_using="gin")


def _create_vectors() -> None:
    length = "length(vector) = 2 * dimension"
    if op.get_context().dialect.name == "postgresql":
        length = "vector_dims(vector) = dimension"
    create(
        "vectors",
        whole("number", key=True),
        text("model", key=True),
        text("tenant"),
        whole("dimension"),
        text("text_hash"),
        Column("vector", VectorType, nullable=False),
        CheckConstraint(length, name="vector_has_its_dimension"),
        ForeignKeyConstraint(
            ["tenant", "number"],
            ["chunks.tenant", "chunks.number"],
            name="vector_has_its_chunk",
            ondelete="CASCADE",
        ),
    )
    op.create_index("vectors_by_text", "vectors", ["model", "text_hash", "tenant"])


def _create_logs() -> None:
    create(
        "changes",
        counter("seq"),
        text("tenant"),
        text("kind"),
        text("row_id"),
        text("operation"),
        text("at"),
        whole("number", null=True),
        one_of("kind", ("memory", "chunk")),
        one_of("operation", ("insert", "update", "delete")),
    )
    op.create_index("changes_by_tenant", "changes", ["tenant", "seq"])
    create(
        "audit",
        counter("id"),
        text("tenant"),
        text("action"),
        text("target"),
        text("actor"),
        text("at"),
        text("detail"),
        Column("via", TextType, nullable=False, server_default=""),
        whole("place", null=True),
        *(Column(name, BlobType, nullable=True) for name in ("salt", "content", "previous", "hash")),
    )
    op.create_index("audit_by_target", "audit", ["tenant", "target", "id"])
    op.create_index("audit_chain", "audit", ["tenant", "place"], unique=True)


def _create_queries() -> None:
    create(
        "eval_queries",
        counter("id"),
        text("tenant"),
        text("query_id"),
        text("query"),
        text("intent", null=True),
        text("mode", null=True),
        text("session_id", null=True),
        text("tool_name"),
        text("origin"),
        text("result_ids"),
        whole("result_count"),
        text("channel_contributions"),
        real("total_latency_ms", null=True),
        text("fusion_weights", null=True),
        real("quality_proxy_score", null=True),
        text("trace_id", null=True),
        text("created_at"),
        whole("is_eval_corpus"),
        text("eval_category", null=True),
        whole("tokens_saved", null=True),
        whole("held_back", null=True),
        whole("near_top", null=True),
        UniqueConstraint("tenant", "query_id", name="query_is_logged_once"),
        one_of("origin", ORIGINS),
        *finite("total_latency_ms", "quality_proxy_score"),
        *not_negative("result_count"),
        *yes_no("is_eval_corpus"),
    )
    for column in ("session_id", "intent", "created_at", "tool_name"):
        _index_by("eval_queries", column)
    corpus = sql("is_eval_corpus = 1")
    op.create_index(
        "eval_queries_in_corpus", "eval_queries", ["tenant", "query_id"], sqlite_where=corpus, postgresql_where=corpus
    )
    create(
        "eval_candidates",
        text("tenant", key=True),
        text("query_id", key=True),
        text("channel", key=True),
        whole("candidate_count"),
        blob("payload"),
        ForeignKeyConstraint(
            ["tenant", "query_id"],
            ["eval_queries.tenant", "eval_queries.query_id"],
            name="candidates_have_their_query",
            ondelete="CASCADE",
        ),
        *not_negative("candidate_count"),
    )


def _index_by(table: str, column: str) -> None:
    """Index a table that others refer to by a column, with the tenant last.

    PostgreSQL plans the check of a reference when the table is still empty and keeps that plan until statistics exist.
    An index that begins with the tenant then looks as good as the key, and every check reads the whole tenant.
    """
    op.create_index(f"{table}_by_{column}", table, [column, "tenant"])


def _create_results() -> None:
    create(
        "eval_judgments",
        counter("id"),
        text("tenant"),
        text("query_id"),
        text("memory_id"),
        whole("relevance"),
        text("source"),
        text("annotator"),
        real("confidence"),
        text("created_at"),
        UniqueConstraint("tenant", "query_id", "memory_id", "source", "annotator", name="judged_once_by_each"),
        CheckConstraint("relevance BETWEEN 0 AND 3", name="relevance_is_a_grade"),
        one_of("source", JUDGMENT_SOURCES),
        *share("confidence"),
    )
    op.create_index("eval_judgments_by_memory", "eval_judgments", ["tenant", "memory_id"])
    op.create_index("eval_judgments_by_source", "eval_judgments", ["tenant", "source"])
    create(
        "eval_results",
        counter("id"),
        text("tenant"),
        text("run_id"),
        text("run_type"),
        text("feature_id", null=True),
        *(real(name, null=True) for name in RESULT_NUMBERS),
        text("channel_contribution_json", null=True),
        whole("query_count"),
        text("control_run_id", null=True),
        whole("is_significant", null=True),
        text("created_at"),
        text("per_query_results"),
        text("metrics_json"),
        one_of("run_type", RUN_TYPES),
        *finite(*RESULT_NUMBERS),
        *not_negative("query_count"),
        *yes_no("is_significant"),
    )
    for column in ("run_id", "feature_id", "run_type", "created_at"):
        op.create_index(f"eval_results_by_{column}", "eval_results", ["tenant", column])
    create(
        "eval_feedback",
        counter("id"),
        text("tenant"),
        text("event_key"),
        text("event_type"),
        text("session_id"),
        text("query_id", null=True),
        text("memory_id", null=True),
        whole("rank_in_results", null=True),
        text("metadata"),
        text("created_at"),
        UniqueConstraint("tenant", "event_key", name="event_counts_once"),
        one_of("event_type", EVENT_TYPES),
        *not_negative("rank_in_results"),
    )
    for column in ("session_id", "query_id", "event_type", "created_at"):
        op.create_index(f"eval_feedback_by_{column}", "eval_feedback", ["tenant", column])


def _create_experiments() -> None:
    numbers = (
        "log_likelihood_ratio",
        "upper_bound",
        "lower_bound",
        "control_mrr_sum",
        "treatment_mrr_sum",
        "control_ndcg_sum",
        "treatment_ndcg_sum",
        "graduation_threshold",
    )
    create(
        "eval_ab_tests",
        counter("id"),
        text("tenant"),
        text("feature_id"),
        whole("attempt"),
        text("status"),
        *(real(name) for name in numbers),
        whole("sample_count"),
        whole("min_samples"),
        text("state_json"),
        text("started_at"),
        text("updated_at"),
        text("graduated_at", null=True),
        UniqueConstraint("tenant", "feature_id", "attempt", name="one_row_for_each_attempt"),
        one_of("status", TEST_STATES),
        *finite(*numbers),
        *not_negative("attempt", "sample_count", "min_samples"),
    )
    op.create_index("eval_ab_tests_by_status", "eval_ab_tests", ["tenant", "status"])
    differences = (
        "rank_correlation",
        "set_overlap",
        "mrr_delta",
        "ndcg_delta",
        "control_latency_ms",
        "treatment_latency_ms",
    )
    create(
        "eval_shadow_runs",
        counter("id"),
        text("tenant"),
        text("query_id"),
        text("feature_id"),
        text("control_result_ids"),
        text("treatment_result_ids"),
        *(real(name, null=True) for name in differences),
        whole("top_result_changed", null=True),
        whole("order_differences", null=True),
        text("created_at"),
        real("rbo", null=True),
        text("classified", null=True),
        text("problem", null=True),
        *finite(*differences),
        *yes_no("top_result_changed"),
        *not_negative("order_differences"),
    )
    op.create_index("eval_shadow_runs_by_feature", "eval_shadow_runs", ["tenant", "feature_id"])
    op.create_index("eval_shadow_runs_by_created_at", "eval_shadow_runs", ["tenant", "created_at"])
    _create_ladder()


def _create_ladder() -> None:
    create(
        "ab_votes",
        counter("id"),
        text("tenant"),
        text("feature_id"),
        whole("attempt"),
        text("query_key"),
        text("kind"),
        text("arm"),
        real("difference"),
        text("query_id", null=True),
        text("created_at"),
        UniqueConstraint("tenant", "feature_id", "attempt", "query_key", name="one_vote_for_each_query"),
        one_of("kind", VOTE_KINDS),
        one_of("arm", ARMS),
        CheckConstraint("difference BETWEEN -1 AND 1", name="difference_is_a_vote"),
    )
    create(
        "interleavings",
        text("tenant", key=True),
        text("query_id", key=True),
        text("feature_id"),
        whole("attempt"),
        text("control_ids"),
        text("treatment_ids"),
        text("created_at"),
        text("credited_at", null=True),
    )
    op.create_index("interleavings_by_feature", "interleavings", ["tenant", "feature_id", "attempt"])
    create(
        "ladder_steps",
        counter("id"),
        text("tenant"),
        text("feature_id"),
        whole("attempt"),
        text("step"),
        text("outcome"),
        text("sentence"),
        text("detail"),
        text("actor"),
        text("created_at"),
        one_of("step", STEPS),
        one_of("outcome", STEP_OUTCOMES),
        *not_negative("attempt"),
    )
    op.create_index("ladder_steps_by_feature", "ladder_steps", ["tenant", "feature_id"])


def _create_votes_and_learned_terms() -> None:
    # Keys begin with the memory: an index that begins with the tenant slows down checks of references (`_index_by`).
    create(
        "memory_votes",
        text("memory_id", key=True),
        text("ballot", key=True),
        text("tenant", key=True),
        text("principal"),
        whole("useful"),
        text("at"),
        _of_a_memory("vote_has_its_memory", ondelete="CASCADE"),
        *yes_no("useful"),
    )
    create(
        "learned_terms",
        text("memory_id", key=True),
        text("term", key=True),
        text("tenant", key=True),
        text("state"),
        text("learned_at"),
        text("applied_at", null=True),
        text("ended_at", null=True),
        text("writer"),
        _of_a_memory("learned_term_has_its_memory", ondelete="CASCADE"),
        one_of("state", TERM_STATES),
    )
    op.create_index("learned_terms_by_state", "learned_terms", ["state", "tenant"])
    create(
        "learning_evidence",
        text("memory_id", key=True),
        text("term", key=True),
        text("session_id", key=True),
        text("tenant", key=True),
        text("principal"),
        text("query_id"),
        whole("rank"),
        text("at"),
        _of_a_memory("evidence_has_its_memory", ondelete="CASCADE"),
        *not_negative("rank"),
    )


def _create_learning_changes() -> None:
    create(
        "learning_changes",
        counter("id"),
        text("tenant"),
        text("memory_id"),
        text("kind"),
        text("before"),
        text("after"),
        text("detail"),
        text("writer"),
        text("at"),
        text("undone_at", null=True),
        _of_a_memory("learning_change_has_its_memory", ondelete="CASCADE"),
        one_of("kind", CHANGE_KINDS),
    )
    op.create_index("learning_changes_by_memory", "learning_changes", ["memory_id", "tenant"])
    create(
        "learning_cycles",
        text("tenant", key=True),
        whole("number", key=True),
        text("began_at"),
        text("ended_at"),
        whole("queries"),
        *not_negative("number", "queries"),
    )
    create(
        "learning_progress",
        text("tenant", key=True),
        whole("last_event"),
        whole("last_watched"),
        text("killed_at", null=True),
        text("killed_because"),
        *not_negative("last_event", "last_watched"),
    )


def _create_sessions() -> None:
    before, after = ([f"{name}_{when}" for name in REPORTED] for when in ("before", "after"))
    create(
        "tasks",
        text("tenant", key=True),
        text("task_id", key=True),
        text("session_id", null=True),
        text("folder"),
        text("goal"),
        *(real(name) for name in before),
        text("begun_at"),
        *(real(name, null=True) for name in after),
        text("ended_at", null=True),
        text("result"),
        *share(*before, *after),
    )
    op.create_index("tasks_by_session", "tasks", ["tenant", "session_id"])
    create("known_files", text("tenant", key=True), text("path", key=True), text("kind"), text("noted_at"))


def _create_judging() -> None:
    create(
        "judge_inputs",
        text("tenant", key=True),
        text("input_hash", key=True),
        text("kind"),
        text("created_at"),
        text("content"),
        one_of("kind", JUDGE_KINDS),
    )
    create(
        "judge_verdicts",
        counter("id"),
        text("tenant"),
        text("run_id"),
        text("case_id"),
        whole("repeat"),
        text("kind"),
        text("fingerprint_id"),
        text("input_hash"),
        text("outcome"),
        real("score", null=True),
        text("reason"),
        text("created_at"),
        text("detail"),
        UniqueConstraint(
            "tenant", "run_id", "case_id", "repeat", "kind", "fingerprint_id", name="verdict_is_given_once"
        ),
        one_of("kind", JUDGE_KINDS),
        one_of("outcome", JUDGE_OUTCOMES),
        *not_negative("repeat"),
        *finite("score"),
    )
    create(
        "judge_calibrations",
        counter("id"),
        text("tenant"),
        text("fingerprint_id"),
        text("kind"),
        text("made_at"),
        text("expires_at"),
        text("labels_hash"),
        whole("cases"),
        whole("passed"),
        text("figures"),
        text("fingerprint"),
        one_of("kind", JUDGE_KINDS),
        *not_negative("cases"),
        *yes_no("passed"),
    )
    op.create_index("judge_calibrations_by_judge", "judge_calibrations", ["tenant", "fingerprint_id", "made_at"])


def _create_model_costs() -> None:
    create(
        "model_replies",
        text("tenant", key=True),
        text("key", key=True),
        text("created_at"),
        text("reply"),
    )
    create(
        "model_accounts",
        text("tenant", key=True),
        text("account", key=True),
        whole("tokens"),
        whole("nano_usd"),
        *not_negative("tokens", "nano_usd"),
    )
    create(
        "model_reservations",
        text("tenant", key=True),
        text("reservation", key=True),
        text("account"),
        whole("tokens"),
        whole("nano_usd"),
        text("created_at"),
        *not_negative("tokens", "nano_usd"),
    )


def _create_research() -> None:
    _create_research_sessions()
    # No references: a table that others refer to may have no index that begins with the tenant, and sessions
    # need theirs. A trace holds everything its session holds, so an erasure that finds the one finds the other.
    create(
        "research_traces",
        text("log_id", key=True),
        text("tenant", key=True),
        text("trace"),
    )
    create("research_days", text("tenant", key=True), text("day", key=True), text("totals"))
    create(
        "prompts",
        text("tenant", key=True),
        text("prompt_id", key=True),
        whole("version", key=True),
        whole("active"),
        text("created_at"),
        text("created_by"),
        text("note"),
        text("text"),
        *yes_no("active"),
        *not_negative("version"),
    )
    create(
        "prompt_splits",
        text("tenant", key=True),
        text("prompt_id", key=True),
        whole("first"),
        whole("second"),
        text("began_at"),
        text("created_by"),
        text("ended_at", null=True),
        *not_negative("first", "second"),
    )


def _create_research_sessions() -> None:
    scores = (*STAGES, *DIMENSIONS)
    create(
        "research_sessions",
        counter("id"),
        text("tenant"),
        text("created_at"),
        *(real(name, null=True) for name in scores),
        whole("passed", null=True),
        whole("iterations"),
        *(whole(name) for name in MARKS),
        text("status"),
        text("failure_type"),
        text("kind"),
        text("log_id"),
        text("session_id", null=True),
        text("retry_of", null=True),
        text("evaluated_by"),
        real("latency_ms"),
        real("evaluation_ms"),
        whole("tokens", null=True),
        text("failed_dimensions"),
        text("prompt_versions"),
        text("custom_scores"),
        text("tags"),
        text("skip_reason"),
        text("question"),
        UniqueConstraint("log_id", "tenant", name="research_session_is_kept_once"),
        *share(*scores),
        *yes_no("passed", *MARKS),
        *finite("latency_ms", "evaluation_ms"),
        *not_negative("iterations", "tokens"),
        one_of("status", RESEARCH_STATES),
    )
    op.create_index("research_sessions_by_time", "research_sessions", ["tenant", "created_at"])
    # Without it SQLite sorts the whole tenant to find its newest rows.
    op.create_index("research_sessions_by_id", "research_sessions", ["tenant", "id"])
    # Totals are made day by day; without it SQLite sorts whatever a filter lets through.
    op.create_index("research_sessions_by_day", "research_sessions", ["tenant", sql("substr(created_at, 1, 10)")])


def _create_access() -> None:
    create(
        "access_tokens",
        text("tenant"),
        text("token_id", key=True),
        text("name"),
        text("access"),
        text("digest"),
        text("created_at"),
        text("created_by"),
        text("expires_at", null=True),
        text("revoked_at", null=True),
        Column("person", WholeType, nullable=False, server_default="0"),
        UniqueConstraint("digest", name="one_token_for_each_digest"),
        one_of("access", ACCESS),
    )
    op.create_index("access_tokens_by_tenant", "access_tokens", ["tenant", "token_id"])
    create(
        "request_keys",
        text("tenant", key=True),
        text("principal", key=True),
        text("key", key=True),
        text("fingerprint"),
        text("created_at"),
        whole("status", null=True),
        text("answer", null=True),
    )
    op.create_index("request_keys_by_time", "request_keys", ["tenant", "created_at"])
    create_owned_files()
    create_login_sessions()


def _write_statistics(connection: Connection) -> None:
    """Write the statistics of a large tenant.

    SQLite gathers none by itself, assumes ten rows for each tenant without them, and then reads the whole tenant where
    a key would do. A small tenant is fast with any plan.
    """
    connection.execute(sql("ANALYZE memories"))  # makes the table
    connection.execute(sql("DELETE FROM sqlite_stat1"))
    for table, indexes in ROWS_PER_KEY.items():
        for name in connection.execute(sql("SELECT name FROM pragma_index_list(:table)"), {"table": table}).scalars():
            columns = sql("SELECT name FROM pragma_index_info(:index) ORDER BY seqno")
            found = ", ".join(connection.execute(columns, {"index": name}).scalars())
            row = {"table": table, "index": name, "spread": indexes[found]}
            connection.execute(sql("INSERT INTO sqlite_stat1 VALUES (:table, :index, :spread)"), row)
    connection.execute(sql("ANALYZE sqlite_schema"))  # reads the table
