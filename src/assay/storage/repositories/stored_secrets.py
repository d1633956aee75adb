"""Secrets in rows that an older version stored: found, and masked in place.

Every table that has a tenant is looked at, by the description of the schema, so that tables added later are looked at
too. Memories, and what is made of them, are the business of `assay.memory.rescanning`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Table, Text, and_, delete, select, update

from assay.storage.repositories.audit import Audit
from assay.storage.repositories.base import Bound, Repository
from assay.storage.tables import audit, metadata
from assay.storage.types import Json
from assay.text.secrets import Held, find_in_json, mask_json

OF_MEMORIES = frozenset({"memories", "chunks", "memory_triggers", "vectors", "indexed_documents"})
"""Tables that are written anew with their memory."""
LEFT_ALONE = frozenset({"access_tokens", "login_sessions", "known_files", "owned_files", "changes", "eval_candidates"})
"""Hashes, paths, ids and packed numbers."""
_ROWS_AT_A_TIME = 500


class HeldRow(NamedTuple):
    """A row with secrets in it."""

    table: str
    key: Mapping[str, Any]
    values: Mapping[str, Any]
    secrets: tuple[Held, ...]


class StoredSecrets(Repository):
    """Finds and masks secrets in the rows of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._audit = Audit(bound)

    def rows(self) -> Iterator[HeldRow]:
        """Find every row that holds a secret, but for memories and what is made of them."""
        for table in metadata.sorted_tables:
            if "tenant" in table.columns and table.name not in OF_MEMORIES | LEFT_ALONE:
                yield from self._find_held(table)

    def mask(self) -> int:
        """Mask the secrets in all these rows; return how many rows were changed.

        A row whose key itself is a secret, such as a word that was learned from a search, is deleted.
        """
        tables = {table.name: table for table in metadata.sorted_tables}
        held = list(self.rows())
        entries: dict[int, Mapping[str, Any]] = {}
        for row in held:
            table = tables[row.table]
            same = and_(*(table.c[name] == value for name, value in row.key.items()))
            keys = {column.name for column in table.primary_key.columns}
            clean = {name: mask_json(value, "", []) for name, value in row.values.items()}
            changed = {name: value for name, value in clean.items() if value != row.values[name]}
            if table is audit:
                entries[row.key["id"]] = changed
            elif keys & changed.keys():
                self._connection.execute(delete(table).where(same))
            else:
                self._connection.execute(update(table).where(same).values(changed))
        # The audit log is a chain: it is changed by its own means, which say so in an entry.
        self._audit.redact(entries)
        return len(held)

    def _find_held(self, table: Table) -> Iterator[HeldRow]:
        texts = [column for column in table.columns if column.name != "tenant" and isinstance(column.type, Json | Text)]
        if not texts:
            return
        keys = list(table.primary_key.columns)
        wanted = select(*{*keys, *texts}).where(self._mine(table)).execution_options(yield_per=_ROWS_AT_A_TIME)
        with self._connection.execute(wanted) as rows:
            for row in rows:
                values = {column.name: getattr(row, column.name) for column in texts}
                secrets = tuple(one for value in values.values() if value for one in find_in_json(value))
                if secrets:
                    key = {column.name: getattr(row, column.name) for column in keys}
                    yield HeldRow(table.name, key, values, secrets)
