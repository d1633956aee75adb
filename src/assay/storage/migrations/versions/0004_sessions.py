"""What sessions and tasks need: tasks with their two reports, what a search held back, and files that hold rows."""

from alembic import op

from assay.storage.migrations.columns import create, real, share, text, whole

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

REPORTED = ("knowledge", "uncertainty", "context")


def upgrade() -> None:
    """Make the tables."""
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
    op.add_column("eval_queries", whole("tokens_saved", null=True))
    op.add_column("eval_queries", whole("held_back", null=True))
