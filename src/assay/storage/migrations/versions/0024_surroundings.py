"""Add to memories the text that stood around them; earlier ones have none."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("memories", Column("surroundings", Text(), nullable=False, server_default=""))
