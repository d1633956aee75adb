"""What the promotion ladder needs: votes, interleaved lists, steps, and more about shadow runs."""

from alembic import op
from sqlalchemy import CheckConstraint, UniqueConstraint

from assay.storage.migrations.columns import counter, create, not_negative, one_of, real, text, whole

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

KINDS = ("paired", "interleaved", "split")
ARMS = ("control", "treatment", "both")
STEPS = ("offline", "shadow", "interleaving", "ab_test", "graduation", "guardrail")
OUTCOMES = (
    "begun",
    "passed",
    "failed",
    "inconclusive",
    "recommended",
    "graduated",
    "rejected",
    "paused",
    "rolled_back",
)


def upgrade() -> None:
    """Make the tables."""
    create(
        "ab_votes",
        counter("id"),
        text("tenant"),
        text("feature_id"),
        whole("attempt"),
        text("query_key"),
        text("kind"),
        text("arm"),
        real("difference"),
        text("query_id", null=True),
        text("created_at"),
        UniqueConstraint("tenant", "feature_id", "attempt", "query_key", name="one_vote_for_each_query"),
        one_of("kind", KINDS),
        one_of("arm", ARMS),
        CheckConstraint("difference BETWEEN -1 AND 1", name="difference_is_a_vote"),
    )
    create(
        "interleavings",
        text("tenant", key=True),
        text("query_id", key=True),
        text("feature_id"),
        whole("attempt"),
        text("control_ids"),
        text("treatment_ids"),
        text("created_at"),
        text("credited_at", null=True),
    )
    op.create_index("interleavings_by_feature", "interleavings", ["tenant", "feature_id", "attempt"])
    create(
        "ladder_steps",
        counter("id"),
        text("tenant"),
        text("feature_id"),
        whole("attempt"),
        text("step"),
        text("outcome"),
        text("sentence"),
        text("detail"),
        text("actor"),
        text("created_at"),
        one_of("step", STEPS),
        one_of("outcome", OUTCOMES),
        *not_negative("attempt"),
    )
    op.create_index("ladder_steps_by_feature", "ladder_steps", ["tenant", "feature_id"])
    op.add_column("eval_shadow_runs", real("rbo", null=True))
    op.add_column("eval_shadow_runs", text("classified", null=True))
    op.add_column("eval_shadow_runs", text("problem", null=True))
