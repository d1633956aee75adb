"""What is written down while Assay is used and measured."""

from __future__ import annotations

from sqlalchemy import Column, Table

from assay.records.evidence import RESULT_NUMBERS
from assay.storage.tables.base import metadata
from assay.storage.types import BlobType, Finite, Json, Moment, TextType, WholeType, YesNo

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
    Column("tokens_saved", WholeType),
    Column("held_back", WholeType),
    Column("near_top", WholeType),
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
    Column("rbo", Finite),
    Column("classified", TextType),
    Column("problem", TextType),
)
