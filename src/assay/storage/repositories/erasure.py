"""Erase rows from every table, and mask secrets that an older version stored.

- Erase rows in every table.
- Secrets in rows of older versions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Table, Text, and_, delete, func, literal, or_, select, text, update
from sqlalchemy.exc import IntegrityError

from assay.hashing import HASH_PREFIX, content_hash
from assay.records import DEFAULT_TENANT
from assay.records.scope import ID_MARK
from assay.storage.erasing import ERASED, Marks
from assay.storage.postgres import take_turn
from assay.storage.repositories.base import EPOCH, Bound, Meta, Repository
from assay.storage.repositories.history import Audit
from assay.storage.repositories.stems import Stems
from assay.storage.rows import Json
from assay.storage.tables import (
    audit,
    chunks,
    edges,
    eval_queries,
    judge_inputs,
    judge_verdicts,
    learned_terms,
    learning_evidence,
    memories,
    memory_saves,
    meta,
    metadata,
    owned_files,
)
from assay.text.secrets import Held, find_in_json, mask_json

# --- Erase rows in every table ---
#
# There are four kinds of tables. Rows that belong to a memory or a query are deleted with it. Records that must stay
# complete (audit, results, tests, verdicts, decisions of saves, flags) keep their rows, and the texts are replaced.
# Cached replies of models are all deleted. In all other tables the row is deleted, or its texts are replaced if another
# row refers to it. The change log holds ids and numbers, but no texts.

GOES_WITH_ITS_OWNER = frozenset(
    {
        "memories",
        "chunks",
        "vectors",
        "memory_triggers",
        "memory_facts",
        "indexed_documents",
        "eval_queries",
        "eval_candidates",
        "changes",
        "known_files",
        "owned_files",
    }
)
STAYS_WITHOUT_THE_WORDS = frozenset(
    {
        "audit",
        "eval_results",
        "eval_ab_tests",
        "ab_votes",
        "ladder_steps",
        "flags",
        "memory_saves",
        "judge_verdicts",
        "judge_calibrations",
        "model_accounts",
        "access_tokens",
    }
)
EMPTIED = frozenset({"model_replies"})
"""Replies of models are stored under a hash of the request, so those about an erased text cannot be identified."""
LEARNED_WORD_BY_WORD = frozenset({"learned_terms", "learning_evidence", "learning_changes"})
"""Tables with single learned words, so that a part of a name counts as a name there."""
ACTORS = frozenset(
    {
        "written_by",
        "writer",
        "actor",
        "updated_by",
        "annotator",
        "principal",
        "approved_by",
        "created_by",
        "reviewed_by",
    }
)
"""Columns, in any table, with the name of an actor."""
_ROWS_AT_A_TIME = 1_000
_FULL_TEXT = {
    "sqlite": "DELETE FROM passages_fts WHERE rowid IN (SELECT number FROM chunks WHERE tenant = :tenant)",
    "postgresql": "DELETE FROM passages_text WHERE tenant = :tenant",
}


class Erasure(Repository):
    """Erases rows of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._meta = Meta(bound)
        self._audit = Audit(bound)
        self._stems = Stems(bound)

    def queries_holding(self, marks: Marks) -> list[str]:
        """Return the logged queries whose texts or results hold a mark."""
        asked = eval_queries.c
        columns = (asked.query_id, asked.query, asked.previous_query, asked.result_ids)
        rows = self._stream(select(*columns).where(self._mine(eval_queries)))
        return [
            row.query_id
            for row in rows
            if marks.in_value([row.query, row.previous_query]) or not marks.ids.isdisjoint(row.result_ids)
        ]

    def remove_queries(self, query_ids: Sequence[str]) -> int:
        """Delete logged queries with their candidates."""
        statement = delete(eval_queries).where(
            self._mine(eval_queries), self._among(eval_queries.c.query_id, query_ids)
        )
        return int(self._connection.execute(statement).rowcount)

    def remove_saves(self, save_ids: Iterable[str]) -> int:
        """Delete the records of some saves."""
        statement = delete(memory_saves).where(
            self._mine(memory_saves), self._among(memory_saves.c.save_id, list(save_ids))
        )
        return int(self._connection.execute(statement).rowcount)

    def count(self, marks: Marks | None) -> Counter[str]:
        """Count rows with a mark by table, without memories, queries and their rows; without marks, all rows."""
        held: Counter[str] = Counter()
        for table in _tables():
            if marks is None:
                counted = select(func.count()).select_from(table).where(self._mine(table))
                held[table.name] += self._connection.execute(counted).scalar_one()
            elif table.name not in GOES_WITH_ITS_OWNER | EMPTIED:
                held[table.name] += len(self._holding(table, marks))
        return +held

    def terms_learned_from(self, query_ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return the terms that memories learned from some searches, as memory and term."""
        evidence = learning_evidence.c
        statement = select(evidence.memory_id, evidence.term).where(
            self._mine(learning_evidence), self._among(evidence.query_id, query_ids)
        )
        return [(row.memory_id, row.term) for row in self._connection.execute(statement.distinct())]

    def remove_terms(self, terms: Iterable[tuple[str, str]]) -> int:
        """Delete learned terms with their evidence and changes."""
        gone = 0
        for memory_id, term in terms:
            for table in (learned_terms, learning_evidence):
                same = (self._mine(table), table.c.memory_id == memory_id, table.c.term == term)
                gone += self._connection.execute(delete(table).where(*same)).rowcount
        return gone

    def strike(self, marks: Marks) -> Counter[str]:
        """Erase marks from every table; return the number of changed rows by table."""
        touched = self._strike_owned(marks)
        for table in _tables():
            if table.name in EMPTIED:
                touched[table.name] += self._connection.execute(delete(table).where(self._mine(table))).rowcount
            elif table.name in STAYS_WITHOUT_THE_WORDS:
                touched[table.name] += self._reword(table, self._holding(table, marks), marks)
            elif table.name not in GOES_WITH_ITS_OWNER:
                touched[table.name] += self._remove(table, self._holding(table, marks), marks)
        if touched[edges.name]:
            self._meta.note_unlogged()
        return +touched

    def rename_actor(self, actor: str, pseudonym: str) -> Counter[str]:
        """Replace the name of an actor by a pseudonym in every table, with or without a token id."""
        touched: Counter[str] = Counter()
        for table in _tables():
            for column in table.columns:
                if table is audit and column.name in ACTORS:
                    touched[table.name] += self._rename_in_audit(actor, pseudonym)
                elif column.name in ACTORS:
                    with_id = column.startswith(f"{actor}{ID_MARK}", autoescape=True)
                    same = (self._mine(table), or_(column == actor, with_id))
                    # The id stays: two tokens with the same name have separate grades, which must not be merged.
                    renamed = literal(pseudonym, Text) + func.substr(column, len(actor) + 1)
                    changed = update(table).where(*same).values({column.name: renamed})
                    touched[table.name] += self._connection.execute(changed).rowcount
        return +touched

    def _rename_in_audit(self, actor: str, pseudonym: str) -> int:
        """Replace the name in the audit log, and erase the address the actor came from."""
        rows = self._connection.execute(select(audit.c.id).where(self._mine(audit), audit.c.actor == actor)).scalars()
        return self._audit.redact({row_id: {"actor": pseudonym, "via": ""} for row_id in rows.all()})

    def strike_tenant(self, epoch: str) -> Counter[str]:
        """Erase every row of the tenant, and set a new epoch, so that followers of the change log rebuild."""
        given = {"tenant": self._tenant}
        self._connection.execute(text(_FULL_TEXT[self._connection.dialect.name]), given)
        self._stems.forget()
        touched: Counter[str] = Counter()
        # Files are not erased with the rows. Without an owner the tenant that runs the server would see them.
        nobody = update(owned_files).where(self._mine(owned_files)).values(tenant=f"erased_{epoch}", principal="")
        touched[owned_files.name] += self._connection.execute(nobody).rowcount
        left = list(_tables())
        # Rows refer to rows of other tables: each round deletes rows that are no longer referred to.
        while left:
            refused = [table for table in left if not self._empty(table, touched)]
            if len(refused) == len(left):
                self._connection.execute(delete(refused[0]).where(self._mine(refused[0])))
            left = refused
        own = meta.c.key.endswith(f":{self._tenant}", autoescape=True)
        self._connection.execute(delete(meta).where(own))
        self._meta.put(EPOCH, epoch)
        self._tell_of_tenant(touched.total())
        return +touched

    def _tell_of_tenant(self, rows: int) -> None:
        """Record in the audit log of the default tenant that a tenant was erased, with a hash in place of its name."""
        target = content_hash(self._tenant).removeprefix(HASH_PREFIX)[:16]
        # No other transaction may add to the default tenant's chain meanwhile.
        take_turn(self._connection, DEFAULT_TENANT)
        self._audit.append_to(DEFAULT_TENANT, "tenant.forget", target, {"rows": rows})

    def find_stored(self, texts: Iterable[str]) -> set[str]:
        """Return which of these texts occur in a row of any tenant, to explain bytes that were found in a file."""
        marks = {text: Marks(pieces=(text,)) for text in texts}
        found: set[str] = set()
        for table in metadata.sorted_tables if marks else ():
            columns = _texts(table)
            for row in self._stream(select(*columns)) if columns else ():
                found |= {text for text, mark in marks.items() if text not in found and mark.in_value(list(row))}
        return found

    def _strike_owned(self, marks: Marks) -> Counter[str]:
        """Erase records about erased items: delete decisions of saves, replace texts of audit entries and verdicts."""
        ids = list(marks.ids)
        saves = delete(memory_saves).where(self._mine(memory_saves), self._among(memory_saves.c.memory_id, ids))
        about = (self._mine(audit), self._among(audit.c.target, ids), audit.c.detail != {})
        lines = self._connection.execute(select(audit.c.id).where(*about)).scalars().all()
        inputs = [row["input_hash"] for row in self._holding(judge_inputs, marks)]
        self._clear_surroundings(marks)
        verdicts = (
            update(judge_verdicts)
            .where(self._mine(judge_verdicts), self._among(judge_verdicts.c.input_hash, inputs))
            .values(reason=ERASED, detail={"erased": True})
        )
        return Counter(
            {
                "memory_saves": self._connection.execute(saves).rowcount,
                "audit": self._audit.redact({row_id: {"detail": {"erased": True}} for row_id in lines}),
                "judge_verdicts": self._connection.execute(verdicts).rowcount,
            }
        )

    def _clear_surroundings(self, marks: Marks) -> None:
        """Empty what stood around memories where it holds a mark: a turn of a chat is copied into its neighbours."""
        around = select(memories.c.id, memories.c.surroundings).where(
            self._mine(memories), memories.c.surroundings != ""
        )
        held = [row.id for row in self._stream(around) if marks.in_value(row.surroundings)]
        mine = (self._mine(memories), self._among(memories.c.id, held))
        self._connection.execute(update(memories).where(*mine).values(surroundings=""))
        passages = select(chunks.c.number).where(self._mine(chunks), self._among(chunks.c.memory_id, held))
        self._stems.rewrite(list(self._connection.execute(passages).scalars()))

    def _holding(self, table: Table, marks: Marks) -> list[Mapping[str, Any]]:
        marks = marks.word_by_word() if table.name in LEARNED_WORD_BY_WORD else marks
        columns = _texts(table)
        keys = list(table.primary_key.columns)
        rows = self._stream(select(*{*keys, *columns}).where(self._mine(table)))
        return [
            dict(row._mapping)  # noqa: SLF001 - public in SQLAlchemy despite the underscore
            for row in rows
            if any(marks.in_value(getattr(row, column.name)) for column in columns)
        ]

    def _remove(self, table: Table, rows: Sequence[Mapping[str, Any]], marks: Marks) -> int:
        for row in rows:
            try:
                with self._connection.begin_nested():
                    self._connection.execute(delete(table).where(_same(table, row)))
            except IntegrityError:
                self._reword(table, [row], marks)
        return len(rows)

    def _reword(self, table: Table, rows: Sequence[Mapping[str, Any]], marks: Marks) -> int:
        free = [column for column in _texts(table) if not column.primary_key]
        fresh: list[tuple[Mapping[str, Any], dict[str, Any]]] = []
        for row in rows:
            struck = {column.name: marks.strike(row[column.name]) for column in free}
            values = {name: value for name, value in struck.items() if value != row[name]}
            if values:
                fresh.append((row, values))
        if table is audit:
            return self._audit.redact({row["id"]: values for row, values in fresh})
        for row, values in fresh:
            self._connection.execute(update(table).where(_same(table, row)).values(values))
        return len(fresh)

    def _empty(self, table: Table, touched: Counter[str]) -> bool:
        try:
            with self._connection.begin_nested():
                gone = self._connection.execute(delete(table).where(self._mine(table)))
        except IntegrityError:
            return False
        touched[table.name] += gone.rowcount
        return True

    def _stream(self, wanted: Any) -> Iterator[Row[Any]]:
        # All rows are read before any is changed: no cursor may be open over rows that are deleted.
        with self._connection.execute(wanted.execution_options(yield_per=_ROWS_AT_A_TIME)) as rows:
            yield from rows


def _tables() -> Iterator[Table]:
    return (table for table in metadata.sorted_tables if "tenant" in table.columns)


def _texts(table: Table) -> list[Any]:
    """Return the columns that can hold texts of users. Actions of the audit log are Assay's, and part of the chain."""
    fixed = {"tenant", "action"} if table is audit else {"tenant"}
    return [column for column in table.columns if column.name not in fixed and isinstance(column.type, Json | Text)]


def _same(table: Table, row: Mapping[str, Any]) -> ColumnElement[bool]:
    return and_(*(column == row[column.name] for column in table.primary_key.columns))


# --- Secrets in rows of older versions ---
#
# Every table with a tenant is searched, as the schema lists them, so that tables added later are included. Memories and
# the rows made from them are handled by `assay.memory.rescanning`.

OF_MEMORIES = frozenset({"memories", "chunks", "memory_triggers", "memory_facts", "vectors", "indexed_documents"})
"""Tables that are rewritten with their memory."""
LEFT_ALONE = frozenset({"access_tokens", "login_sessions", "known_files", "owned_files", "changes", "eval_candidates"})
"""Hashes, paths, ids and packed numbers."""
_SECRET_ROWS_AT_A_TIME = 500


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
        """Yield every row that holds a secret, except memories and the rows made from them."""
        for table in metadata.sorted_tables:
            if "tenant" in table.columns and table.name not in OF_MEMORIES | LEFT_ALONE:
                yield from self._find_held(table)

    def mask(self) -> int:
        """Mask the secrets in all these rows; return how many rows were changed.

        A row whose key itself is a secret, such as a term that was learned from a search, is deleted.
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
        # The audit log is a chain: `redact` changes it and adds an entry about the change.
        self._audit.redact(entries)
        return len(held)

    def _find_held(self, table: Table) -> Iterator[HeldRow]:
        texts = [column for column in table.columns if column.name != "tenant" and isinstance(column.type, Json | Text)]
        if not texts:
            return
        keys = list(table.primary_key.columns)
        statement = (
            select(*{*keys, *texts}).where(self._mine(table)).execution_options(yield_per=_SECRET_ROWS_AT_A_TIME)
        )
        with self._connection.execute(statement) as rows:
            for row in rows:
                values = {column.name: getattr(row, column.name) for column in texts}
                secrets = tuple(secret for value in values.values() if value for secret in find_in_json(value))
                if secrets:
                    key = {column.name: getattr(row, column.name) for column in keys}
                    yield HeldRow(table.name, key, values, secrets)
