"""Several servers over one PostgreSQL: what one was told, the others know."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from starlette.testclient import TestClient
from tests.server.serving import BOUND_S, OWN, bearer, reaching, served, services_at, stopping_nothing_else, token_text
from tests.server.test_peers import Work, wait_for_end
from tests.storage.homes import TEMPLATE_SCHEMA, PostgresServer, copied_database

from assay.errors import RecordNotFound
from assay.records import Scope
from assay.server.security.callers import COOKIE
from assay.server.services import Services
from assay.server.serving import Server, make_server_config
from assay.server.shared_questions import SharedQuestions
from assay.server.streaming import LOST, STOPPED, LiveQuestions


@pytest.fixture
def database(postgres: PostgresServer, postgres_template: str) -> Iterator[str]:
    with copied_database(postgres, postgres_template) as address:
        yield address


@contextmanager
def servers(folder: Path, database: str, count: int = 2, **more: Any) -> Iterator[list[Services]]:
    """Servers with folders of their own and one store."""
    with ExitStack() as held:
        yield [
            held.enter_context(
                services_at(
                    folder / f"server-{number}",
                    db=database,
                    postgres_schema=TEMPLATE_SCHEMA,
                    index_folder=folder / f"index-{number}",
                    **more,
                )
            )
            for number in range(count)
        ]


def csrf_in(page: str) -> str:
    found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page)
    assert found is not None
    return found[1]


def sign_in(client: TestClient, token: str) -> None:
    assert client.post("/login", data={"token": token, "next": "/"}).status_code == 303
    assert client.cookies.get(COOKIE)


def test_a_browser_that_signed_in_at_one_server_uses_every_other(tmp_path: Path, database: str) -> None:
    with servers(tmp_path, database) as (first, second), ExitStack() as held:
        here, there = (held.enter_context(reaching(one, local=False, pages=True)) for one in (first, second))
        sign_in(here, token_text(first))
        there.cookies.update(here.cookies)
        # The form of a page that one server made is accepted by the other.
        form = {"question": "Why do we poll the oven?", "csrf_token": csrf_in(here.get("/").text)}
        asked = there.post("/ask", data=form)
        assert asked.status_code == 303
        watched = here.get(asked.headers["location"])
        assert watched.status_code in {200, 303}
        wait_for_end(first.live.get(OWN, asked.headers["location"].removeprefix("/ask/")))
        assert there.post("/logout", data={"csrf_token": csrf_in(there.get("/").text)}).status_code == 303
        assert here.get("/", headers={"Accept": "text/html"}).status_code == 303
        forged = {"question": "?", "csrf_token": "0" * 64}
        sign_in(here, token_text(first))
        assert here.post("/ask", data=forged).status_code == 403


def test_a_save_through_one_server_is_found_through_the_other_and_repeated_by_none(
    tmp_path: Path, database: str
) -> None:
    note = {"title": "Oven", "body": "We poll the oven every five seconds because pushes are lost behind NAT."}
    with servers(tmp_path, database) as (first, second), ExitStack() as held:
        here, there = (held.enter_context(reaching(one)) for one in (first, second))
        headers = {"Idempotency-Key": "note-1"}
        saved = here.post("/api/memory", json=note, headers=headers).json()
        again = there.post("/api/memory", json=note, headers=headers)
        assert (again.json(), again.headers["idempotency-replayed"]) == (saved, "true")
        found = there.post("/api/memory/search", json={"query": "oven pushes NAT"}).json()
        assert [hit["memory_id"] for hit in found["hits"]] == [saved["memory_id"]]


def test_servers_count_requests_and_wrong_tokens_together(tmp_path: Path, database: str) -> None:
    with servers(tmp_path, database, server_requests_per_minute=40) as (first, second), ExitStack() as held:
        here, there = (held.enter_context(reaching(one, local=False)) for one in (first, second))
        good = bearer(first)
        began = time.monotonic()
        answers = [client.get("/api/flags", headers=good).status_code for client in (here, there) * 15]
        # A quarter of the limit may come at once; while this runs, a few more become due.
        assert 10 <= answers.count(200) <= 11 + (time.monotonic() - began) * 40 / 60
        assert answers.count(429) == 30 - answers.count(200) > 0
        wrong, began = {"Authorization": f"Bearer assay_{'x' * 43}"}, time.monotonic()
        refused = [client.get("/api/flags", headers=wrong).status_code for client in (here, there) * 10]
        assert 5 <= refused.count(401) <= 6 + (time.monotonic() - began) * 20 / 60
        assert refused.count(429) == 20 - refused.count(401) > 0
        assert [client.get("/healthz").status_code for client in (here, there) * 20] == [200] * 40


def test_a_question_of_one_server_is_watched_through_another(tmp_path: Path, database: str) -> None:
    work = Work()
    with servers(tmp_path, database) as (first, second):
        live = first.live.start(OWN, "Why?", work)
        copy = second.live.get(OWN, live.ticket)
        assert (copy.question, copy.ended) == ("Why?", False)
        with pytest.raises(RecordNotFound):
            second.live.get(Scope(tenant="other", principal="eve"), live.ticket)
        work.released.set()
        assert wait_for_end(copy) == ["stage", "stage"]
        assert copy.problem == "nobody could answer it. Ask another."
        assert wait_for_end(second.live.get(OWN, live.ticket)) == ["stage", "stage"]


def test_a_question_of_a_server_that_died_is_lost_and_of_one_that_stopped_is_told(
    tmp_path: Path, database: str
) -> None:
    work = Work()
    with servers(tmp_path, database, count=1) as (services,):
        store = services.engine.store
        silent = SharedQuestions(store, look_s=0.01, beat_s=BOUND_S, silent=timedelta(0))
        first, second, third = (
            LiveQuestions(store.ids, None, how) for how in (SharedQuestions(store), silent, SharedQuestions(store))
        )
        live = first.start(OWN, "Why?", work)
        lost = second.get(OWN, live.ticket)
        wait_for_end(lost)
        assert lost.problem == LOST
        first.finish(0.01)
        told = third.get(OWN, live.ticket)
        wait_for_end(told)
        assert told.problem == STOPPED
        work.released.set()
        wait_for_end(live)


# --- Stopping ---


def test_a_server_that_drains_says_so_and_asks_callers_to_go_elsewhere(tmp_path: Path) -> None:
    with services_at(tmp_path) as services, served(services) as address:
        before = requests.get(f"{address}/readyz", timeout=BOUND_S)
        services.drain()
        unready = requests.get(f"{address}/readyz", timeout=BOUND_S)
        answered = requests.get(f"{address}/api/flags", timeout=BOUND_S)
    assert (before.status_code, before.headers.get("connection")) == (200, None)
    assert (unready.status_code, unready.json()["error"]["code"]) == (503, "server_busy")
    assert (answered.status_code, answered.headers["connection"]) == (200, "close")


@pytest.mark.parametrize(
    ("received", "drain_s", "at_once"), [("SIGTERM", 1, False), ("SIGINT", 1, True), ("SIGTERM", 0, True)]
)
def test_sigterm_turns_unready_first_and_ctrl_c_stops_at_once(
    tmp_path: Path, received: str, drain_s: int, at_once: bool
) -> None:
    drained = threading.Event()

    async def receive() -> tuple[bool, bool]:
        server = Server(config, lambda: None, on_drain=drained.set, drain_s=drain_s / 50)
        server._loop = asyncio.get_running_loop()
        server.handle_exit(signal.Signals[received], None)
        before = server.should_exit
        await asyncio.sleep(0.1)
        return before, server.should_exit

    with services_at(tmp_path) as services:
        config = make_server_config(lambda *_: None, services.settings)  # type: ignore[arg-type]
        with stopping_nothing_else():
            assert asyncio.run(receive()) == (at_once, True)
    assert drained.is_set()
