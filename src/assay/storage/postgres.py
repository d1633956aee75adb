"""The back end for PostgreSQL with pgvector.

All tables are in one schema (default `assay`). Readers see one snapshot and cannot write. A write takes an advisory
lock of its tenant before anything else, so that `seq` of the change log grows in the order of commits: a follower that
has read to seq 7 never misses a 6 that commits later.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError

from assay.errors import ExtensionMissing, NotAStore, SettingError, StoreClosed
from assay.extras import refuse_extra
from assay.storage.backend import translate_errors
from assay.storage.rows import HalfVec

LOCK_FAMILY = 0x41737931
"""First half of every advisory lock we take, so that ours differ from those of other programs."""
_TAKE_TURN = text("SELECT pg_advisory_xact_lock_shared(:family, :store), pg_advisory_xact_lock(:family, :tenant)")
_TAKE_ALL = text("SELECT pg_advisory_xact_lock(:family, :store)")
OLDEST_SERVER = 140000
CONNECT_TIMEOUT_S = 10

_FOREIGN_CODE = text("""
    SELECT 'trigger ' || quote_literal(g.tgname) || ' on ' || t.relname FROM pg_trigger g
      JOIN pg_class t ON t.oid = g.tgrelid JOIN pg_namespace n ON n.oid = t.relnamespace
      WHERE n.nspname = :ours AND NOT g.tgisinternal
    UNION ALL SELECT 'rule ' || quote_literal(rulename) || ' on ' || tablename FROM pg_rules WHERE schemaname = :ours
    UNION ALL SELECT 'view ' || quote_literal(viewname) FROM pg_views WHERE schemaname = :ours
    ORDER BY 1
""")
"""Code among the tables that runs with, or in the place of, what is saved and read."""


class PostgresBackend:
    """An open PostgreSQL schema."""

    name = "postgres"

    def __init__(
        self, url: URL, *, schema: str, readers: int, lock_timeout_s: float, statement_timeout_s: float = 0.0
    ) -> None:
        """`readers` connections are kept open, and as many more are opened when those are in use.

        `statement_timeout_s`: seconds after which the server cancels a statement; 0: never.
        """
        self.url = url
        self.schema = _schema_name(schema)
        self._owner = os.getpid()
        self._closed = False
        self.lock_timeout_ms = max(1, round(lock_timeout_s * 1000))
        self._engine = _engine(url, schema, readers, wait_s=lock_timeout_s, statement_s=statement_timeout_s)
        self._readers = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @property
    def place(self) -> str:
        """The address, without its password."""
        return f"{self.url.render_as_string(hide_password=True)} (schema {self.schema})"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent snapshot that cannot write."""
        self._check_usable()
        with translate_errors(self.place), self._readers.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, tenant: str) -> Iterator[Connection]:
        """One durable transaction, one at a time for each tenant."""
        self._check_usable()
        with translate_errors(self.place), self._engine.begin() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {self.lock_timeout_ms}"))
            connection.execute(
                _TAKE_TURN, {"family": LOCK_FAMILY, "store": self.store_key, "tenant": self._key(tenant)}
            )
            yield connection

    @contextmanager
    def coordinating(self, *, durable: bool) -> Iterator[Connection]:
        """A short transaction that takes no lock of a tenant; not `durable`, it does not wait for the disk."""
        self._check_usable()
        with translate_errors(self.place), self._engine.begin() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {self.lock_timeout_ms}"))
            if not durable:
                connection.execute(text("SET LOCAL synchronous_commit = off"))
            yield connection

    @contextmanager
    def restoring(self, *, wait_s: float | None = None) -> Iterator[Connection]:
        """Open a transaction that excludes writers: it waits for open writes, and later ones wait for it.

        `wait_s`: how long it waits at most; None: as long as a write does.
        """
        self._check_usable()
        wait_ms = self.lock_timeout_ms if wait_s is None else max(1, round(wait_s * 1000))
        with translate_errors(self.place), self._engine.begin() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {wait_ms}"))
            lift_statement_timeout(connection)
            connection.execute(_TAKE_ALL, {"family": LOCK_FAMILY, "store": self.store_key})
            yield connection

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Open a connection in autocommit mode, for statements that cannot run in a transaction."""
        self._check_usable()
        with translate_errors(self.place), self._engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            # Building an index of a large table takes longer than any request may.
            alone.execute(text("SET statement_timeout = 0"))
            try:
                yield alone
            finally:
                if not alone.invalidated:
                    alone.execute(text("RESET statement_timeout"))

    @property
    def store_key(self) -> int:
        """The second half of the lock that all writes share and a restore holds exclusively."""
        return self._key("(store)")

    def _key(self, subject: str) -> int:
        """Return the second half of a lock. Names in brackets cannot be the name of a tenant."""
        return lock_key(self.schema, subject)

    def damage(self) -> list[str]:
        """Return nothing: the server checks its own files."""
        return []

    def foreign_code(self) -> list[str]:
        """The triggers, rules and views of the schema, none of which Assay made."""
        with self.reading() as connection:
            return [str(line) for line in connection.execute(_FOREIGN_CODE, {"ours": self.schema}).scalars()]

    def close(self) -> None:
        """Close every connection that is ours."""
        if not self._closed:
            self._closed = True
            self._engine.dispose(close=os.getpid() == self._owner)

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self.place} was closed", remedy="Open the store again.")
        if os.getpid() != self._owner:
            raise StoreClosed(
                f"{self.place} was opened by process {self._owner}, this is {os.getpid()}",
                remedy="Open the store after forking, in each process.",
            )


def lift_statement_timeout(connection: Connection) -> None:
    """Let the statements of this transaction take as long as they need: copies of whole tables, migrations."""
    connection.execute(text("SET LOCAL statement_timeout = 0"))


def lock_key(schema: str, subject: str) -> int:
    """Return the second half of the lock of a tenant in a schema."""
    digest = hashlib.sha256(f"{schema}\x00{subject}".encode()).digest()
    return int.from_bytes(digest[:4], "big", signed=True)


def take_turn(connection: Connection, tenant: str) -> None:
    """Wait until no other transaction writes for a tenant, and hold its lock until this one ends.

    For a write of one tenant that also adds to another's rows. A SQLite file has one writer anyway.
    """
    if connection.dialect.name != "sqlite":
        schema = str(connection.execute(text("SELECT current_schema()")).scalar_one())
        given = {"family": LOCK_FAMILY, "tenant": lock_key(schema, tenant)}
        connection.execute(text("SELECT pg_advisory_xact_lock(:family, :tenant)"), given)


def _schema_name(given: str) -> str:
    """A name that needs no quotes and leaves room for the 37 characters a restore appends to it (63 are kept)."""
    if not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,25}", given):
        raise SettingError(
            f"postgres.schema {given!r} is not a plain name",
            remedy="Use up to 26 small letters, digits and _, beginning with a letter, but not with pg_.",
        )
    return given


def read_url(address: str) -> URL:
    """The address with our driver in it. Never shows the password it may hold."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        # Not `from` the cause, which may contain a misplaced password.
        raise SettingError(
            "the database address cannot be read", remedy="Write it like postgresql://user:password@host:5432/name."
        ) from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise SettingError(
            f"the database driver {url.drivername!r} is not known",
            remedy="Use a file path, or postgresql://user:password@host:5432/name.",
        )
    return url.set(drivername="postgresql+psycopg")


def prepare_schema(backend: PostgresBackend, connection: Connection) -> None:
    """Make sure server, extension and schema are there. Runs inside the opening transaction."""
    version = int(connection.execute(text("SHOW server_version_num")).scalar_one())
    if version < OLDEST_SERVER:
        raise NotAStore(f"{backend.place} runs PostgreSQL {version // 10000}", remedy="Use PostgreSQL 14 or newer.")
    installed = text("SELECT count(*) FROM pg_extension WHERE extname = 'vector'")
    if not connection.execute(installed).scalar_one():
        offered = text("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")
        if not connection.execute(offered).scalar_one():
            raise ExtensionMissing(
                f"{backend.place} does not offer the extension `vector`",
                remedy="Install pgvector on the server (Debian: postgresql-NN-pgvector), then try again.",
            )
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public"))
    name = connection.dialect.identifier_preparer.quote(backend.schema)
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {name}"))


def _engine(url: URL, schema: str, readers: int, *, wait_s: float, statement_s: float) -> Engine:
    options = (
        f"-csearch_path={schema},public -csynchronous_commit=on -cdefault_transaction_isolation=read\\ committed "
        f"-cstatement_timeout={round(statement_s * 1000)}"
    )
    try:
        from sqlalchemy.dialects.postgresql.base import ischema_names  # noqa: PLC0415 - see `rows.insert`

        # So that a look at the schema knows the type.
        ischema_names["halfvec"] = HalfVec
        return create_engine(
            url,
            pool_size=readers,
            max_overflow=readers,
            pool_timeout=wait_s,
            pool_pre_ping=True,
            connect_args={"options": options, "connect_timeout": CONNECT_TIMEOUT_S},
        )
    except ModuleNotFoundError as problem:
        raise refuse_extra("postgres", str(problem.name)) from problem
