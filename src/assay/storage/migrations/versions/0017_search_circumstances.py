"""Add to the query log what a search was asked under; searches of earlier versions have none of it.

How full the caller's context was, whether that or the caller chose the mode, and the kind of work.
"""

from alembic import op

from assay.storage.migrations.columns import real, text, whole

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

PRESSURES = ("none", "low", "high", "critical")


def upgrade() -> None:
    """Add the columns with their checks; null is allowed in all of them."""
    listed = ", ".join(f"'{level}'" for level in PRESSURES)
    checks = {
        "mode_overridden": ("mode_overridden_is_yes_or_no", "mode_overridden IN (0, 1)"),
        "pressure_level": ("pressure_level_is_known", f"pressure_level IN ({listed})"),
        "token_usage_ratio": ("token_usage_ratio_is_a_share", "token_usage_ratio BETWEEN 0 AND 1"),
    }
    if op.get_context().dialect.name == "sqlite":
        types = {"mode_overridden": "INTEGER", "pressure_level": "TEXT", "token_usage_ratio": "REAL"}
        for name, (check, condition) in checks.items():
            # SQLite adds no constraint to a table that exists, except with a new column.
            column = f"{name} {types[name]} CONSTRAINT {check} CHECK ({condition})"
            op.execute(f"ALTER TABLE eval_queries ADD COLUMN {column}")
        op.execute("ALTER TABLE eval_queries ADD COLUMN context_type TEXT")
        return
    op.add_column("eval_queries", whole("mode_overridden", null=True))
    op.add_column("eval_queries", text("pressure_level", null=True))
    op.add_column("eval_queries", real("token_usage_ratio", null=True))
    op.add_column("eval_queries", text("context_type", null=True))
    for check, condition in checks.values():
        op.create_check_constraint(check, "eval_queries", condition)
