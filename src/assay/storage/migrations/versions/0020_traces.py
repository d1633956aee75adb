"""Add traces of other systems and their spans."""

from alembic import op
from sqlalchemy import UniqueConstraint

from assay.storage.migrations.columns import counter, create, finite, not_negative, one_of, real, text, whole

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ROLES = (
    "retriever",
    "reranker",
    "memory search",
    "memory write",
    "model",
    "embedding",
    "tool",
    "chain",
    "other",
)


def upgrade() -> None:
    """Create both tables. A span is known by trace and span id within a tenant, so that sending it twice adds one."""
    create("traces", text("trace_id", key=True), text("tenant", key=True), text("started_at"))
    create(
        "trace_spans",
        counter("number"),
        text("tenant"),
        text("trace_id"),
        text("span_id"),
        text("parent_id", null=True),
        text("role"),
        text("name"),
        text("started_at"),
        text("ended_at", null=True),
        text("problem"),
        text("session_id", null=True),
        text("model", null=True),
        whole("input_tokens", null=True),
        whole("output_tokens", null=True),
        real("cost_usd", null=True),
        text("input"),
        text("output"),
        text("documents"),
        text("candidates"),
        UniqueConstraint("trace_id", "span_id", "tenant", name="span_is_stored_once"),
        one_of("role", ROLES),
        *not_negative("input_tokens", "output_tokens"),
        *finite("cost_usd"),
    )
    # No index begins with the tenant: see the first migration.
    op.create_index("traces_by_start", "traces", ["started_at", "tenant"])
    op.create_index("trace_spans_by_session", "trace_spans", ["session_id", "tenant"])
