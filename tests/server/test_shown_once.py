"""The text of a token is shown once and stored nowhere: not by a repeat, not in a table, file, log or checkpoint."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.cli.telling import runner
from tests.server.serving import OWN, bearer, reaching, served, services_at
from tests.storage.homes import Home, raw

import assay
from assay.access import Tokens
from assay.records.access import TOKEN_SHAPE, Access
from assay.server.idempotency import Repeats, make_keyed_write
from assay.server.services import Services
from assay.storage.tables import metadata
from assay.verbs.access import TOKEN_ONCE

BODY = {"name": "ci", "access": "read"}


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path) as found:
        yield found


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, pages=True) as found:
        yield found


def test_a_repeat_is_answered_with_the_record_and_without_the_text(client: TestClient, services: Services) -> None:
    first, *repeats = (client.post("/api/tokens", json=BODY, headers={"Idempotency-Key": "k1"}) for _ in range(3))
    assert TOKEN_SHAPE.fullmatch(first.json()["token"])
    assert first.json()["notice"] is None
    for again in repeats:
        assert (again.status_code, again.headers["Idempotency-Replayed"]) == (first.status_code, "true")
        told = again.json()
        assert told["token"] is None
        assert "shown once" in told["notice"]
        assert "revoke" in told["notice"]
        same = {name: value for name, value in told.items() if name not in ("token", "notice")}
        assert same == {name: first.json()[name] for name in same}
    assert len(services.tokens.all(OWN)) == 1


def test_a_refusal_is_repeated_as_it_was(client: TestClient) -> None:
    first, again = (client.post("/api/tokens", json={"name": ""}, headers={"Idempotency-Key": "k2"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (422, 422)
    assert first.json() == again.json()


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_no_byte_of_a_token_stays_behind_however_it_was_made(
    services: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    admin = bearer(services)["Authorization"].removeprefix("Bearer ")
    made = [admin]
    with served(services, local=False, pages=True) as address:
        with assay.Client(address, token=admin) as over_http:
            made.append(over_http.post("/api/tokens", BODY)["token"])
        with reaching(services, local=False, pages=True) as client:
            given = {"Authorization": f"Bearer {admin}", "Idempotency-Key": "k3"}
            made.append(client.post("/api/tokens", json=BODY, headers=given).json()["token"])
            client.post("/api/tokens", json=BODY, headers=given)
            client.post("/login", data={"token": made[-1]})
    told = runner(capsys)("token", "create", "--json", "--db", str(tmp_path / "notes.db"))
    made.append(json.loads(told.out)["token"])
    assert all(TOKEN_SHAPE.fullmatch(one) for one in made)
    services.engine.store.checkpoints.create("now")
    services.engine.store.log.flush()
    # The secret part alone: what is cut or quoted would still be found.
    secrets = [one.removeprefix("assay_") for one in made]
    files = bytes_of(tmp_path)
    assert any(name.endswith("notes.db-wal") for name in files)
    held = {name for name, content in files.items() for secret in secrets if secret.encode() in content}
    assert held == set()
    assert not any(secret in caplog.text for secret in secrets)


def test_no_row_of_any_table_holds_a_token_on_either_back_end(home: Home) -> None:
    store = home.open()
    made = Tokens(store, home.clock).create(OWN, "ci", Access.ADMIN)
    repeats = Repeats(store, home.clock)
    write = make_keyed_write(OWN, "k4", b"POST /api/tokens", b"{}")._replace(shown_once=TOKEN_ONCE)
    assert repeats.begin(write) is None
    repeats.finish(write, 200, json.dumps({"token_id": made.kept.token_id, "token": made.text}).encode())
    with raw(store) as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(text(f'SELECT * FROM "{table.name}"')):
                assert made.text not in repr(row), table.name
    again = repeats.begin(write)
    assert again is not None
    assert json.loads(again.body)["token"] is None
