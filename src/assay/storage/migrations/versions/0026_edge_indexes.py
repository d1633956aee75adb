"""Let indexes of edges hold all that a search asks of them, so that no row is read beside them."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the index by target with one that holds more, and add the same by source."""
    op.drop_index("edges_by_target", "edges")
    op.create_index("edges_by_target", "edges", ["tenant", "target_id", "source_id", "kind", "strength"])
    op.create_index("edges_by_source", "edges", ["tenant", "source_id", "target_id", "kind", "strength"])
