"""The foundation: memories, chunks, edges, change log, audit, meta, and the evidence tables.

The columns of the `eval_*` tables carry the names of the published evaluation framework; added are `tenant`,
`origin`, `event_key`, `attempt`, `state_json` and `metrics_json`. Word lists are spelt out, not imported: a
migration says what was true when it was written.
"""

from alembic import op
from sqlalchemy import CheckConstraint, ForeignKeyConstraint, UniqueConstraint
from sqlalchemy import text as sql

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

revision = "0001"
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


def upgrade() -> None:
    """From nothing."""
    _what_is_remembered()
    _what_happened()
    _what_was_asked()
    _what_was_found()
    _what_is_tested()


def _what_is_remembered() -> None:
    create("meta", text("key", key=True), text("value"), text("updated_at"))
    create(
        "memories",
        text("tenant", key=True),
        text("id", key=True),
        text("title"),
        text("body"),
        text("rel_path"),
        text("folder"),
        text("triggers"),
        text("learned_triggers"),
        text("tier"),
        text("context_type"),
        text("entity_type"),
        text("format"),
        text("tags"),
        text("metadata"),
        text("source_id", null=True),
        text("source_hash", null=True),
        whole("version"),
        real("confidence"),
        whole("validation_count"),
        whole("access_count"),
        whole("frequency"),
        text("written_by"),
        text("written_with"),
        text("created_at"),
        text("updated_at"),
        text("valid_from"),
        text("superseded_at", null=True),
        one_of("tier", TIERS),
        one_of("format", FORMATS),
        *share("confidence"),
        *not_negative("version", "validation_count", "access_count", "frequency"),
    )
    _index("memories", "folder")
    _index("memories", "source_id")
    create(
        "chunks",
        text("tenant", key=True),
        text("memory_id", key=True),
        whole("position", key=True),
        text("heading_path"),
        whole("token_count"),
        text("text"),
        ForeignKeyConstraint(["tenant", "memory_id"], ["memories.tenant", "memories.id"], name="chunk_has_its_memory"),
        *not_negative("position", "token_count"),
    )
    create(
        "edges",
        text("tenant", key=True),
        text("source_id", key=True),
        text("target_id", key=True),
        text("kind", key=True),
        real("strength"),
        text("evidence"),
        text("created_at"),
        ForeignKeyConstraint(["tenant", "source_id"], ["memories.tenant", "memories.id"], name="edge_has_its_source"),
        ForeignKeyConstraint(["tenant", "target_id"], ["memories.tenant", "memories.id"], name="edge_has_its_target"),
        one_of("kind", EDGE_KINDS),
        *share("strength"),
    )
    op.create_index("edges_by_target", "edges", ["tenant", "target_id"])


def _index(table: str, column: str) -> None:
    """Of a table that others refer to: the tenant stands last.

    PostgreSQL plans the check of a reference when the table is still empty and keeps that plan until statistics exist.
    An index that begins with the tenant then looks as good as the key, and every check reads the whole tenant.
    """
    op.create_index(f"{table}_by_{column}", table, [column, "tenant"])


def _what_happened() -> None:
    create(
        "changes",
        counter("seq"),
        text("tenant"),
        text("kind"),
        text("row_id"),
        text("operation"),
        text("at"),
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
    )
    op.create_index("audit_by_target", "audit", ["tenant", "target", "id"])


def _what_was_asked() -> None:
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
        UniqueConstraint("tenant", "query_id", name="query_is_logged_once"),
        one_of("origin", ORIGINS),
        *finite("total_latency_ms", "quality_proxy_score"),
        *not_negative("result_count"),
        *yes_no("is_eval_corpus"),
    )
    for column in ("session_id", "intent", "created_at", "tool_name"):
        _index("eval_queries", column)
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


def _what_was_found() -> None:
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


def _what_is_tested() -> None:
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
        *finite(*differences),
        *yes_no("top_result_changed"),
        *not_negative("order_differences"),
    )
    op.create_index("eval_shadow_runs_by_feature", "eval_shadow_runs", ["tenant", "feature_id"])
    op.create_index("eval_shadow_runs_by_created_at", "eval_shadow_runs", ["tenant", "created_at"])
