"""The tables as queries see them: names, columns and types of the newest schema.

Keys, indexes and CHECK constraints live in the migrations alone, which make the tables; a test compares the two.
Every table that holds a user's rows has a `tenant`. Full text differs on each back end and is described where it is
asked, in `repositories/full_text`. A memory's long texts stand last: SQLite reads a row up to the columns asked for.
"""

from __future__ import annotations

from sqlalchemy import Column, MetaData, Table

from assay.records.evidence import RESULT_NUMBERS
from assay.storage.types import BlobType, Finite, Json, Moment, TextType, VectorType, WholeType, YesNo

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", TextType, primary_key=True),
    Column("value", TextType),
    Column("updated_at", Moment),
)

memories = Table(
    "memories",
    metadata,
    Column("number", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("id", TextType),
    Column("folder", TextType),
    Column("tier", TextType),
    Column("created_at", Moment),
    Column("updated_at", Moment),
    Column("valid_from", Moment),
    Column("superseded_at", Moment),
    Column("version", WholeType),
    Column("confidence", Finite),
    Column("validation_count", WholeType),
    Column("access_count", WholeType),
    Column("frequency", WholeType),
    Column("context_type", TextType),
    Column("entity_type", TextType),
    Column("format", TextType),
    Column("source_id", TextType),
    Column("source_hash", TextType),
    Column("rel_path", TextType),
    Column("written_by", TextType),
    Column("written_with", TextType),
    Column("title", TextType),
    Column("tags", Json),
    Column("triggers", Json),
    Column("learned_triggers", Json),
    Column("metadata", Json),
    Column("body", TextType),
)

chunks = Table(
    "chunks",
    metadata,
    Column("number", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("memory_id", TextType),
    Column("position", WholeType),
    Column("token_count", WholeType),
    Column("heading_path", TextType),
    Column("text", TextType),
)

vectors = Table(
    "vectors",
    metadata,
    Column("number", WholeType, primary_key=True),
    Column("model", TextType, primary_key=True),
    Column("tenant", TextType),
    Column("dimension", WholeType),
    Column("text_hash", TextType),
    Column("vector", VectorType),
)

memory_triggers = Table(
    "memory_triggers",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("phrase", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
)

indexed_documents = Table(
    "indexed_documents",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("chunker", TextType),
    Column("doc_type", TextType),
    Column("skipped", Json),
)

memory_saves = Table(
    "memory_saves",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("save_id", TextType),
    Column("memory_id", TextType),
    Column("decision", TextType),
    Column("would_reject", TextType),
    Column("quality", Finite),
    Column("similarity", Finite),
    Column("neighbour_id", TextType),
    Column("source_id", TextType),
    Column("enforced", YesNo),
    Column("detail", Json),
    Column("at", Moment),
    Column("actor", TextType),
)

flags = Table(
    "flags",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("name", TextType, primary_key=True),
    Column("enabled", YesNo),
    Column("rollout_percent", WholeType),
    Column("shadow", YesNo),
    Column("activated_at", Moment),
    Column("reviewed_at", Moment),
    Column("updated_at", Moment),
    Column("updated_by", TextType),
)

edges = Table(
    "edges",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("source_id", TextType, primary_key=True),
    Column("target_id", TextType, primary_key=True),
    Column("kind", TextType, primary_key=True),
    Column("strength", Finite),
    Column("evidence", TextType),
    Column("created_at", Moment),
)

changes = Table(
    "changes",
    metadata,
    Column("seq", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("kind", TextType),
    Column("row_id", TextType),
    Column("operation", TextType),
    Column("at", Moment),
    Column("number", WholeType),
)

audit = Table(
    "audit",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("action", TextType),
    Column("target", TextType),
    Column("actor", TextType),
    Column("at", Moment),
    Column("detail", Json),
)

eval_queries = Table(
    "eval_queries",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("query_id", TextType),
    Column("query", TextType),
    Column("intent", TextType),
    Column("mode", TextType),
    Column("session_id", TextType),
    Column("tool_name", TextType),
    Column("origin", TextType),
    Column("result_ids", Json),
    Column("result_count", WholeType),
    Column("channel_contributions", Json),
    Column("total_latency_ms", Finite),
    Column("fusion_weights", Json),
    Column("quality_proxy_score", Finite),
    Column("trace_id", TextType),
    Column("created_at", Moment),
    Column("is_eval_corpus", YesNo),
    Column("eval_category", TextType),
)

eval_candidates = Table(
    "eval_candidates",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("query_id", TextType, primary_key=True),
    Column("channel", TextType, primary_key=True),
    Column("candidate_count", WholeType),
    Column("payload", BlobType),
)

eval_judgments = Table(
    "eval_judgments",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("query_id", TextType),
    Column("memory_id", TextType),
    Column("relevance", WholeType),
    Column("source", TextType),
    Column("annotator", TextType),
    Column("confidence", Finite),
    Column("created_at", Moment),
)

eval_results = Table(
    "eval_results",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("run_id", TextType),
    Column("run_type", TextType),
    Column("feature_id", TextType),
    *(Column(name, Finite) for name in RESULT_NUMBERS),
    Column("channel_contribution_json", Json),
    Column("query_count", WholeType),
    Column("control_run_id", TextType),
    Column("is_significant", YesNo),
    Column("created_at", Moment),
    Column("per_query_results", Json),
    Column("metrics_json", Json),
)

eval_feedback = Table(
    "eval_feedback",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("event_key", TextType),
    Column("event_type", TextType),
    Column("session_id", TextType),
    Column("query_id", TextType),
    Column("memory_id", TextType),
    Column("rank_in_results", WholeType),
    Column("metadata", Json),
    Column("created_at", Moment),
)

eval_ab_tests = Table(
    "eval_ab_tests",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("feature_id", TextType),
    Column("attempt", WholeType),
    Column("status", TextType),
    Column("log_likelihood_ratio", Finite),
    Column("upper_bound", Finite),
    Column("lower_bound", Finite),
    Column("sample_count", WholeType),
    Column("control_mrr_sum", Finite),
    Column("treatment_mrr_sum", Finite),
    Column("control_ndcg_sum", Finite),
    Column("treatment_ndcg_sum", Finite),
    Column("min_samples", WholeType),
    Column("graduation_threshold", Finite),
    Column("state_json", Json),
    Column("started_at", Moment),
    Column("updated_at", Moment),
    Column("graduated_at", Moment),
)

eval_shadow_runs = Table(
    "eval_shadow_runs",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("query_id", TextType),
    Column("feature_id", TextType),
    Column("control_result_ids", Json),
    Column("treatment_result_ids", Json),
    Column("rank_correlation", Finite),
    Column("set_overlap", Finite),
    Column("top_result_changed", YesNo),
    Column("order_differences", WholeType),
    Column("mrr_delta", Finite),
    Column("ndcg_delta", Finite),
    Column("control_latency_ms", Finite),
    Column("treatment_latency_ms", Finite),
    Column("created_at", Moment),
)
