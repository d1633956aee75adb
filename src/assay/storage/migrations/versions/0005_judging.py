"""What judges need: their inputs, verdicts and calibrations, kept replies, and what asking cost."""

from __future__ import annotations

from alembic import op
from sqlalchemy import UniqueConstraint

from assay.storage.migrations.columns import (
    counter,
    create,
    finite,
    not_negative,
    one_of,
    real,
    text,
    whole,
    yes_no,
)

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KINDS = ("groundedness", "correctness", "abstention")
OUTCOMES = ("scored", "unreadable", "unavailable", "skipped", "contested", "void")


def upgrade() -> None:
    """Make the tables."""
    _judging()
    _asking()


def _judging() -> None:
    create(
        "judge_inputs",
        text("tenant", key=True),
        text("input_hash", key=True),
        text("kind"),
        text("created_at"),
        text("content"),
        one_of("kind", KINDS),
    )
    create(
        "judge_verdicts",
        counter("id"),
        text("tenant"),
        text("run_id"),
        text("case_id"),
        whole("repeat"),
        text("kind"),
        text("fingerprint_id"),
        text("input_hash"),
        text("outcome"),
        real("score", null=True),
        text("reason"),
        text("created_at"),
        text("detail"),
        UniqueConstraint(
            "tenant", "run_id", "case_id", "repeat", "kind", "fingerprint_id", name="verdict_is_given_once"
        ),
        one_of("kind", KINDS),
        one_of("outcome", OUTCOMES),
        *not_negative("repeat"),
        *finite("score"),
    )
    create(
        "judge_calibrations",
        counter("id"),
        text("tenant"),
        text("fingerprint_id"),
        text("kind"),
        text("made_at"),
        text("expires_at"),
        text("labels_hash"),
        whole("cases"),
        whole("passed"),
        text("figures"),
        text("fingerprint"),
        one_of("kind", KINDS),
        *not_negative("cases"),
        *yes_no("passed"),
    )
    op.create_index("judge_calibrations_by_judge", "judge_calibrations", ["tenant", "fingerprint_id", "made_at"])


def _asking() -> None:
    create(
        "model_replies",
        text("tenant", key=True),
        text("key", key=True),
        text("created_at"),
        text("reply"),
    )
    create(
        "model_accounts",
        text("tenant", key=True),
        text("account", key=True),
        whole("tokens"),
        whole("nano_usd"),
        *not_negative("tokens", "nano_usd"),
    )
    create(
        "model_reservations",
        text("tenant", key=True),
        text("reservation", key=True),
        text("account"),
        whole("tokens"),
        whole("nano_usd"),
        text("created_at"),
        *not_negative("tokens", "nano_usd"),
    )
