"""Add what several servers over one store share: leases, rate limits and live questions."""

from alembic import op

from assay.storage.migrations.columns import create, finite, not_negative, text, whole
from assay.storage.migrations.columns import real as number

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables. A lease and a limit belong to the whole store, a live question to its tenant."""
    create(
        "leases",
        text("name", key=True),
        text("holder"),
        whole("term"),
        text("taken_at"),
        text("expires_at"),
        *not_negative("term"),
    )
    create("shared_limits", text("bucket", key=True), number("left_over"), text("counted_at"), *finite("left_over"))
    create(
        "live_questions",
        text("ticket", key=True),
        text("tenant", key=True),
        text("started_at"),
        text("seen_at"),
        text("ended_at", null=True),
        text("log_id"),
        text("problem"),
        text("question"),
    )
    create(
        "live_events",
        text("ticket", key=True),
        whole("place", key=True),
        text("tenant", key=True),
        text("name"),
        text("data"),
    )
    op.create_index("live_questions_by_start", "live_questions", ["started_at", "tenant"])
