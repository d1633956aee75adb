"""Bring stores of earlier revisions to the first revision of `versions/`.

Version 0.1 wrote revision 0008; the revisions up to 0012 were never released, and stores of them exist on the machines
of developers. `upgrade` adds what is missing; `undo` takes it away again, which is how a checkpoint of an earlier
revision gets tables of its own shape before its rows are copied in.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from alembic import op
from sqlalchemy import Column, UniqueConstraint
from sqlalchemy import text as sql

from assay.storage import audit_chain
from assay.storage.audit_chain import SALT_BYTES, START, StoredEntry
from assay.storage.migrations.columns import create, one_of, text, whole
from assay.storage.rows import BlobType, TextType, WholeType
from assay.storage.token_texts import remove_token_texts

ACCESS = ("read", "write", "admin", "operator")
COLUMNS_OF_TOKENS = "tenant, token_id, name, access, digest, created_at, created_by, expires_at, revoked_at"
FILE_KINDS = ("run", "dataset", "labels", "report")
ENTRIES_AT_A_TIME = 1_000
_ENTRIES = sql("SELECT id, tenant, action, target, actor, at, detail FROM audit ORDER BY tenant, id")
_SEAL = sql(
    "UPDATE audit SET place = :place, salt = :salt, content = :content, previous = :previous, hash = :hash"
    " WHERE id = :id"
)


def upgrade(found: str) -> None:
    """Take every step that a store of this revision lacks."""
    for revision, step in STEPS.items():
        if revision > found:
            step.do()


def undo(wanted: str) -> None:
    """Take the newest tables back to the shape of an earlier revision, before they hold rows."""
    for revision, step in reversed(STEPS.items()):
        if revision > wanted:
            step.undo()


def _add_near_top() -> None:
    """Searches that were logged before have no value."""
    op.add_column("eval_queries", whole("near_top", null=True))


def _allow_operators() -> None:
    if op.get_context().dialect.name == "sqlite":
        _copy_access_tokens()
        return
    op.drop_constraint("access_is_known", "access_tokens")
    listed = ", ".join(f"'{access}'" for access in ACCESS)
    op.create_check_constraint("access_is_known", "access_tokens", f"access IN ({listed})")


def _copy_access_tokens() -> None:
    """SQLite cannot change a constraint: make the table again, fill it, and give it the old name."""
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
    op.execute(f"INSERT INTO access_tokens_new ({COLUMNS_OF_TOKENS}) SELECT {COLUMNS_OF_TOKENS} FROM access_tokens")  # noqa: S608 - constants
    op.drop_table("access_tokens")
    op.rename_table("access_tokens_new", "access_tokens")
    op.create_index("access_tokens_by_tenant", "access_tokens", ["tenant", "token_id"])


def create_owned_files() -> None:
    """Create the table of files and their owners."""
    create(
        "owned_files",
        text("tenant", key=True),
        text("kind", key=True),
        text("name", key=True),
        text("principal"),
        text("created_at"),
        one_of("kind", FILE_KINDS),
    )
    op.create_index("owned_files_by_name", "owned_files", ["kind", "name"])


def _add_owned_files() -> None:
    """Fill the table with the runs that the store has results of; who made them was not recorded."""
    create_owned_files()
    op.execute(
        "INSERT INTO owned_files (tenant, kind, name, principal, created_at) "
        "SELECT tenant, 'run', run_id, '', MIN(created_at) FROM eval_results GROUP BY tenant, run_id"
    )


def _add_person() -> None:
    """A token made before counts as a program's."""
    op.add_column("access_tokens", Column("person", WholeType, nullable=False, server_default="0"))


def create_login_sessions() -> None:
    """Create the table of browser sign-ins."""
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


def _chain_audit_log() -> None:
    create_login_sessions()
    op.add_column("audit", Column("via", TextType, nullable=False, server_default=""))
    op.add_column("audit", whole("place", null=True))
    for name in ("salt", "content", "previous", "hash"):
        op.add_column("audit", Column(name, BlobType, nullable=True))
    _seal_entries()
    op.create_index("audit_chain", "audit", ["tenant", "place"], unique=True)
    remove_token_texts(op.get_bind())


def _seal_entries() -> None:
    connection = op.get_bind()
    sealed: list[dict[str, object]] = []
    for tenant, rows in groupby(connection.execute(_ENTRIES).all(), key=lambda row: row.tenant):
        previous = START
        for place, row in enumerate(rows, start=1):
            entry = StoredEntry(
                place, row.action, row.target, row.actor, "", row.at, row.detail, None, None, None, None
            )
            entry = audit_chain.seal(tenant, entry, previous, secrets.token_bytes(SALT_BYTES))
            previous = entry.hash or START
            kept = {name: getattr(entry, name) for name in ("place", "salt", "content", "previous", "hash")}
            sealed.append({"id": row.id, **kept})
    for begin in range(0, len(sealed), ENTRIES_AT_A_TIME):
        connection.execute(_SEAL, sealed[begin : begin + ENTRIES_AT_A_TIME])


def _drop(table: str, *columns: str) -> None:
    for column in columns:
        op.drop_column(table, column)


def _unchain_audit_log() -> None:
    op.drop_index("audit_chain", "audit")
    _drop("audit", "via", "place", "salt", "content", "previous", "hash")
    op.drop_table("login_sessions")


class RevisionStep(NamedTuple):
    """What one revision added, and how to take it away."""

    do: Callable[[], None]
    undo: Callable[[], None]


STEPS = {
    "0009": RevisionStep(_add_near_top, lambda: _drop("eval_queries", "near_top")),
    # Rows of earlier revisions also fit the wider constraint.
    "0010": RevisionStep(_allow_operators, lambda: None),
    "0011": RevisionStep(_add_owned_files, lambda: op.drop_table("owned_files")),
    "0012": RevisionStep(_add_person, lambda: _drop("access_tokens", "person")),
    "0013": RevisionStep(_chain_audit_log, _unchain_audit_log),
}
"""By the revision that a step leads to."""
