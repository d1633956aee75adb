"""What a session may hold back later: how many results of a search were near its top."""

from alembic import op

from assay.storage.migrations.columns import whole

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; searches logged before it do not know."""
    op.add_column("eval_queries", whole("near_top", null=True))
