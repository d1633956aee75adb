"""Do the tables agree with each other? Used after a restore, by `assay doctor`, and by every crash test.

Each question returns the first few offenders in words; an empty list means the store is whole.
"""

from __future__ import annotations

import json
from itertools import islice

from sqlalchemy import Connection, text

from assay.storage.full_text import trigger_phrases

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
    "chunk without its words": """
        SELECT c.memory_id || '#' || c.position FROM chunks c
        JOIN (SELECT number FROM chunks EXCEPT SELECT number FROM words) g ON g.number = c.number""",
    "words without their chunk": """
        SELECT number FROM (SELECT number FROM words EXCEPT SELECT number FROM chunks) g""",
    "vector without its chunk": """
        SELECT v.number FROM vectors v
        LEFT JOIN chunks c ON c.tenant = v.tenant AND c.number = v.number WHERE c.number IS NULL""",
    "query whose result count differs from its list": """
        SELECT query_id FROM eval_queries WHERE result_count <> CASE result_ids WHEN '[]' THEN 0
          ELSE length(result_ids) - length(replace(result_ids, ',', '')) + 1 END""",
    "candidates without their query": """
        SELECT c.query_id FROM eval_candidates c
        LEFT JOIN eval_queries q ON q.tenant = c.tenant AND q.query_id = c.query_id WHERE q.query_id IS NULL""",
    "store without an epoch": """
        SELECT 'meta' FROM schema_version WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'epoch')""",
}


_OF_POSTGRES = {
    "tenant whose word index in the database does not hold every chunk": """
        SELECT t.tenant FROM passage_stem_totals t WHERE t.complete = 1 AND (
          t.passages <> (SELECT count(*) FROM chunks c WHERE c.tenant = t.tenant)
          OR t.passages <> (SELECT count(*) FROM passage_stems p WHERE p.tenant = t.tenant))""",
}

_WORDS = {
    "sqlite": "(SELECT rowid AS number FROM passages_fts) words",
    "postgresql": "(SELECT number FROM passages_text) words",
}
"""Where each back end keeps the words of a chunk."""


def problems(connection: Connection) -> list[str]:
    """Describe where the tables contradict each other; an empty list if the store is consistent."""
    found: list[str] = []
    words = _WORDS[connection.dialect.name]
    asked = _QUESTIONS if connection.dialect.name == "sqlite" else _QUESTIONS | _OF_POSTGRES
    for promise, question in asked.items():
        query = question.replace("FROM words", f"FROM {words}")
        offenders = [str(row[0]) for row in connection.execute(text(f"{query} LIMIT {LIMIT}"))]
        found += [f"{promise}: {offender}" for offender in offenders]
    return found + _stray_triggers(connection)


def _stray_triggers(connection: Connection) -> list[str]:
    """Compare stored trigger phrases with those of the memories; SQL alone cannot, as Assay computes phrases."""
    kept = set(map(tuple, connection.execute(text("SELECT tenant, memory_id, phrase FROM memory_triggers"))))
    expected = {
        (tenant, memory_id, phrase)
        for tenant, memory_id, triggers in connection.execute(
            text("SELECT tenant, id, triggers FROM memories WHERE triggers <> '[]'")
        )
        for phrase in trigger_phrases(json.loads(triggers))
    }
    return [
        f"{promise}: {memory_id} {phrase!r}"
        for promise, stray in (
            ("trigger that cannot be looked up", expected - kept),
            ("trigger to look up that no memory has", kept - expected),
        )
        for _, memory_id, phrase in islice(sorted(stray), LIMIT)
    ]
