"""What the research pipeline and its evaluation need: sessions, their traces, totals, and versions of prompts.

Sessions are narrow: totals over some of them read every row. The whole record of each stands in a table beside it, and
the totals of each day in another, so that an overview need not read them at all.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import UniqueConstraint
from sqlalchemy import text as sql

from assay.storage.migrations.columns import (
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

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

STATES = ("answered", "abstained", "withheld", "failed")
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


def upgrade() -> None:
    """Make the tables."""
    _sessions()
    _of_sessions()
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


def _sessions() -> None:
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
        one_of("status", STATES),
    )
    op.create_index("research_sessions_by_time", "research_sessions", ["tenant", "created_at"])
    # Without it SQLite sorts the whole tenant to find its newest rows.
    op.create_index("research_sessions_by_id", "research_sessions", ["tenant", "id"])
    # Totals are made day by day; without it SQLite sorts whatever a filter lets through.
    op.create_index("research_sessions_by_day", "research_sessions", ["tenant", sql("substr(created_at, 1, 10)")])


def _of_sessions() -> None:
    # No references: a table that others refer to may have no index that begins with the tenant (see 0001), and sessions
    # need theirs. A trace holds everything its session holds, so whatever erases the one finds the other.
    create(
        "research_traces",
        text("log_id", key=True),
        text("tenant", key=True),
        text("trace"),
    )
    create("research_days", text("tenant", key=True), text("day", key=True), text("totals"))
