"""Forget evaluation cycles that were counted before a run's documents were compared with the memory's own.

Some of them were runs of other systems. Those that this memory's runs complete are written down again.
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Remove every stored cycle."""
    op.execute("DELETE FROM learning_cycles")
