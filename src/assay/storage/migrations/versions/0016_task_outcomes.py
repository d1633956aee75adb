"""Add how a task ended to tasks; those of earlier versions do not say."""

from alembic import op

from assay.storage.migrations.columns import text

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

OUTCOMES = ("done", "failed", "abandoned")


def upgrade() -> None:
    """Add the column; only the listed words and null are allowed in it."""
    listed = ", ".join(f"'{outcome}'" for outcome in OUTCOMES)
    if op.get_context().dialect.name == "sqlite":
        # SQLite adds no constraint to a table that exists, except with a new column.
        check = f"CONSTRAINT task_outcome_is_known CHECK (outcome IN ({listed}))"
        op.execute(f"ALTER TABLE tasks ADD COLUMN outcome TEXT {check}")
        return
    op.add_column("tasks", text("outcome", null=True))
    op.create_check_constraint("task_outcome_is_known", "tasks", f"outcome IN ({listed})")
