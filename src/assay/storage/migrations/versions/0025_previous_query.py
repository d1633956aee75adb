"""Add to the query log the question before a search in its conversation; searches of earlier versions have none."""

from alembic import op

from assay.storage.migrations.columns import text

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("eval_queries", text("previous_query", null=True))
