"""Add the facts that memories state.

Memories of earlier versions have none until their texts are read again, by `assay index compact` or `reembed`.
"""

from alembic import op
from sqlalchemy import ForeignKeyConstraint

from assay.storage.migrations.columns import create, one_of, text, whole, yes_no

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table with its two ways in: what is stated on a topic, and what is stated about a subject."""
    create(
        "memory_facts",
        text("memory_id", key=True),
        whole("position", key=True),
        text("tenant", key=True),
        text("subject"),
        text("relation"),
        text("topic"),
        text("value"),
        text("shown"),
        text("kind"),
        whole("negated"),
        text("replaces"),
        whole("is_change"),
        whole("start"),
        whole("stop"),
        text("valid_from"),
        text("valid_to", null=True),
        text("ended_by", null=True),
        text("confirmed_at", null=True),
        text("restated_at", null=True),
        one_of("kind", ("single", "several", "unknown")),
        *yes_no("negated", "is_change"),
        ForeignKeyConstraint(
            ["tenant", "memory_id"], ["memories.tenant", "memories.id"], name="fact_has_its_memory", ondelete="CASCADE"
        ),
    )
    # No index begins with the tenant: see the first migration.
    op.create_index("memory_facts_by_topic", "memory_facts", ["topic", "tenant"])
    op.create_index("memory_facts_by_subject", "memory_facts", ["subject", "tenant"])
    op.create_index("memory_facts_by_end", "memory_facts", ["ended_by", "tenant"])
