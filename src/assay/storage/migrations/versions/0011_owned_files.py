"""Whose a run, a dataset, a journal of labels or a report is."""

from alembic import op

from assay.storage.migrations.columns import create, one_of, text

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

KINDS = ("run", "dataset", "labels", "report")


def upgrade() -> None:
    """Make the table, and fill it with the runs that the store has results of; nobody wrote down who made those."""
    create(
        "owned_files",
        text("tenant", key=True),
        text("kind", key=True),
        text("name", key=True),
        text("principal"),
        text("created_at"),
        one_of("kind", KINDS),
    )
    op.create_index("owned_files_by_name", "owned_files", ["kind", "name"])
    op.execute(
        "INSERT INTO owned_files (tenant, kind, name, principal, created_at) "
        "SELECT tenant, 'run', run_id, '', MIN(created_at) FROM eval_results GROUP BY tenant, run_id"
    )
