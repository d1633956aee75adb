"""Add the outcome of a question to answered questions; those of earlier versions have none."""

from alembic import op

from assay.storage.migrations.columns import text

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

OUTCOMES = ("answered", "refused", "refused_despite_evidence", "answered_without_evidence", "failed")


def upgrade() -> None:
    """Add the column; only the listed words and null are allowed in it."""
    listed = ", ".join(f"'{outcome}'" for outcome in OUTCOMES)
    if op.get_context().dialect.name == "sqlite":
        # SQLite adds no constraint to a table that exists, except with a new column.
        check = f"CONSTRAINT outcome_is_known CHECK (outcome IN ({listed}))"
        op.execute(f"ALTER TABLE research_sessions ADD COLUMN outcome TEXT {check}")
        return
    op.add_column("research_sessions", text("outcome", null=True))
    op.create_check_constraint("outcome_is_known", "research_sessions", f"outcome IN ({listed})")
