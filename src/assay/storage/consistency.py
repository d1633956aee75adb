"""Do the tables agree with each other? Used after a restore, by `assay doctor`, and by every crash test.

Each question returns the first few offenders in words; an empty list means the store is whole.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

LIMIT = 5

_LAST = """
    WITH last AS (
      SELECT h.tenant, h.kind, h.row_id, h.operation FROM changes h
      JOIN (SELECT max(seq) AS seq FROM changes GROUP BY tenant, kind, row_id) n ON n.seq = h.seq)"""

# One row for each offender; the first column is what to show. Every tenant is looked at.
# EXCEPT where the key is computed: SQLite would compare every pair in a join that no index serves.
_QUESTIONS = {
    "chunk without its memory": """
        SELECT c.memory_id || '#' || c.position FROM chunks c
        LEFT JOIN memories m ON m.tenant = c.tenant AND m.id = c.memory_id WHERE m.id IS NULL""",
    "memory whose chunks are not numbered from 0 without gaps": """
        SELECT memory_id FROM chunks GROUP BY tenant, memory_id HAVING max(position) + 1 <> count(*)""",
    "edge without one of its ends": """
        SELECT e.source_id || ' ' || e.kind || ' ' || e.target_id FROM edges e
        LEFT JOIN memories s ON s.tenant = e.tenant AND s.id = e.source_id
        LEFT JOIN memories t ON t.tenant = e.tenant AND t.id = e.target_id
        WHERE s.id IS NULL OR t.id IS NULL""",
    "memory that the change log does not know, or knows as deleted": f"""{_LAST}
        SELECT m.id FROM memories m
        LEFT JOIN last l ON l.tenant = m.tenant AND l.kind = 'memory' AND l.row_id = m.id
        LEFT JOIN meta t ON t.key = 'changes_trimmed_to:' || m.tenant
        WHERE l.operation = 'delete' OR (l.operation IS NULL AND t.key IS NULL)""",
    "chunk that the change log does not know, or knows as deleted": f"""{_LAST}
        SELECT c.id FROM (SELECT tenant, memory_id || '#' || position AS id FROM chunks) c
        LEFT JOIN last l ON l.tenant = c.tenant AND l.kind = 'chunk' AND l.row_id = c.id
        LEFT JOIN meta t ON t.key = 'changes_trimmed_to:' || c.tenant
        WHERE l.operation = 'delete' OR (l.operation IS NULL AND t.key IS NULL)""",
    "deleted memory that the change log believes alive": f"""{_LAST}
        SELECT l.row_id FROM last l LEFT JOIN memories m ON m.tenant = l.tenant AND m.id = l.row_id
        WHERE l.kind = 'memory' AND l.operation <> 'delete' AND m.id IS NULL""",
    "deleted chunk that the change log believes alive": f"""{_LAST}
        SELECT g.row_id FROM (
          SELECT tenant, row_id FROM last WHERE kind = 'chunk' AND operation <> 'delete'
          EXCEPT SELECT tenant, memory_id || '#' || position FROM chunks) g""",
    "query whose result count differs from its list": """
        SELECT query_id FROM eval_queries WHERE result_count <> CASE result_ids WHEN '[]' THEN 0
          ELSE length(result_ids) - length(replace(result_ids, ',', '')) + 1 END""",
    "candidates without their query": """
        SELECT c.query_id FROM eval_candidates c
        LEFT JOIN eval_queries q ON q.tenant = c.tenant AND q.query_id = c.query_id WHERE q.query_id IS NULL""",
    "store without an epoch": """
        SELECT 'meta' FROM schema_version WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'epoch')""",
}


def problems(connection: Connection) -> list[str]:
    """What does not hold, in words; nothing when the store is whole."""
    found: list[str] = []
    for promise, question in _QUESTIONS.items():
        offenders = [str(row[0]) for row in connection.execute(text(f"{question} LIMIT {LIMIT}"))]
        found += [f"{promise}: {offender}" for offender in offenders]
    return found
