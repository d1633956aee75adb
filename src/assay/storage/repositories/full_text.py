"""Full-text rows, one for each chunk, written with it and erased with it.

SQLite keeps them in an FTS5 table, PostgreSQL in a table with a `tsvector` of our own making: a term has the weight of
each field it stands in, and no more positions than fields, because PostgreSQL keeps only 256 of a word and none beyond
16,383; phrases are looked up in the joined words instead. Both rows hold the tenant as a term of its own, so that a
question costs what the tenant's own passages cost, however many others there are.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from assay.errors import SearchTimeout
from assay.storage.full_text import AllOf, AnalysedPassage, AnyOf, Field, FullTextQuery, Phrase, Prefix, Within
from assay.storage.full_text import tenant_term as term_of
from assay.storage.repositories.prepared import driver_of, run_sql

_FIELDS = tuple(Field)
_WEIGHTS = {Field.TITLE: "A", Field.TRIGGERS: "B", Field.BODY: "C"}
_OUTERMOST = "SELECT (SELECT min(tenant) FROM chunks), (SELECT max(tenant) FROM chunks)"
"""Both are the tenant itself when no other has passages: then its own term need not be asked for."""
_STEPS_BETWEEN_LOOKS = 2_000
_WAITING = 20
"""By the clock a question may take so many times its budget: what it waits for may be slow, or wanted by many."""
_BUSY = 4
"""The same on PostgreSQL, where nobody waits for an interpreter."""


class FullText(Protocol):
    """The full-text rows of one tenant."""

    def write(self, passages: Sequence[AnalysedPassage]) -> None:
        """Keep the rows of new chunks."""
        ...

    def erase(self, numbers: Sequence[int]) -> None:
        """Forget the rows of these chunks."""
        ...

    def matching(self, query: FullTextQuery, limit: int, *, budget_s: float) -> list[int]:
        """The numbers of the newest passages that match."""
        ...

    def analysed(self, numbers: Sequence[int]) -> Iterable[AnalysedPassage]:
        """The rows of these chunks; one that is gone is left out."""
        ...


def full_text(connection: Connection, tenant: str) -> FullText:
    """The full text of the back end behind a connection."""
    kind = SqliteFullText if connection.dialect.name == "sqlite" else PostgresFullText
    return kind(connection, tenant)


class SqliteFullText:
    """FTS5."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._driver = driver_of(connection)
        self._name = tenant
        self._tenant = term_of(tenant)

    def write(self, passages: Sequence[AnalysedPassage]) -> None:
        """Keep the rows of new chunks."""
        rows = [(self._tenant, *passage) for passage in passages]
        wanted = "INSERT INTO passages_fts (tenant, rowid, title, triggers, body) VALUES (?, ?, ?, ?, ?)"
        if rows:
            self._connection.exec_driver_sql(wanted, rows)

    def erase(self, numbers: Sequence[int]) -> None:
        """Forget the rows of these chunks."""
        if numbers:
            self._connection.exec_driver_sql(
                "DELETE FROM passages_fts WHERE rowid = ?", [(number,) for number in numbers]
            )

    def matching(self, query: FullTextQuery, limit: int, *, budget_s: float) -> list[int]:
        """The numbers of the newest passages that match."""
        asked = match_expression(query)
        parameters = (self._name, self._name, asked, f'"{self._tenant}" AND ({asked})', limit)
        with _interrupt_after(self._connection, budget_s):
            return [number for (number,) in run_sql(self._connection, self._driver, _SQLITE_MATCHING, parameters)]

    def analysed(self, numbers: Sequence[int]) -> Iterable[AnalysedPassage]:
        """The rows of these chunks."""
        wanted = (
            "SELECT rowid, title, triggers, body FROM passages_fts"
            " WHERE rowid IN (SELECT value FROM json_each(?)) AND tenant = ?"
        )
        given = (json.dumps(list(numbers)), self._tenant)
        return map(AnalysedPassage._make, run_sql(self._connection, self._driver, wanted, given))


_SQLITE_MATCHING = (
    "SELECT rowid FROM passages_fts WHERE passages_fts MATCH"  # noqa: S608 - what is put in is written above
    f" CASE WHEN ({_OUTERMOST}) = (?, ?) THEN ? ELSE ? END ORDER BY rowid DESC LIMIT ?"
)


class PostgresFullText:
    """`tsvector` and GIN."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._name = tenant
        self._tenant = term_of(tenant)

    def write(self, passages: Sequence[AnalysedPassage]) -> None:
        """Keep the rows of new chunks."""
        rows = [
            {"tenant": self._name, **passage._asdict(), "terms": term_vector(self._name, passage)}
            for passage in passages
        ]
        if rows:
            self._connection.execute(_PG_WRITE, rows)

    def erase(self, numbers: Sequence[int]) -> None:
        """Forget the rows of these chunks."""
        if numbers:
            self._connection.execute(_PG_ERASE, {"numbers": list(numbers)})

    def matching(self, query: FullTextQuery, limit: int, *, budget_s: float) -> list[int]:
        """The numbers of the newest passages that match."""
        alone = set(self._connection.execute(_PG_OUTERMOST).one()) <= {self._name}
        terms = ts_query(query)
        given: dict[str, Any] = {"tenant": self._name, "limit": limit}
        given["terms"] = terms if alone else f"'{self._tenant}' & ({terms})"
        exactly = f" AND {_exact(query, _FIELDS, given)}" if _has_phrase(query) else ""
        # The newest first by the key would read the whole table for a rare word: find, then sort.
        wanted = text(f"""
            WITH found AS MATERIALIZED (
              SELECT number FROM passages_text
              WHERE terms @@ CAST(:terms AS tsquery) AND tenant = :tenant{exactly})
            SELECT number FROM found ORDER BY number DESC LIMIT :limit
        """)  # noqa: S608 - what is put in holds names of parameters only
        with _cancel_after(self._connection, budget_s):
            return list(self._connection.execute(wanted, given).scalars())

    def analysed(self, numbers: Sequence[int]) -> Iterable[AnalysedPassage]:
        """The rows of these chunks."""
        given = {"tenant": self._name, "numbers": list(numbers)}
        return map(AnalysedPassage._make, self._connection.execute(_PG_ANALYSED, given))


_PG_WRITE = text("""
    INSERT INTO passages_text (tenant, number, title, triggers, body, terms)
    VALUES (:tenant, :number, :title, :triggers, :body, CAST(:terms AS tsvector))""")
_PG_ANALYSED = text(
    "SELECT number, title, triggers, body FROM passages_text WHERE tenant = :tenant AND number = ANY(:numbers)"
)
_PG_OUTERMOST = text(_OUTERMOST)
_PG_ERASE = text("DELETE FROM passages_text WHERE number = ANY(:numbers)")


def term_vector(tenant: str, passage: AnalysedPassage) -> str:
    """A passage's terms as PostgreSQL reads them: `'word':1A,3C`."""
    fields: dict[str, list[str]] = {}
    for position, field in enumerate(_FIELDS, start=1):
        for word in set(getattr(passage, field).split()):
            fields.setdefault(word, []).append(f"{position}{_WEIGHTS[field]}")
    listed = [f"'{word}':{','.join(places)}" for word, places in fields.items()]
    return " ".join([f"'{term_of(tenant)}'", *listed])


def match_expression(query: FullTextQuery) -> str:
    """A question as FTS5 reads it. Words hold no quotes."""
    match query:
        case str():
            return f'"{query}"'
        case Prefix(word):
            return f'"{word}" *'
        case Phrase(words):
            return f'"{" ".join(words)}"'
        case Within(field, part):
            return f"{{{field}}} : ({match_expression(part)})"
        case AllOf(parts):
            return " AND ".join(f"({match_expression(part)})" for part in parts)
        case AnyOf(parts):
            return " OR ".join(f"({match_expression(part)})" for part in parts)


def ts_query(query: FullTextQuery, weights: str = "") -> str:
    """A question as PostgreSQL reads it, with phrases as mere sets of words."""
    match query:
        case str():
            return f"'{query}':{weights}" if weights else f"'{query}'"
        case Prefix(word):
            return f"'{word}':*{weights}"
        case Phrase(words):
            return " & ".join(ts_query(word, weights) for word in words)
        case Within(field, part):
            return ts_query(part, _WEIGHTS[field])
        case AllOf(parts):
            return " & ".join(f"({ts_query(part, weights)})" for part in parts)
        case AnyOf(parts):
            return " | ".join(f"({ts_query(part, weights)})" for part in parts)


def _exact(query: FullTextQuery, fields: Sequence[Field], given: dict[str, Any]) -> str:
    """The question as a condition on one row, phrases word for word."""
    match query:
        case Within(field, part):
            return _exact(part, [field], given)
        case AllOf(parts):
            return "(" + " AND ".join(_exact(part, fields, given) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(_exact(part, fields, given) for part in parts) + ")"
        case Phrase(words):
            name = f"p{len(given)}"
            given[name] = f" {' '.join(words)} "
            return "(" + " OR ".join(f"strpos(' ' || {field} || ' ', :{name}) > 0" for field in fields) + ")"
        case _:
            name = f"p{len(given)}"
            given[name] = ts_query(query, "".join(_WEIGHTS[field] for field in fields))
            return f"terms @@ CAST(:{name} AS tsquery)"


def _has_phrase(query: FullTextQuery) -> bool:
    match query:
        case Phrase(words):
            return len(words) > 1
        case Within(_, part):
            return _has_phrase(part)
        case AllOf(parts) | AnyOf(parts):
            return any(_has_phrase(part) for part in parts)
    return False


@contextmanager
def _interrupt_after(connection: Connection, budget_s: float) -> Iterator[None]:
    """SQLite looks at the time every so many steps.

    The budget is of the processor: to look, a thread needs the interpreter, and among many threads it waits for that
    longer than the question takes. A budget by the clock would give up questions because others are asked, too.
    """
    driver: Any = connection.connection.driver_connection
    began, used = time.monotonic(), time.thread_time()

    def is_over() -> bool:
        # A thread never uses more of the processor than time passes, and asking for the time that passed is quicker.
        passed = time.monotonic() - began
        return passed >= budget_s and (time.thread_time() - used >= budget_s or passed >= _WAITING * budget_s)

    driver.set_progress_handler(is_over, _STEPS_BETWEEN_LOOKS)
    try:
        yield
    except DBAPIError as problem:
        if getattr(problem.orig, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise _too_slow(budget_s) from problem
        raise
    finally:
        driver.set_progress_handler(None, 0)


@contextmanager
def _cancel_after(connection: Connection, budget_s: float) -> Iterator[None]:
    """PostgreSQL cancels the statement; the savepoint lets the unit of work go on.

    It knows the clock only, and a server that is busy with others would give up what is no large question.
    """
    allowed = text("SELECT set_config('statement_timeout', :allowed, true)")
    try:
        with connection.begin_nested():
            before = connection.execute(text("SHOW statement_timeout")).scalar_one()
            connection.execute(allowed, {"allowed": str(max(1, round(_BUSY * budget_s * 1000)))})
            yield
            connection.execute(allowed, {"allowed": before})
    except DBAPIError as problem:
        if getattr(problem.orig, "sqlstate", "") == "57014":
            raise _too_slow(budget_s) from problem
        raise


def _too_slow(budget_s: float) -> SearchTimeout:
    return SearchTimeout(
        f"the full-text question took longer than its budget of {budget_s * 1000:,.0f} ms",
        remedy="Ask for rarer words.",
    )
