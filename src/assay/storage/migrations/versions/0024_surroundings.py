"""Add to memories the text that stood around them; earlier ones have none."""

from alembic import op
from sqlalchemy import Column

from assay.storage.rows import TextType

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("memories", Column("surroundings", TextType, nullable=False, server_default=""))
