"""Texts of tokens that version 0.1 kept in stored answers are gone after the store is opened, from every byte of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.storage.homes import Home, raw
from tests.storage.test_migrations import bare

from assay.records import IdFactory, Scope
from assay.storage import schema
from assay.storage.erasing import search
from assay.storage.repositories.base import EPOCH
from assay.storage.schema import CURRENT, Schema
from assay.storage.token_texts import REMOVED, without_token_texts
from assay.storage.work import Work

TOKEN = "assay_" + "xqRY7-_a" * 5 + "abc"
GONE = "assay_" + "Zz12-_bC" * 5 + "def"
ADD_KEY = text(
    "INSERT INTO request_keys (tenant, principal, key, fingerprint, created_at, status, answer)"
    " VALUES ('acme', 'ada', :key, 'f', '2026-01-05T09:00:00.000000Z', 200, :answer)"
)
ADD_TOKEN = text(
    "INSERT INTO access_tokens (tenant, token_id, name, access, digest, created_at, created_by)"
    " VALUES ('acme', 't_1', 'ci', 'read', 'd', '2026-01-05T09:00:00.000000Z', 'ada')"
)


def fill_as_before(home: Home, scope: Scope) -> None:
    """A store as 0.1 left it: one answer with a token, and the bytes of one that was deleted since."""
    with bare(home) as connection:
        schema.upgrade(connection, "here", Schema(scripts=CURRENT.scripts, newest="0009"))
        Work(connection, scope, home.clock).meta.put(EPOCH, IdFactory(home.clock).new("ep"))
        answer = json.dumps({"token_id": "t_1", "name": "ci", "token": TOKEN})
        connection.execute(ADD_KEY, {"key": "k1", "answer": answer})
        connection.execute(ADD_KEY, {"key": "k2", "answer": '{"memory_id":"m_assay_1"}'})
        connection.execute(ADD_KEY, {"key": "k3", "answer": json.dumps({"token": GONE})})
        connection.execute(ADD_TOKEN)
    with bare(home) as connection:
        if home.backend == "sqlite":
            # Some builds of SQLite overwrite what they delete by themselves; others leave it.
            connection.execute(text("PRAGMA secure_delete = OFF"))
        connection.execute(text("DELETE FROM request_keys WHERE key = 'k3'"))


@pytest.fixture
def home(empty_home: Home) -> Home:
    """Nothing is there yet: making a store is what is tested."""
    return empty_home


def test_stored_answers_lose_the_texts_of_tokens_and_keep_the_rest(home: Home, scope: Scope) -> None:
    fill_as_before(home, scope)
    store = home.open()
    with raw(store) as connection:
        rows = connection.execute(text("SELECT key, answer FROM request_keys ORDER BY key"))
        kept = {str(row.key): str(row.answer) for row in rows}
    assert json.loads(kept["k1"]) == {"token_id": "t_1", "name": "ci", "token": None}
    assert kept["k2"] == '{"memory_id":"m_assay_1"}'


def test_no_file_of_the_store_holds_them_nor_the_copy_made_before_the_migration(tmp_path: Path, home: Home) -> None:
    if home.backend != "sqlite":
        return  # A server's files are its own.
    fill_as_before(home, Scope(tenant="acme"))
    needles = [TOKEN.lower().encode(), GONE.lower().encode()]
    before = search(list(Path(home.address).parent.glob("notes.db*")), needles).found
    assert {place for places in before.values() for place in places} == {0, 1}
    home.open()
    files = [file for file in Path(home.address).parent.rglob("*") if file.is_file()]
    assert any(file.parent == home.checkpoint_folder and file.suffix == ".db" for file in files)
    assert search(files, needles).found == {}


def test_a_text_of_a_token_goes_wherever_it_stands_in_an_answer() -> None:
    assert without_token_texts(json.dumps({"token": TOKEN})) == '{"token":null}'
    assert without_token_texts(f'{{"said":"{TOKEN}"}}') == f'{{"said":"{REMOVED}"}}'
    assert without_token_texts(f"not JSON {TOKEN}") == f"not JSON {REMOVED}"
    assert without_token_texts('{"token":"short"}') == '{"token":"short"}'
