"""Add the tables of the word index that PostgreSQL itself answers from, for `index.kind = database`.

They stay empty until a tenant is indexed in the database. SQLite has none of them.
"""

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import TSVECTOR

from assay.storage.migrations.columns import create, not_negative, text, whole, yes_no

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the stems of passages, how many passages hold each, and a line about each indexed tenant."""
    if op.get_context().dialect.name == "sqlite":
        return
    create(
        "passage_stems",
        whole("number", key=True),
        text("tenant"),
        whole("memory_number"),
        whole("length"),
        Column("stems", TSVECTOR, nullable=False),
        ForeignKeyConstraint(["tenant", "number"], ["chunks.tenant", "chunks.number"], name="stems_have_their_chunk"),
        *not_negative("length"),
    )
    # Not compressed: a search looks at the stems of thousands of passages.
    op.execute(sql("ALTER TABLE passage_stems ALTER COLUMN stems SET STORAGE EXTERNAL"))
    op.create_index("passage_stems_by_stem", "passage_stems", ["stems"], postgresql_using="gin")
    create("passage_stem_counts", text("stem", key=True), text("tenant", key=True), whole("passages"))
    # Frequent stems change with every save: room for that in the same page keeps the key's index as it is.
    op.execute(sql("ALTER TABLE passage_stem_counts SET (fillfactor = 60)"))
    create(
        "passage_stem_totals",
        text("tenant", key=True),
        whole("passages"),
        whole("tokens"),
        whole("complete"),
        text("analysis"),
        whole("title_repeats"),
        *not_negative("passages", "tokens", "title_repeats"),
        *yes_no("complete"),
    )
    op.create_index(
        "memories_superseded",
        "memories",
        ["number", "tenant"],
        postgresql_where=sql("superseded_at IS NOT NULL"),
    )
