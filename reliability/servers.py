"""A PostgreSQL server for a program: the one the test suite brings, started for the occasion."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a running, empty server; stopped at the end."""
    with warnings.catch_warnings():
        # The bundled server asks for a runtime folder that a plain login does not have.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        # Imported here: the server is a development dependency, and most programs do without it.
        from tests.storage.homes import running_postgres  # noqa: PLC0415

        # The driver tells its log of every refused batch; a refusal is what many steps expect.
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        with running_postgres() as server:
            yield server.address
