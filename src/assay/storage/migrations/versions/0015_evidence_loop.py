"""Let flags be variants of the settings, and judgments come from a click model."""

from alembic import op
from sqlalchemy import CheckConstraint, UniqueConstraint

from assay.storage.migrations.columns import counter, create, one_of, real, share, text, whole

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

SOURCES = ("manual", "validated", "implicit", "click_model", "llm_judge", "bootstrapped")
COLUMNS = "id, tenant, query_id, memory_id, relevance, source, annotator, confidence, created_at"


def upgrade() -> None:
    """Add what defines a variant to `flags`, and one more source to judgments."""
    op.add_column("flags", text("spec", null=True))
    op.add_column("flags", whole("graduates_itself", null=True))
    if op.get_context().dialect.name == "sqlite":
        _copy_judgments()
        return
    op.drop_constraint("source_is_known", "eval_judgments")
    listed = ", ".join(f"'{source}'" for source in SOURCES)
    op.create_check_constraint("source_is_known", "eval_judgments", f"source IN ({listed})")


def _copy_judgments() -> None:
    """SQLite cannot change a constraint: make the table again, fill it, and give it the old name."""
    create(
        "eval_judgments_new",
        counter("id"),
        text("tenant"),
        text("query_id"),
        text("memory_id"),
        whole("relevance"),
        text("source"),
        text("annotator"),
        real("confidence"),
        text("created_at"),
        UniqueConstraint("tenant", "query_id", "memory_id", "source", "annotator", name="judged_once_by_each"),
        CheckConstraint("relevance BETWEEN 0 AND 3", name="relevance_is_a_grade"),
        one_of("source", SOURCES),
        *share("confidence"),
    )
    op.execute(f"INSERT INTO eval_judgments_new ({COLUMNS}) SELECT {COLUMNS} FROM eval_judgments")  # noqa: S608 - constants
    op.drop_table("eval_judgments")
    op.rename_table("eval_judgments_new", "eval_judgments")
    op.create_index("eval_judgments_by_memory", "eval_judgments", ["tenant", "memory_id"])
    op.create_index("eval_judgments_by_source", "eval_judgments", ["tenant", "source"])
