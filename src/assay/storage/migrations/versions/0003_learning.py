"""What learning from use needs: votes, learned terms with their evidence, reversible changes, cycles, progress.

Learned terms stand in tables of their own; those that are applied also in `memories.learned_triggers`. Neither is in
any full-text index. Rows go with their memory.
"""

from alembic import op
from sqlalchemy import ForeignKeyConstraint

from assay.storage.migrations.columns import counter, create, not_negative, one_of, text, whole, yes_no

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

STATES = ("shadow", "applied", "expired", "withdrawn")
KINDS = ("vote", "promote", "apply", "expire")


def upgrade() -> None:
    """Make the tables."""
    # Keys begin with the memory: an index that begins with the tenant is a trap for checks of references, see 0001.
    create(
        "memory_votes",
        text("memory_id", key=True),
        text("ballot", key=True),
        text("tenant", key=True),
        text("principal"),
        whole("useful"),
        text("at"),
        _of_a_memory("vote_has_its_memory"),
        *yes_no("useful"),
    )
    create(
        "learned_terms",
        text("memory_id", key=True),
        text("term", key=True),
        text("tenant", key=True),
        text("state"),
        text("learned_at"),
        text("applied_at", null=True),
        text("ended_at", null=True),
        text("writer"),
        _of_a_memory("learned_term_has_its_memory"),
        one_of("state", STATES),
    )
    op.create_index("learned_terms_by_state", "learned_terms", ["state", "tenant"])
    create(
        "learning_evidence",
        text("memory_id", key=True),
        text("term", key=True),
        text("session_id", key=True),
        text("tenant", key=True),
        text("principal"),
        text("query_id"),
        whole("rank"),
        text("at"),
        _of_a_memory("evidence_has_its_memory"),
        *not_negative("rank"),
    )
    create(
        "learning_changes",
        counter("id"),
        text("tenant"),
        text("memory_id"),
        text("kind"),
        text("before"),
        text("after"),
        text("detail"),
        text("writer"),
        text("at"),
        text("undone_at", null=True),
        _of_a_memory("learning_change_has_its_memory"),
        one_of("kind", KINDS),
    )
    op.create_index("learning_changes_by_memory", "learning_changes", ["memory_id", "tenant"])
    _progress()


def _progress() -> None:
    create(
        "learning_cycles",
        text("tenant", key=True),
        whole("number", key=True),
        text("began_at"),
        text("ended_at"),
        whole("queries"),
        *not_negative("number", "queries"),
    )
    create(
        "learning_progress",
        text("tenant", key=True),
        whole("last_event"),
        whole("last_watched"),
        text("killed_at", null=True),
        text("killed_because"),
        *not_negative("last_event", "last_watched"),
    )


def _of_a_memory(name: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant", "memory_id"], ["memories.tenant", "memories.id"], name=name, ondelete="CASCADE"
    )
