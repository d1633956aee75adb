"""The tables as queries see them: names, columns and types of the newest schema.

- The registry of tables.
- Memories, flags, changes, audit log.
- Queries, judgments, results, feedback, tests, shadow runs.
- Votes, evidence, learned terms, changes and progress of learning.
- Tasks, and files that hold rows of the store.
- Judge inputs, verdicts, calibrations, and the cost of models.
- Answered questions and prompt versions.
- Traces of other systems.
- Votes, interleaved lists and promotion steps.
- Tokens, sign-ins, request keys and owners of files.
- What several servers share.
"""

from __future__ import annotations

from sqlalchemy import Column, MetaData, Table

from assay.records.evidence import RESULT_NUMBERS
from assay.records.research import Dimension
from assay.storage.rows import BlobType, Finite, Json, Moment, TextType, VectorType, WholeType, YesNo

# --- The registry of tables ---

metadata = MetaData()


# --- Memories, flags, changes, audit log ---
#
# A memory's long texts stand last: SQLite reads a row up to the columns asked for.

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
    Column("surroundings", TextType),
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

memory_facts = Table(
    "memory_facts",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("position", WholeType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("subject", TextType),
    Column("relation", TextType),
    Column("topic", TextType),
    Column("value", TextType),
    Column("shown", TextType),
    Column("kind", TextType),
    Column("negated", YesNo),
    Column("replaces", TextType),
    Column("is_change", YesNo),
    Column("start", WholeType),
    Column("stop", WholeType),
    Column("valid_from", Moment),
    Column("valid_to", Moment),
    Column("ended_by", TextType),
    Column("confirmed_at", Moment),
    Column("restated_at", Moment),
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
    Column("spec", TextType),
    Column("graduates_itself", YesNo),
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
    Column("via", TextType),
    Column("place", WholeType),
    Column("salt", BlobType),
    Column("content", BlobType),
    Column("previous", BlobType),
    Column("hash", BlobType),
)


# --- Queries, judgments, results, feedback, tests, shadow runs ---

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
    Column("mode_overridden", YesNo),
    Column("pressure_level", TextType),
    Column("token_usage_ratio", Finite),
    Column("context_type", TextType),
    Column("previous_query", TextType),
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


# --- Votes, evidence, learned terms, changes and progress of learning ---

memory_votes = Table(
    "memory_votes",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("ballot", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("principal", TextType),
    Column("useful", YesNo),
    Column("at", Moment),
)

learned_terms = Table(
    "learned_terms",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("term", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("state", TextType),
    Column("learned_at", Moment),
    Column("applied_at", Moment),
    Column("ended_at", Moment),
    Column("writer", TextType),
)

learning_evidence = Table(
    "learning_evidence",
    metadata,
    Column("memory_id", TextType, primary_key=True),
    Column("term", TextType, primary_key=True),
    Column("session_id", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("principal", TextType),
    Column("query_id", TextType),
    Column("rank", WholeType),
    Column("at", Moment),
)

learning_changes = Table(
    "learning_changes",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("memory_id", TextType),
    Column("kind", TextType),
    Column("before", Json),
    Column("after", Json),
    Column("detail", Json),
    Column("writer", TextType),
    Column("at", Moment),
    Column("undone_at", Moment),
)

learning_cycles = Table(
    "learning_cycles",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("number", WholeType, primary_key=True),
    Column("began_at", Moment),
    Column("ended_at", Moment),
    Column("queries", WholeType),
)

learning_progress = Table(
    "learning_progress",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("last_event", WholeType),
    Column("last_watched", WholeType),
    Column("killed_at", Moment),
    Column("killed_because", TextType),
)


# --- Tasks, and files that hold rows of the store ---

tasks = Table(
    "tasks",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("task_id", TextType, primary_key=True),
    Column("session_id", TextType),
    Column("folder", TextType),
    Column("goal", TextType),
    Column("knowledge_before", Finite),
    Column("uncertainty_before", Finite),
    Column("context_before", Finite),
    Column("begun_at", Moment),
    Column("knowledge_after", Finite),
    Column("uncertainty_after", Finite),
    Column("context_after", Finite),
    Column("ended_at", Moment),
    Column("result", TextType),
    Column("outcome", TextType),
)

known_files = Table(
    "known_files",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("path", TextType, primary_key=True),
    Column("kind", TextType),
    Column("noted_at", Moment),
)


# --- Judge inputs, verdicts, calibrations, and the cost of models ---

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


# --- Answered questions and prompt versions ---

research_sessions = Table(
    "research_sessions",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("created_at", Moment),
    Column("overall_score", Finite),
    Column("plan_score", Finite),
    Column("retrieval_score", Finite),
    Column("answer_score", Finite),
    *(Column(dimension.value, Finite) for dimension in Dimension),
    Column("passed", YesNo),
    Column("iterations", WholeType),
    Column("exhausted", YesNo),
    Column("escalated", YesNo),
    Column("severe", YesNo),
    Column("regenerated", YesNo),
    Column("skipped", YesNo),
    Column("judge_failed", YesNo),
    Column("status", TextType),
    Column("failure_type", TextType),
    Column("kind", TextType),
    Column("log_id", TextType),
    Column("session_id", TextType),
    Column("retry_of", TextType),
    Column("evaluated_by", TextType),
    Column("latency_ms", Finite),
    Column("evaluation_ms", Finite),
    Column("tokens", WholeType),
    Column("failed_dimensions", Json),
    Column("prompt_versions", Json),
    Column("custom_scores", Json),
    Column("tags", Json),
    Column("skip_reason", TextType),
    Column("question", TextType),
    Column("outcome", TextType),
)

research_traces = Table(
    "research_traces",
    metadata,
    Column("log_id", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("trace", Json),
)

research_days = Table(
    "research_days",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("day", TextType, primary_key=True),
    Column("totals", Json),
)

prompts = Table(
    "prompts",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("prompt_id", TextType, primary_key=True),
    Column("version", WholeType, primary_key=True),
    Column("active", YesNo),
    Column("created_at", Moment),
    Column("created_by", TextType),
    Column("note", TextType),
    Column("text", TextType),
)

prompt_splits = Table(
    "prompt_splits",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("prompt_id", TextType, primary_key=True),
    Column("first", WholeType),
    Column("second", WholeType),
    Column("began_at", Moment),
    Column("created_by", TextType),
    Column("ended_at", Moment),
)


# --- Traces of other systems ---
#
# The texts of a span stand last, as those of a memory do.

traces = Table(
    "traces",
    metadata,
    Column("trace_id", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("started_at", Moment),
)

trace_spans = Table(
    "trace_spans",
    metadata,
    Column("number", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("trace_id", TextType),
    Column("span_id", TextType),
    Column("parent_id", TextType),
    Column("role", TextType),
    Column("name", TextType),
    Column("started_at", Moment),
    Column("ended_at", Moment),
    Column("problem", TextType),
    Column("session_id", TextType),
    Column("model", TextType),
    Column("input_tokens", WholeType),
    Column("output_tokens", WholeType),
    Column("cost_usd", Finite),
    Column("input", TextType),
    Column("output", TextType),
    Column("documents", Json),
    Column("candidates", Json),
)


# --- Votes, interleaved lists and promotion steps ---

ab_votes = Table(
    "ab_votes",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("feature_id", TextType),
    Column("attempt", WholeType),
    Column("query_key", TextType),
    Column("kind", TextType),
    Column("arm", TextType),
    Column("difference", Finite),
    Column("query_id", TextType),
    Column("created_at", Moment),
)

interleavings = Table(
    "interleavings",
    metadata,
    Column("tenant", TextType, primary_key=True),
    Column("query_id", TextType, primary_key=True),
    Column("feature_id", TextType),
    Column("attempt", WholeType),
    Column("control_ids", Json),
    Column("treatment_ids", Json),
    Column("created_at", Moment),
    Column("credited_at", Moment),
)

ladder_steps = Table(
    "ladder_steps",
    metadata,
    Column("id", WholeType, primary_key=True, autoincrement=True),
    Column("tenant", TextType),
    Column("feature_id", TextType),
    Column("attempt", WholeType),
    Column("step", TextType),
    Column("outcome", TextType),
    Column("sentence", TextType),
    Column("detail", Json),
    Column("actor", TextType),
    Column("created_at", Moment),
)


# --- Tokens, sign-ins, request keys and owners of files ---

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


# --- What several servers share ---

leases = Table(
    "leases",
    metadata,
    Column("name", TextType, primary_key=True),
    Column("holder", TextType),
    Column("term", WholeType),
    Column("taken_at", Moment),
    Column("expires_at", Moment),
)

shared_limits = Table(
    "shared_limits",
    metadata,
    Column("bucket", TextType, primary_key=True),
    Column("left_over", Finite),
    Column("counted_at", Moment),
)

live_questions = Table(
    "live_questions",
    metadata,
    Column("ticket", TextType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("started_at", Moment),
    Column("seen_at", Moment),
    Column("ended_at", Moment),
    Column("log_id", TextType),
    Column("problem", TextType),
    Column("question", TextType),
)

live_events = Table(
    "live_events",
    metadata,
    Column("ticket", TextType, primary_key=True),
    Column("place", WholeType, primary_key=True),
    Column("tenant", TextType, primary_key=True),
    Column("name", TextType),
    Column("data", Json),
)
