"""A user's own table of vectors: what a connection does that is closed while a thread still uses it."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest
from sqlalchemy import make_url
from tests.storage.homes import BOUND_S, PostgresServer

from assay.storage.vector_tables import _SharedConnection


def test_a_statement_that_still_runs_is_ended_before_its_connection_is_closed(postgres: PostgresServer) -> None:
    url = make_url(postgres.address).set(drivername="postgresql")
    shared = _SharedConnection(url.render_as_string(hide_password=False))
    ended: list[str] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        try:
            shared.run("SELECT pg_sleep(600)")
        except psycopg.Error as problem:
            ended.append(str(problem))

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait(BOUND_S)
    time.sleep(0.2)  # until the server runs it: closed a moment earlier it is refused, which is as good
    shared.close()
    thread.join(BOUND_S)
    assert not thread.is_alive()
    assert ended
    with pytest.raises(psycopg.OperationalError, match="closed"):
        shared.run("SELECT 1")
