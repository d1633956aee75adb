"""What the server needs: tokens, keys of requests."""

from alembic import op
from sqlalchemy import UniqueConstraint

from assay.storage.migrations.columns import create, one_of, text, whole

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ACCESS = ("read", "write", "admin")


def upgrade() -> None:
    """Make the tables."""
    create(
        "access_tokens",
        text("tenant"),
        text("token_id", key=True),
        text("name"),
        text("access"),
        text("digest"),
        text("created_at"),
        text("created_by"),
        text("expires_at", null=True),
        text("revoked_at", null=True),
        UniqueConstraint("digest", name="one_token_for_each_digest"),
        one_of("access", ACCESS),
    )
    op.create_index("access_tokens_by_tenant", "access_tokens", ["tenant", "token_id"])
    create(
        "request_keys",
        text("tenant", key=True),
        text("principal", key=True),
        text("key", key=True),
        text("fingerprint"),
        text("created_at"),
        whole("status", null=True),
        text("answer", null=True),
    )
    op.create_index("request_keys_by_time", "request_keys", ["tenant", "created_at"])
