"""Sign-ins of browsers, the chain of the audit log, and no texts of tokens in stored answers."""

import secrets
from itertools import groupby

from alembic import op
from sqlalchemy import Column, UniqueConstraint
from sqlalchemy import text as sql

from assay.storage import audit_chain
from assay.storage.audit_chain import SALT_BYTES, START, StoredEntry
from assay.storage.migrations.columns import create, text, whole
from assay.storage.rows import BlobType, TextType
from assay.storage.token_texts import remove_token_texts

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_AT_A_TIME = 1_000
_ROWS = sql("SELECT id, tenant, action, target, actor, at, detail FROM audit ORDER BY tenant, id")
_SEAL = sql(
    "UPDATE audit SET place = :place, salt = :salt, content = :content, previous = :previous, hash = :hash"
    " WHERE id = :id"
)


def upgrade() -> None:
    """Make the table, add the columns, chain the entries that are there, clean stored answers."""
    create(
        "login_sessions",
        text("tenant"),
        text("session_id", key=True),
        text("token_id"),
        text("digest"),
        text("created_at"),
        text("last_seen_at"),
        text("expires_at"),
        text("ended_at", null=True),
        text("via"),
        UniqueConstraint("digest", name="one_session_for_each_digest"),
    )
    op.create_index("login_sessions_by_tenant", "login_sessions", ["tenant", "session_id"])
    op.create_index("login_sessions_by_token", "login_sessions", ["tenant", "token_id"])
    op.add_column("audit", Column("via", TextType, nullable=False, server_default=""))
    op.add_column("audit", whole("place", null=True))
    for name in ("salt", "content", "previous", "hash"):
        op.add_column("audit", Column(name, BlobType, nullable=True))
    _chain_what_is_there()
    op.create_index("audit_chain", "audit", ["tenant", "place"], unique=True)
    remove_token_texts(op.get_bind())


def _chain_what_is_there() -> None:
    connection = op.get_bind()
    sealed: list[dict[str, object]] = []
    for tenant, rows in groupby(connection.execute(_ROWS).all(), key=lambda row: row.tenant):
        previous = START
        for place, row in enumerate(rows, start=1):
            entry = StoredEntry(
                place, row.action, row.target, row.actor, "", row.at, row.detail, None, None, None, None
            )
            entry = audit_chain.seal(tenant, entry, previous, secrets.token_bytes(SALT_BYTES))
            previous = entry.hash or START
            kept = {name: getattr(entry, name) for name in ("place", "salt", "content", "previous", "hash")}
            sealed.append({"id": row.id, **kept})
    for begin in range(0, len(sealed), _AT_A_TIME):
        connection.execute(_SEAL, sealed[begin : begin + _AT_A_TIME])
