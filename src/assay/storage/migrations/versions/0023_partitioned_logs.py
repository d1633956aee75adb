"""Let the tables of the query log consist of months on PostgreSQL, so that old months can be dropped as a whole.

`eval_queries`, `eval_candidates` and `eval_shadow_runs` become tables that are partitioned by `query_id`. Such an id
begins with the time it was made, so that a range of ids is a range of time, and the key of a query stays unique over
all months. SQLite is left as it is.
"""

from alembic import op
from sqlalchemy import text as sql

from assay.storage.repositories.month_partitions import MONTHLY, create_month, other_of, read_months

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

KEYS = {
    "eval_queries": (
        "PRIMARY KEY (id, query_id)",
        "CONSTRAINT query_is_logged_once UNIQUE (tenant, query_id)",
    ),
    "eval_candidates": (
        "PRIMARY KEY (tenant, query_id, channel)",
        (
            "CONSTRAINT candidates_have_their_query FOREIGN KEY (tenant, query_id)"
            " REFERENCES eval_queries (tenant, query_id) ON DELETE CASCADE"
        ),
    ),
    "eval_shadow_runs": ("PRIMARY KEY (id, query_id)",),
}
INDEXES = {
    "eval_queries": {
        "eval_queries_by_session_id": "(session_id, tenant)",
        "eval_queries_by_intent": "(intent, tenant)",
        "eval_queries_by_created_at": "(created_at, tenant)",
        "eval_queries_by_tool_name": "(tool_name, tenant)",
        "eval_queries_in_corpus": "(tenant, query_id) WHERE is_eval_corpus = 1",
    },
    "eval_candidates": {},
    "eval_shadow_runs": {
        "eval_shadow_runs_by_feature": "(tenant, feature_id)",
        "eval_shadow_runs_by_created_at": "(tenant, created_at)",
    },
}


def upgrade() -> None:
    """Make each table anew as one of months, and put its rows into them."""
    if op.get_context().dialect.name == "sqlite":
        return
    for table in MONTHLY:
        op.execute(sql(f"ALTER TABLE {table} RENAME TO {table}_before"))
        op.execute(
            sql(
                f"CREATE TABLE {table} (LIKE {table}_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)"
                " PARTITION BY RANGE (query_id)"
            )
        )
        op.execute(sql(f"CREATE TABLE {other_of(table)} PARTITION OF {table} DEFAULT"))
    # The constraints and indexes of the old tables have the names that the new ones get.
    op.execute(sql("ALTER TABLE eval_candidates_before DROP CONSTRAINT candidates_have_their_query"))
    op.execute(sql("ALTER TABLE eval_queries_before DROP CONSTRAINT query_is_logged_once"))
    for table in MONTHLY:
        for index in INDEXES[table]:
            op.execute(sql(f"DROP INDEX {index}"))
        for key in KEYS[table]:
            op.execute(sql(f"ALTER TABLE {table} ADD {key}"))
        for index, columns in INDEXES[table].items():
            op.execute(sql(f"CREATE INDEX {index} ON {table} {columns}"))
    connection = op.get_bind()
    for month in read_months(connection, [f"{table}_before" for table in MONTHLY]):
        create_month(connection, month)
    for table in MONTHLY:
        op.execute(sql(f"INSERT INTO {table} SELECT * FROM {table}_before"))  # noqa: S608 - constants
        if table != "eval_candidates":
            op.execute(sql(f"ALTER SEQUENCE {table}_id_seq OWNED BY {table}.id"))
        op.execute(sql(f"DROP TABLE {table}_before"))
