"""Tokens of operators, who stand above the admins of tenants."""

from alembic import op
from sqlalchemy import UniqueConstraint

from assay.storage.migrations.columns import create, one_of, text

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ACCESS = ("read", "write", "admin", "operator")
COLUMNS = "tenant, token_id, name, access, digest, created_at, created_by, expires_at, revoked_at"


def upgrade() -> None:
    """Let a token have the access `operator`."""
    if op.get_context().dialect.name == "sqlite":
        _copy_table()
        return
    op.drop_constraint("access_is_known", "access_tokens")
    listed = ", ".join(f"'{access}'" for access in ACCESS)
    op.create_check_constraint("access_is_known", "access_tokens", f"access IN ({listed})")


def _copy_table() -> None:
    """SQLite cannot change a constraint: make the table again, fill it, and take the old one's name."""
    create(
        "access_tokens_new",
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
    op.execute(f"INSERT INTO access_tokens_new ({COLUMNS}) SELECT {COLUMNS} FROM access_tokens")  # noqa: S608 - constants
    op.drop_table("access_tokens")
    op.rename_table("access_tokens_new", "access_tokens")
    op.create_index("access_tokens_by_tenant", "access_tokens", ["tenant", "token_id"])
