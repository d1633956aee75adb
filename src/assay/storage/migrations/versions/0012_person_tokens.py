"""Whether a person or a program uses a token."""

from alembic import op
from sqlalchemy import Column

from assay.storage.rows import WholeType

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; a token made before it counts as a program's."""
    op.add_column("access_tokens", Column("person", WholeType, nullable=False, server_default="0"))
